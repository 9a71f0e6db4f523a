// oracle.mjs - when cron expressions fire according to an independent implementation (croner).
// usage: node oracle.mjs SEED COUNT; prints lines of expression, zone, instant, and the next instant
// after it ("none"), separated by tabs, in seconds.
import { Cron, changes, pick, random, seed } from './croner.mjs';

seed(process.argv[2] ?? 1);
const count = Number(process.argv[3] ?? 1000);

const ZONES = ['UTC', 'Africa/Cairo', 'Australia/Lord_Howe', 'America/Asuncion', 'Pacific/Apia', 'Europe/Dublin',
    'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'America/Sao_Paulo', 'Africa/Casablanca', 'Asia/Tehran',
    'Pacific/Chatham', 'America/St_Johns', 'Asia/Gaza', 'Antarctica/Troll'];
const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const WEEKDAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];
const FROM = Date.UTC(2010) / 1000, TO = Date.UTC(2036) / 1000; // what both have tables for

const known = new Map();
function changesOf(zone) {
    if (!known.has(zone)) {
        const found = changes(zone, FROM, TO);
        known.set(zone, found.length ? found : [FROM]);
    }
    return known.get(zone);
}

function value(least, most, words) {
    const n = least + random(most - least + 1);
    return words && n < words.length + least && random(2) ? words[n - least] : String(n);
}

// stars: how often out of a hundred the field is *.
function field(least, most, stars, words) {
    if (random(100) < stars)
        return '*';
    switch (random(6)) {
    case 0:
        return `*/${1 + random(most - least)}`;
    case 1: {
        const ends = [least + random(most - least + 1), least + random(most - least + 1)].sort((a, b) => a - b);
        return `${ends[0]}-${ends[1]}${random(2) ? `/${1 + random(5)}` : ''}`;
    }
    case 2:
        return Array.from({ length: 2 + random(3) }, () => value(least, most, words)).join(',');
    default:
        return value(least, most, words);
    }
}

function expression(nearChange) {
    if (random(40) === 0)
        return pick(['@daily', '@hourly', '@weekly', '@monthly', '@yearly']);
    const hour = nearChange && random(2) ? field(0, 4, 0) : field(0, 23, 35);
    const days = nearChange ? [field(1, 31, 90), '*', field(0, 7, 90, WEEKDAYS)]
        : [field(1, 31, 60), field(1, 12, 70, MONTHS), field(0, 7, 60, WEEKDAYS)];
    return [...(random(5) ? [] : [field(0, 59, 10)]), field(0, 59, 30), hour, ...days].join(' ');
}

for (let i = 0; i < count; i++) {
    const zone = pick(ZONES), nearChange = random(2) === 0;
    const after = nearChange ? pick(changesOf(zone)) - random(4 * 3600) + 3600 : FROM + random(TO - FROM);
    const text = expression(nearChange);
    const next = new Cron(text, { timezone: zone, paused: true }).nextRun(new Date(after * 1000));
    console.log([text, zone, after, next ? Math.floor(next.getTime() / 1000) : 'none'].join('\t'));
}
