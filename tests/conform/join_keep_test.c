/* join_keep_test.c - what is left of joins and their steps when messages are deleted. */
#include "joins.h"

#define DAY (86400 * T_SECOND)

static ph_store *fresh(void)
{
    ph_store *store = t_open(NULL);

    t_clock_set(store, T_EPOCH);
    return store;
}

static void keep_for(ph_store *store, const char *ns, int64_t seconds, int64_t dead_seconds)
{
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;

    settings.retention_s = seconds;
    settings.dead_retention_s = dead_seconds;
    OK(ph_outbox_queue_set(store, PH_OWN_TX, ns, &settings, 0, &t_err));
}

/* Until nothing more is deleted. */
static int64_t retention(ph_store *store)
{
    int64_t count = 1, all = 0;

    while (count > 0) {
        OK(ph_retention_run(store, PH_OWN_TX, 0, 0, &count, &t_err));
        all += count;
    }
    return all;
}

TEST(steps_of_an_open_join_outlive_their_messages)
{
    ph_store *store = fresh();
    struct t_conn *conn = t_connect();
    ph_join_id join = start_join(store, 3);
    ph_enqueued done = put_step(store, join), dead = put_step(store, join);
    ph_join_info *info;

    keep_for(store, NULL, 60, 60);
    wait_for(store, join, true);
    end_step(store, PH_ACK);
    end_step(store, PH_FAIL);
    t_clock_advance(store, 30 * DAY);
    CHECK_INT(retention(store), 2);
    CHECK(!see(store, done.work_id).there && !see(store, dead.work_id).there);
    CHECK_STR(standing(store, join), "1+1/3 pending");
    CHECK_STR(steps_of(store, join), "completed failed");
    info = find_join(store, join);
    CHECK_STR(info->members[0].topic, NULL);
    CHECK_STR(info->members[1].topic, NULL);
    CHECK(same_id(info->members[0].message_id.b, done.message_id.b));
    CHECK_INT(info->open_waits, 1);
    ph_join_info_free(info);
    attach(store, join, done.message_id); /* still a step */
    CHECK_INT(attached_to(store, join), 2);
    OK(ph_join_report_failed(store, PH_OWN_TX, join, done.message_id, 0, &t_err));
    put_step(store, join);
    end_step(store, PH_ACK);
    CHECK_STR(standing(store, join), "2+1/3 failed");
    CHECK_STR(sent_text(store), "0 good, 1 bad");
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(a_message_that_was_deleted_cannot_be_attached)
{
    ph_store *store = fresh();
    ph_join_id join = start_join(store, 1);
    ph_enqueued e = a_step(store);

    keep_for(store, NULL, 60, 0);
    end_step(store, PH_ACK);
    t_clock_advance(store, DAY);
    CHECK_INT(retention(store), 1);
    CHECK_INT(try_attach(store, join, e.message_id), PH_ENOTFOUND);
}

TEST(finished_joins_go_after_the_retention_of_the_queue_without_a_namespace)
{
    ph_store *store = fresh();
    struct t_conn *conn = t_connect();
    ph_join_id completed = start_join(store, 1), failed = start_join(store, 1);
    ph_join_id cancelled = start_join(store, 1), open = start_join(store, 2);

    keep_for(store, NULL, 60, 0);
    keep_for(store, "other", 1, 0); /* does not matter */
    put_step(store, completed);
    end_step(store, PH_ACK);
    put_step(store, failed);
    end_step(store, PH_FAIL);
    cancel(store, cancelled);
    put_step(store, open);
    t_clock_advance(store, 60 * T_SECOND - 1);
    retention(store);
    CHECK_STR(standing(store, completed), "1+0/1 completed");
    CHECK_STR(standing(store, failed), "0+1/1 failed");
    t_clock_advance(store, 1);
    retention(store);
    CHECK_STR(standing(store, completed), "gone");
    CHECK_STR(standing(store, failed), "gone");
    CHECK_STR(standing(store, cancelled), "gone");
    CHECK_STR(standing(store, open), "0+0/2 pending");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}join_member"), 1);
    t_clock_advance(store, 10000 * DAY);
    retention(store);
    CHECK_STR(standing(store, open), "0+0/2 pending");
    t_disconnect(conn);
}

TEST(a_retention_of_for_ever_keeps_joins)
{
    ph_store *store = fresh();
    ph_join_id join = start_join(store, 1);

    keep_for(store, NULL, PH_FOREVER, 0);
    cancel(store, join);
    t_clock_advance(store, 10000 * DAY);
    retention(store);
    CHECK_STR(standing(store, join), "0+0/1 cancelled");
}

TEST(joins_are_kept_seven_days_unless_told_otherwise)
{
    ph_store *store = fresh();
    ph_join_id join = start_join(store, 1);

    a_step(store); /* makes the queue */
    cancel(store, join);
    t_clock_advance(store, 7 * DAY - 1);
    retention(store);
    CHECK_STR(standing(store, join), "0+0/1 cancelled");
    t_clock_advance(store, 1);
    retention(store);
    CHECK_STR(standing(store, join), "gone");
}

TEST(many_finished_joins_go_limit_by_limit)
{
    ph_store *store = fresh();
    struct t_conn *conn = t_connect();

    keep_for(store, NULL, 60, 0);
    for (int i = 0; i < 7; i++)
        cancel(store, start_join(store, 1));
    t_clock_advance(store, DAY);
    for (int left = 7; left > 0;) {
        OK(ph_retention_run(store, PH_OWN_TX, 3, 0, NULL, &t_err));
        left -= 3;
        CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}joins"), left > 0 ? left : 0);
    }
    t_disconnect(conn);
}

TEST(the_steps_of_a_deleted_join_are_messages_like_any_other)
{
    ph_store *store = fresh();
    ph_join_id join = start_join(store, 2);

    keep_for(store, NULL, 60, 0);
    put_step(store, join);
    put_step(store, join);
    cancel(store, join);
    t_clock_advance(store, DAY);
    retention(store);
    CHECK_STR(standing(store, join), "gone");
    end_step(store, PH_ACK);
    end_step(store, PH_FAIL);
    CHECK_INT(claimable(store, 1), 0);
}

TEST(waits_go_like_any_settled_message)
{
    ph_store *store = fresh();
    struct t_conn *conn = t_connect();
    ph_join_id join = start_join(store, 1);
    ph_work_id id = wait_for(store, join, true);

    keep_for(store, NULL, 60, 0);
    t_clock_advance(store, DAY);
    retention(store);
    CHECK_INT(see(store, id).status, PH_WAITING);
    cancel(store, join);
    CHECK_INT(see(store, id).status, PH_DONE);
    t_clock_advance(store, DAY);
    CHECK_INT(retention(store), 2); /* the wait and the join */
    CHECK(!see(store, id).there);
    CHECK_STR(sent_text(store), "0 good, 1 bad");
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(a_step_that_is_deleted_at_its_ack_keeps_its_status)
{
    ph_store *store = fresh();
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_join_id join = start_join(store, 3);
    ph_join_info *info;

    settings.delete_on_ack = 1;
    set_queue(store, &settings);
    put_step(store, join);
    put_step(store, join);
    end_step(store, PH_ACK);
    end_step(store, PH_FAIL);
    CHECK_STR(standing(store, join), "1+1/3 pending");
    CHECK_STR(steps_of(store, join), "completed failed");
    info = find_join(store, join);
    CHECK_STR(info->members[0].topic, NULL);
    CHECK_STR(info->members[1].topic, STEP);
    ph_join_info_free(info);
}

TEST(what_a_report_said_outlives_the_message)
{
    ph_store *store = fresh();
    ph_join_id join = start_join(store, 2);
    ph_enqueued e = put_step(store, join);

    OK(ph_join_report_completed(store, PH_OWN_TX, join, e.message_id, 0, &t_err));
    end_step(store, PH_FAIL);
    OK(ph_dead_discard(store, PH_OWN_TX, &e.work_id, 1, 0, NULL, &t_err));
    CHECK_STR(steps_of(store, join), "completed");
    CHECK_STR(standing(store, join), "1+0/2 pending");
}

/* A message with a dedupe key, and perhaps a message id, that was claimed, settled and deleted. */
static ph_enqueued put_and_lose(ph_store *store, ph_message *m, ph_settle_verb verb)
{
    ph_enqueued e = put(store, m);

    end_step(store, verb);
    if (verb == PH_FAIL)
        OK(ph_dead_discard(store, PH_OWN_TX, &e.work_id, 1, 0, NULL, &t_err));
    CHECK(!see(store, e.work_id).there);
    return e;
}

TEST(a_message_that_was_acked_and_deleted_is_completed_while_its_key_is_known)
{
    static const ph_message_id given = { { 0x66, 1, 2, 3, 4, 5, 0x40, 7, 0x80, 9 } };
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_store *store = fresh();
    struct t_conn *conn = t_connect();
    ph_join_id join = start_join(store, 4);
    ph_message m = a_message(STEP, "x");

    settings.delete_on_ack = 1;
    set_queue(store, &settings);
    m.dedupe_key = "a";
    attach(store, join, put_and_lose(store, &m, PH_ACK).message_id);
    CHECK_STR(standing(store, join), "1+0/4 pending");
    m.dedupe_key = "b";
    m.message_id = &given;
    put_and_lose(store, &m, PH_ACK);
    attach(store, join, given);
    CHECK_STR(standing(store, join), "2+0/4 pending");
    m.dedupe_key = "c"; /* attached by enqueueing it again: the key says that it was done */
    m.message_id = NULL;
    put_and_lose(store, &m, PH_ACK);
    m.join_id = &join;
    CHECK(!put(store, &m).is_new);
    CHECK_STR(standing(store, join), "3+0/4 pending");
    CHECK_STR(steps_of(store, join), "completed completed completed");
    t_check_joins(conn);
    m.join_id = NULL;
    m.dedupe_key = "d"; /* it died: what became of it is not known any more */
    CHECK_INT(try_attach(store, join, put_and_lose(store, &m, PH_FAIL).message_id), PH_ENOTFOUND);
    m.dedupe_key = NULL; /* no key, no memory */
    CHECK_INT(try_attach(store, join, put_and_lose(store, &m, PH_ACK).message_id), PH_ENOTFOUND);
    CHECK(strstr(t_err.message, "enqueue it with the join") != NULL);
    CHECK_STR(standing(store, join), "3+0/4 pending");
}
