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
    .connect = ph__pg_connect,
    .disconnect = ph__pg_disconnect,
    .query = ph__pg_query,
    .clock = ph__pg_clock,
    .migrate = ph__pg_migrate,
    .inspect = ph__pg_inspect,
    .migrate_sql = ph__pg_migrate_sql,
    .enqueue = ph__pg_enqueue,
    .claim = ph__pg_claim,
    .settle = ph__pg_settle,
    .renew = ph__pg_renew,
    .reap = ph__pg_reap,
    .exchange = ph__pg_exchange,
    .tx_begin = ph__pg_tx_begin,
    .tx_end = ph__pg_tx_end,
    .doorbell_listen = ph__pg_doorbell_listen,
    .doorbell_taken = ph__pg_doorbell_taken,
    .doorbell_ring = ph__pg_doorbell_ring,
    .find = ph__pg_find,
    .count = ph__pg_count,
    .dead_retry = ph__pg_dead_retry,
    .dead_discard = ph__pg_dead_discard,
    .queue_set = ph__pg_queue_set,
    .queue_pause = ph__pg_queue_pause,
    .queue_delete = ph__pg_queue_delete,
    .retention = ph__pg_retention,
    .list = ph__pg_list,
    .queue_list = ph__pg_queue_list,
    .join_start = ph__pg_join_start,
    .join_attach = ph__pg_join_attach,
    .join_report = ph__pg_join_report,
    .join_wait = ph__pg_join_wait,
    .join_cancel = ph__pg_join_cancel,
    .join_find = ph__pg_join_find,
    .join_list = ph__pg_join_list,
    .timer_cancel = ph__pg_timer_cancel,
    .job_set = ph__pg_job_set,
    .job_delete = ph__pg_job_delete,
    .job_trigger = ph__pg_job_trigger,
    .job_pause = ph__pg_job_pause,
    .job_list = ph__pg_job_list,
    .tick = ph__pg_tick,
    .advance = ph__pg_advance,
    .work_batch = ph__pg_work_batch,
    .instance_leave = ph__pg_instance_leave,
    .instance_list = ph__pg_instance_list,
    .unclaimed = ph__pg_unclaimed,
    .stream_list = ph__pg_stream_list,
    .stream_read = ph__pg_stream_read,
    .receptor_report = ph__pg_receptor_report,
    .receptor_list = ph__pg_receptor_list,
    .checkpoint_report = ph__pg_checkpoint_report,
    .checkpoint_rewind = ph__pg_checkpoint_rewind,
    .checkpoint_list = ph__pg_checkpoint_list,
    .examine = ph__pg_examine,
    .test_clock = ph__pg_test_clock,
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
