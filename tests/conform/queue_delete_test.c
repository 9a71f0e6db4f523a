/* queue_delete_test.c - a queue that has nothing in it can be deleted, and comes back when it is
 * used; one that has anything stays as it is. */
#include "common.h"

#include <string.h>

static bool deleted_within(ph_store *store, ph_tx tx, ph_door door, const char *ns)
{
    bool deleted = true;

    OK(ph_queue_delete(store, tx, door, ns, 0, &deleted, &t_err));
    return deleted;
}

static bool delete_it(ph_store *store, const char *ns)
{
    return deleted_within(store, PH_OWN_TX, PH_OUTBOX, ns);
}

/* Refused, for this reason, and ret_ is untouched. */
static void stays(ph_store *store, ph_door door, const char *ns, const char *why)
{
    bool deleted = true;
    int r = ph_queue_delete(store, PH_OWN_TX, door, ns, 0, &deleted, &t_err);

    CHECK_INT(r, PH_ESTATE);
    CHECK(deleted);
    if (!strstr(t_err.message, why))
        CHECK_STR(t_err.message, why);
}

/* How many queues there are behind a door, in the list and in the view alike. */
static int queues(ph_store *store, ph_door door, const char *ns)
{
    static const char *const names[] = { "outbox", "inbox", "timers", "job_runs" };
    struct t_conn *conn = t_connect();
    ph_queues *list = NULL;
    char sql[160];
    int count;

    OK(ph_queue_list(store, PH_OWN_TX, T_OPTS(ph_queue_list_opts, .door = door, .ns = ns), 0, &list,
                     &t_err));
    count = (int)ph_queues_count(list);
    ph_queues_free(list);
    snprintf(sql, sizeof(sql),
             "SELECT count(*) FROM {t}queues WHERE door = '%s' AND namespace = '%s'", names[door],
             ns);
    CHECK_INT(t_number(conn, sql), count);
    t_disconnect(conn);
    return count;
}

static void set_odd(ph_store *store, ph_door door, const char *ns)
{
    ph_queue_settings s = PH_QUEUE_SETTINGS_INIT;

    s.max_attempts = 3;
    s.retention_s = 5;
    s.dead_retention_s = 6;
    s.dedupe_retention_s = 7;
    s.backoff = PH_BACKOFF_EQUAL_JITTER;
    s.max_payload_bytes = 10;
    s.max_lease_s = 11;
    s.delete_on_ack = 1;
    s.join_wait_topic = "odd";
    s.dead_head = door == PH_OUTBOX || door == PH_INBOX ? PH_DEAD_HEAD_BLOCK : PH_DEAD_HEAD_KEEP;
    s.affinity_grace_ms = s.dead_head ? 12 : 0;
    OK(ph_queue_set(store, PH_OWN_TX, door, ns, &s, 0, &t_err));
    OK(ph_queue_pause(store, PH_OWN_TX, door, ns, 0, &t_err));
}

/* As one that was just made. */
static void is_new(ph_store *store, ph_door door, const char *ns)
{
    ph_queues *list = NULL, *fresh = NULL;
    const ph_queue_info *got, *want;

    OK(ph_queue_resume(store, PH_OWN_TX, door, "fresh", 0, &t_err));
    OK(ph_queue_list(store, PH_OWN_TX, T_OPTS(ph_queue_list_opts, .door = door, .ns = ns), 0, &list,
                     &t_err));
    OK(ph_queue_list(store, PH_OWN_TX, T_OPTS(ph_queue_list_opts, .door = door, .ns = "fresh"), 0,
                     &fresh, &t_err));
    CHECK_INT(ph_queues_count(list), 1);
    got = ph_queues_at(list, 0);
    want = ph_queues_at(fresh, 0);
    CHECK_INT(got->paused, want->paused);
    CHECK_INT(got->settings.max_attempts, want->settings.max_attempts);
    CHECK_INT(got->settings.retention_s, want->settings.retention_s);
    CHECK_INT(got->settings.dead_retention_s, want->settings.dead_retention_s);
    CHECK_INT(got->settings.dedupe_retention_s, want->settings.dedupe_retention_s);
    CHECK_INT(got->settings.backoff, want->settings.backoff);
    CHECK_INT(got->settings.backoff_base_ms, want->settings.backoff_base_ms);
    CHECK_INT(got->settings.backoff_max_ms, want->settings.backoff_max_ms);
    CHECK_INT(got->settings.max_payload_bytes, want->settings.max_payload_bytes);
    CHECK_INT(got->settings.max_lease_s, want->settings.max_lease_s);
    CHECK_INT(got->settings.delete_on_ack, want->settings.delete_on_ack);
    CHECK_STR(got->settings.join_wait_topic, want->settings.join_wait_topic);
    CHECK_INT(got->settings.dead_head, want->settings.dead_head);
    CHECK_INT(got->settings.affinity_grace_ms, want->settings.affinity_grace_ms);
    ph_queues_free(list);
    ph_queues_free(fresh);
}

TEST(an_empty_queue_goes_with_its_settings)
{
    ph_store *store = t_open(NULL);

    for (ph_door door = PH_OUTBOX; door <= PH_JOB_RUNS; door++) {
        set_odd(store, door, "typo");
        CHECK_INT(queues(store, door, "typo"), 1);
        CHECK(deleted_within(store, PH_OWN_TX, door, "typo"));
        CHECK_INT(queues(store, door, "typo"), 0);
        CHECK(!deleted_within(store, PH_OWN_TX, door, "typo"));
        OK(ph_queue_resume(store, PH_OWN_TX, door, "typo", 0, &t_err));
        is_new(store, door, "typo");
        CHECK(deleted_within(store, PH_OWN_TX, door, "typo"));
    }
    CHECK(!delete_it(store, "never there"));
}

TEST(a_deleted_queue_comes_back_with_its_next_message)
{
    ph_store *store = t_open(NULL);
    ph_message messages[2] = { a_message("t", "longer than ten bytes"),
                               a_message("t", "longer than ten bytes") };
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_owner owner = ph_owner_new();
    ph_batch *batch;

    t_clock_set(store, T_EPOCH);
    opts.ns = messages[0].ns = messages[1].ns = "mail";
    opts.batch_size = 10;
    for (size_t count = 1; count <= 2; count++) {
        set_odd(store, PH_OUTBOX, "mail");
        CHECK(delete_it(store, "mail"));
        batch = claim_with(store, ph_owner_new(), &opts);
        CHECK_INT(ph_batch_count(batch), 0);
        ph_batch_free(batch);
        OK(count == 1 ? ph_enqueue(store, PH_OWN_TX, messages, 0, NULL, &t_err)
                      : ph_enqueue_many(store, PH_OWN_TX, messages, count, 0, NULL, &t_err));
        is_new(store, PH_OUTBOX, "mail");
        batch = claim_with(store, ph_owner_new(), &opts);
        CHECK_INT(ph_batch_count(batch), count);
        ph_batch_free(batch);
        stays(store, PH_OUTBOX, "mail", count == 1 ? "has 1 message;" : "has 2 messages;");
        t_clock_advance(store, 31 * T_SECOND); /* and it stays when it is empty again */
        set_odd(store, PH_OUTBOX, "mail");     /* deletes on ack */
        OK(ph_outbox_queue_resume(store, PH_OWN_TX, "mail", 0, &t_err));
        batch = claim_with(store, owner, &opts);
        CHECK_INT(t_ack_all(store, owner, batch), count);
        CHECK_INT(queues(store, PH_OUTBOX, "mail"), 1);
    }
}

TEST(a_queue_with_a_message_in_any_state_stays)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_message later = a_message("t", "p");
    ph_queue_settings s = PH_QUEUE_SETTINGS_INIT;
    ph_lease_ref ref;
    ph_work_id id, again;

    t_clock_set(store, T_EPOCH);
    set_max_attempts(store, 7);
    later.due_at = T_EPOCH + T_SECOND;
    put(store, &later);
    stays(store, PH_OUTBOX, "", "has 1 message; settle or discard");
    t_clock_advance(store, T_SECOND);
    stays(store, PH_OUTBOX, NULL, "has 1 message;"); /* ready */
    ref = take_one(store, owner);
    stays(store, PH_OUTBOX, "", "has 1 message;"); /* leased */
    CHECK_INT(settle(store, owner, ref, PH_FAIL, NULL, 0), PH_OUTCOME_FAILED);
    stays(store, PH_OUTBOX, "", "has 1 message;"); /* dead */
    OK(ph_dead_retry(store, PH_OWN_TX, &ref.work_id, 1, 0, &again, &t_err));
    CHECK_INT(ack(store, owner, take_one(store, owner)), PH_OUTCOME_ACKED);
    stays(store, PH_OUTBOX, "", "has 2 messages;"); /* done, and the dead one that was put back */
    id = ref.work_id;
    OK(ph_dead_discard(store, PH_OWN_TX, &id, 1, 0, NULL, &t_err));
    stays(store, PH_OUTBOX, "", "has 1 message;"); /* done */
    CHECK_INT(see(store, again).max_attempts, 7);  /* its settings are as they were */
    s.retention_s = 1;
    set_queue(store, &s);
    t_clock_advance(store, T_SECOND);
    OK(ph_retention_run(store, PH_OWN_TX, 0, 0, NULL, &t_err));
    CHECK(delete_it(store, NULL));
    CHECK_INT(queues(store, PH_OUTBOX, ""), 0);
}

TEST(a_queue_with_a_dedupe_key_stays)
{
    ph_store *store = t_open(NULL);
    ph_queue_settings s = PH_QUEUE_SETTINGS_INIT;
    ph_owner owner = ph_owner_new();
    ph_message m = a_message("t", "p");

    t_clock_set(store, T_EPOCH);
    s.delete_on_ack = 1;
    s.dedupe_retention_s = 10;
    set_queue(store, &s);
    m.dedupe_key = "k";
    put(store, &m);
    CHECK_INT(ack(store, owner, take_one(store, owner)), PH_OUTCOME_ACKED);
    stays(store, PH_OUTBOX, "", "has 1 dedupe key;");
    t_clock_advance(store, 10 * T_SECOND);
    OK(ph_retention_run(store, PH_OWN_TX, 0, 0, NULL, &t_err));
    CHECK(delete_it(store, ""));
}

TEST(a_queue_with_a_stream_stays_until_nothing_is_left_of_it)
{
    ph_store *store = t_open(NULL);
    ph_queue_settings s = PH_QUEUE_SETTINGS_INIT;
    ph_message m = a_message("t", "p");
    ph_owner owner = ph_owner_new();

    s.delete_on_ack = 1;
    set_queue(store, &s);
    m.stream = "s";
    put(store, &m);
    put(store, &m);
    stays(store, PH_OUTBOX, "", "has 2 messages, 1 stream;"); /* one is parked */
    CHECK_INT(t_ack_all(store, owner, t_claim(store, owner, 10)), 2);
    CHECK(delete_it(store, "")); /* nobody has claimed since the last message was settled */
    put(store, &m);
    CHECK_INT(claimable(store, 10), 1);
}

TEST(a_queue_with_a_checkpoint_stays)
{
    ph_store *store = t_open(NULL);
    ph_queue_settings s = PH_QUEUE_SETTINGS_INIT;
    ph_message m = a_message("t", "p");
    ph_owner owner = ph_owner_new();
    ph_checkpoint_result result = { 0 };

    s.delete_on_ack = 1;
    set_queue(store, &s);
    result.stream = m.stream = "s";
    result.consumer = "c";
    result.seq = 1;
    put(store, &m);
    OK(ph_checkpoint_report(store, PH_OWN_TX, &result, 1, 0, &t_err));
    CHECK_INT(t_ack_all(store, owner, t_claim(store, owner, 10)), 1);
    stays(store, PH_OUTBOX, "", "has 1 stream;");
}

TEST(a_queue_with_a_wait_stays)
{
    ph_store *store = t_open(NULL);
    ph_wait wait = PH_WAIT_INIT;
    ph_join_id join;

    OK(ph_join_start(store, PH_OWN_TX, 1, NULL, 0, &join, &t_err));
    wait.on_complete_topic = "t";
    wait.on_complete_payload = "p";
    wait.ns = "waits";
    OK(ph_join_wait(store, PH_OWN_TX, join, &wait, 0, NULL, &t_err));
    stays(store, PH_OUTBOX, "waits", "has 1 message;");
}

TEST(a_queue_into_which_timers_or_jobs_will_come_stays)
{
    ph_store *store = t_open(NULL);
    ph_timer timer = PH_TIMER_INIT;
    ph_job job = PH_JOB_INIT;
    ph_work_id id;

    timer.topic = job.topic = "t";
    timer.ns = job.ns = "later";
    timer.payload = "p";
    timer.due_at = PH_TIME_MAX;
    OK(ph_timer_schedule(store, PH_OWN_TX, &timer, 0, &id, &t_err));
    OK(ph_outbox_queue_pause(store, PH_OWN_TX, "later", 0, &t_err));
    stays(store, PH_OUTBOX, "later", "has 1 timer or job run to come; cancel or delete");
    stays(store, PH_TIMERS, "later", "has 1 message;");
    OK(ph_timer_cancel(store, PH_OWN_TX, id, 0, NULL, &t_err));
    job.name = "j";
    job.cron = "@daily";
    OK(ph_job_set(store, PH_OWN_TX, &job, 0, NULL, &t_err));
    OK(ph_queue_pause(store, PH_OWN_TX, PH_JOB_RUNS, "later", 0, &t_err));
    stays(store, PH_OUTBOX, "later", "has 1 job;");
    stays(store, PH_JOB_RUNS, "later", "has 1 job;");
    CHECK(deleted_within(store, PH_OWN_TX, PH_TIMERS, "later"));
    OK(ph_job_delete(store, PH_OWN_TX, "j", 0, NULL, &t_err));
    CHECK(delete_it(store, "later"));
    CHECK(deleted_within(store, PH_OWN_TX, PH_JOB_RUNS, "later"));
}

TEST(what_was_received_is_not_forgotten_by_a_delete)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_inbox_message m = PH_INBOX_MESSAGE_INIT;

    m.topic = "t";
    m.payload = "p";
    m.source = "s";
    m.source_id = "1";
    m.handled = true;
    t_begin(conn);
    OK(ph_inbox_receive(store, t_tx(conn), &m, 0, NULL, &t_err));
    t_commit(conn);
    stays(store, PH_INBOX, "", "has 1 message, 1 dedupe key;");
}

TEST(a_queue_of_that_name_elsewhere_is_not_touched)
{
    ph_store *store = t_open(NULL);
    ph_message m = a_message("t", "p");

    m.ns = "a";
    put(store, &m);
    OK(ph_outbox_queue_pause(store, PH_OWN_TX, "A", 0, &t_err));
    OK(ph_queue_pause(store, PH_OWN_TX, PH_TIMERS, "a", 0, &t_err));
    CHECK(deleted_within(store, PH_OWN_TX, PH_TIMERS, "a"));
    CHECK(delete_it(store, "A"));
    CHECK_INT(queues(store, PH_OUTBOX, "a"), 1);
}

TEST(a_delete_is_part_of_the_callers_transaction)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_message m = a_message("t", "p");

    m.ns = "x";
    OK(ph_outbox_queue_pause(store, PH_OWN_TX, "x", 0, &t_err));
    t_begin(conn);
    CHECK(deleted_within(store, t_tx(conn), PH_OUTBOX, "x"));
    t_rollback(conn);
    CHECK_INT(queues(store, PH_OUTBOX, "x"), 1);
    t_begin(conn);
    CHECK(deleted_within(store, t_tx(conn), PH_OUTBOX, "x"));
    CHECK(!deleted_within(store, t_tx(conn), PH_OUTBOX, "x"));
    t_commit(conn);
    CHECK_INT(queues(store, PH_OUTBOX, "x"), 0);
    t_begin(conn); /* made anew, refused, and the transaction lives on */
    OK(ph_enqueue(store, t_tx(conn), &m, 0, NULL, &t_err));
    CHECK_INT(ph_outbox_queue_delete(store, t_tx(conn), "x", 0, NULL, &t_err), PH_ESTATE);
    CHECK_INT(t_err.flags & PH_TX_DEAD, 0);
    OK(ph_enqueue(store, t_tx(conn), &m, 0, NULL, &t_err));
    t_commit(conn);
    stays(store, PH_OUTBOX, "x", "has 2 messages;");
}

TEST(finished_joins_go_although_the_default_queue_was_deleted)
{
    ph_store *store = t_open(NULL);
    ph_join_id join;
    int64_t deleted = -1;

    t_clock_set(store, T_EPOCH);
    OK(ph_join_start(store, PH_OWN_TX, 1, NULL, 0, &join, &t_err));
    OK(ph_join_cancel(store, PH_OWN_TX, join, 0, NULL, &t_err));
    CHECK(delete_it(store, ""));
    t_clock_advance(store, 7 * 86400 * T_SECOND - 1);
    OK(ph_retention_run(store, PH_OWN_TX, 0, 0, &deleted, &t_err));
    CHECK_INT(deleted, 0);
    t_clock_advance(store, 1);
    OK(ph_retention_run(store, PH_OWN_TX, 0, 0, &deleted, &t_err));
    CHECK_INT(deleted, 1);
}

TEST(arguments_of_a_delete_are_checked)
{
    ph_store *store = t_open(NULL);

    CHECK_INT(ph_outbox_queue_delete(NULL, PH_OWN_TX, NULL, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_outbox_queue_delete(store, PH_OWN_TX, "\xff", 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(
        ph_outbox_queue_delete(store, PH_OWN_TX, repeated("n", PH_NAME_MAX + 1), 0, NULL, &t_err),
        PH_EINVAL);
    CHECK_INT(ph_outbox_queue_delete(store, PH_OWN_TX, NULL, -1, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_queue_delete(store, PH_OWN_TX, (ph_door)4, NULL, 0, NULL, &t_err), PH_EINVAL);
    OK(ph_outbox_queue_delete(store, PH_OWN_TX, repeated("ü", PH_NAME_MAX), 0, NULL, &t_err));
    OK(ph_outbox_queue_delete(store, PH_OWN_TX, NULL, 0, NULL, NULL));
}
