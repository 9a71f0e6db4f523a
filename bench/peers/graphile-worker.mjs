// graphile-worker.mjs - graphile-worker 0.18. It deletes a job when it is done.
import { EventEmitter } from 'node:events';
import { load, pool, query } from './load.mjs';

export const settings = {
    drain: { processes: 2, concurrency: 10, localQueue: 10000, completeDelay: 0 },
    enqueue: { processes: 2, connections: 4 },
    bulk: {},
    latency: { concurrency: 4, localQueue: 0, completeDelay: -1 },
};

const { Logger, makeWorkerUtils, run, runMigrations } = await load('graphile-worker');
const logger = new Logger(() => () => {}); // says nothing

export async function prepare({ url }) {
    await query(url, 'DROP SCHEMA IF EXISTS graphile_worker CASCADE');
    await runMigrations({ connectionString: url, logger });
}

export async function fill({ url }, count) {
    for (let done = 0; done < count; done += 5000)
        await query(url, `SELECT count(*) FROM graphile_worker.add_jobs(ARRAY(
            SELECT ROW('order.created', json_build_object('i', i, 'p', repeat('x', 170)),
                       NULL, NULL, NULL, NULL, NULL, NULL)::graphile_worker.job_spec
            FROM generate_series(1, least(5000, $1::int)) i))`, [count - done]);
    await query(url, 'ANALYZE');
}

export async function left({ url }) {
    const rows = await query(url, 'SELECT count(*)::int AS left FROM graphile_worker.jobs');
    return rows[0].left;
}

export async function producer({ url }) {
    const pgPool = await pool(url, 1);
    const utils = await makeWorkerUtils({ pgPool, logger });
    return {
        one: (payload) => utils.addJob('order.created', payload),
        many: (payloads) => utils.addJobs(
            payloads.map((payload) => ({ identifier: 'order.created', payload }))),
        async end() { await utils.release(); await pgPool.end(); },
    };
}

export async function consumer({ url, set }, seen) {
    const events = new EventEmitter();
    events.on('job:complete', () => seen.settled(1));
    let runner;
    const options = {
        logger, events,
        taskList: { 'order.created': async (payload) => seen.handled(payload) },
        preset: { worker: {
            connectionString: url,
            concurrentJobs: set.concurrency,
            maxPoolSize: Math.max(10, set.concurrency),
            completeJobBatchDelay: set.completeDelay,
            ...(set.localQueue > 0 && { localQueue: { size: set.localQueue } }),
        } },
        noHandleSignals: true,
    };
    return {
        async begin() { runner = await run(options); },
        stop: () => runner.stop(),
    };
}
