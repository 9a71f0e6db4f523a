/* verdict_test.c - what a handler returns, and what becomes of the message. */
#include "rig.h"

#include <stdlib.h>

/* One message through one handler, under the fake clock; what is seen afterwards. */
static struct seen outcome_of(struct rig *rig, struct part *part)
{
    ph_work_id id;

    rig_open(rig);
    t_clock_set(rig->side, T_EPOCH);
    id = rig_put(rig, "t");
    rig_run(rig, "t", play, part);
    rig_drain(rig);
    CHECK_INT(part->calls, 1);
    return see(rig->side, id);
}

TEST(done_is_done)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    struct rig rig;
    struct seen seen = outcome_of(&rig, &part);

    CHECK_INT(seen.status, PH_DONE);
    CHECK_INT(seen.attempts, 1);
    CHECK(same_id(seen.owner.b, ph_dispatcher_owner(rig.dispatcher).b));
    CHECK_INT(rig_stats(&rig).done, 1);
    rig_end(&rig);
}

TEST(retry_waits_for_the_backoff_and_keeps_the_error)
{
    static struct part part = { .verdict = PH_VERDICT_RETRY, .error = "the mail server said no" };
    struct rig rig;
    struct seen seen = outcome_of(&rig, &part);

    REQ_INT("OBX-056", seen.status, PH_READY);
    REQ_INT("OBX-056", seen.attempts, 1);
    REQ_INT("OBX-056", seen.retry_count, 1);
    REQ_STR("OBX-056", seen.last_error, "the mail server said no");
    REQ_INT("OBX-056", seen.next_attempt_at, T_EPOCH + 2 * T_SECOND);
    CHECK_INT(rig_stats(&rig).retried, 1);
    CHECK_INT(rig_stats(&rig).dead, 0);
    rig_end(&rig);
}

TEST(retry_waits_for_the_delay_that_the_handler_sets)
{
    static struct part part = { .verdict = PH_VERDICT_RETRY, .delayed = true, .delay_ms = 90000 };
    struct rig rig;
    struct seen seen = outcome_of(&rig, &part);

    CHECK_INT(seen.next_attempt_at, T_EPOCH + 90 * T_SECOND);
    CHECK_INT(seen.attempts, 1);
    CHECK(!seen.has_error);
    rig_end(&rig);
}

TEST(a_negative_delay_is_ignored)
{
    static struct part part = { .verdict = PH_VERDICT_RETRY, .delayed = true, .delay_ms = -7 };
    struct rig rig;

    CHECK_INT(outcome_of(&rig, &part).next_attempt_at, T_EPOCH + 2 * T_SECOND);
    rig_end(&rig);
}

static int64_t three_seconds(void *context, int retry_count, int attempts)
{
    (void)context;
    return 1000 * (retry_count + 2 * attempts);
}

TEST(the_stores_own_backoff_decides)
{
    static struct part part = { .verdict = PH_VERDICT_RETRY };
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    struct rig rig;
    ph_work_id id;

    rig_open(&rig);
    opts.backoff = three_seconds;
    rig.store = t_open(&opts);
    t_clock_set(rig.side, T_EPOCH);
    id = rig_put(&rig, "t");
    rig_run(&rig, "t", play, &part);
    rig_drain(&rig);
    CHECK_INT(see(rig.side, id).next_attempt_at, T_EPOCH + 3 * T_SECOND);
    rig_end(&rig);
}

TEST(fail_is_dead_at_once)
{
    static struct part part = { .verdict = PH_VERDICT_FAIL, .error = "no such address" };
    struct rig rig;
    struct seen seen = outcome_of(&rig, &part);

    REQ_INT("OBX-056", seen.status, PH_FAILED);
    REQ_STR("OBX-056", seen.dead_reason, "failed");
    REQ_STR("OBX-056", seen.last_error, "no such address");
    CHECK_INT(rig_stats(&rig).failed, 1);
    rig_end(&rig);
}

static void check_deferred(struct seen seen, int64_t delay_us)
{
    CHECK_INT(seen.status, PH_READY);
    CHECK_INT(seen.attempts, 0);
    CHECK_INT(seen.retry_count, 0);
    CHECK_INT(seen.next_attempt_at, T_EPOCH + delay_us);
}

TEST(defer_waits_a_minute_and_costs_no_attempt)
{
    static struct part part = { .verdict = PH_VERDICT_DEFER };
    struct rig rig;

    check_deferred(outcome_of(&rig, &part), 60 * T_SECOND);
    CHECK_INT(rig_stats(&rig).deferred, 1);
    CHECK_INT(rig_stats(&rig).no_handler, 0);
    rig_end(&rig);
}

TEST(defer_waits_for_the_delay_that_the_handler_sets)
{
    static struct part part = { .verdict = PH_VERDICT_DEFER, .delayed = true, .delay_ms = 1500 };
    struct rig rig;

    check_deferred(outcome_of(&rig, &part), 1500 * T_SECOND / 1000);
    rig_end(&rig);
}

TEST(defer_waits_as_the_options_say)
{
    static struct part part = { .verdict = PH_VERDICT_DEFER };
    struct rig rig;
    ph_work_id id;

    rig_open(&rig);
    t_clock_set(rig.side, T_EPOCH);
    set_max_attempts(rig.side, 1);
    id = rig_put(&rig, "t");
    rig.opts.defer_ms = 7000;
    rig_run(&rig, "t", play, &part);
    for (int i = 1; i <= 3; i++) {
        AWAIT(rig_stats(&rig).deferred == i);
        CHECK_INT(see(rig.side, id).next_attempt_at, t_clock(rig.side) + 7 * T_SECOND);
        t_clock_advance(rig.side, 7 * T_SECOND);
    }
    rig_end(&rig);
    CHECK_INT(see(rig.side, id).attempts, 0);
}

TEST(rubbish_is_a_retry_with_an_error_that_says_so)
{
    static const int rubbish[] = { 0, 6, 99, -1, 0x7fffffff };
    static struct part part = { .error = "the handler's own words" };

    for (size_t i = 0; i < sizeof(rubbish) / sizeof(*rubbish); i++) {
        struct rig rig;
        struct seen seen;

        part.verdict = (ph_verdict)rubbish[i];
        part.calls = 0;
        seen = outcome_of(&rig, &part);
        REQ_INT("OBX-056", seen.status, PH_READY);
        REQ_INT("OBX-056", seen.attempts, 1);
        REQ_INT("OBX-056", seen.retry_count, 1);
        REQ("OBX-056", strstr(seen.last_error, "verdict") != NULL);
        rig_end(&rig);
        t_start_over();
    }
}

TEST(attempts_are_spent_after_exactly_so_many_calls)
{
    static struct part part = { .verdict = PH_VERDICT_RETRY, .error = "why", .delayed = true };
    struct rig rig;
    struct seen seen;
    ph_work_id id;

    rig_open(&rig);
    set_max_attempts(rig.side, 4);
    id = rig_put(&rig, "t");
    rig_run(&rig, "t", play, &part);
    AWAIT(rig_stats(&rig).dead == 1);
    rig_drain(&rig);
    seen = see(rig.side, id);
    REQ_INT("OBX-056", part.calls, 4);
    REQ_INT("OBX-056", seen.status, PH_FAILED);
    REQ_STR("OBX-056", seen.dead_reason, "attempts");
    CHECK_STR(seen.last_error, "why");
    CHECK_INT(rig_stats(&rig).retried, 4);
    rig_end(&rig);
}

TEST(one_that_goes_wrong_does_not_disturb_its_batch)
{
    static struct part good = { .verdict = PH_VERDICT_DONE };
    static struct part bad = { .verdict = PH_VERDICT_FAIL };
    struct rig rig;
    ph_work_id id;

    rig_open(&rig);
    put_many(rig.side, "good", 10, NULL);
    id = rig_put(&rig, "bad");
    put_many(rig.side, "good", 10, NULL);
    rig_new(&rig);
    rig_handle(&rig, "good", play, &good);
    rig_handle(&rig, "bad", play, &bad);
    rig_start(&rig);
    rig_drain(&rig);
    CHECK_INT(rig_stats(&rig).done, 20);
    CHECK_INT(see(rig.side, id).status, PH_FAILED);
    rig_end(&rig);
}

/* The database could not store such a time: it must not take the batch with it. */
TEST(a_delay_beyond_all_measure_disturbs_nobody)
{
    static struct part good = { .verdict = PH_VERDICT_DONE };
    static struct part late = { .verdict = PH_VERDICT_RETRY, .delayed = true };
    static struct part later = { .verdict = PH_VERDICT_DEFER, .delayed = true };
    struct rig rig;
    ph_work_id ids[2];

    late.delay_ms = later.delay_ms = INT64_MAX;
    rig_open(&rig);
    put_many(rig.side, "good", 5, NULL);
    ids[0] = rig_put(&rig, "late");
    ids[1] = rig_put(&rig, "later");
    rig_new(&rig);
    rig_handle(&rig, "good", play, &good);
    rig_handle(&rig, "late", play, &late);
    rig_handle(&rig, "later", play, &later);
    rig_start(&rig);
    rig_drain(&rig);
    CHECK_INT(rig_stats(&rig).done, 5);
    CHECK_INT(late.calls + later.calls, 2);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(see(rig.side, ids[i]).status, PH_READY);
        CHECK(see(rig.side, ids[i]).next_attempt_at > t_clock(rig.side) + 86400 * T_SECOND);
    }
    rig_end(&rig);
}

static ph_verdict complain_twice(void *context, ph_work *work)
{
    char *long_text = context;

    ph_work_error(work, "first");
    ph_work_error(work, long_text);
    long_text[0] = '!'; /* it was copied */
    return PH_VERDICT_FAIL;
}

static const char *error_kept(const char *text)
{
    static struct seen seen;
    struct rig rig;
    ph_work_id id;
    char *copy = strdup(text);

    CHECK(copy != NULL);
    rig_open(&rig);
    id = rig_put(&rig, "t");
    rig_run(&rig, "t", complain_twice, copy);
    rig_drain(&rig);
    seen = see(rig.side, id);
    rig_end(&rig);
    t_start_over();
    free(copy);
    return seen.last_error;
}

TEST(error_texts_survive_quotes_lines_and_length)
{
    const char *odd = "it's \"so\"\n\tand %s; DROP TABLE {t}message; -- \\ \xe2\x82\xac";

    CHECK_STR(error_kept(odd), odd);
    CHECK_INT(strlen(error_kept(repeated("x", PH_ERROR_TEXT_MAX))), PH_ERROR_TEXT_MAX);
    CHECK_INT(strlen(error_kept(repeated("x", PH_ERROR_TEXT_MAX + 1))), PH_ERROR_TEXT_MAX);
    /* Cut between characters, not through one. */
    CHECK_INT(strlen(error_kept(repeated("\xe2\x82\xac", 5000))), PH_ERROR_TEXT_MAX / 3 * 3);
    CHECK(strstr(error_kept("not \xff UTF-8"), "UTF-8") != NULL);
}

static ph_verdict take_it_back(void *context, ph_work *work)
{
    (void)context;
    ph_work_error(work, "first");
    ph_work_error(work, NULL);
    ph_work_delay(work, 5000);
    ph_work_delay(work, 0);
    return PH_VERDICT_RETRY;
}

TEST(the_last_error_and_the_last_delay_count)
{
    struct rig rig;
    ph_work_id id;

    rig_open(&rig);
    set_max_attempts(rig.side, 2);
    id = rig_put(&rig, "t");
    rig_run(&rig, "t", take_it_back, NULL);
    AWAIT(rig_stats(&rig).dead == 1);
    CHECK(!see(rig.side, id).has_error);
    rig_end(&rig);
}
