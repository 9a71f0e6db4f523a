// measure.mjs - measures one peer at one task, and prints one line of JSON.
//
// A peer is a module beside this one with:
//   settings            its best settings for each task; --set NAME=VALUE changes one
//   prepare(at)         removes and makes its tables; at = { url, set }
//   fill(at, count)     stores jobs, however it likes
//   left(at)            how many jobs are not settled
//   producer(at)        { one(payload), many(payloads), end() }
//   consumer(at, seen)  { begin(), stop() }; it calls seen.handled(payload) as a handler
//                       begins, and seen.settled(count) once that is stored
// The start of Node.js is not counted: the time runs from when every process is ready, and has
// connected if the peer can do that before it works, to the last settlement that was stored.
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const RATE = 100; // messages per second when latency is measured
const LIMIT_MS = 300_000;
const USAGE = `usage: measure.mjs PEER TASK --db URL [--messages N] [--seconds N] [--set NAME=VALUE]...

PEER is graphile-worker, pg-boss, pgq or plainjob; TASK is drain, enqueue, bulk or latency.
BENCH_PEERS names the folder in which bench/peers/install has put the peers.`;

const now = () => Number(process.hrtime.bigint()) / 1e6; // ms, the same clock in every process
const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const payload = (i) => ({ i, p: 'x'.repeat(170) }); // 185 bytes or so as JSON

// ------------------------------------------------------------------------- in a child

const children = {
    async drain(peer, at) {
        let last = 0, settled = 0;
        const consumer = await peer.consumer(at, {
            handled() {},
            settled(count) { settled += count; last = now(); },
        });
        await signal('ready');
        await consumer.begin();
        const timer = setInterval(() => process.send({ last, settled }), 20);
        await signal();
        clearInterval(timer);
        await consumer.stop();
    },
    async enqueue(peer, at, share) {
        const connections = at.set.connections;
        const producers = await Promise.all(
            Array.from({ length: connections }, () => peer.producer(at)));
        await signal('ready');
        await Promise.all(producers.map(async (producer) => {
            for (let i = 0; i < share / connections; i++) await producer.one(payload(i));
        }));
        process.send({ last: now() });
        await signal();
        await Promise.all(producers.map((producer) => producer.end()));
    },
    async bulk(peer, at, share) {
        const producer = await peer.producer(at);
        const payloads = Array.from({ length: 500 }, (_, i) => payload(i));
        await signal('ready');
        for (let done = 0; done < share; done += payloads.length) await producer.many(payloads);
        process.send({ last: now() });
        await signal();
        await producer.end();
    },
    async produce(peer, at, share) {
        const producer = await peer.producer(at);
        const called = [], committed = [];
        await producer.one(payload(-1)); // connects
        await signal('ready');
        const start = now();
        for (let i = 0; i < share; i++) {
            await rest(Math.max(0, start + i * 1000 / RATE - now()));
            called[i] = now();
            await producer.one(payload(i));
            committed[i] = now();
        }
        process.send({ called, committed });
        await signal();
        await producer.end();
    },
    async consume(peer, at) {
        const started = [];
        const consumer = await peer.consumer(at, {
            handled(job) { if (job.i >= 0) started[job.i] = now(); },
            settled() {},
        });
        await consumer.begin();
        await signal('ready');
        process.send({ started });
        await consumer.stop();
    },
};

let waiting = () => {}, given = 0;
process.on('message', (message) => { if (message === 'go') { given++; waiting(); } });

// Says so, and waits until the parent says go.
function signal(word) {
    if (word) process.send(word);
    return new Promise((resolve) => {
        waiting = () => { if (given > 0) { given--; waiting = () => {}; resolve(); } };
        waiting();
    });
}

// ------------------------------------------------------------------------ in the parent

// A child, the last object that it sent, and a promise of its end.
function child(peerName, role, at, share) {
    const process_ = fork(fileURLToPath(import.meta.url),
        ['--child', JSON.stringify({ peerName, role, at, share })]);
    const one = { said: {}, isReady: false, go: () => process_.send('go') };
    process_.on('message', (message) => {
        if (message === 'ready') one.isReady = true;
        else one.said = message;
    });
    one.end = new Promise((resolve, reject) => process_.on('exit', (code) =>
        code === 0 ? resolve() : reject(new Error(`${peerName}: ${role} ended with ${code}`))));
    one.end.catch(() => { one.failed = true; });
    return one;
}

async function until(condition, all) {
    const limit = now() + LIMIT_MS;
    while (!condition()) {
        if (all.some((one) => one.failed) || now() > limit) throw new Error('a process failed');
        await rest(5);
    }
}

async function startAll(all) {
    await until(() => all.every((one) => one.isReady), all);
    const start = now();
    all.forEach((one) => one.go());
    return start;
}

async function endAll(all) {
    all.forEach((one) => one.go());
    await Promise.all(all.map((one) => one.end));
}

const tasks = {
    async drain(peer, name, at, { messages }) {
        await peer.fill(at, messages);
        const all = Array.from({ length: at.set.processes }, () => child(name, 'drain', at));
        const settled = () => all.reduce((sum, one) => sum + (one.said.settled ?? 0), 0);
        const start = await startAll(all);
        await until(() => settled() >= messages, all);
        const last = Math.max(...all.map((one) => one.said.last ?? 0));
        await endAll(all);
        const left = await peer.left(at);
        if (left !== 0) throw new Error(`${left} jobs are not settled`);
        return { rate: messages * 1000 / (last - start) };
    },
    async store(role, peer, name, at, { messages }) {
        const share = messages / at.set.processes;
        const all = Array.from({ length: at.set.processes }, () => child(name, role, at, share));
        const start = await startAll(all);
        await until(() => all.every((one) => one.said.last), all);
        const last = Math.max(...all.map((one) => one.said.last));
        await endAll(all);
        if (await peer.left(at) < messages) throw new Error('jobs are missing');
        return { rate: messages * 1000 / (last - start) };
    },
    enqueue: (...given) => tasks.store('enqueue', ...given),
    bulk: (...given) => tasks.store('bulk', ...given),
    async latency(peer, name, at, { seconds }) {
        const consumer = child(name, 'consume', at);
        await until(() => consumer.isReady, [consumer]);
        const producer = child(name, 'produce', at, RATE * seconds);
        await startAll([producer]);
        await until(() => producer.said.called, [producer, consumer]);
        for (const limit = now() + 10_000; await peer.left(at) > 0 && now() < limit;) await rest(50);
        consumer.go();
        await until(() => consumer.said.started, [consumer]);
        await endAll([producer]);
        await consumer.end;
        return spans(producer.said, consumer.said.started);
    },
};

// From the call, and from its return, to the first line of the handler.
function spans({ called, committed }, started) {
    const of = (from) => started.map((at, i) => Math.max(0, at - from[i])).sort((a, b) => a - b);
    const at = (values, share) => Number(values[Math.floor(values.length * share)].toFixed(3));
    if (started.filter((at) => at > 0).length !== called.length) throw new Error('jobs are missing');
    return { p50_ms: at(of(committed), 0.5), p99_ms: at(of(committed), 0.99),
        call_p50_ms: at(of(called), 0.5), call_p99_ms: at(of(called), 0.99) };
}

// ---------------------------------------------------------------------------------- main

async function main() {
    const { values, positionals } = parseArgs({ allowPositionals: true, options: {
        db: { type: 'string' }, messages: { type: 'string', default: '20000' },
        seconds: { type: 'string', default: '5' }, set: { type: 'string', multiple: true, default: [] },
        help: { type: 'boolean', short: 'h' } } });
    const [name, task] = positionals;
    if (values.help || !values.db || !(task in tasks)) {
        console.log(USAGE);
        process.exit(values.help ? 0 : 2);
    }
    const peer = await import(`./${name}.mjs`);
    const set = { processes: 1, connections: 1, ...peer.settings[task] };
    for (const one of values.set) {
        const [key, value] = one.split('=');
        set[key] = Number(value);
    }
    const at = { url: values.db, set };
    await peer.prepare(at);
    const result = await tasks[task](peer, name, at,
        { messages: Number(values.messages), seconds: Number(values.seconds) });
    console.log(JSON.stringify({ peer: name, task, set, ...result }));
}

if (process.argv[2] === '--child') {
    process.on('disconnect', () => process.exit(1)); // the parent has died
    const { peerName, role, at, share } = JSON.parse(process.argv[3]);
    await children[role](await import(`./${peerName}.mjs`), at, share);
} else {
    await main();
}
process.exit(0);
