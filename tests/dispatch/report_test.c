/* report_test.c - what the dispatcher says of itself: the log and the numbers. */
#include "rig.h"

#include <stdlib.h>

#define SECRET "s3cret-payload"

/* ------------------------------------------------------------------------ log */

TEST(each_call_of_a_handler_is_logged_with_topic_and_message_id)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    char id[PH_ID_TEXT_SIZE], field[80];
    ph_enqueued messages[3];
    struct rig rig;

    rig_open(&rig);
    put_many(rig.side, "order.placed", 3, messages);
    rig_run(&rig, NULL, play, &part);
    rig_drain(&rig);
    rig_stop(&rig);
    REQ("OBX-104", journal_count(rig.journal, PH_LOG_INFO, "handle", "order.placed") >= 3);
    for (int i = 0; i < 3; i++) {
        snprintf(field, sizeof(field), "message_id=%s", ph_id_text(messages[i].message_id.b, id));
        REQ_INT("OBX-104", journal_count(rig.journal, PH_LOG_INFO, "handle", field), 1);
    }
    CHECK_INT(journal_count(rig.journal, PH_LOG_ERROR, NULL, NULL), 0);
    CHECK_INT(journal_count(rig.journal, PH_LOG_WARN, NULL, NULL), 0);
    rig_end(&rig);
}

/* What is logged at ERROR for one message of a handler that does this. */
static void check_error_logged(struct part *part, const char *cause)
{
    char id[PH_ID_TEXT_SIZE], field[80];
    ph_enqueued enqueued;
    struct rig rig;

    rig_open(&rig);
    enqueued = t_enqueue(rig.side, "order.placed", SECRET);
    rig_run(&rig, NULL, play, part);
    rig_drain(&rig);
    rig_stop(&rig);
    snprintf(field, sizeof(field), "message_id=%s", ph_id_text(enqueued.message_id.b, id));
    REQ_INT("OBX-105", journal_count(rig.journal, PH_LOG_ERROR, "handle", field), 1);
    REQ_INT("OBX-105", journal_count(rig.journal, PH_LOG_ERROR, "handle", cause), 1);
    REQ_INT("OBX-105", journal_count(rig.journal, PH_LOG_ERROR, "handle", "order.placed"), 1);
    CHECK_INT(journal_count(rig.journal, (ph_log_level)0, NULL, SECRET), 0);
    rig_end(&rig);
    t_start_over();
}

TEST(a_handlers_failure_is_logged_at_error_with_cause_and_message_id)
{
    static struct part retries = { .verdict = PH_VERDICT_RETRY, .error = "no route to host" };
    static struct part fails = { .verdict = PH_VERDICT_FAIL, .error = "no such\naddress" };
    static struct part silent = { .verdict = PH_VERDICT_RETRY };
    static struct part raves = { .verdict = (ph_verdict)77 };

    check_error_logged(&retries, "no route to host");
    check_error_logged(&fails, "no such\\naddress");
    check_error_logged(&silent, "none given");
    check_error_logged(&raves, "77");
}

/* An error text is logged, where it belongs: in the line of the failure. */
TEST(neither_payload_nor_header_is_logged)
{
    static struct part part = { .verdict = PH_VERDICT_RETRY, .error = "words of a handler" };
    static struct part more = { .verdict = PH_VERDICT_FAIL, .error = "words of a handler" };
    ph_store_opts opts = rig_store_opts();
    ph_message message = a_message("a", SECRET " %s%n <script>;rm -rf /");
    struct rig rig;

    rig_open(&rig);
    opts.log_level = PH_LOG_DEBUG;
    rig.store = t_open(&opts);
    message.headers = "{\"token\":\"" SECRET "\"}";
    put(rig.side, &message);
    message.topic = "b";
    put(rig.side, &message);
    message.topic = "unknown";
    put(rig.side, &message);
    rig.opts.any_topic = true;
    rig_new(&rig);
    rig_handle(&rig, "a", play, &part);
    rig_handle_in_tx(&rig, "b", play, &more);
    rig_start(&rig);
    rig_drain(&rig);
    rig_stop(&rig);
    CHECK(journal_count(rig.journal, (ph_log_level)0, NULL, NULL) > 5);
    CHECK_INT(journal_count(rig.journal, (ph_log_level)0, NULL, SECRET), 0);
    CHECK_INT(journal_count(rig.journal, (ph_log_level)0, NULL, "words of a handler"), 2);
    CHECK_INT(journal_count(rig.journal, PH_LOG_ERROR, "handle", "words of a handler"), 2);
    rig_end(&rig);
}

TEST(a_hostile_topic_stays_on_its_line)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    rig_open(&rig);
    t_enqueue(rig.side, "a\nERROR forged %s", "x");
    rig_run(&rig, NULL, play, &part);
    rig_drain(&rig);
    rig_stop(&rig);
    CHECK(journal_count(rig.journal, PH_LOG_INFO, "handle", "forged %s") >= 1);
    CHECK_INT(journal_count(rig.journal, (ph_log_level)0, NULL, "\n"), 0);
    rig_end(&rig);
}

struct narrow {
    _Atomic int inside, together, lines;
};

static void count_lines(void *context, const ph_log_event *event)
{
    struct narrow *narrow = context;

    (void)event;
    if (++narrow->inside > 1)
        narrow->together++;
    nap();
    narrow->lines++;
    narrow->inside--;
}

TEST(the_log_callback_is_called_by_one_thread_at_a_time)
{
    static struct narrow narrow;
    static struct part part = { .verdict = PH_VERDICT_RETRY };
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    struct rig rig;

    rig_open(&rig);
    opts.log = count_lines;
    opts.log_context = &narrow;
    opts.log_level = PH_LOG_DEBUG;
    rig.store = t_open(&opts);
    put_many(rig.side, "t", 100, NULL);
    rig.opts.threads = 8;
    rig.opts.batch_size = 10;
    rig_new(&rig);
    rig_handle(&rig, NULL, play, &part);
    narrow.lines = 0;
    rig_start(&rig);
    rig_drain(&rig);
    rig_stop(&rig);
    CHECK(narrow.lines >= 100);
    CHECK_INT(narrow.together, 0);
    rig_end(&rig);
}

/* -------------------------------------------------------------------- numbers */

static int64_t sum(const int64_t *buckets)
{
    int64_t total = 0;

    for (int i = 0; i < PH_HISTOGRAM_SIZE; i++)
        total += buckets[i];
    return total;
}

static ph_verdict by_payload(void *context, ph_work *work)
{
    (void)context;
    ph_work_delay(work, 3600000);
    return (ph_verdict)(1 + atoi(ph_work_delivery(work)->payload) % 4);
}

TEST(the_numbers_add_up)
{
    ph_dispatcher_stats stats;
    struct rig rig;

    rig_open(&rig);
    set_max_attempts(rig.side, 1);
    put_many(rig.side, "t", 40, NULL);
    put_many(rig.side, "unknown", 5, NULL);
    rig.opts.any_topic = true;
    rig_run(&rig, "t", by_payload, NULL);
    rig_drain(&rig);
    stats = rig_stats(&rig);
    CHECK_INT(stats.claimed, 45);
    CHECK_INT(stats.started, 40);
    CHECK_INT(stats.done, 10);
    CHECK_INT(stats.retried, 10);
    CHECK_INT(stats.dead, 10);
    CHECK_INT(stats.failed, 10);
    CHECK_INT(stats.no_handler, 5);
    CHECK(stats.deferred == 10 || stats.deferred == 15);
    CHECK_INT(stats.released + stats.stale + stats.cancelled + stats.replaced_threads, 0);
    CHECK(stats.exchanges >= stats.empty_claims && stats.empty_claims > 0);
    CHECK_INT(stats.waiting + stats.running + stats.kept, 0);
    CHECK(stats.connected);
    CHECK_INT(stats.outages, 0);
    CHECK_INT(sum(stats.wait_us), 40);
    CHECK_INT(sum(stats.run_us), 40);
    rig_end(&rig);
}

static ph_verdict take_a_while(void *context, ph_work *work)
{
    (void)context;
    (void)work;
    for (double end = t_now_s() + 0.05; t_now_s() < end;)
        nap();
    return PH_VERDICT_DONE;
}

TEST(histograms_tell_how_long_handlers_waited_and_ran)
{
    ph_dispatcher_stats stats;
    int64_t early = 0;
    struct rig rig;

    rig_open(&rig);
    put_many(rig.side, "t", 5, NULL);
    rig.opts.threads = 1;
    rig_run(&rig, NULL, take_a_while, NULL);
    rig_drain(&rig);
    stats = rig_stats(&rig);
    for (int i = 0; i < 15; i++)
        early += stats.run_us[i]; /* below 2^15 microseconds: 33 ms */
    CHECK_INT(early, 0);
    CHECK_INT(sum(stats.run_us), 5);
    for (int i = 0; i < 17; i++)
        early += stats.wait_us[i]; /* below 131 ms */
    CHECK(early <= 3);             /* the fourth waited for three others, 150 ms at least */
    CHECK_INT(sum(stats.wait_us), 5);
    rig_end(&rig);
}

TEST(an_older_program_gets_the_numbers_it_knows)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    ph_dispatcher_stats stats = PH_DISPATCHER_STATS_INIT;
    struct rig rig;

    rig_open(&rig);
    rig_put(&rig, "t");
    rig_run(&rig, NULL, play, &part);
    rig_drain(&rig);
    stats.size = offsetof(ph_dispatcher_stats, done);
    stats.done = 77;
    stats.run_us[31] = 78;
    OK(ph_dispatcher_stats_get(rig.dispatcher, &stats, &t_err));
    CHECK_INT(stats.claimed, 1);
    CHECK_INT(stats.started, 1);
    CHECK_INT(stats.done, 77); /* beyond what it knows nothing is written */
    CHECK_INT(stats.run_us[31], 78);
    CHECK_INT(stats.size, offsetof(ph_dispatcher_stats, done));
    rig_end(&rig);
}

TEST(the_numbers_can_be_asked_for_by_any_thread_at_any_time)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    rig_open(&rig);
    put_many(rig.side, "t", 300, NULL);
    rig_run(&rig, NULL, play, &part);
    for (;;) {
        ph_dispatcher_stats stats = rig_stats(&rig);

        CHECK(stats.started <= stats.claimed && stats.done <= stats.started);
        CHECK(stats.waiting >= 0 && stats.running >= 0 && stats.running <= 4);
        if (stats.done == 300)
            break;
    }
    rig_stop(&rig);
    CHECK_INT(rig_stats(&rig).done, 300); /* also after the end */
    rig_end(&rig);
}
