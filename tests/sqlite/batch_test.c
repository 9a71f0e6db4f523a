/* batch_test.c - the one exchange: who is idle disturbs nobody, and what it does is one commit. */
#include "seam.h"

static ph_work_batch_opts a_batch(ph_owner instance)
{
    ph_work_batch_opts opts = PH_WORK_BATCH_OPTS_INIT;

    opts.instance_id = instance;
    opts.service_name = "service";
    opts.host_name = "host";
    return opts;
}

/* How many it claims; -1: it failed. */
static int process(ph_store *store, const ph_work_batch_opts *opts)
{
    ph_work_batch *batch = NULL;
    int r = ph_process_work_batch(store, PH_OWN_TX, opts, 50, &batch, &t_err);
    int count = -1;

    if (r == 0)
        count = (int)(ph_batch_count(batch->outbox) + ph_batch_count(batch->inbox));
    ph_work_batch_free(batch);
    return count;
}

TEST(an_idle_work_batch_takes_no_lock_and_writes_nothing)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_work_batch_opts opts = a_batch(ph_owner_new());
    long long before;

    t_clock_set(store, T_EPOCH);
    t_enqueue(store, "topic", "payload");
    CHECK_INT(process(store, &opts), 1);
    t_clock_advance(store, 60 * T_SECOND); /* a tenth of the threshold, and not longer */
    before = t_number(conn, "PRAGMA data_version");
    t_begin(conn); /* somebody holds the write lock */
    for (int i = 0; i < 10; i++)
        CHECK_INT(process(store, &opts), 0);
    t_rollback(conn);
    CHECK_INT(t_number(conn, "PRAGMA data_version"), before);
    t_clock_advance(store, 1); /* now the heart must beat */
    t_begin(conn);
    CHECK_INT(process(store, &opts), -1);
    CHECK_INT(t_err.code, PH_EBUSY);
    t_rollback(conn);
    CHECK_INT(process(store, &opts), 0);
    CHECK_INT(t_number(conn, "SELECT heartbeat_at FROM {t}instance"), T_EPOCH + 60 * T_SECOND + 1);
}

TEST(a_work_batch_is_one_commit)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_work_batch_opts opts = a_batch(ph_owner_new());
    ph_message outbox = PH_MESSAGE_INIT;
    ph_inbox_message inbox = PH_INBOX_MESSAGE_INIT;
    long long before = t_number(conn, "PRAGMA data_version");

    outbox.topic = inbox.topic = "topic";
    outbox.payload = inbox.payload = "payload";
    inbox.source = "elsewhere";
    inbox.source_id = "1";
    opts.new_outbox = &outbox;
    opts.new_inbox = &inbox;
    opts.new_outbox_count = opts.new_inbox_count = 1;
    CHECK_INT(process(store, &opts), 2);
    CHECK_INT(t_number(conn, "PRAGMA data_version"), before + 1);
    t_check_places(conn);
}

/* -------------------------------------------------- what lies above a gap, as text */

static void complete(ph_store *store, int64_t seq)
{
    ph_checkpoint_result result = { .stream = "s", .consumer = "c", .seq = seq };

    OK(ph_checkpoint_report(store, PH_OWN_TX, &result, 1, 0, &t_err));
}

TEST(numbers_above_a_gap_are_kept_as_ranges)
{
    static const struct {
        int64_t seq;
        const char *ahead;
    } steps[] = {
        { 9, "9-9" },
        { 5, "5-5,9-9" },
        { 7, "5-5,7-7,9-9" },
        { 6, "5-7,9-9" },
        { 8, "5-9" },
        { 3, "3-3,5-9" },
        { 6, "3-3,5-9" },
        { 10, "3-3,5-10" },
        { 12, "3-3,5-10,12-12" },
        { 2, "2-3,5-10,12-12" },
        { 1, "5-10,12-12" },
        { 4, "12-12" },
        { 11, "" },
    };
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_message message = PH_MESSAGE_INIT;

    message.topic = "topic";
    message.payload = "";
    message.stream = "s";
    for (int i = 0; i < 12; i++)
        OK(ph_enqueue(store, PH_OWN_TX, &message, 0, NULL, &t_err));
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        complete(store, steps[i].seq);
        CHECK_STR(t_value(conn, "SELECT ahead FROM {t}checkpoint"), steps[i].ahead);
    }
    CHECK_INT(t_number(conn, "SELECT seq FROM {t}checkpoint"), 12);
}

TEST(a_damaged_checkpoint_is_told)
{
    static const char *const wrong[] = { "x", "5", "5-", "5-4", "5-6,6-7", "5-6;8-9", "0-1" };
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_checkpoint_result result = { .stream = "s", .consumer = "c", .seq = 3 };
    ph_message message = PH_MESSAGE_INIT;
    char sql[100];

    message.topic = "topic";
    message.payload = "";
    message.stream = "s";
    for (int i = 0; i < 3; i++)
        OK(ph_enqueue(store, PH_OWN_TX, &message, 0, NULL, &t_err));
    OK(ph_checkpoint_report(store, PH_OWN_TX, &result, 1, 0, &t_err));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        snprintf(sql, sizeof(sql), "UPDATE {t}checkpoint SET ahead = '%s'", wrong[i]);
        t_sql(conn, sql);
        CHECK_INT(ph_checkpoint_report(store, PH_OWN_TX, &result, 1, 0, &t_err), PH_ECORRUPT);
    }
}
