/* join_enqueue_test.c - messages that are enqueued as steps of a join. */
#include "joins.h"

static ph_message a_message_of(const ph_join_id *join)
{
    ph_message m = a_message(STEP, "x");

    m.join_id = join;
    return m;
}

TEST(a_message_is_enqueued_as_a_step)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 2);
    ph_message m = a_message_of(&join);
    ph_enqueued e = put(store, &m);
    ph_join_info *info = find_join(store, join);

    REQ_INT("OBX-083 JOIN-010", info->attached_steps, 1);
    REQ("OBX-083", same_id(info->members[0].message_id.b, e.message_id.b));
    CHECK(same_id(info->members[0].work_id.b, e.work_id.b));
    ph_join_info_free(info);
    CHECK_STR(standing(store, join), "0+0/2 pending");
    attach(store, join, e.message_id);
    REQ_INT("OBX-084", attached_to(store, join), 1);
    end_step(store, PH_ACK);
    CHECK_STR(standing(store, join), "1+0/2 pending");
}

TEST(many_messages_are_enqueued_as_steps_of_their_joins)
{
    ph_store *store = t_open(NULL);
    ph_join_id a = start_join(store, 3), b = start_join(store, 2);
    ph_message m[6] = { a_message_of(&a), a_message_of(&b), a_message_of(NULL),
                        a_message_of(&a), a_message_of(&b), a_message_of(&a) };
    ph_enqueued e[6];
    ph_join_info *info;

    OK(ph_enqueue_many(store, PH_OWN_TX, m, 6, 0, e, &t_err));
    info = find_join(store, a);
    CHECK_INT(info->member_count, 3);
    CHECK(same_id(info->members[0].message_id.b, e[0].message_id.b));
    CHECK(same_id(info->members[1].message_id.b, e[3].message_id.b));
    CHECK(same_id(info->members[2].message_id.b, e[5].message_id.b));
    ph_join_info_free(info);
    CHECK_INT(attached_to(store, b), 2);
    for (int i = 0; i < 6; i++)
        end_step(store, PH_ACK);
    CHECK_STR(standing(store, a), "3+0/3 completed");
    CHECK_STR(standing(store, b), "2+0/2 completed");
}

TEST(a_join_that_takes_no_step_takes_no_message)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_join_id full = start_join(store, 1), closed = start_join(store, 1), unknown = no_join();
    ph_join_id zero = { { 0 } }, small = start_join(store, 2);
    ph_message m = a_message_of(&full), three[3];

    put(store, &m);
    CHECK_INT(try_put(store, PH_OWN_TX, &m), PH_ESTATE);
    CHECK(strstr(t_err.message, "has all the steps") != NULL);
    cancel(store, closed);
    m.join_id = &closed;
    CHECK_INT(try_put(store, PH_OWN_TX, &m), PH_ESTATE);
    m.join_id = &unknown;
    REQ_INT("JOIN-012", try_put(store, PH_OWN_TX, &m), PH_ENOTFOUND);
    m.join_id = &zero;
    CHECK_INT(try_put(store, PH_OWN_TX, &m), PH_EINVAL);
    for (int i = 0; i < 3; i++)
        three[i] = a_message_of(&small);
    REQ_INT("JOIN-023", ph_enqueue_many(store, PH_OWN_TX, three, 3, 0, NULL, &t_err), PH_ESTATE);
    CHECK_INT(attached_to(store, small), 0);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox"), 1);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}join_members"), 1);
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(a_duplicate_attaches_the_message_that_has_the_key)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 3), other = start_join(store, 3);
    ph_message m = a_message(STEP, "x");
    ph_enqueued first, second;

    m.dedupe_key = "k";
    first = put(store, &m);
    m.join_id = &join;
    second = put(store, &m);
    CHECK(!second.is_new && same_id(second.message_id.b, first.message_id.b));
    REQ_INT("OBX-083", attached_to(store, join), 1);
    put(store, &m); /* it is a step already */
    REQ_INT("OBX-084", attached_to(store, join), 1);
    end_step(store, PH_ACK);
    CHECK_STR(standing(store, join), "1+0/3 pending");
    m.join_id = &other;
    put(store, &m); /* it has ended already */
    CHECK_STR(standing(store, other), "1+0/3 pending");
    CHECK_STR(steps_of(store, other), "completed");
}

TEST(a_key_twice_in_one_call_is_one_step)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 1);
    ph_message m[3] = { a_message_of(&join), a_message_of(&join), a_message_of(&join) };

    for (int i = 0; i < 3; i++)
        m[i].dedupe_key = "k";
    OK(ph_enqueue_many(store, PH_OWN_TX, m, 3, 0, NULL, &t_err));
    REQ_INT("OBX-084", attached_to(store, join), 1);
    end_step(store, PH_ACK);
    CHECK_STR(standing(store, join), "1+0/1 completed");
}

TEST(a_duplicate_of_a_message_that_was_put_back_attaches_its_newest_stay)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 1);
    ph_message m = a_message(STEP, "x");
    ph_enqueued e;
    ph_work_id again;

    m.dedupe_key = "k";
    e = put(store, &m);
    end_step(store, PH_FAIL);
    OK(ph_dead_retry(store, PH_OWN_TX, &e.work_id, 1, 0, &again, &t_err));
    m.join_id = &join;
    e = put(store, &m);
    CHECK(!e.is_new && same_id(e.work_id.b, again.b));
    CHECK_STR(standing(store, join), "0+0/1 pending");
    end_step(store, PH_ACK);
    CHECK_STR(standing(store, join), "1+0/1 completed");
}

TEST(a_message_id_of_the_producer_names_the_step)
{
    ph_store *store = t_open(NULL);
    ph_message_id id = { { 1, 2, 3, 4, 5, 6, 0x47, 8, 0x89, 10, 11, 12, 13, 14, 15, 16 } };
    ph_join_id join = start_join(store, 2);
    ph_message m = a_message_of(&join);
    ph_join_info *info;

    m.message_id = &id;
    m.ns = "billing";
    put(store, &m);
    info = find_join(store, join);
    CHECK(same_id(info->members[0].message_id.b, id.b));
    ph_join_info_free(info);
    OK(ph_join_report_completed(store, PH_OWN_TX, join, id, 0, &t_err));
    CHECK_STR(standing(store, join), "1+0/2 pending");
}

TEST(all_enqueued_steps_at_once_and_the_join_in_one_transaction)
{
    enum { STEPS = 500 };
    static ph_message m[STEPS];
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_wait wait = a_wait(true);
    ph_lease_ref refs[100];
    ph_join_id join;
    size_t count;

    t_begin(conn);
    OK(ph_join_start(store, t_tx(conn), STEPS, NULL, 0, &join, &t_err));
    for (int i = 0; i < STEPS; i++)
        m[i] = a_message_of(&join);
    OK(ph_enqueue_many(store, t_tx(conn), m, STEPS, 0, NULL, &t_err));
    OK(ph_join_wait(store, t_tx(conn), join, &wait, 0, NULL, &t_err));
    t_commit(conn);
    while ((count = take_steps(store, owner, refs, 100)) > 0)
        OK(ph_outbox_ack(store, PH_OWN_TX, owner, refs, count, 0, NULL, &t_err));
    CHECK_STR(standing(store, join), "500+0/500 completed");
    CHECK_STR(sent_text(store), "1 good, 0 bad");
    t_disconnect(conn);
}
