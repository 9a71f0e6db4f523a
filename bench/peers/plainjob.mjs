// plainjob.mjs - plainjob 0.0.14 with better-sqlite3. It keeps the jobs that are done. It sets
// synchronous = NORMAL: after a power failure the last commits may be missing (durable=1 waits for
// the disk, as Posthorn does).
import { rmSync } from 'node:fs';
import { load } from './load.mjs';

export const settings = {
    drain: { durable: 0 },
    enqueue: { durable: 0 },
    bulk: { durable: 0 },
    latency: { durable: 0, poll: 1 },
};

const TYPE = 'order.created';
const { better, defineQueue, defineWorker, JobStatus } = await load('plainjob');
const Database = (await load('better-sqlite3')).default;
const logger = { error: console.error, warn() {}, info() {}, debug() {} };
const path = (url) => url.replace(/^sqlite:/, '') + '-plainjob';

function open({ url, set }) {
    const connection = better(new Database(path(url)));
    const queue = defineQueue({ connection, logger });
    if (set.durable) connection.pragma('synchronous = FULL');
    return queue;
}

export async function prepare(at) {
    for (const end of ['', '-wal', '-shm']) rmSync(path(at.url) + end, { force: true });
    open(at).close();
}

export async function fill(at, count) {
    const queue = open(at);
    for (let done = 0; done < count; done += 5000)
        queue.addMany(TYPE, Array.from({ length: Math.min(5000, count - done) },
            (_, i) => ({ i, p: 'x'.repeat(170) })));
    queue.close();
}

export async function left(at) {
    const queue = open(at);
    const count = queue.countJobs({ status: JobStatus.Pending }) +
        queue.countJobs({ status: JobStatus.Processing });
    queue.close();
    return count;
}

export async function producer(at) {
    const queue = open(at);
    return {
        one: async (payload) => queue.add(TYPE, payload),
        many: async (payloads) => queue.addMany(TYPE, payloads),
        end: async () => queue.close(),
    };
}

export async function consumer(at, seen) {
    const queue = open(at);
    let done = 0;
    const worker = defineWorker(TYPE, (job) => seen.handled(JSON.parse(job.data)), {
        queue, logger, pollIntervall: at.set.poll ?? 100,
        onCompleted() {
            seen.settled(1);
            // Its loop gives others no turn while there are jobs: not even what reports how far it is.
            if (++done % 500 === 0) return new Promise((resolve) => setImmediate(resolve));
        },
    });
    let running;
    return {
        async begin() { running = worker.start(); },
        async stop() { await worker.stop(); await running; queue.close(); },
    };
}
