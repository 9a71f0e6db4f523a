/* join_attach_test.c - messages become steps of a join: before, while and after they are worked on,
 * once each, and all of a list or none. */
#include "joins.h"

TEST(attach_stores_a_pending_step_and_counts_nothing)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_join_id join = start_join(store, 2);
    ph_enqueued e = a_step(store);
    ph_join_info *info;

    t_clock_set(store, t_clock(store) + 5 * T_SECOND);
    attach(store, join, e.message_id);
    REQ_STR("JOIN-013", standing(store, join), "0+0/2 pending");
    REQ_STR("JOIN-010 OBX-083", steps_of(store, join), "pending");
    info = find_join(store, join);
    REQ_INT("OBX-083", info->attached_steps, 1);
    REQ("OBX-083", same_id(info->members[0].message_id.b, e.message_id.b));
    CHECK(same_id(info->members[0].work_id.b, e.work_id.b));
    REQ_INT("JOIN-010", info->members[0].created_at, t_clock(store));
    CHECK_STR(info->members[0].topic, STEP);
    ph_join_info_free(info);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}join_members"), 1);
    CHECK_STR(t_value(conn, "SELECT status FROM {t}join_members"), "pending");
    CHECK_STR(t_view(conn, e.work_id, "status"), "ready"); /* the message is as it was */
    t_disconnect(conn);
}

TEST(attaching_twice_is_as_attaching_once)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 2);
    ph_enqueued e = put_step(store, join);
    int64_t at;
    ph_join_info *info = find_join(store, join);

    at = info->members[0].created_at;
    ph_join_info_free(info);
    t_clock_set(store, t_clock(store) + 5 * T_SECOND);
    for (int i = 0; i < 3; i++)
        attach(store, join, e.message_id);
    REQ_INT("JOIN-011 OBX-084", attached_to(store, join), 1);
    REQ_STR("JOIN-011 OBX-084", steps_of(store, join), "pending");
    info = find_join(store, join);
    CHECK_INT(info->members[0].created_at, at);
    ph_join_info_free(info);
    end_step(store, PH_ACK);
    attach(store, join, e.message_id);
    REQ_STR("JOIN-011", standing(store, join), "1+0/2 pending");
    CHECK_INT(attached_to(store, join), 1);
}

TEST(attaching_again_is_fine_in_a_join_that_is_full_ended_or_cancelled)
{
    ph_store *store = t_open(NULL);
    ph_join_id full = start_join(store, 1), cancelled = start_join(store, 2);
    ph_enqueued e = put_step(store, full);

    attach(store, cancelled, e.message_id);
    attach(store, full, e.message_id);
    CHECK(cancel(store, cancelled));
    REQ_INT("JOIN-011", try_attach(store, cancelled, e.message_id), 0);
    end_step(store, PH_FAIL);
    REQ_INT("JOIN-011", try_attach(store, full, e.message_id), 0);
    CHECK_STR(standing(store, full), "0+1/1 failed");
    CHECK_STR(standing(store, cancelled), "0+0/2 cancelled");
}

TEST(attach_to_an_unknown_join_is_an_error)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_enqueued e = a_step(store);
    ph_join_id join = start_join(store, 2), near = join;

    near.b[15] ^= 1; /* the right number, another id */
    REQ_INT("JOIN-012", try_attach(store, no_join(), e.message_id), PH_ENOTFOUND);
    CHECK(strstr(t_err.message, "there is no join") != NULL);
    REQ_INT("JOIN-012", try_attach(store, near, e.message_id), PH_ENOTFOUND);
    memset(near.b, 0xff, sizeof(near.b));
    REQ_INT("JOIN-012", try_attach(store, near, e.message_id), PH_ENOTFOUND);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}join_members"), 0);
    t_disconnect(conn);
}

TEST(attach_of_an_unknown_message_is_an_error)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 2);
    ph_message_id id = a_step(store).message_id;

    CHECK_INT(try_attach(store, join, no_message()), PH_ENOTFOUND);
    CHECK(strstr(t_err.message, "there is no outbox message") != NULL);
    id.b[15] ^= 1;
    CHECK_INT(try_attach(store, join, id), PH_ENOTFOUND);
    memset(id.b, 0xff, sizeof(id.b));
    CHECK_INT(try_attach(store, join, id), PH_ENOTFOUND);
    CHECK_INT(attached_to(store, join), 0);
}

TEST(empty_ids_are_refused)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 2), none = { { 0 } };
    ph_message_id id = a_step(store).message_id, zero = { { 0 } };
    ph_message_id list[2] = { id, zero };

    CHECK_INT(try_attach(store, none, id), PH_EINVAL);
    CHECK(strstr(t_err.message, "join id is empty") != NULL);
    CHECK_INT(try_attach(store, join, zero), PH_EINVAL);
    CHECK(strstr(t_err.message, "message id is empty") != NULL);
    CHECK_INT(ph_join_attach_many(store, PH_OWN_TX, join, list, 2, 0, &t_err), PH_EINVAL);
    CHECK_INT(ph_join_attach_many(store, PH_OWN_TX, join, NULL, 1, 0, &t_err), PH_EINVAL);
    CHECK_INT(ph_join_attach_many(store, PH_OWN_TX, join, list, 0, 0, &t_err), PH_EINVAL);
    CHECK_INT(ph_join_attach_many(store, PH_OWN_TX, join, list, PH_BATCH_MAX + 1, 0, &t_err),
              PH_EINVAL);
    CHECK_INT(attached_to(store, join), 0);
}

TEST(a_join_takes_no_more_steps_than_it_expects)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 2);
    ph_enqueued e;

    put_step(store, join);
    put_step(store, join);
    e = a_step(store);
    REQ_INT("JOIN-023", try_attach(store, join, e.message_id), PH_ESTATE);
    CHECK(strstr(t_err.message, "has all the steps it expects") != NULL);
    CHECK_INT(attached_to(store, join), 2);
    for (int i = 0; i < 3; i++)
        end_step(store, PH_ACK);
    REQ_STR("JOIN-023", standing(store, join), "2+0/2 completed");
    REQ_INT("JOIN-023 JOIN-042", try_attach(store, join, e.message_id), PH_ESTATE);
    CHECK_STR(standing(store, join), "2+0/2 completed");
}

TEST(three_at_once_do_not_fit_where_two_are_expected)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 2);
    ph_message_id ids[3];

    for (int i = 0; i < 3; i++)
        ids[i] = a_step(store).message_id;
    REQ_INT("JOIN-023", ph_join_attach_many(store, PH_OWN_TX, join, ids, 3, 0, &t_err), PH_ESTATE);
    CHECK_INT(attached_to(store, join), 0); /* none of them */
    OK(ph_join_attach_many(store, PH_OWN_TX, join, ids + 1, 2, 0, &t_err));
    for (int i = 0; i < 3; i++)
        end_step(store, PH_ACK);
    REQ_STR("JOIN-023", standing(store, join), "2+0/2 completed");
}

TEST(a_list_is_attached_whole_or_not_at_all)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 10);
    ph_message_id ids[4];

    for (int i = 0; i < 4; i++)
        ids[i] = a_step(store).message_id;
    end_step(store, PH_ACK); /* the first would be counted at once */
    ids[3] = no_message();
    CHECK_INT(ph_join_attach_many(store, PH_OWN_TX, join, ids, 4, 0, &t_err), PH_ENOTFOUND);
    CHECK_INT(attached_to(store, join), 0);
    CHECK_STR(standing(store, join), "0+0/10 pending");
    OK(ph_join_attach_many(store, PH_OWN_TX, join, ids, 3, 0, &t_err));
    REQ_STR("OBX-083", steps_of(store, join), "completed pending pending");
    CHECK_STR(standing(store, join), "1+0/10 pending");
}

TEST(a_list_may_name_a_message_twice)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 2);
    ph_message_id ids[5];

    ids[0] = ids[2] = ids[4] = a_step(store).message_id;
    ids[1] = ids[3] = a_step(store).message_id;
    OK(ph_join_attach_many(store, PH_OWN_TX, join, ids, 5, 0, &t_err));
    REQ_INT("OBX-084", attached_to(store, join), 2);
    end_step(store, PH_ACK);
    end_step(store, PH_ACK);
    REQ_STR("OBX-084", standing(store, join), "2+0/2 completed");
}

TEST(steps_are_shown_in_the_order_of_attaching)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 5);
    ph_message_id ids[5];
    ph_join_info *info;

    t_clock_set(store, T_EPOCH);
    for (int i = 0; i < 5; i++)
        ids[4 - i] = a_step(store).message_id;
    for (int i = 0; i < 5; i++) {
        t_clock_advance(store, 1);
        OK(ph_join_attach_many(store, PH_OWN_TX, join, ids, (size_t)i + 1, 0, &t_err));
    }
    info = find_join(store, join);
    for (int i = 0; i < 5; i++)
        CHECK(same_id(info->members[i].message_id.b, ids[i].b));
    ph_join_info_free(info);
}

TEST(ten_thousand_steps_are_attached_in_one_call)
{
    static ph_enqueued e[PH_BATCH_MAX];
    static ph_message_id ids[PH_BATCH_MAX];
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, PH_BATCH_MAX);

    put_many(store, STEP, PH_BATCH_MAX, e);
    for (int i = 0; i < PH_BATCH_MAX; i++)
        ids[i] = e[i].message_id;
    OK(ph_join_attach_many(store, PH_OWN_TX, join, ids, PH_BATCH_MAX, 0, &t_err));
    CHECK_INT(attached_to(store, join), PH_BATCH_MAX);
}

/* --------------------------------------------------- before, while and after */

TEST(a_message_that_is_being_worked_on_is_counted_when_it_ends)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 2);
    ph_enqueued a = a_step(store), b = a_step(store);
    ph_owner owner = ph_owner_new();
    ph_lease_ref refs[2];

    CHECK_INT(take_steps(store, owner, refs, 2), 2);
    attach(store, join, a.message_id);
    attach(store, join, b.message_id);
    REQ_STR("JOIN-013", standing(store, join), "0+0/2 pending");
    CHECK_INT(ack(store, owner, refs[0]), PH_OUTCOME_ACKED);
    REQ_STR("JOIN-030", standing(store, join), "1+0/2 pending");
    settle(store, owner, refs[1], PH_FAIL, "no", 0);
    REQ_STR("JOIN-031", standing(store, join), "1+1/2 failed");
}

TEST(a_message_that_has_ended_is_counted_at_once)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 3);
    ph_enqueued done = a_step(store), dead;

    end_step(store, PH_ACK);
    dead = a_step(store);
    end_step(store, PH_FAIL);
    attach(store, join, done.message_id);
    REQ_STR("JOIN-030", standing(store, join), "1+0/3 pending");
    attach(store, join, dead.message_id);
    REQ_STR("JOIN-031", standing(store, join), "1+1/3 pending");
    REQ_STR("JOIN-010", steps_of(store, join), "completed failed");
    attach(store, join, done.message_id);
    attach(store, join, dead.message_id);
    REQ_STR("JOIN-011", standing(store, join), "1+1/3 pending");
}

TEST(attaching_the_last_step_after_its_end_completes_the_join)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 3);
    ph_message_id ids[3];

    for (int i = 0; i < 3; i++) {
        ids[i] = a_step(store).message_id;
        end_step(store, PH_ACK);
    }
    wait_for(store, join, true);
    OK(ph_join_attach_many(store, PH_OWN_TX, join, ids, 3, 0, &t_err));
    REQ_STR("JOIN-040 JOIN-041", standing(store, join), "3+0/3 completed");
    REQ_STR("OBX-093", sent_text(store), "1 good, 0 bad");
}

TEST(a_scheduled_message_and_one_that_waits_for_its_next_attempt_are_steps_too)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 2);
    ph_message m = a_message(STEP, "x");
    ph_enqueued later, again = a_step(store);

    t_clock_set(store, t_clock(store));
    end_step(store, PH_ABANDON);
    m.due_at = t_clock(store) + 60 * T_SECOND;
    later = put(store, &m);
    attach(store, join, later.message_id);
    attach(store, join, again.message_id);
    REQ_STR("JOIN-013", standing(store, join), "0+0/2 pending");
    t_clock_advance(store, 61 * T_SECOND);
    end_step(store, PH_ACK);
    end_step(store, PH_ACK);
    CHECK_STR(standing(store, join), "2+0/2 completed");
}

/* ----------------------------------------------------------- operator's retry */

TEST(a_message_that_was_put_back_is_meant_by_its_newest_stay)
{
    ph_store *store = t_open(NULL);
    ph_join_id old = start_join(store, 1), new = start_join(store, 1);
    ph_enqueued e = put_step(store, old);
    ph_work_id again;
    ph_join_info *info;

    end_step(store, PH_FAIL);
    OK(ph_dead_retry(store, PH_OWN_TX, &e.work_id, 1, 0, &again, &t_err));
    attach(store, new, e.message_id);
    CHECK_STR(standing(store, new), "0+0/1 pending");
    info = find_join(store, new);
    CHECK(same_id(info->members[0].work_id.b, again.b));
    CHECK(same_id(info->members[0].message_id.b, e.message_id.b));
    ph_join_info_free(info);
    end_step(store, PH_ACK);
    CHECK_STR(standing(store, new), "1+0/1 completed");
    REQ_STR("JOIN-042", standing(store, old), "0+1/1 failed");
}

TEST(attach_finds_messages_by_the_id_that_their_producer_gave)
{
    ph_store *store = t_open(NULL);
    ph_message_id id = { { 9, 8, 7, 6, 5, 4, 0x43, 2, 0x81, 0, 1, 2, 3, 4, 5, 6 } };
    ph_message m = a_message(STEP, "x");
    ph_join_id join = start_join(store, 1);
    ph_message_id by_work_id;
    ph_enqueued first, second;
    ph_join_info *info;

    m.message_id = &id;
    first = put(store, &m);
    second = put(store, &m); /* the same id again: the newest is meant */
    memcpy(by_work_id.b, first.work_id.b, sizeof(by_work_id.b));
    CHECK_INT(try_attach(store, join, by_work_id), PH_ENOTFOUND);
    attach(store, join, id);
    info = find_join(store, join);
    CHECK(same_id(info->members[0].work_id.b, second.work_id.b));
    ph_join_info_free(info);
    end_step(store, PH_FAIL);
    CHECK_STR(standing(store, join), "0+1/1 failed"); /* the first that ends counts */
    info = find_join(store, join);
    CHECK(same_id(info->members[0].work_id.b, first.work_id.b));
    ph_join_info_free(info);
    end_step(store, PH_ACK);
    CHECK_STR(standing(store, join), "0+1/1 failed");
}

/* ------------------------------------------------------------------ many joins */

TEST(a_message_may_be_a_step_of_several_joins)
{
    ph_store *store = t_open(NULL);
    ph_enqueued e = a_step(store);
    ph_join_id joins[5];

    for (int i = 0; i < 5; i++) {
        joins[i] = start_join(store, 1 + i);
        attach(store, joins[i], e.message_id);
    }
    end_step(store, PH_ACK);
    REQ_STR("JOIN-080 JOIN-081 OBX-096", standing(store, joins[0]), "1+0/1 completed");
    for (int i = 1; i < 5; i++) {
        char want[40];

        snprintf(want, sizeof(want), "1+0/%d pending", 1 + i);
        REQ_STR("JOIN-080 JOIN-081 OBX-096", standing(store, joins[i]), want);
    }
}

TEST(messages_of_every_namespace_can_be_steps_of_one_join)
{
    static const char *const namespaces[] = { NULL, "billing", "shipping" };
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 3);

    for (int i = 0; i < 3; i++) {
        ph_message m = a_message(STEP, "x");
        ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
        ph_owner owner = ph_owner_new();

        m.ns = opts.ns = namespaces[i];
        attach(store, join, put(store, &m).message_id);
        CHECK_INT(t_ack_all(store, owner, claim_with(store, owner, &opts)), 1);
    }
    CHECK_STR(standing(store, join), "3+0/3 completed");
}

TEST(timers_are_no_steps)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 1);
    ph_timer timer = PH_TIMER_INIT;
    ph_work_id id;
    ph_message_id as_message;

    timer.topic = "t";
    timer.payload = "x";
    timer.due_at = t_clock(store) + 60 * T_SECOND;
    OK(ph_timer_schedule(store, PH_OWN_TX, &timer, 0, &id, &t_err));
    memcpy(as_message.b, id.b, sizeof(id.b));
    CHECK_INT(try_attach(store, join, as_message), PH_ENOTFOUND);
}
