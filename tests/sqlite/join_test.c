/* join_test.c - joins on SQLite: how steps are found and counted, in transactions of the caller's
 * and in batches whose numbers lie close together or wide apart. */
#include "harness.h"
#include "util/alloc.h"

#include <stdlib.h>

#define MANY 5000

struct stage {
    ph_store *store;
    struct t_conn *conn;
    ph_owner owner;
};

static struct stage set_up(void)
{
    struct stage s = { .store = t_open(NULL), .conn = t_connect(), .owner = ph_owner_new() };

    t_clock_set(s.store, T_EPOCH);
    return s;
}

static ph_join_id start(const struct stage *s, ph_tx tx, int expected, int64_t deadline)
{
    ph_join_opts opts = PH_JOIN_OPTS_INIT;
    ph_join_id join;

    opts.deadline = deadline;
    OK(ph_join_start(s->store, tx, expected, &opts, 0, &join, &t_err));
    return join;
}

/* Enqueues messages that are steps of the join (NULL: of none). */
static void enqueue(const struct stage *s, ph_tx tx, const ph_join_id *join, size_t count,
                    ph_enqueued *ret)
{
    ph_message *messages = calloc(count, sizeof(*messages));

    for (size_t i = 0; i < count; i++) {
        messages[i] = (ph_message)PH_MESSAGE_INIT;
        messages[i].topic = "step";
        messages[i].payload = "{}";
        messages[i].join_id = join;
    }
    OK(ph_enqueue_many(s->store, tx, messages, count, 0, ret, &t_err));
    free(messages);
}

static ph_work_id wait_for(const struct stage *s, ph_tx tx, ph_join_id join)
{
    ph_wait wait = PH_WAIT_INIT;
    ph_work_id id;

    wait.fail_if_any_step_failed = true;
    wait.on_complete_topic = "went.well";
    wait.on_complete_payload = "\"quotes\", \\ and \x01\xc3\xa9";
    wait.on_fail_topic = "went.wrong";
    OK(ph_join_wait(s->store, tx, join, &wait, 0, &id, &t_err));
    return id;
}

/* "status expected attached completed failed open_waits" */
static const char *join_view(const struct stage *s, ph_join_id join)
{
    char sql[300], id[PH_ID_TEXT_SIZE];

    snprintf(sql, sizeof(sql),
             "SELECT status || ' ' || expected_steps || ' ' || attached_steps || ' ' || "
             "completed_steps || ' ' || failed_steps || ' ' || open_waits FROM {t}joins "
             "WHERE id = '%s'",
             ph_id_text(join.b, id));
    return t_value(s->conn, sql);
}

static long long count_topic(const struct stage *s, const char *topic)
{
    char sql[200];

    snprintf(sql, sizeof(sql), "SELECT count(*) FROM {t}outbox WHERE topic = '%s'", topic);
    return t_number(s->conn, sql);
}

TEST(a_join_in_a_transaction_that_is_rolled_back_was_never_there)
{
    struct stage s = set_up();
    struct t_conn *mine = t_connect();
    ph_join_info *info = NULL;
    ph_enqueued steps[2];
    ph_join_id join;

    t_begin(mine);
    join = start(&s, t_tx(mine), 2, 0);
    enqueue(&s, t_tx(mine), &join, 2, steps);
    wait_for(&s, t_tx(mine), join);
    t_rollback(mine);
    CHECK_INT(ph_join_find(s.store, PH_OWN_TX, join, 0, 0, &info, &t_err), PH_ENOTFOUND);
    CHECK_INT(t_number(s.conn, "SELECT count(*) FROM {t}join_member"), 0);
    CHECK_INT(t_number(s.conn, "SELECT count(*) FROM {t}message"), 0);
    t_check_places(s.conn);
}

TEST(counting_is_undone_with_the_callers_transaction)
{
    struct stage s = set_up();
    struct t_conn *mine = t_connect();
    ph_join_id join = start(&s, PH_OWN_TX, 2, 0);
    ph_enqueued steps[2];
    ph_work_id wait;
    ph_batch *batch;

    enqueue(&s, PH_OWN_TX, &join, 2, steps);
    wait = wait_for(&s, PH_OWN_TX, join);
    CHECK_STR(t_view(s.conn, wait, "status"), "waiting");
    batch = t_claim(s.store, s.owner, 10);
    CHECK_INT(ph_batch_count(batch), 2);
    t_begin(mine);
    for (size_t i = 0; i < 2; i++) {
        ph_lease_ref lease = ph_lease_ref_of(ph_batch_at(batch, i));

        OK(ph_outbox_ack(s.store, t_tx(mine), s.owner, &lease, 1, 0, NULL, &t_err));
    }
    t_rollback(mine);
    CHECK_STR(join_view(&s, join), "pending 2 2 0 0 1");
    CHECK_INT(count_topic(&s, "went.well"), 0);
    CHECK_INT(t_ack_all(s.store, s.owner, batch), 2);
    CHECK_STR(join_view(&s, join), "completed 2 2 2 0 0");
    CHECK_STR(t_view(s.conn, wait, "status"), "done");
    CHECK_STR(t_view(s.conn, wait, "processed_by"), "");
    CHECK_STR(t_value(s.conn, "SELECT payload FROM {t}outbox WHERE topic = 'went.well'"),
              "\"quotes\", \\ and \x01\xc3\xa9");
    t_check_places(s.conn);
}

TEST(an_error_half_way_leaves_the_callers_transaction_as_it_was)
{
    struct stage s = set_up();
    struct t_conn *mine = t_connect();
    ph_join_id join = start(&s, PH_OWN_TX, 1, 0);
    ph_message messages[2] = { PH_MESSAGE_INIT, PH_MESSAGE_INIT };
    ph_enqueued enqueued[2];

    for (size_t i = 0; i < 2; i++) {
        messages[i].topic = "step";
        messages[i].payload = "{}";
        messages[i].join_id = &join;
    }
    t_begin(mine);
    OK(ph_enqueue(s.store, t_tx(mine), &messages[0], 0, NULL, &t_err));
    t_sql(mine, "CREATE TABLE effect (x)");
    CHECK_INT(ph_enqueue_many(s.store, t_tx(mine), messages, 2, 0, enqueued, &t_err), PH_ESTATE);
    CHECK_INT(t_err.flags & PH_TX_DEAD, 0);
    t_commit(mine);
    CHECK_INT(t_number(s.conn, "SELECT count(*) FROM effect"), 0);
    CHECK_STR(join_view(&s, join), "pending 1 1 0 0 0");
    CHECK_INT(t_number(s.conn, "SELECT count(*) FROM {t}message"), 1);
    t_check_places(s.conn);
}

/* Every tenth message is a step, and they are acked from last to first in one call. */
TEST(steps_are_counted_among_messages_that_are_none)
{
    struct stage s = set_up();
    ph_join_id join = start(&s, PH_OWN_TX, 50, 0);
    ph_settlement items[500];
    ph_enqueued e[10];
    ph_batch *batch;

    for (int i = 0; i < 50; i++) {
        enqueue(&s, PH_OWN_TX, NULL, 9, e);
        enqueue(&s, PH_OWN_TX, &join, 1, e);
    }
    batch = t_claim(s.store, s.owner, 500);
    CHECK_INT(ph_batch_count(batch), 500);
    for (size_t i = 0; i < 500; i++)
        items[i] = (ph_settlement){ .lease = ph_lease_ref_of(ph_batch_at(batch, 499 - i)),
                                    .verb = i % 20 == 0 ? PH_FAIL : PH_ACK };
    OK(ph_outbox_settle(s.store, PH_OWN_TX, s.owner, items, 500, 0, NULL, &t_err));
    ph_batch_free(batch);
    CHECK_STR(join_view(&s, join), "failed 50 50 25 25 0");
    t_check_places(s.conn);
}

/* A few messages, thousands of numbers apart, with the steps of others in between. */
TEST(steps_far_apart_are_counted_without_those_between)
{
    struct stage s = set_up();
    ph_join_id wide = start(&s, PH_OWN_TX, 3, 0), other = start(&s, PH_OWN_TX, 600, 0);
    ph_enqueued e[300];
    ph_lease_ref leases[3];
    ph_batch *batch;

    for (int i = 0; i < 3; i++) {
        enqueue(&s, PH_OWN_TX, &wide, 1, e);
        leases[i] = (ph_lease_ref){ .work_id = e[0].work_id };
        if (i < 2)
            enqueue(&s, PH_OWN_TX, &other, 300, e);
    }
    batch = t_claim(s.store, s.owner, 1000);
    CHECK_INT(ph_batch_count(batch), 603);
    ph_batch_free(batch);
    OK(ph_outbox_ack(s.store, PH_OWN_TX, s.owner, leases, 3, 0, NULL, &t_err));
    CHECK_STR(join_view(&s, wide), "completed 3 3 3 0 0");
    CHECK_STR(join_view(&s, other), "pending 600 600 0 0 0");
    t_check_places(s.conn);
}

TEST(a_join_of_thousands_of_steps_is_counted_to_the_last)
{
    struct stage s = set_up();
    ph_join_id join = start(&s, PH_OWN_TX, MANY, 0);
    ph_enqueued *steps = calloc(MANY, sizeof(*steps));
    ph_join_info *info;
    ph_batch *batch;
    size_t acked = 0;

    for (int i = 0; i < MANY; i += 1000)
        enqueue(&s, PH_OWN_TX, &join, 1000, steps + i);
    wait_for(&s, PH_OWN_TX, join);
    while (ph_batch_count(batch = t_claim(s.store, s.owner, 700)) > 0 && acked < MANY) {
        CHECK_INT(count_topic(&s, "went.well"), 0);
        acked += t_ack_all(s.store, s.owner, batch);
    }
    CHECK_INT(ph_batch_count(batch), 1); /* the continuation */
    CHECK_STR(ph_batch_at(batch, 0)->topic, "went.well");
    ph_batch_free(batch);
    CHECK_INT(acked, MANY);
    CHECK_STR(join_view(&s, join), "completed 5000 5000 5000 0 0");
    OK(ph_join_find(s.store, PH_OWN_TX, join, 10, 0, &info, &t_err));
    CHECK_INT(info->member_count, 10);
    for (size_t i = 0; i < 10; i++) {
        CHECK(memcmp(info->members[i].work_id.b, steps[i].work_id.b, 16) == 0);
        CHECK_INT(info->members[i].state, 1);
    }
    ph_join_info_free(info);
    free(steps);
    t_check_places(s.conn);
}

TEST(a_claim_that_finds_nothing_else_ends_overdue_joins)
{
    struct stage s = set_up();
    ph_join_id join = start(&s, PH_OWN_TX, 2, T_EPOCH + 10 * T_SECOND);
    ph_enqueued step;
    ph_batch *batch;

    enqueue(&s, PH_OWN_TX, &join, 1, &step);
    CHECK_INT(t_ack_all(s.store, s.owner, t_claim(s.store, s.owner, 1)), 1);
    wait_for(&s, PH_OWN_TX, join);
    batch = t_claim(s.store, s.owner, 1);
    CHECK_INT(ph_batch_count(batch), 0);
    ph_batch_free(batch);
    t_clock_advance(s.store, 10 * T_SECOND);
    batch = t_claim(s.store, s.owner, 1);
    CHECK_INT(ph_batch_count(batch), 1);
    CHECK_STR(ph_batch_at(batch, 0)->topic, "went.wrong");
    ph_batch_free(batch);
    CHECK_STR(join_view(&s, join), "failed 2 1 1 0 0");
    CHECK_STR(t_value(s.conn, "SELECT status FROM {t}join_members"), "completed");
    t_check_places(s.conn);
}

/* The body is gone, and the step still shows how it ended. */
TEST(steps_outlive_their_messages)
{
    struct stage s = set_up();
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_join_id join = start(&s, PH_OWN_TX, 3, 0);
    ph_settlement items[2];
    ph_enqueued steps[2];
    int64_t count = 0;
    ph_batch *batch;

    settings.delete_on_ack = 1;
    OK(ph_outbox_queue_set(s.store, PH_OWN_TX, NULL, &settings, 0, &t_err));
    enqueue(&s, PH_OWN_TX, &join, 2, steps);
    batch = t_claim(s.store, s.owner, 2);
    for (size_t i = 0; i < 2; i++)
        items[i] = (ph_settlement){ .lease = ph_lease_ref_of(ph_batch_at(batch, i)),
                                    .verb = i ? PH_FAIL : PH_ACK };
    OK(ph_outbox_settle(s.store, PH_OWN_TX, s.owner, items, 2, 0, NULL, &t_err));
    ph_batch_free(batch);
    CHECK_STR(join_view(&s, join), "pending 3 2 1 1 0");
    OK(ph_dead_discard(s.store, PH_OWN_TX, &steps[1].work_id, 1, 0, &count, &t_err));
    CHECK_INT(count, 1);
    CHECK_INT(t_number(s.conn, "SELECT count(*) FROM {t}message"), 0);
    CHECK_STR(t_value(s.conn, "SELECT group_concat(status) FROM (SELECT status FROM {t}join_members"
                              " WHERE topic IS NULL ORDER BY work_id)"),
              "completed,failed");
    t_check_places(s.conn);
}

TEST(finished_joins_go_with_retention_and_open_ones_stay)
{
    struct stage s = set_up();
    ph_join_id done = start(&s, PH_OWN_TX, 1, 0), open = start(&s, PH_OWN_TX, 2, 0);
    ph_enqueued e;
    int64_t count = 0;

    enqueue(&s, PH_OWN_TX, &done, 1, &e);
    OK(ph_join_attach(s.store, PH_OWN_TX, open, e.message_id, 0, &t_err));
    CHECK_INT(t_ack_all(s.store, s.owner, t_claim(s.store, s.owner, 1)), 1);
    t_clock_advance(s.store, INT64_C(604800) * T_SECOND);
    OK(ph_retention_run(s.store, PH_OWN_TX, 0, 0, &count, &t_err));
    CHECK_INT(count, 2); /* the message and the join */
    CHECK_STR(join_view(&s, done), "");
    CHECK_STR(join_view(&s, open), "pending 2 1 1 0 0");
    CHECK_INT(t_number(s.conn, "SELECT count(*) FROM {t}join_member"), 1);
    CHECK_STR(t_value(s.conn, "SELECT status FROM {t}join_members"), "completed");
}

/* --------------------------------------------------- which message is meant */

TEST(a_message_that_was_put_back_is_meant_by_its_newest_stay)
{
    struct stage s = set_up();
    ph_join_id before = start(&s, PH_OWN_TX, 1, 0), after = start(&s, PH_OWN_TX, 1, 0);
    ph_settlement item = { .verb = PH_FAIL };
    ph_work_id again;
    ph_enqueued e;

    enqueue(&s, PH_OWN_TX, NULL, 1, &e);
    item.lease = (ph_lease_ref){ .work_id = e.work_id };
    ph_batch_free(t_claim(s.store, s.owner, 1));
    OK(ph_outbox_settle(s.store, PH_OWN_TX, s.owner, &item, 1, 0, NULL, &t_err));
    OK(ph_join_attach(s.store, PH_OWN_TX, before, e.message_id, 0, &t_err));
    CHECK_STR(join_view(&s, before), "failed 1 1 0 1 0");
    OK(ph_dead_retry(s.store, PH_OWN_TX, &e.work_id, 1, 0, &again, &t_err));
    OK(ph_join_attach(s.store, PH_OWN_TX, after, e.message_id, 0, &t_err));
    CHECK_STR(join_view(&s, after), "pending 1 1 0 0 0");
    CHECK_INT(t_ack_all(s.store, s.owner, t_claim(s.store, s.owner, 1)), 1);
    CHECK_STR(join_view(&s, after), "completed 1 1 1 0 0");
    CHECK_STR(join_view(&s, before), "failed 1 1 0 1 0");
}

TEST(a_wait_is_no_step_not_even_when_it_has_fired)
{
    struct stage s = set_up();
    ph_join_id join = start(&s, PH_OWN_TX, 1, 0), other = start(&s, PH_OWN_TX, 1, 0);
    ph_work_id wait = wait_for(&s, PH_OWN_TX, join);
    ph_message_id id;
    bool cancelled = false;

    memcpy(id.b, wait.b, sizeof(id.b));
    CHECK_INT(ph_join_attach(s.store, PH_OWN_TX, other, id, 0, &t_err), PH_ESTATE);
    OK(ph_join_cancel(s.store, PH_OWN_TX, join, 0, &cancelled, &t_err));
    CHECK(cancelled);
    CHECK_STR(t_view(s.conn, wait, "status"), "done");
    CHECK_INT(ph_join_attach(s.store, PH_OWN_TX, other, id, 0, &t_err), PH_ESTATE);
    CHECK_STR(join_view(&s, other), "pending 1 0 0 0 0");
    CHECK_INT(count_topic(&s, "went.wrong"), 1);
}

TEST(a_wait_shows_in_lookups_lists_and_the_deep_examination)
{
    struct stage s = set_up();
    ph_join_id join = start(&s, PH_OWN_TX, 1, 0);
    ph_work_id wait = wait_for(&s, PH_OWN_TX, join);
    ph_message_list_opts opts = PH_MESSAGE_LIST_OPTS_INIT;
    ph_doctor_opts deep = PH_DOCTOR_OPTS_INIT;
    ph_messages *list;
    ph_message_info *info;
    ph_report *report;
    int errors = 0;

    enqueue(&s, PH_OWN_TX, NULL, 1, &(ph_enqueued){ 0 });
    OK(ph_outbox_find(s.store, PH_OWN_TX, wait, 0, &info, &t_err));
    CHECK_INT(info->state, PH_WAITING);
    CHECK(memcmp(info->waits_for.b, join.b, sizeof(join.b)) == 0);
    ph_message_info_free(info);
    opts.state = PH_LIST_WAITING;
    OK(ph_outbox_list(s.store, PH_OWN_TX, &opts, 0, &list, &t_err));
    CHECK_INT(ph_messages_count(list), 1);
    CHECK(memcmp(ph_messages_at(list, 0)->message->work_id.b, wait.b, sizeof(wait.b)) == 0);
    CHECK_STR(ph_messages_at(list, 0)->message->topic, "join.wait");
    ph_messages_free(list);
    deep.deep = true;
    OK(ph_doctor(s.store, &deep, 0, &report, &t_err));
    for (size_t i = 0; i < ph_report_count(report); i++)
        errors += ph_report_at(report, i)->level == PH_FINDING_ERROR;
    CHECK_INT(errors, 0);
    ph_report_free(report);
}

/* --------------------------------------------------------- without memory */

#define STATE                                                                                      \
    "SELECT (SELECT group_concat(status || attached_steps || completed_steps || failed_steps) "    \
    "FROM {t}joins) || (SELECT count(*) FROM {t}join_members) || "                                 \
    "(SELECT group_concat(status) FROM {t}outbox)"

static ph_join_id the_join;
static ph_enqueued the_steps[4];
static ph_owner the_owner;

static int try_attach(ph_store *store)
{
    return ph_join_attach(store, PH_OWN_TX, the_join, the_steps[3].message_id, 0, &t_err);
}

static int try_wait(ph_store *store)
{
    ph_wait wait = PH_WAIT_INIT;

    wait.on_complete_topic = "went.well";
    wait.on_complete_payload = "";
    return ph_join_wait(store, PH_OWN_TX, the_join, &wait, 0, NULL, &t_err);
}

static int try_report(ph_store *store)
{
    return ph_join_report_completed(store, PH_OWN_TX, the_join, the_steps[0].message_id, 0, &t_err);
}

static int try_settle(ph_store *store)
{
    ph_settlement items[4] = {
        { .verb = PH_ACK }, { .verb = PH_FAIL }, { .verb = PH_ACK }, { .verb = PH_ACK }
    };

    for (size_t i = 0; i < 4; i++)
        items[i].lease = (ph_lease_ref){ .work_id = the_steps[i].work_id };
    return ph_outbox_settle(store, PH_OWN_TX, the_owner, items, 4, 0, NULL, &t_err);
}

static int try_find(ph_store *store)
{
    ph_join_info *info = NULL;
    int r = ph_join_find(store, PH_OWN_TX, the_join, 0, 0, &info, &t_err);

    ph_join_info_free(info);
    return r;
}

static int try_list(ph_store *store)
{
    ph_joins *list = NULL;
    int r = ph_join_list(store, PH_OWN_TX, NULL, 0, &list, &t_err);

    ph_joins_free(list);
    return r;
}

TEST(verbs_of_joins_without_memory_change_nothing)
{
    static int (*const verbs[])(ph_store *) = { try_attach, try_wait, try_report,
                                                try_find,   try_list, try_settle };
    struct stage s = set_up();
    char before[400];

    the_join = start(&s, PH_OWN_TX, 4, 0);
    the_owner = s.owner;
    enqueue(&s, PH_OWN_TX, &the_join, 3, the_steps);
    enqueue(&s, PH_OWN_TX, NULL, 1, the_steps + 3);
    ph_batch_free(t_claim(s.store, s.owner, 4));
    for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
        snprintf(before, sizeof(before), "%s", t_value(s.conn, STATE));
        for (long n = 0;; n++) {
            int r;

            ph__alloc_fail_after = n;
            r = verbs[i](s.store);
            ph__alloc_fail_after = -1;
            if (r == 0)
                break;
            CHECK_INT(r, PH_ENOMEM);
            CHECK_STR(t_value(s.conn, STATE), before);
        }
    }
    CHECK_STR(join_view(&s, the_join), "failed 4 4 3 1 0");
    CHECK_INT(count_topic(&s, "went.well"), 1);
    t_check_places(s.conn);
}
