// load.mjs - finds the peers in the folder where bench/peers/install has put them, and connects.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(`${process.env.BENCH_PEERS}/package.json`);

export const load = async (name) => import(pathToFileURL(require.resolve(name)));

// A pool of so many connections; the caller ends it.
export async function pool(url, max) {
    const pg = (await load('pg')).default;
    const connections = new pg.Pool({ connectionString: url, max });
    connections.on('error', (error) => { throw error; });
    connections.on('connect', (one) => one.on('error', (error) => { throw error; }));
    return connections;
}

export async function query(url, text, values) {
    const connections = await pool(url, 1);
    try {
        return (await connections.query(text, values)).rows;
    } finally {
        await connections.end();
    }
}
