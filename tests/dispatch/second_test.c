/* second_test.c - one database with two pollers: neither holds up what the other could do. PostgreSQL
 * only: a file has one writer. */
#include "rig.h"

#include <unistd.h>

static void open_pg(struct rig *rig)
{
    if (!t_is_pg())
        t_not_here("a file has one poller");
    rig_open(rig);
}

static long long done(struct rig *rig)
{
    return t_number(rig->conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 2");
}

/* A call that waits for the row of one batch, and works of others: the other poller settles these, also
 * if it slept without knowing of them, and also if it has looked in vain before. */
TEST(a_settlement_that_is_held_up_holds_up_no_other)
{
    static struct gate gates[3] = { GATE_INIT, GATE_INIT, GATE_INIT };
    static struct part parts[3];
    static const char *const topics[3] = { "a", "b", "c" };
    struct rig rig;
    double begin;

    open_pg(&rig);
    rig.opts.in_flight_max = 3; /* then nobody claims, and wakes up for that */
    rig.opts.batch_size = 2;
    rig_new(&rig);
    for (int i = 0; i < 3; i++) {
        parts[i] = (struct part){ .verdict = PH_VERDICT_DONE, .gate = &gates[i] };
        rig_handle(&rig, topics[i], play, &parts[i]);
    }
    t_begin(rig.conn);
    for (int i = 0; i < 2; i++) {
        ph_message message = a_message(topics[i], "x");

        OK(ph_enqueue(rig.side, t_tx(rig.conn), &message, 0, NULL, &t_err));
    }
    t_commit(rig.conn);
    rig_start(&rig);
    gate_await(&gates[0], 1);
    gate_await(&gates[1], 1);
    rig_put(&rig, "c");
    gate_await(&gates[2], 1);
    t_begin(rig.conn);
    t_sql(rig.conn,
          "DO $$ BEGIN PERFORM FROM {t}lease WHERE cardinality(ids) = 2 FOR UPDATE; END $$");
    gate_open(&gates[0]); /* the second settles it, and waits for the row */
    for (double end = t_now_s() + 0.3; t_now_s() < end;)
        nap();
    gate_open(&gates[1]); /* of the same batch: nobody may, for now */
    for (double end = t_now_s() + 0.3; t_now_s() < end;)
        nap();
    begin = t_now_s();
    gate_open(&gates[2]);
    AWAIT(rig_stats(&rig).done == 1);
    printf("after %.3f s\n", t_now_s() - begin);
    CHECK(t_now_s() - begin < 5);
    t_rollback(rig.conn);
    rig_drain(&rig);
    CHECK_INT(done(&rig), 3);
    rig_end(&rig);
}

static int once(void *context, const ph_candidate *stores, size_t count, size_t last)
{
    _Atomic int *said = context;

    (void)count;
    (void)last;
    return stores[0].ready && (*said)++ == 0 ? 0 : -1;
}

TEST(nothing_is_claimed_that_the_callback_has_not_chosen)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    static _Atomic int said;
    struct rig rig;

    open_pg(&rig);
    put_many(rig.side, "t", 10, NULL);
    rig.opts.batch_size = 3;
    rig.opts.select = once;
    rig.opts.select_context = &said;
    rig_run(&rig, NULL, play, &part);
    AWAIT(rig_stats(&rig).done == 3);
    AWAIT(said > 3);
    CHECK_INT(rig_stats(&rig).claimed, 3);
    rig_end(&rig);
}

static ph_verdict play_by_topic(void *context, ph_work *work)
{
    return strcmp(ph_work_delivery(work)->topic, "stream") == 0 ? play(context, work)
                                                                : PH_VERDICT_DONE;
}

/* The second claims when a stream goes on, and finds as much as it has asked for, or only a last
 * attempt, which it leaves. Nothing rings, and the first would look in seconds. */
static void check_rest(int attempts)
{
    struct gate gate = GATE_INIT;
    struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    struct rig rig;
    double begin;

    open_pg(&rig);
    rig.opts.doorbell = PH_DOORBELL_OFF;
    rig.opts.poll_ms = 10000;
    rig.opts.threads = 2;
    rig.opts.prefetch = -1;
    rig_put_stream(&rig, "stream", "s", 1);
    rig_run(&rig, NULL, play_by_topic, &part);
    gate_await(&gate, 1);
    AWAIT(rig_stats(&rig).empty_claims == 9); /* each pause is twice as long as the one before */
    t_begin(rig.conn);
    for (int i = 0; i < 10; i++) {
        ph_message message = a_message("t", "x");

        message.max_attempts = attempts;
        OK(ph_enqueue(rig.side, t_tx(rig.conn), &message, 0, NULL, &t_err));
    }
    t_commit(rig.conn);
    begin = t_now_s();
    gate_open(&gate);
    AWAIT(rig_stats(&rig).done == 11);
    printf("after %.3f s\n", t_now_s() - begin);
    CHECK(t_now_s() - begin < 2);
    rig_end(&rig);
}

TEST(where_the_second_finds_much_the_first_looks_too)
{
    check_rest(0);
}

TEST(a_last_attempt_that_the_second_leaves_is_claimed_by_the_first)
{
    check_rest(1);
}

static ph_verdict by_letter(void *context, ph_work *work)
{
    struct part *parts = context;

    return play(&parts[*ph_work_delivery(work)->topic - 'a'], work);
}

static void wait_a_while(void)
{
    for (double end = t_now_s() + 0.3; t_now_s() < end;)
        nap();
}

/* The first sleeps, with nothing to claim for, until the leases must be renewed in twenty minutes. The
 * second is in a call that waits for the row of one batch. */
TEST(a_settlement_that_is_held_up_wakes_the_first_for_others)
{
    struct gate gates[4] = { GATE_INIT, GATE_INIT, GATE_INIT, GATE_INIT };
    struct part parts[4];
    struct rig rig;

    open_pg(&rig);
    for (int i = 0; i < 4; i++)
        parts[i] = (struct part){ .verdict = PH_VERDICT_DONE, .gate = &gates[i] };
    rig.opts.threads = 3;
    rig.opts.batch_size = 4;
    rig.opts.prefetch = 8;
    rig.opts.lease_s = 3600;
    rig_run(&rig, NULL, by_letter, parts);
    rig_put(&rig, "a");
    gate_await(&gates[0], 1);
    t_begin(rig.conn);
    t_sql(rig.conn, "DO $$ BEGIN PERFORM FROM {t}lease FOR UPDATE; END $$");
    rig_put(&rig, "b");
    gate_await(&gates[1], 1);
    rig_put(&rig, "c");
    gate_await(&gates[2], 1);
    put_many(rig.side, "d", 8, NULL);
    AWAIT(rig_stats(&rig).waiting == 8);
    wait_a_while();
    gate_open(&gates[0]); /* the second settles it, and waits for the row */
    wait_a_while();
    gate_open(&gates[1]);
    AWAIT(rig_stats(&rig).done == 1);
    t_rollback(rig.conn);
    for (int i = 0; i < 4; i++)
        gate_open(&gates[i]);
    rig_drain(&rig);
    rig_end(&rig);
}

/* Otherwise a process that is killed would lose both. */
TEST(a_last_attempt_waits_until_the_second_has_settled)
{
    struct gate gates[2] = { GATE_INIT, GATE_INIT };
    struct part parts[2];
    ph_message last = a_message("b", "x");
    struct rig rig;

    open_pg(&rig);
    for (int i = 0; i < 2; i++)
        parts[i] = (struct part){ .verdict = PH_VERDICT_DONE, .gate = &gates[i] };
    rig.opts.threads = 2;
    rig.opts.lease_s = 3600;
    rig_run(&rig, NULL, by_letter, parts);
    rig_put(&rig, "a");
    gate_await(&gates[0], 1);
    t_begin(rig.conn);
    t_sql(rig.conn, "DO $$ BEGIN PERFORM FROM {t}lease FOR UPDATE; END $$");
    gate_open(&gates[0]);
    wait_a_while(); /* the second settles it, and waits for the row */
    last.max_attempts = 1;
    put(rig.side, &last);
    wait_a_while();
    CHECK_INT(parts[1].calls, 0);
    t_rollback(rig.conn);
    gate_await(&gates[1], 1);
    CHECK(rig_stats(&rig).done == 1);
    gate_open(&gates[1]);
    rig_drain(&rig);
    rig_end(&rig);
}

/* The role may have one connection. */
static void put_until_said(struct rig *rig, const char *text)
{
    for (int i = 0; i < 1000 && journal_count(rig->journal, PH_LOG_WARN, NULL, text) == 0; i++) {
        long long done = rig_stats(rig).done;

        rig_put(rig, "t");
        AWAIT(rig_stats(rig).done > done);
        for (double end = t_now_s() + 0.05; t_now_s() < end;)
            nap();
    }
    CHECK_INT(journal_count(rig->journal, PH_LOG_WARN, NULL, text), 1);
}

TEST(a_second_connection_that_cannot_be_used_is_told_once)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    ph_store_opts opts = rig_store_opts();
    char url[1000], sql[100];
    struct rig rig;

    open_pg(&rig);
    snprintf(sql, sizeof(sql), "CREATE ROLE one_%ld LOGIN CONNECTION LIMIT 1 IN ROLE postgres",
             (long)getpid());
    t_sql(rig.conn, sql);
    snprintf(url, sizeof(url), "%s&user=one_%ld", t_url(), (long)getpid());
    opts.schema = t_schema();
    OK(t_try_open(url, &opts, &rig.store));
    rig_run(&rig, NULL, play, &part);
    put_until_said(&rig, "the second connection cannot be used");
    CHECK_INT(rig_stats(&rig).outages, 0);
    snprintf(sql, sizeof(sql), "ALTER ROLE one_%ld CONNECTION LIMIT 2", (long)getpid());
    t_sql(rig.conn, sql);
    put_until_said(&rig, "the second connection is back");
    CHECK_INT(journal_count(rig.journal, PH_LOG_WARN, NULL, "cannot be used"), 1);
    rig_end(&rig);
}
