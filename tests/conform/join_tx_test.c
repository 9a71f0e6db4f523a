/* join_tx_test.c - joins in the caller's transactions: everything together or nothing, and errors
 * that leave the transaction sound. */
#include "joins.h"

#define JOINS "SELECT count(*) FROM {t}joins"
#define MEMBERS "SELECT count(*) FROM {t}join_members"
#define MESSAGES "SELECT count(*) FROM {t}outbox"

/* Settles the next step in the caller's transaction. */
static void settle_in(ph_store *store, struct t_conn *conn, ph_settle_verb verb)
{
    ph_owner owner = ph_owner_new();
    ph_settlement item = { .verb = verb };

    CHECK_INT(take_steps(store, owner, &item.lease, 1), 1);
    t_begin(conn);
    OK(ph_outbox_settle(store, t_tx(conn), owner, &item, 1, 0, NULL, &t_err));
}

/* Settling and counting, seen by others and by the transaction itself. */
static void together(ph_settle_verb verb, const char *requirements)
{
    bool acks = verb == PH_ACK;
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_join_id join = start_join(store, 1), open = start_join(store, 2);
    ph_enqueued e = put_step(store, join);
    char id[PH_ID_TEXT_SIZE], sql[200];

    attach(store, open, e.message_id);
    wait_for(store, join, true);
    settle_in(store, conn, verb);
    snprintf(sql, sizeof(sql),
             "SELECT completed_steps || '+' || failed_steps FROM {t}joins WHERE id = '%s'",
             ph_id_text(join.b, id));
    REQ_STR(requirements, t_value(conn, sql), acks ? "1+0" : "0+1");
    REQ_STR(requirements, standing(store, join), "0+0/1 pending"); /* for others */
    CHECK_INT(see(store, e.work_id).status, PH_IN_PROGRESS);
    t_rollback(conn);
    REQ_STR(requirements, standing(store, join), "0+0/1 pending");
    REQ_STR(requirements, standing(store, open), "0+0/2 pending");
    CHECK_INT(see(store, e.work_id).status, PH_IN_PROGRESS);
    CHECK_STR(sent_text(store), "0 good, 0 bad");
    t_clock_set(store, t_clock(store) + 31 * T_SECOND);
    settle_in(store, conn, verb);
    t_commit(conn);
    REQ_STR(requirements, standing(store, join), acks ? "1+0/1 completed" : "0+1/1 failed");
    REQ_STR(requirements, standing(store, open), acks ? "1+0/2 pending" : "0+1/2 pending");
    CHECK_INT(see(store, e.work_id).status, acks ? PH_DONE : PH_FAILED);
    CHECK_STR(sent_text(store), acks ? "1 good, 0 bad" : "0 good, 1 bad");
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(an_ack_and_its_counting_are_one)
{
    together(PH_ACK, "OBX-034 JOIN-032");
}

TEST(a_fail_and_its_counting_are_one)
{
    together(PH_FAIL, "OBX-047 JOIN-032");
}

TEST(a_report_is_one_transaction)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_join_id join = start_join(store, 1);
    ph_message_id id = put_step(store, join).message_id;

    wait_for(store, join, true);
    for (int completed = 0; completed < 2; completed++) {
        t_begin(conn);
        if (completed)
            OK(ph_join_report_completed(store, t_tx(conn), join, id, 0, &t_err));
        else
            OK(ph_join_report_failed(store, t_tx(conn), join, id, 0, &t_err));
        t_rollback(conn);
        REQ_STR("JOIN-024", standing(store, join), "0+0/1 pending");
        REQ_STR("JOIN-024", steps_of(store, join), "pending");
        REQ_STR("JOIN-024", sent_text(store), "0 good, 0 bad");
    }
    t_begin(conn);
    OK(ph_join_report_completed(store, t_tx(conn), join, id, 0, &t_err));
    t_commit(conn);
    REQ_STR("JOIN-024", standing(store, join), "1+0/1 completed");
    REQ_STR("JOIN-024", steps_of(store, join), "completed");
    t_disconnect(conn);
}

TEST(a_rollback_takes_everything_with_it)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_message m = a_message(STEP, "x");
    ph_wait wait = a_wait(true);
    ph_join_id join;
    ph_enqueued e;

    t_begin(conn);
    OK(ph_join_start(store, t_tx(conn), 2, NULL, 0, &join, &t_err));
    OK(ph_enqueue(store, t_tx(conn), &m, 0, &e, &t_err));
    OK(ph_join_attach(store, t_tx(conn), join, e.message_id, 0, &t_err));
    OK(ph_join_wait(store, t_tx(conn), join, &wait, 0, NULL, &t_err));
    OK(ph_join_cancel(store, t_tx(conn), join, 0, NULL, &t_err));
    CHECK_INT(t_number(conn, JOINS), 1);
    t_rollback(conn);
    CHECK_INT(t_number(conn, JOINS), 0);
    CHECK_INT(t_number(conn, MEMBERS), 0);
    CHECK_INT(t_number(conn, MESSAGES), 0);
    CHECK_STR(standing(store, join), "gone");
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(a_whole_life_in_one_transaction)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_message m[3] = { a_message(STEP, "0"), a_message(STEP, "1"), a_message(STEP, "2") };
    ph_owner owner = ph_owner_new();
    ph_wait wait = a_wait(true);
    ph_lease_ref refs[3];
    ph_join_info *info = NULL;
    ph_batch *batch = NULL;
    ph_join_id join;

    t_begin(conn);
    OK(ph_join_start(store, t_tx(conn), 3, NULL, 0, &join, &t_err));
    for (int i = 0; i < 3; i++)
        m[i].join_id = &join;
    OK(ph_enqueue_many(store, t_tx(conn), m, 3, 0, NULL, &t_err));
    OK(ph_join_wait(store, t_tx(conn), join, &wait, 0, NULL, &t_err));
    OK(ph_outbox_claim(store, t_tx(conn), owner, NULL, 0, &batch, &t_err));
    CHECK_INT(ph_batch_count(batch), 3);
    for (size_t i = 0; i < 3; i++)
        refs[i] = ph_lease_ref_of(ph_batch_at(batch, i));
    ph_batch_free(batch);
    OK(ph_outbox_ack(store, t_tx(conn), owner, refs, 3, 0, NULL, &t_err));
    OK(ph_join_find(store, t_tx(conn), join, 0, 0, &info, &t_err));
    CHECK_INT(info->state, PH_JOIN_COMPLETED);
    CHECK_INT(info->members[2].state, 1);
    ph_join_info_free(info);
    CHECK_STR(standing(store, join), "gone"); /* for others, so far */
    t_commit(conn);
    CHECK_STR(standing(store, join), "3+0/3 completed");
    CHECK_STR(sent_text(store), "1 good, 0 bad");
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(a_savepoint_takes_what_came_after_it)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_join_id join = start_join(store, 2);
    ph_message_id a = a_step(store).message_id, b = a_step(store).message_id;

    t_begin(conn);
    OK(ph_join_attach(store, t_tx(conn), join, a, 0, &t_err));
    t_sql(conn, "SAVEPOINT s");
    OK(ph_join_attach(store, t_tx(conn), join, b, 0, &t_err));
    OK(ph_join_report_failed(store, t_tx(conn), join, b, 0, &t_err));
    t_sql(conn, "ROLLBACK TO SAVEPOINT s");
    t_commit(conn);
    CHECK_INT(attached_to(store, join), 1);
    CHECK_STR(standing(store, join), "0+0/2 pending");
    t_disconnect(conn);
}

/* Calls that fail: what was done before stays, and the transaction goes on. */
TEST(errors_leave_the_transaction_sound)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_join_id full = start_join(store, 1), closed = start_join(store, 1), zero = { { 0 } };
    ph_join_id open = start_join(store, 3);
    ph_message_id id, free_one, none = { { 0 } }, list[2];
    ph_message m[2] = { a_message(STEP, "0"), a_message(STEP, "1") };
    ph_wait wait = a_wait(true);
    ph_work_id waiting = wait_for(store, open, true);
    ph_message_id wait_id;
    ph_join_id unknown = no_join();
    ph_join_info *info = NULL;
    long long before;
    ph_tx tx;

    id = put_step(store, full).message_id;
    free_one = a_step(store).message_id;
    cancel(store, closed);
    memcpy(wait_id.b, waiting.b, sizeof(wait_id.b));
    before = t_number(conn, MESSAGES);
    t_begin(conn);
    tx = t_tx(conn);
    OK(ph_enqueue(store, tx, &m[0], 0, NULL, &t_err));
#define SOUND(call, status)                                                                        \
    do {                                                                                           \
        CHECK_INT(call, status);                                                                   \
        CHECK(!(t_err.flags & PH_TX_DEAD));                                                        \
        t_sql(conn, "SELECT 1");                                                                   \
    } while (0)
    SOUND(ph_join_start(store, tx, 0, NULL, 0, &zero, &t_err), PH_EINVAL);
    SOUND(ph_join_attach(store, tx, unknown, id, 0, &t_err), PH_ENOTFOUND);
    SOUND(ph_join_attach(store, tx, open, no_message(), 0, &t_err), PH_ENOTFOUND);
    SOUND(ph_join_attach(store, tx, zero, id, 0, &t_err), PH_EINVAL);
    SOUND(ph_join_attach(store, tx, open, none, 0, &t_err), PH_EINVAL);
    SOUND(ph_join_attach(store, tx, open, wait_id, 0, &t_err), PH_ESTATE);
    SOUND(ph_join_attach(store, tx, full, free_one, 0, &t_err), PH_ESTATE);
    SOUND(ph_join_attach(store, tx, closed, free_one, 0, &t_err), PH_ESTATE);
    list[0] = free_one;
    list[1] = no_message();
    SOUND(ph_join_attach_many(store, tx, open, list, 2, 0, &t_err), PH_ENOTFOUND);
    SOUND(ph_join_report_completed(store, tx, unknown, id, 0, &t_err), PH_ENOTFOUND);
    SOUND(ph_join_report_failed(store, tx, open, free_one, 0, &t_err), PH_ENOTFOUND);
    SOUND(ph_join_wait(store, tx, unknown, &wait, 0, NULL, &t_err), PH_ENOTFOUND);
    SOUND(ph_join_cancel(store, tx, unknown, 0, NULL, &t_err), PH_ENOTFOUND);
    SOUND(ph_join_find(store, tx, unknown, 0, 0, &info, &t_err), PH_ENOTFOUND);
    m[1].join_id = &unknown;
    SOUND(ph_enqueue_many(store, tx, m, 2, 0, NULL, &t_err), PH_ENOTFOUND);
    m[1].join_id = &full;
    SOUND(ph_enqueue_many(store, tx, m, 2, 0, NULL, &t_err), PH_ESTATE);
    m[1].join_id = &closed;
    SOUND(ph_enqueue(store, tx, &m[1], 0, NULL, &t_err), PH_ESTATE);
#undef SOUND
    OK(ph_join_attach(store, tx, open, free_one, 0, &t_err));
    t_commit(conn);
    CHECK_INT(t_number(conn, MESSAGES), before + 1);
    CHECK_INT(attached_to(store, open), 1); /* nothing of the list that failed */
    CHECK_INT(attached_to(store, full), 1);
    CHECK_INT(attached_to(store, closed), 0);
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(a_deadline_that_is_past_leaves_the_transaction_sound)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_join_opts opts = PH_JOIN_OPTS_INIT;
    ph_join_id join;

    opts.deadline = t_clock(store) - T_SECOND;
    t_begin(conn);
    CHECK_INT(ph_join_start(store, t_tx(conn), 1, &opts, 0, &join, &t_err), PH_EINVAL);
    opts.deadline = t_clock(store) + 3600 * T_SECOND;
    OK(ph_join_start(store, t_tx(conn), 1, &opts, 0, &join, &t_err));
    t_commit(conn);
    CHECK_INT(t_number(conn, JOINS), 1);
    t_disconnect(conn);
}

TEST(joins_need_an_open_transaction_too)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_join_id join = start_join(store, 1);
    ph_message_id id = a_step(store).message_id;
    ph_joins *list = NULL;
    ph_wait wait = a_wait(true);
    ph_tx tx = t_tx(conn); /* none is open */

    CHECK_INT(ph_join_start(store, tx, 1, NULL, 0, &join, &t_err), PH_ENOTX);
    CHECK_INT(ph_join_attach(store, tx, join, id, 0, &t_err), PH_ENOTX);
    CHECK_INT(ph_join_report_completed(store, tx, join, id, 0, &t_err), PH_ENOTX);
    CHECK_INT(ph_join_wait(store, tx, join, &wait, 0, NULL, &t_err), PH_ENOTX);
    CHECK_INT(ph_join_cancel(store, tx, join, 0, NULL, &t_err), PH_ENOTX);
    CHECK_INT(ph_join_list(store, tx, NULL, 0, &list, &t_err), PH_ENOTX);
    CHECK_INT(t_number(conn, JOINS), 1);
    t_disconnect(conn);
}

TEST(odd_settings_of_the_callers_session_do_not_matter_to_joins)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_join_id join = start_join(store, 1);
    ph_message_id id = a_step(store).message_id;
    ph_join_info *info = NULL;
    ph_wait wait = a_wait(true);

    if (t_is_pg())
        t_sql(conn, "SET search_path = pg_catalog; SET DateStyle = 'German, DMY'; SET TimeZone = "
                    "'Asia/Kathmandu'; SET bytea_output = 'escape'; SET "
                    "standard_conforming_strings = off; SET transform_null_equals = on");
    else
        t_sql(conn, "PRAGMA foreign_keys = on; PRAGMA recursive_triggers = on; PRAGMA "
                    "case_sensitive_like = on; PRAGMA reverse_unordered_selects = on; PRAGMA "
                    "count_changes = on");
    t_begin(conn);
    OK(ph_join_wait(store, t_tx(conn), join, &wait, 0, NULL, &t_err));
    OK(ph_join_attach(store, t_tx(conn), join, id, 0, &t_err));
    OK(ph_join_report_failed(store, t_tx(conn), join, id, 0, &t_err));
    OK(ph_join_find(store, t_tx(conn), join, 0, 0, &info, &t_err));
    CHECK_INT(info->state, PH_JOIN_FAILED);
    CHECK(info->finished_at <= t_clock(store) && info->finished_at > T_EPOCH);
    ph_join_info_free(info);
    t_commit(conn);
    CHECK_STR(sent_text(store), "0 good, 1 bad");
    t_disconnect(conn);
}
