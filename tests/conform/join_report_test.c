/* join_report_test.c - steps that are counted by hand. */
#include "joins.h"

static int report(ph_store *store, ph_join_id join, ph_message_id message, bool completed)
{
    return completed ? ph_join_report_completed(store, PH_OWN_TX, join, message, 0, &t_err)
                     : ph_join_report_failed(store, PH_OWN_TX, join, message, 0, &t_err);
}

TEST(a_completed_step_is_counted_once)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 3);
    ph_message_id id = put_step(store, join).message_id;

    OK(report(store, join, id, true));
    REQ_STR("JOIN-020 OBX-085", standing(store, join), "1+0/3 pending");
    REQ_STR("JOIN-020", steps_of(store, join), "completed");
    for (int i = 0; i < 3; i++)
        OK(report(store, join, id, true));
    REQ_STR("JOIN-022 OBX-086", standing(store, join), "1+0/3 pending");
}

TEST(a_failed_step_is_counted_once)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 3);
    ph_message_id id = put_step(store, join).message_id;

    OK(report(store, join, id, false));
    REQ_STR("JOIN-021 OBX-087", standing(store, join), "0+1/3 pending");
    REQ_STR("JOIN-021", steps_of(store, join), "failed");
    for (int i = 0; i < 3; i++)
        OK(report(store, join, id, false));
    REQ_STR("JOIN-022 OBX-088", standing(store, join), "0+1/3 pending");
}

TEST(what_is_said_first_about_a_step_stands)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 4);
    ph_message_id ids[3];

    for (int i = 0; i < 3; i++)
        ids[i] = put_step(store, join).message_id;
    OK(report(store, join, ids[0], true));
    OK(report(store, join, ids[0], false));
    REQ_STR("JOIN-022 JOIN-023", standing(store, join), "1+0/4 pending");
    OK(report(store, join, ids[1], false));
    OK(report(store, join, ids[1], true));
    REQ_STR("JOIN-022 JOIN-023", standing(store, join), "1+1/4 pending");
    end_step(store, PH_FAIL); /* was reported as completed */
    end_step(store, PH_ACK);  /* was reported as failed */
    REQ_STR("JOIN-022 JOIN-023", standing(store, join), "1+1/4 pending");
    end_step(store, PH_ACK);
    OK(report(store, join, ids[2], false)); /* was acked */
    REQ_STR("JOIN-022 JOIN-023", standing(store, join), "2+1/4 pending");
    CHECK_STR(steps_of(store, join), "completed failed completed");
}

TEST(reports_have_the_same_result_as_settlements)
{
    ph_store *store = t_open(NULL);
    ph_join_id settled = start_join(store, 2), reported = start_join(store, 2);
    ph_join_info *x, *y;
    ph_message_id a, b;

    t_clock_set(store, T_EPOCH);
    a = put_step(store, settled).message_id;
    b = put_step(store, settled).message_id;
    attach(store, reported, a);
    attach(store, reported, b);
    wait_for(store, settled, true);
    wait_for(store, reported, true);
    OK(report(store, reported, a, true));
    OK(report(store, reported, b, false));
    REQ_STR("JOIN-034 OBX-094", sent_text(store), "0 good, 1 bad");
    end_step(store, PH_ACK);
    end_step(store, PH_FAIL);
    REQ_STR("JOIN-034", sent_text(store), "0 good, 2 bad");
    REQ_STR("JOIN-034", standing(store, settled), "1+1/2 failed");
    REQ_STR("JOIN-034", standing(store, reported), "1+1/2 failed");
    x = find_join(store, settled);
    y = find_join(store, reported);
    REQ("JOIN-034", x->updated_at == y->updated_at && x->finished_at == y->finished_at);
    REQ("JOIN-034",
        x->members[0].state == y->members[0].state && x->members[1].state == y->members[1].state);
    REQ("JOIN-034", x->open_waits == 0 && y->open_waits == 0);
    ph_join_info_free(x);
    ph_join_info_free(y);
}

TEST(a_report_concerns_one_join_only)
{
    ph_store *store = t_open(NULL);
    ph_join_id a = start_join(store, 1), b = start_join(store, 1);
    ph_message_id id = put_step(store, a).message_id;

    attach(store, b, id);
    OK(report(store, a, id, false));
    CHECK_STR(standing(store, a), "0+1/1 failed");
    CHECK_STR(standing(store, b), "0+0/1 pending");
    end_step(store, PH_ACK);
    REQ_STR("JOIN-042", standing(store, a), "0+1/1 failed");
    REQ_STR("JOIN-081", standing(store, b), "1+0/1 completed");
}

TEST(a_report_leaves_the_message_alone)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 1);
    ph_enqueued e = put_step(store, join);

    OK(report(store, join, e.message_id, true));
    CHECK_STR(standing(store, join), "1+0/1 completed");
    CHECK_INT(see(store, e.work_id).status, PH_READY);
    end_step(store, PH_ACK);
    CHECK_STR(standing(store, join), "1+0/1 completed");
}

TEST(a_report_on_a_join_that_has_ended_counts_nothing)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 2), cancelled = start_join(store, 2);
    ph_message_id a = put_step(store, join).message_id, b = put_step(store, join).message_id;

    attach(store, cancelled, a);
    CHECK(cancel(store, cancelled));
    OK(report(store, cancelled, a, true));
    REQ_STR("JOIN-042", standing(store, cancelled), "0+0/2 cancelled");
    CHECK_STR(steps_of(store, cancelled), "pending");
    OK(report(store, join, a, true));
    OK(report(store, join, b, true));
    OK(report(store, join, b, false));
    REQ_STR("JOIN-042", standing(store, join), "2+0/2 completed");
}

TEST(a_report_says_what_is_missing)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 2), none = { { 0 } };
    ph_message_id id = a_step(store).message_id, zero = { { 0 } };

    for (int completed = 0; completed < 2; completed++) {
        CHECK_INT(report(store, no_join(), id, completed), PH_ENOTFOUND);
        CHECK(strstr(t_err.message, "there is no join") != NULL);
        CHECK_INT(report(store, join, id, completed), PH_ENOTFOUND);
        CHECK(strstr(t_err.message, "is not a step of") != NULL);
        CHECK_INT(report(store, join, no_message(), completed), PH_ENOTFOUND);
        CHECK_INT(report(store, none, id, completed), PH_EINVAL);
        CHECK_INT(report(store, join, zero, completed), PH_EINVAL);
    }
    CHECK_STR(standing(store, join), "0+0/2 pending");
}

TEST(a_step_whose_message_is_gone_can_not_be_counted_anew)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 2);
    ph_enqueued e = put_step(store, join);

    end_step(store, PH_FAIL);
    OK(ph_dead_discard(store, PH_OWN_TX, &e.work_id, 1, 0, NULL, &t_err));
    OK(report(store, join, e.message_id, true));
    REQ_STR("JOIN-022", standing(store, join), "0+1/2 pending");
}
