/* backend.c - SQLite behind the seam. */
#include "core/error.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/doorbell.h"
#include "store/sqlite/migrate.h"
#include "store/sqlite/transaction.h"
#include "store/sqlite/verbs.h"
#include "util/alloc.h"

#include <posthorn/sqlite.h>

#include <string.h>

static bool matches(const char *url)
{
    return strncmp(url, "sqlite:", 7) == 0;
}

/* "sqlite://x.db" would be /x.db, and "sqlite://user:password@host" a file of that name. */
static int check_url(const char *url, ph_error *err)
{
    if (strncmp(url + 7, "//", 2) != 0 || url[9] == '/')
        return 0;
    return ph__fail(err, PH_EINVAL,
                    "a host follows sqlite://, and a file has none; write sqlite:PATH, or "
                    "sqlite:///PATH for one from the root");
}

static char *describe(const char *url)
{
    return ph__strdup(url); /* a path holds no secret */
}

static int check_tx(void *connection, ph_error *err)
{
    if (sqlite3_get_autocommit(connection) && !ph__sqlite_is_writing(connection))
        return ph__fail(
            err, PH_ENOTX,
            "no transaction is open on this connection; begin one with BEGIN IMMEDIATE");
    return 0;
}

ph_tx ph_tx_sqlite(sqlite3 *connection)
{
    return (ph_tx){ &ph__sqlite_backend, connection };
}

sqlite3 *ph_tx_sqlite_connection(ph_tx tx)
{
    return tx.backend == &ph__sqlite_backend ? tx.connection : NULL;
}

const struct ph__backend ph__sqlite_backend = {
    .name = "sqlite",
    .default_prefix = "posthorn_",
    .matches = matches,
    .check_url = check_url,
    .describe = describe,
    .file = ph__sqlite_path,
    .check_tx = check_tx,
    .connect = ph__sqlite_connect,
    .disconnect = ph__sqlite_disconnect,
    .query = ph__sqlite_query,
    .clock = ph__sqlite_clock,
    .migrate = ph__sqlite_migrate,
    .inspect = ph__sqlite_inspect,
    .migrate_sql = ph__sqlite_migrate_sql,
    .enqueue = ph__sqlite_enqueue,
    .claim = ph__sqlite_claim,
    .settle = ph__sqlite_settle,
    .renew = ph__sqlite_renew,
    .reap = ph__sqlite_reap,
    .exchange = ph__sqlite_exchange,
    .tx_begin = ph__sqlite_tx_begin,
    .tx_end = ph__sqlite_tx_end,
    .outlook = ph__sqlite_outlook,
    .doorbell_listen = ph__sqlite_doorbell_listen,
    .doorbell_taken = ph__sqlite_doorbell_taken,
    .doorbell_ring = ph__sqlite_doorbell_ring,
    .find = ph__sqlite_find,
    .count = ph__sqlite_count,
    .dead_retry = ph__sqlite_dead_retry,
    .dead_discard = ph__sqlite_dead_discard,
    .queue_set = ph__sqlite_queue_set,
    .queue_pause = ph__sqlite_queue_pause,
    .queue_delete = ph__sqlite_queue_delete,
    .retention = ph__sqlite_retention,
    .list = ph__sqlite_list,
    .queue_list = ph__sqlite_queue_list,
    .join_start = ph__sqlite_join_start,
    .join_attach = ph__sqlite_join_attach,
    .join_report = ph__sqlite_join_report,
    .join_wait = ph__sqlite_join_wait,
    .join_cancel = ph__sqlite_join_cancel,
    .join_find = ph__sqlite_join_find,
    .join_list = ph__sqlite_join_list,
    .timer_cancel = ph__sqlite_timer_cancel,
    .job_set = ph__sqlite_job_set,
    .job_delete = ph__sqlite_job_delete,
    .job_trigger = ph__sqlite_job_trigger,
    .job_pause = ph__sqlite_job_pause,
    .job_list = ph__sqlite_job_list,
    .tick = ph__sqlite_tick,
    .advance = ph__sqlite_advance,
    .work_batch = ph__sqlite_work_batch,
    .instance_leave = ph__sqlite_instance_leave,
    .instance_list = ph__sqlite_instance_list,
    .unclaimed = ph__sqlite_unclaimed,
    .stream_list = ph__sqlite_stream_list,
    .stream_read = ph__sqlite_stream_read,
    .receptor_report = ph__sqlite_receptor_report,
    .receptor_list = ph__sqlite_receptor_list,
    .checkpoint_report = ph__sqlite_checkpoint_report,
    .checkpoint_rewind = ph__sqlite_checkpoint_rewind,
    .checkpoint_list = ph__sqlite_checkpoint_list,
    .examine = ph__sqlite_examine,
    .test_clock = ph__sqlite_test_clock,
};
