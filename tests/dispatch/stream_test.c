/* stream_test.c - messages of one stream, one after the other and in order, whatever becomes of
 * them; checked from what the handlers write down, not from the database. */
#include "rig.h"

#include <stdlib.h>

#define STREAMS 20
#define LINES 4000

/* What was handled, in order. */
struct ledger {
    pthread_mutex_t mutex;
    int count;
    struct line {
        int stream;
        int64_t seq;
        int attempts;
        bool done;
    } lines[LINES];
    bool busy[STREAMS], overlap;
    int fail_every;         /* every so many handlings fail; 0: none */
    int64_t odd_seq;        /* this one is not done the first time, … */
    ph_verdict odd_verdict; /* … but this; 0: it is done */
};
#define LEDGER_INIT                                                                                \
    {                                                                                              \
        .mutex = PTHREAD_MUTEX_INITIALIZER                                                         \
    }

static struct line *begin_line(struct ledger *ledger, const ph_delivery *delivery)
{
    struct line *line;

    pthread_mutex_lock(&ledger->mutex);
    CHECK(ledger->count < LINES);
    line = &ledger->lines[ledger->count++];
    line->stream = atoi(delivery->stream + 1);
    line->seq = delivery->seq;
    line->attempts = delivery->attempts;
    ledger->overlap |= ledger->busy[line->stream];
    ledger->busy[line->stream] = true;
    pthread_mutex_unlock(&ledger->mutex);
    return line;
}

static ph_verdict end_line(struct ledger *ledger, struct line *line, ph_verdict verdict)
{
    pthread_mutex_lock(&ledger->mutex);
    line->done = verdict == PH_VERDICT_DONE;
    ledger->busy[line->stream] = false;
    pthread_mutex_unlock(&ledger->mutex);
    return verdict;
}

/* Writes the message down; the stream's name is a letter and a number. */
static ph_verdict write_line(void *context, ph_work *work)
{
    struct ledger *ledger = context;
    const ph_delivery *delivery = ph_work_delivery(work);
    struct line *line = begin_line(ledger, delivery);
    ph_verdict verdict = PH_VERDICT_DONE;

    if (ledger->odd_verdict && delivery->seq == ledger->odd_seq && delivery->attempts == 1 &&
        !delivery->last_error)
        verdict = ledger->odd_verdict;
    if (ledger->fail_every && rand() % ledger->fail_every == 0)
        verdict = PH_VERDICT_RETRY;
    if (rand() % 16 == 0)
        nap();
    ph_work_error(work, "odd");
    ph_work_delay(work, 0);
    return end_line(ledger, line, verdict);
}

/* Each stream was handled from 1 to count without a gap: a message again only until it was done,
 * and the next one only then. */
static void check_order(struct ledger *ledger, int stream, int64_t count)
{
    int64_t done = 0;

    for (int i = 0; i < ledger->count; i++) {
        const struct line *line = &ledger->lines[i];

        if (line->stream != stream)
            continue;
        CHECK_INT(line->seq, done + 1);
        done += line->done;
    }
    CHECK_INT(done, count);
    CHECK(!ledger->overlap);
}

static void put_streams(struct rig *rig, int streams, int count)
{
    for (int i = 0; i < count; i++) {
        for (int stream = 0; stream < streams; stream++) {
            char name[16];

            snprintf(name, sizeof(name), "s%d", stream);
            rig_put_stream(rig, "t", name, 1);
        }
    }
}

static void check_nothing_lost(struct rig *rig)
{
    ph_dispatcher_stats stats = rig_stats(rig);

    CHECK_INT(stats.stale, 0);
    CHECK_INT(stats.claimed, stats.done + stats.retried + stats.failed + stats.deferred +
                                 stats.released + stats.no_handler);
    CHECK_INT(journal_count(rig->journal, PH_LOG_WARN, NULL, "lease"), 0);
}

/* ------------------------------------------------------------------- all is well */

TEST(eight_threads_keep_the_order_of_every_stream)
{
    static struct ledger ledger = LEDGER_INIT;
    struct rig rig;

    rig_open(&rig);
    put_streams(&rig, STREAMS, 30);
    rig.opts.threads = 8;
    rig_run(&rig, NULL, write_line, &ledger);
    rig_drain(&rig);
    for (int stream = 0; stream < STREAMS; stream++)
        check_order(&ledger, stream, 30);
    CHECK_INT(ledger.count, STREAMS * 30);
    check_nothing_lost(&rig);
    rig_end(&rig);
}

TEST(a_long_stream_is_worked_on_in_runs)
{
    static struct ledger ledger = LEDGER_INIT;
    struct rig rig;

    rig_open(&rig);
    rig_put_stream(&rig, "t", "s0", 2000);
    rig_run(&rig, NULL, write_line, &ledger);
    rig_drain(&rig);
    check_order(&ledger, 0, 2000);
    CHECK(rig_stats(&rig).exchanges < 1000);
    CHECK_INT(rig_stats(&rig).done, 2000);
    check_nothing_lost(&rig);
    rig_end(&rig);
}

TEST(streams_are_worked_on_at_the_same_time)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    struct rig rig;

    rig_open(&rig);
    put_streams(&rig, 3, 5);
    rig.opts.threads = 3;
    rig_run(&rig, NULL, play, &part);
    gate_await(&gate, 3);
    CHECK_INT(part.calls, 3);
    gate_open(&gate);
    rig_drain(&rig);
    CHECK_INT(part.calls, 15);
    rig_end(&rig);
}

/* What waits behind a slow one takes no thread, and no room, from others. */
TEST(a_slow_stream_holds_up_nobody_else)
{
    static struct gate gate = GATE_INIT;
    static struct part slow = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    static struct part quick = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    rig_open(&rig);
    rig_put_stream(&rig, "slow", "s0", 300);
    rig.opts.threads = 2;
    rig.opts.prefetch = -1;
    rig_new(&rig);
    rig_handle(&rig, "slow", play, &slow);
    rig_handle(&rig, "quick", play, &quick);
    rig_start(&rig);
    gate_await(&gate, 1);
    for (int i = 0; i < 10; i++)
        rig_put(&rig, "quick");
    rig_put_stream(&rig, "quick", "s1", 10);
    AWAIT(quick.calls == 20);
    CHECK_INT(slow.calls, 1);
    gate_open(&gate);
    rig_drain(&rig);
    CHECK_INT(slow.calls, 300);
    rig_end(&rig);
}

TEST(no_more_of_streams_is_in_flight_than_the_options_say)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    struct rig rig;

    rig_open(&rig);
    put_streams(&rig, 4, 20);
    rig.opts.threads = 4;
    rig.opts.in_flight_max = 10;
    rig_run(&rig, NULL, play, &part);
    gate_await(&gate, 1);
    for (int i = 0; i < 100; i++) {
        CHECK(rig_stats(&rig).waiting + rig_stats(&rig).running <= 10);
        CHECK(t_number(rig.conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 1") <= 10);
        nap();
    }
    gate_open(&gate);
    rig_drain(&rig);
    CHECK_INT(part.calls, 80);
    rig_end(&rig);
}

/* -------------------------------------------------------------------- other verdicts */

/* Ten messages, the fifth of which is not done the first time. */
static void run_odd(struct rig *rig, struct ledger *ledger, ph_verdict verdict, bool in_transaction)
{
    ledger->odd_seq = 5;
    ledger->odd_verdict = verdict;
    rig_open(rig);
    rig_put_stream(rig, "t", "s0", 10);
    rig->opts.threads = 8;
    rig_new(rig);
    if (in_transaction)
        rig_handle_in_tx(rig, "t", write_line, ledger);
    else
        rig_handle(rig, "t", write_line, ledger);
    rig_start(rig);
    rig_drain(rig);
    AWAIT(t_number(rig->conn, "SELECT count(*) FROM {t}outbox WHERE status_code IN (2, 3)") == 10);
    rig_drain(rig);
}

static void check_retried(struct rig *rig, struct ledger *ledger, int attempts)
{
    check_order(ledger, 0, 10);
    CHECK_INT(ledger->count, 11);
    CHECK_INT(ledger->lines[5].attempts, attempts);
    for (int i = 6; i < 11; i++)
        CHECK_INT(ledger->lines[i].attempts, 1);
    check_nothing_lost(rig);
    CHECK_INT(rig_stats(rig).done, 10);
}

TEST(a_retry_in_a_run_comes_before_what_is_behind_it)
{
    static struct ledger ledger = LEDGER_INIT;
    struct rig rig;

    run_odd(&rig, &ledger, PH_VERDICT_RETRY, false);
    check_retried(&rig, &ledger, 2);
    CHECK_INT(rig_stats(&rig).retried, 1);
    CHECK_INT(rig_stats(&rig).released, 5);
    rig_end(&rig);
}

TEST(a_retry_in_a_run_of_transactions_comes_before_what_is_behind_it)
{
    static struct ledger ledger = LEDGER_INIT;
    struct rig rig;

    run_odd(&rig, &ledger, PH_VERDICT_RETRY, true);
    check_retried(&rig, &ledger, 2);
    rig_end(&rig);
}

/* It is deferred once: the ledger tells by the line before. */
static ph_verdict defer_once(void *context, ph_work *work)
{
    struct ledger *ledger = context;
    const ph_delivery *delivery = ph_work_delivery(work);
    struct line *line = begin_line(ledger, delivery);
    bool again = line > ledger->lines && line[-1].seq == delivery->seq;

    ph_work_delay(work, 0);
    return end_line(ledger, line,
                    delivery->seq == 5 && !again ? PH_VERDICT_DEFER : PH_VERDICT_DONE);
}

TEST(a_deferred_message_comes_before_what_is_behind_it)
{
    static struct ledger ledger = LEDGER_INIT;
    struct rig rig;

    rig_open(&rig);
    rig_put_stream(&rig, "t", "s0", 10);
    rig_run(&rig, NULL, defer_once, &ledger);
    rig_drain(&rig);
    check_retried(&rig, &ledger, 1);
    CHECK_INT(rig_stats(&rig).deferred, 1);
    rig_end(&rig);
}

TEST(a_dead_message_is_passed_over)
{
    static struct ledger ledger = LEDGER_INIT;
    struct rig rig;

    run_odd(&rig, &ledger, PH_VERDICT_FAIL, false);
    CHECK_INT(ledger.count, 10);
    for (int i = 0; i < 10; i++)
        CHECK_INT(ledger.lines[i].seq, i + 1);
    CHECK_INT(rig_stats(&rig).failed, 1);
    CHECK_INT(rig_stats(&rig).done, 9);
    check_nothing_lost(&rig);
    rig_end(&rig);
}

TEST(a_dead_message_that_blocks_holds_up_its_stream)
{
    static struct ledger ledger = LEDGER_INIT;
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    struct rig rig;

    rig_open(&rig);
    settings.dead_head = PH_DEAD_HEAD_BLOCK;
    set_queue(rig.side, &settings);
    ledger.odd_seq = 5;
    ledger.odd_verdict = PH_VERDICT_FAIL;
    rig_put_stream(&rig, "t", "s0", 10);
    rig_put_stream(&rig, "t", "s1", 4);
    rig_run(&rig, NULL, write_line, &ledger);
    rig_drain(&rig);
    CHECK_INT(ledger.count, 9);
    settings.dead_head = PH_DEAD_HEAD_SKIP;
    set_queue(rig.side, &settings);
    rig_drain(&rig);
    CHECK_INT(ledger.count, 14);
    check_nothing_lost(&rig);
    rig_end(&rig);
}

TEST(a_topic_without_handler_holds_up_its_stream_only)
{
    static struct ledger ledger = LEDGER_INIT;
    struct rig rig;

    rig_open(&rig);
    rig_put_stream(&rig, "t", "s0", 3);
    rig_put_stream(&rig, "nobody's", "s0", 1);
    rig_put_stream(&rig, "t", "s0", 3);
    rig_put_stream(&rig, "t", "s1", 3);
    rig.opts.any_topic = true;
    rig_run(&rig, "t", write_line, &ledger);
    rig_drain(&rig);
    CHECK_INT(ledger.count, 6);
    CHECK_INT(rig_stats(&rig).no_handler, 1);
    check_nothing_lost(&rig);
    rig_end(&rig);
}

/* ------------------------------------------------------------------- transactions */

static ph_verdict write_effect(void *context, ph_work *work)
{
    struct line *line = begin_line(context, ph_work_delivery(work));

    return end_line(context, line, effect_write(work) ? PH_VERDICT_DONE : PH_VERDICT_RETRY);
}

TEST(a_run_of_transactions_has_its_effects_in_order)
{
    static struct ledger ledger = LEDGER_INIT;
    struct rig rig;

    rig_open(&rig);
    effects_make(rig.conn);
    put_streams(&rig, 3, 20);
    rig_new(&rig);
    rig_handle_in_tx(&rig, "t", write_effect, &ledger);
    rig_start(&rig);
    rig_drain(&rig);
    for (int stream = 0; stream < 3; stream++)
        check_order(&ledger, stream, 20);
    CHECK_INT(effects(rig.conn), 60);
    CHECK_INT(effects_distinct(rig.conn), 60);
    check_nothing_lost(&rig);
    rig_end(&rig);
}

/* An ack in a transaction comes after that of the message before, which the dispatcher sends. */
TEST(a_run_may_be_handled_with_and_without_transactions)
{
    static struct ledger ledger = LEDGER_INIT;
    struct rig rig;

    rig_open(&rig);
    effects_make(rig.conn);
    for (int i = 0; i < 10; i++) {
        rig_put_stream(&rig, "with", "s0", 1 + i % 2);
        rig_put_stream(&rig, "without", "s0", 1 + i % 3);
    }
    rig_new(&rig);
    rig_handle_in_tx(&rig, "with", write_effect, &ledger);
    rig_handle(&rig, "without", write_line, &ledger);
    rig_start(&rig);
    rig_drain(&rig);
    check_order(&ledger, 0, 15 + 19);
    CHECK_INT(effects(rig.conn), 15);
    check_nothing_lost(&rig);
    rig_end(&rig);
}

/* --------------------------------------------------------------------- kept works */

struct shelf {
    struct ledger ledger;
    _Atomic(ph_work *) kept;
};

static ph_verdict keep_third(void *context, ph_work *work)
{
    struct shelf *shelf = context;
    const ph_delivery *delivery = ph_work_delivery(work);
    struct line *line = begin_line(&shelf->ledger, delivery);
    bool keep = delivery->seq == 3 && delivery->attempts == 1;

    if (keep)
        shelf->kept = work;
    return end_line(&shelf->ledger, line, keep ? PH_VERDICT_KEEP : PH_VERDICT_DONE);
}

static void run_kept(struct rig *rig, struct shelf *shelf, ph_verdict verdict)
{
    rig_open(rig);
    rig_put_stream(rig, "t", "s0", 6);
    rig_run(rig, NULL, keep_third, shelf);
    AWAIT(shelf->kept && rig_stats(rig).kept == 1);
    for (int i = 0; i < 50; i++)
        nap();
    CHECK_INT(shelf->ledger.count, 3);
    shelf->ledger.lines[2].done = verdict == PH_VERDICT_DONE;
    ph_work_delay(shelf->kept, 0);
    OK(ph_work_settle(shelf->kept, verdict, &t_err));
    rig_drain(rig);
    check_order(&shelf->ledger, 0, 6);
    check_nothing_lost(rig);
}

TEST(a_kept_message_holds_up_its_stream_until_it_is_settled)
{
    static struct shelf shelf = { .ledger = LEDGER_INIT };
    struct rig rig;

    run_kept(&rig, &shelf, PH_VERDICT_DONE);
    CHECK_INT(shelf.ledger.count, 6);
    rig_end(&rig);
}

TEST(a_kept_message_that_is_retried_comes_before_what_is_behind_it)
{
    static struct shelf shelf = { .ledger = LEDGER_INIT };
    struct rig rig;

    run_kept(&rig, &shelf, PH_VERDICT_RETRY);
    CHECK_INT(shelf.ledger.count, 7);
    rig_end(&rig);
}

/* ------------------------------------------------------------------- what goes wrong */

static void *stop_it(void *context)
{
    struct rig *rig = context;
    ph_error err;

    CHECK(ph_dispatcher_stop(rig->dispatcher, AWAIT_LIMIT_S * 1000, &err) == 0);
    return NULL;
}

TEST(a_stop_gives_back_what_is_behind_and_lets_the_first_end)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    struct rig rig;
    pthread_t thread;

    rig_open(&rig);
    rig_put_stream(&rig, "t", "s0", 20);
    rig_run(&rig, NULL, play, &part);
    gate_await(&gate, 1);
    AWAIT(rig_stats(&rig).waiting > 0);
    CHECK(pthread_create(&thread, NULL, stop_it, &rig) == 0);
    AWAIT(t_number(rig.conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 1") == 1);
    CHECK_INT(t_number(rig.conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 5"), 19);
    gate_open(&gate);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_INT(part.calls, 1);
    CHECK_INT(t_number(rig.conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 2"), 1);
    CHECK_INT(t_number(rig.conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 0"), 1);
    CHECK_INT(t_number(rig.conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 5"), 18);
    CHECK_INT(t_number(rig.conn, "SELECT sum(attempts) FROM {t}outbox"), 1);
    check_nothing_lost(&rig);
    rig_end(&rig);
}

TEST(when_a_lease_is_lost_nothing_more_of_the_run_is_handled)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    ph_owner other = ph_owner_new();
    ph_lease_ref theirs;
    struct rig rig;

    rig_open(&rig);
    t_clock_set(rig.side, T_EPOCH);
    rig_put_stream(&rig, "t", "s0", 6);
    rig.opts.lease_s = 3;
    rig.opts.message_limit = 6; /* so that it does not take them back itself */
    rig_run(&rig, NULL, play, &part);
    gate_await(&gate, 1);
    t_clock_advance(rig.side, 10 * T_SECOND);
    reap(rig.side);
    theirs = take_one(rig.side, other);
    AWAIT(rig_stats(&rig).cancelled == 1);
    gate_open(&gate);
    rig_drain(&rig);
    CHECK_INT(part.calls, 1);
    CHECK_INT(rig_stats(&rig).stale, 1);
    CHECK_INT(rig_stats(&rig).released, 5);
    CHECK_INT(ack(rig.side, other, theirs), PH_OUTCOME_ACKED);
    rig_end(&rig);
}

TEST(a_handler_that_hangs_does_not_let_its_stream_go_on)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    ph_handler handler = PH_HANDLER_INIT;
    struct rig rig;

    if (UNDER_TSAN)
        t_not_here("it only takes long");
    rig_open(&rig);
    rig_put_stream(&rig, "t", "s0", 4);
    rig_new(&rig);
    handler.handle = play;
    handler.context = &part;
    handler.time_limit_ms = 100;
    OK(ph_dispatcher_handle(rig.dispatcher, &handler, &t_err));
    rig_start(&rig);
    AWAIT(rig_stats(&rig).retried == 1);
    CHECK_INT(part.calls, 1);
    CHECK_INT(t_number(rig.conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 5"), 3);
    gate_open(&gate);
    AWAIT(rig_stats(&rig).done == 4);
    CHECK_INT(part.calls, 5);
    rig_end(&rig);
}

/* Two dispatchers, handlers that fail one time in ten, and one ledger. */
TEST(two_dispatchers_keep_the_order_of_streams_whose_handlers_fail)
{
    static struct ledger ledger = LEDGER_INIT;
    ph_store_opts opts = rig_store_opts();
    struct rig rig, second;

    rig_open(&rig);
    set_max_attempts(rig.side, 1000);
    put_streams(&rig, STREAMS, 20);
    ledger.fail_every = 10;
    rig.opts.threads = 3;
    rig.opts.batch_size = 10;
    second = rig;
    second.store = t_open(&opts);
    rig_run(&rig, NULL, write_line, &ledger);
    rig_run(&second, NULL, write_line, &ledger);
    AWAIT(t_number(rig.conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 2") ==
          STREAMS * 20);
    rig_drain(&rig);
    rig_drain(&second);
    for (int stream = 0; stream < STREAMS; stream++)
        check_order(&ledger, stream, 20);
    check_nothing_lost(&rig);
    check_nothing_lost(&second);
    rig_end(&second);
    rig_end(&rig);
}

static ph_verdict play_two(void *context, ph_work *work)
{
    struct part *parts = context; /* the stream's, the others' */

    return play(&parts[ph_work_delivery(work)->stream == NULL], work);
}

/* Nothing else wakes a poller: both threads are at work, there is no room, and the leases are renewed in
 * twenty minutes. */
TEST(a_run_that_is_cut_is_settled_at_once)
{
    struct gate head = GATE_INIT, others = GATE_INIT;
    struct part parts[2] = { { .verdict = PH_VERDICT_FAIL, .gate = &head },
                             { .verdict = PH_VERDICT_DONE, .gate = &others } };
    struct rig rig;
    double begin;

    rig_open(&rig);
    rig.opts.threads = 2;
    rig.opts.batch_size = 8;
    rig.opts.prefetch = 8;
    rig.opts.lease_s = 3600;
    rig_put_stream(&rig, "stream", "s", 3);
    rig_run(&rig, NULL, play_two, parts);
    gate_await(&head, 1);
    put_many(rig.side, "t", 7, NULL);
    gate_await(&others, 1);
    AWAIT(rig_stats(&rig).waiting == 8); /* no room until they are taken */
    for (double end = t_now_s() + 0.3; t_now_s() < end;)
        nap();
    begin = t_now_s();
    gate_open(&head);
    AWAIT(rig_stats(&rig).failed == 1);
    CHECK(t_now_s() - begin < 30); /* a poller looks around once a minute */
    gate_open(&others);
    rig_drain(&rig);
    rig_end(&rig);
}
