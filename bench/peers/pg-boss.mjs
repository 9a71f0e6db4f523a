// pg-boss.mjs - pg-boss 12.33. It keeps the jobs that are done.
import { load, query } from './load.mjs';

export const settings = {
    drain: { loops: 4, batch: 5000 },
    enqueue: { processes: 2, connections: 4 },
    bulk: {},
    latency: { notify: 1, concurrency: 4 },
};

const QUEUE = 'orders';
const { PgBoss } = await load('pg-boss');

async function open({ url, set }, max) {
    const boss = new PgBoss({ connectionString: url, schema: 'pgboss_bench', max, supervise: false,
        schedule: false, useListenNotify: Boolean(set.notify) });
    boss.on('error', (error) => { throw error; });
    await boss.start();
    return boss;
}

export async function prepare(at) {
    await query(at.url, 'DROP SCHEMA IF EXISTS pgboss_bench CASCADE');
    const boss = await open(at, 1);
    await boss.createQueue(QUEUE, { notify: Boolean(at.set.notify) });
    await boss.stop();
}

export async function fill(at, count) {
    const one = await producer(at);
    for (let done = 0; done < count; done += 5000)
        await one.many(Array.from({ length: Math.min(5000, count - done) },
            (_, i) => ({ i, p: 'x'.repeat(170) })));
    await one.end();
    await query(at.url, 'ANALYZE');
}

export async function left({ url }) {
    const rows = await query(url, `SELECT count(*)::int AS left FROM pgboss_bench.job
        WHERE state < 'completed'`);
    return rows[0].left;
}

export async function producer(at) {
    const boss = await open(at, 1);
    return {
        one: (payload) => boss.send(QUEUE, payload),
        many: (payloads) => boss.insert(QUEUE, payloads.map((data) => ({ data }))),
        end: () => boss.stop({ graceful: false }),
    };
}

// For latency its own workers, woken by notifications; for rates loops around fetch and complete,
// which are quicker.
export async function consumer(at, seen) {
    const { set } = at, boss = await open(at, (set.loops ?? 4) + 2);
    let stopping = false;

    async function loop() {
        while (!stopping) {
            const jobs = await boss.fetch(QUEUE, { batchSize: set.batch });
            for (const job of jobs) seen.handled(job.data);
            if (jobs.length === 0) { await new Promise((resolve) => setTimeout(resolve, 5)); continue; }
            await boss.complete(QUEUE, jobs.map((job) => job.id));
            seen.settled(jobs.length);
        }
    }
    let loops = [];
    return {
        async begin() {
            if (set.notify)
                await boss.work(QUEUE, { localConcurrency: set.concurrency, pollingIntervalSeconds: 0.5 },
                    async (jobs) => { for (const job of jobs) seen.handled(job.data); });
            else loops = Array.from({ length: set.loops }, loop);
        },
        async stop() {
            stopping = true;
            await Promise.all(loops);
            await boss.stop({ graceful: false });
        },
    };
}
