// pgq.mjs - PgQ 3.5. A consumer finishes whole batches: there is no settling per message, and
// no second worker for the same consumer. Latency is the ticker's period, so it is not measured.
import { pool, query } from './load.mjs';

export const settings = {
    drain: { batch: 5000 }, // events between two ticks
    enqueue: { processes: 2, connections: 4 },
    bulk: {},
};

const QUEUE = 'orders', CONSUMER = 'bench';

export async function prepare({ url }) {
    await query(url, 'DROP EXTENSION IF EXISTS pgq CASCADE');
    await query(url, 'DROP SCHEMA IF EXISTS pgq CASCADE');
    await query(url, 'CREATE EXTENSION pgq');
    await query(url, 'SELECT pgq.create_queue($1)', [QUEUE]);
    await query(url, 'SELECT pgq.register_consumer($1, $2)', [QUEUE, CONSUMER]);
}

async function tick(url) {
    await query(url, 'SELECT pgq.force_tick($1)', [QUEUE]);
    await query(url, 'SELECT pgq.ticker($1)', [QUEUE]);
}

export async function fill({ url, set }, count) {
    for (let done = 0; done < count; done += set.batch) {
        await query(url, `SELECT count(pgq.insert_event($1, 'order.created',
            json_build_object('i', i, 'p', repeat('x', 170))::text))
            FROM generate_series(1, least($2::int, $3::int)) i`, [QUEUE, set.batch, count - done]);
        await tick(url);
    }
}

// Events after the last batch that was finished.
export async function left({ url }) {
    await tick(url);
    const connections = await pool(url, 1);
    const next = (await connections.query('SELECT pgq.next_batch($1, $2) AS id', [QUEUE, CONSUMER])).rows[0].id;
    const events = next === null ? [] :
        (await connections.query('SELECT ev_id FROM pgq.get_batch_events($1)', [next])).rows;
    await connections.end();
    return events.length;
}

export async function producer({ url }) {
    const connections = await pool(url, 1);
    const text = `SELECT pgq.insert_event('${QUEUE}', 'order.created', $1)`;
    return {
        one: (payload) => connections.query({ name: 'one', text, values: [JSON.stringify(payload)] }),
        many: (payloads) => connections.query({ name: 'many',
            text: `SELECT count(pgq.insert_event('${QUEUE}', 'order.created', p)) FROM unnest($1::text[]) p`,
            values: [payloads.map((one) => JSON.stringify(one))] }),
        end: () => connections.end(),
    };
}

export async function consumer({ url }, seen) {
    const connections = await pool(url, 1);
    let stopping = false;
    const first = async (text, values) => (await connections.query(text, values)).rows[0];

    async function loop() {
        while (!stopping) {
            const { id } = await first('SELECT pgq.next_batch($1, $2) AS id', [QUEUE, CONSUMER]);
            if (id === null) { await new Promise((resolve) => setTimeout(resolve, 5)); continue; }
            const { rows } = await connections.query('SELECT * FROM pgq.get_batch_events($1)', [id]);
            for (const row of rows) seen.handled(JSON.parse(row.ev_data));
            await first('SELECT pgq.finish_batch($1)', [id]);
            seen.settled(rows.length);
        }
    }
    let running;
    await first('SELECT 1');
    return {
        async begin() { running = loop(); },
        async stop() { stopping = true; await running; await connections.end(); },
    };
}
