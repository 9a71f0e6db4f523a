// year.mjs - all instants of many jobs in one year, according to an independent implementation.
// usage: node year.mjs SEED JOBS YEAR; prints a line per job: expression, zone, and its instants in
// seconds, separated by tabs. About thirty thousand for two hundred jobs.
import { Cron, changes, pick, random, seed } from './croner.mjs';

seed(process.argv[2] ?? 1);
const jobs = Number(process.argv[3] ?? 200), year = Number(process.argv[4] ?? 2024);
const FROM = Date.UTC(year) / 1000, TO = Date.UTC(year + 1) / 1000;

const ZONES = ['UTC', 'Africa/Cairo', 'Australia/Lord_Howe', 'America/Asuncion', 'Europe/Dublin',
    'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'America/St_Johns', 'Pacific/Chatham'];
const WEEKDAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

const minute = () => random(60);
const hour = () => random(2) ? random(4) : random(24); // clocks change at night
const day = () => random(2) ? 28 + random(4) : 1 + random(31);

// The days around a change of the clocks: "9-11 3".
function daysOfChange(zone) {
    const found = changes(zone, FROM, TO);
    const at = new Date((found.length ? pick(found) : FROM + random(TO - FROM)) * 1000);
    const middle = Math.min(Math.max(at.getUTCDate(), 2), 27);
    return `${middle - 1}-${Math.min(middle + 4, 31)} ${at.getUTCMonth() + 1}`;
}

function expression(kind, zone) {
    switch (kind) {
    case 0: // once a day
    case 1:
        return `${minute()} ${hour()} * * *`;
    case 2: // twice on a day of the week
        return `${random(30)},${30 + random(30)} ${hour()} * * ${pick(WEEKDAYS)}`;
    case 3: // days that some months do not have
        return `${minute()} ${hour()} ${day()},${day()} * *`;
    case 4: // either of two days
        return `${minute()} ${hour()} ${day()} * ${pick(WEEKDAYS)}`;
    case 5:
        return `${minute()} ${hour()} 1-7 ${pick(['JAN,JUN', 'mar-may', '*/3', '10,11,12'])} *`;
    case 6: // intervals, around a change
        return `${pick(['*/20', '7-59/30', '0,1,59'])} * ${daysOfChange(zone)} *`;
    case 7: // times of day, around a change
        return `${pick(['0', '*/15', minute()])} ${pick(['0', '1-3', '2', '23', '0,2'])} ${daysOfChange(zone)} *`;
    case 8: // to the second
        return `${random(60)} ${minute()} ${hour()} * * ${pick(WEEKDAYS)}`;
    default:
        return pick(['@yearly', '@monthly', '@weekly', '@daily', `${minute()} ${hour()} 29 2 *`]);
    }
}

for (let i = 0; i < jobs; i++) {
    const zone = ZONES[i % ZONES.length], text = expression(Math.floor(i / ZONES.length) % 10, zone);
    const cron = new Cron(text, { timezone: zone, paused: true });
    const instants = [];
    for (let at = cron.nextRun(new Date(FROM * 1000)); at && at.getTime() / 1000 < TO; at = cron.nextRun(at))
        instants.push(Math.floor(at.getTime() / 1000));
    console.log([text, zone, ...instants].join('\t'));
}
