// croner.mjs - an independent implementation of cron, and random numbers for those who ask it.
// PH_TEST_NPM is the folder with node_modules.
import { createRequire } from 'node:module';

export const { Cron } = createRequire(`${process.env.PH_TEST_NPM}/`)('croner');

let state = 1n;
export const seed = (number) => (state = BigInt(number));

// A whole number below n; the same ones for the same seed.
export function random(n) {
    state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
    return Number((state >> 33n) % BigInt(n));
}
export const pick = (list) => list[random(list.length)];

// When the clocks of a zone change between two instants, in seconds.
export function changes(zone, from, to) {
    const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
    const offset = (s) => format.formatToParts(s * 1000).find((part) => part.type === 'timeZoneName').value;
    const found = [], week = 7 * 86400;
    for (let s = from, before = offset(s); s < to; s += week) {
        const after = offset(s + week);
        if (after === before)
            continue;
        let low = s, high = s + week;
        while (high - low > 1) {
            const middle = Math.floor((low + high) / 2);
            if (offset(middle) === before)
                low = middle;
            else
                high = middle;
        }
        found.push(high);
        before = after;
    }
    return found;
}
