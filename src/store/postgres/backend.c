/* backend.c - PostgreSQL behind the seam. */
#include "store/postgres/pg.h"

#include <posthorn/pg.h>

const struct ph__backend ph__postgres_backend = {
    .name = "postgresql",
    .default_prefix = "",
    .matches = ph__pg_matches,
    .check_url = ph__pg_check_url,
    .describe = ph__pg_describe,
    .check_tx = ph__pg_check_tx,
#define PH__VERB(type, name, arguments) .name = ph__pg_##name,
#include "store/verbs.def"
};

PGconn *ph_tx_pg_connection(ph_tx tx)
{
    return tx.backend == &ph__postgres_backend ? tx.connection : NULL;
}

ph_tx ph_tx_pg(PGconn *connection)
{
    ph_tx tx = { &ph__postgres_backend, connection };

    return tx;
}
