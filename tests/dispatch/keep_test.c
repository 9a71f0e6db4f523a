/* keep_test.c - works that a handler keeps, and that are settled later by another thread. */
#include "rig.h"

#include <stdlib.h>

#define SHELF_SIZE 64

/* Where kept works wait for the test. */
struct shelf {
    pthread_mutex_t mutex;
    ph_work *works[SHELF_SIZE];
    _Atomic int count;
    struct gate *gate; /* the handler returns when it is open; NULL: at once */
};
#define SHELF_INIT                                                                                 \
    {                                                                                              \
        .mutex = PTHREAD_MUTEX_INITIALIZER                                                         \
    }

static ph_verdict shelve(void *context, ph_work *work)
{
    struct shelf *shelf = context;

    pthread_mutex_lock(&shelf->mutex);
    CHECK(shelf->count < SHELF_SIZE);
    shelf->works[shelf->count] = work;
    shelf->count++;
    pthread_mutex_unlock(&shelf->mutex);
    if (shelf->gate)
        gate_pass(shelf->gate);
    return PH_VERDICT_KEEP;
}

static ph_verdict shelve_slowly(void *context, ph_work *work)
{
    for (int i = 0; i < 175; i++) /* so slow that less is fetched ahead from then on */
        nap();
    return shelve(context, work);
}

static ph_work *from_shelf(struct shelf *shelf, int index)
{
    ph_work *work;

    AWAIT(shelf->count > index);
    pthread_mutex_lock(&shelf->mutex);
    work = shelf->works[index];
    pthread_mutex_unlock(&shelf->mutex);
    return work;
}

TEST(a_kept_work_is_settled_by_another_thread)
{
    static struct shelf shelf = SHELF_INIT;
    static const ph_verdict verdicts[] = { PH_VERDICT_DONE, PH_VERDICT_RETRY, PH_VERDICT_FAIL,
                                           PH_VERDICT_DEFER };
    ph_enqueued messages[4];
    struct rig rig;

    rig_open(&rig);
    t_clock_set(rig.side, T_EPOCH);
    put_many(rig.side, "t", 4, messages);
    rig.opts.threads = 1; /* a kept work does not occupy a thread */
    rig_run(&rig, NULL, shelve, &shelf);
    AWAIT(rig_stats(&rig).kept == 4);
    CHECK_INT(rig_stats(&rig).running, 0);
    for (int i = 0; i < 4; i++) {
        ph_work *work = from_shelf(&shelf, i);
        int number = atoi(ph_work_delivery(work)->payload);

        CHECK(!ph_work_cancelled(work));
        ph_work_error(work, "kept");
        ph_work_delay(work, 3000);
        OK(ph_work_settle(work, verdicts[number], &t_err));
    }
    rig_drain(&rig);
    CHECK_INT(rig_stats(&rig).kept, 0);
    CHECK_INT(see(rig.side, messages[0].work_id).status, PH_DONE);
    CHECK_STR(see(rig.side, messages[1].work_id).last_error, "kept");
    CHECK_INT(see(rig.side, messages[1].work_id).next_attempt_at, T_EPOCH + 3 * T_SECOND);
    CHECK_INT(see(rig.side, messages[1].work_id).attempts, 1);
    CHECK_STR(see(rig.side, messages[2].work_id).dead_reason, "failed");
    CHECK_INT(see(rig.side, messages[3].work_id).attempts, 0);
    CHECK_INT(see(rig.side, messages[3].work_id).next_attempt_at, T_EPOCH + 3 * T_SECOND);
    CHECK_INT(rig_stats(&rig).done, 1);
    CHECK_INT(rig_stats(&rig).deferred, 1);
    rig_end(&rig);
}

TEST(a_work_may_be_settled_before_its_handler_has_returned)
{
    static struct gate gate = GATE_INIT;
    static struct shelf shelf = { .mutex = PTHREAD_MUTEX_INITIALIZER, .gate = &gate };
    struct rig rig;
    ph_work_id id;

    rig_open(&rig);
    id = rig_put(&rig, "t");
    rig_run(&rig, NULL, shelve, &shelf);
    gate_await(&gate, 1);
    OK(ph_work_settle(from_shelf(&shelf, 0), PH_VERDICT_DONE, &t_err));
    gate_open(&gate);
    rig_drain(&rig);
    CHECK_INT(see(rig.side, id).status, PH_DONE);
    CHECK_INT(rig_stats(&rig).kept, 0);
    CHECK_INT(rig_stats(&rig).running, 0);
    CHECK_INT(rig_stats(&rig).done, 1);
    rig_end(&rig);
}

static void *settle_from_shelf(void *context)
{
    struct shelf *shelf = context;

    for (int i = 0; i < SHELF_SIZE; i++) {
        ph_error err;

        CHECK(ph_work_settle(from_shelf(shelf, i), PH_VERDICT_DONE, &err) == 0);
    }
    return NULL;
}

/* Handlers return and works are settled in any order. */
TEST(settling_races_with_the_handlers_return)
{
    static struct shelf shelf = SHELF_INIT;
    pthread_t settler;
    struct rig rig;

    rig_open(&rig);
    CHECK(pthread_create(&settler, NULL, settle_from_shelf, &shelf) == 0);
    rig_run(&rig, NULL, shelve, &shelf);
    put_many(rig.side, "t", SHELF_SIZE, NULL);
    pthread_join(settler, NULL);
    rig_drain(&rig);
    CHECK_INT(rig_stats(&rig).done, SHELF_SIZE);
    CHECK_INT(rig_stats(&rig).kept, 0);
    CHECK_INT(t_number(rig.conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 2"),
              SHELF_SIZE);
    rig_end(&rig);
}

TEST(a_kept_work_keeps_its_lease)
{
    static struct shelf shelf = SHELF_INIT;
    struct rig rig;
    int64_t until;
    ph_work_id id;

    rig_open(&rig);
    id = rig_put(&rig, "t");
    rig.opts.lease_s = 2;
    rig_run(&rig, NULL, shelve, &shelf);
    AWAIT(rig_stats(&rig).kept == 1);
    until = see(rig.side, id).locked_until;
    AWAIT(t_clock(rig.side) > until + T_SECOND / 2);
    CHECK_INT(reap(rig.side), 0);
    CHECK_INT(see(rig.side, id).attempts, 1);
    CHECK(!ph_work_cancelled(from_shelf(&shelf, 0)));
    OK(ph_work_settle(from_shelf(&shelf, 0), PH_VERDICT_DONE, &t_err));
    rig_drain(&rig);
    CHECK_INT(see(rig.side, id).status, PH_DONE);
    rig_end(&rig);
}

TEST(a_kept_work_whose_lease_was_lost_is_cancelled_and_stale)
{
    static struct shelf shelf = SHELF_INIT;
    ph_owner other = ph_owner_new();
    struct rig rig;
    ph_work_id id;

    rig_open(&rig);
    t_clock_set(rig.side, T_EPOCH);
    id = rig_put(&rig, "t");
    rig.opts.lease_s = 3;
    rig.opts.message_limit = 1;
    rig_run(&rig, NULL, shelve, &shelf);
    AWAIT(rig_stats(&rig).kept == 1);
    t_clock_advance(rig.side, 10 * T_SECOND);
    reap(rig.side);
    take_one(rig.side, other);
    CHECK(ph_work_wait(from_shelf(&shelf, 0), AWAIT_LIMIT_S * 1000));
    OK(ph_work_settle(from_shelf(&shelf, 0), PH_VERDICT_DONE, &t_err));
    rig_drain(&rig);
    CHECK_INT(rig_stats(&rig).stale, 1);
    CHECK_INT(rig_stats(&rig).done, 0);
    CHECK_INT(see(rig.side, id).status, PH_IN_PROGRESS);
    rig_end(&rig);
}

TEST(what_is_not_a_verdict_leaves_the_work_to_its_keeper)
{
    static struct shelf shelf = SHELF_INIT;
    struct rig rig;
    ph_work *work;

    rig_open(&rig);
    rig_put(&rig, "t");
    rig_run(&rig, NULL, shelve, &shelf);
    work = from_shelf(&shelf, 0);
    AWAIT(rig_stats(&rig).kept == 1);
    CHECK_INT(ph_work_settle(work, PH_VERDICT_KEEP, &t_err), PH_EINVAL);
    CHECK_INT(t_err.code, PH_EINVAL);
    CHECK_INT(ph_work_settle(work, (ph_verdict)0, &t_err), PH_EINVAL);
    CHECK_INT(ph_work_settle(work, (ph_verdict)99, NULL), PH_EINVAL);
    CHECK_INT(ph_work_settle(NULL, PH_VERDICT_DONE, &t_err), PH_EINVAL);
    CHECK_STR(ph_work_delivery(work)->topic, "t");
    OK(ph_work_settle(work, PH_VERDICT_DONE, &t_err));
    rig_drain(&rig);
    CHECK_INT(rig_stats(&rig).done, 1);
    rig_end(&rig);
}

/* ---------------------------------------------------------- stop while kept */

TEST(a_kept_work_that_is_settled_within_the_limit_counts)
{
    static struct shelf shelf = SHELF_INIT;
    pthread_t settler;
    struct rig rig;

    rig_open(&rig);
    put_many(rig.side, "t", SHELF_SIZE, NULL);
    rig_run(&rig, NULL, shelve, &shelf);
    AWAIT(rig_stats(&rig).kept == SHELF_SIZE);
    CHECK(pthread_create(&settler, NULL, settle_from_shelf, &shelf) == 0);
    rig_stop(&rig);
    pthread_join(settler, NULL);
    CHECK_INT(rig_stats(&rig).done, SHELF_SIZE);
    CHECK_INT(t_number(rig.conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 2"),
              SHELF_SIZE);
    rig_end(&rig);
}

static void check_released(struct rig *rig, ph_work_id id)
{
    struct seen seen = see(rig->side, id);

    CHECK_INT(seen.status, PH_READY);
    CHECK_INT(seen.attempts, 0);
    CHECK_STR(seen.kinds, "released");
}

TEST(a_work_that_is_still_kept_after_the_stop_was_released_and_settling_changes_nothing)
{
    static struct shelf shelf = SHELF_INIT;
    struct rig rig;
    ph_work *work;
    ph_work_id id;

    rig_open(&rig);
    id = rig_put(&rig, "t");
    rig_run(&rig, NULL, shelve, &shelf);
    AWAIT(rig_stats(&rig).kept == 1);
    work = from_shelf(&shelf, 0);
    OK(ph_dispatcher_stop(rig.dispatcher, 1, &t_err)); /* no handler is running */
    check_released(&rig, id);
    CHECK(ph_work_cancelled(work));
    CHECK_STR(ph_work_delivery(work)->topic, "t");
    OK(ph_work_settle(work, PH_VERDICT_DONE, &t_err));
    check_released(&rig, id);
    rig_end(&rig);
    check_released(&rig, id);
}

TEST(a_work_outlives_the_dispatcher)
{
    static struct shelf shelf = SHELF_INIT;
    struct rig rig;
    ph_work *work;
    ph_work_id id;

    rig_open(&rig);
    id = rig_put(&rig, "t");
    rig_run(&rig, NULL, shelve, &shelf);
    AWAIT(rig_stats(&rig).kept == 1);
    work = from_shelf(&shelf, 0);
    ph_dispatcher_free(rig.dispatcher);
    ph_close(rig.store);
    check_released(&rig, id);
    CHECK(ph_work_cancelled(work));
    CHECK(ph_work_wait(work, 10000));
    CHECK_STR(ph_work_delivery(work)->topic, "t");
    CHECK_STR(ph_work_delivery(work)->payload, "x");
    ph_work_error(work, "too late");
    ph_work_delay(work, 5);
    CHECK_INT(ph_work_settle(work, PH_VERDICT_KEEP, &t_err), PH_EINVAL);
    OK(ph_work_settle(work, PH_VERDICT_FAIL, &t_err));
    check_released(&rig, id);
    t_check_places(rig.conn);
}

static void *settle_when_cancelled(void *context)
{
    ph_work *work = context;
    ph_error err;

    CHECK(ph_work_wait(work, AWAIT_LIMIT_S * 1000));
    CHECK(ph_work_settle(work, PH_VERDICT_DONE, &err) == 0);
    return NULL;
}

TEST(a_kept_work_is_cancelled_by_a_stop_and_has_a_second_to_end)
{
    static struct shelf shelf = SHELF_INIT;
    pthread_t settler;
    struct rig rig;
    ph_work_id id;

    rig_open(&rig);
    id = rig_put(&rig, "t");
    rig_run(&rig, NULL, shelve, &shelf);
    AWAIT(rig_stats(&rig).kept == 1);
    CHECK(pthread_create(&settler, NULL, settle_when_cancelled, from_shelf(&shelf, 0)) == 0);
    OK(ph_dispatcher_stop(rig.dispatcher, 1, &t_err));
    pthread_join(settler, NULL);
    CHECK_INT(see(rig.side, id).status, PH_DONE);
    rig_end(&rig);
}

static ph_verdict keep_the_odd_one(void *context, ph_work *work)
{
    _Atomic(ph_work *) *kept = context;

    if (!ph_work_delivery(work)->dedupe_key)
        return PH_VERDICT_DONE;
    if (ph_work_delivery(work)->attempts == 1) {
        ph_work_error(work, "not yet");
        ph_work_delay(work, 0);
        return PH_VERDICT_RETRY;
    }
    *kept = work;
    return PH_VERDICT_KEEP;
}

/* The batch is too large to be held in memory for its sake. */
TEST(a_kept_work_is_whole_when_its_large_batch_is_gone)
{
    static _Atomic(ph_work *) kept;
    const char *large = repeated("x", 30000);
    ph_message message = a_message("t", large);
    ph_tenant_id tenant = { { 1, 2, 3 } };
    char key[80], id[PH_ID_TEXT_SIZE];
    const ph_delivery *d;
    struct rig rig;

    rig_open(&rig);
    rig.opts.threads = 1;
    snprintf(key, sizeof(key), "%s/7", ph_id_text(tenant.b, id));
    for (int i = 0; i < 60; i++) {
        message.tenant_id = i == 7 ? &tenant : NULL;
        message.dedupe_key = i == 7 ? key : NULL;
        message.correlation_id = i == 7 ? "trace-7" : NULL;
        message.headers = i == 7 ? "{\"a\":\"b\"}" : NULL;
        (void)put(rig.side, &message);
    }
    rig_run(&rig, NULL, keep_the_odd_one, &kept);
    AWAIT(kept && rig_stats(&rig).done == 59);
    d = ph_work_delivery(kept);
    CHECK_INT(d->payload_length, 30000);
    CHECK_STR(d->payload, large);
    CHECK_STR(d->topic, "t");
    CHECK_STR(d->ns, "");
    CHECK_STR(d->dedupe_key, key);
    CHECK_STR(d->correlation_id, "trace-7");
    CHECK(strstr(d->headers, "\"b\"") != NULL);
    CHECK_STR(d->last_error, "not yet");
    CHECK(d->tenant_id && same_id(d->tenant_id->b, tenant.b));
    OK(ph_work_settle(kept, PH_VERDICT_DONE, &t_err));
    rig_drain(&rig);
    rig_end(&rig);
}

#define THOUSANDS 3000

struct many {
    _Atomic int count;
    ph_work *works[THOUSANDS];
};

static ph_verdict keep_all(void *context, ph_work *work)
{
    struct many *many = context;

    many->works[many->count] = work;
    many->count++;
    return PH_VERDICT_KEEP;
}

/* More than one renewal can take; and a claim of so many comes in pieces. */
TEST(thousands_of_kept_works_keep_their_leases)
{
    static struct many many;
    struct rig rig;

    rig_open(&rig);
    rig.opts.threads = 1;
    rig.opts.batch_size = PH_BATCH_MAX;
    rig.opts.in_flight_max = THOUSANDS;
    rig.opts.lease_s = 9;
    put_many(rig.side, "t", THOUSANDS, NULL);
    rig_run(&rig, NULL, keep_all, &many);
    AWAIT(many.count == THOUSANDS);
    AWAIT(rig_stats(&rig).renewals >= 3);
    CHECK_INT(rig_stats(&rig).kept, THOUSANDS);
    CHECK_INT(rig_stats(&rig).cancelled, 0);
    for (int i = 0; i < THOUSANDS; i++)
        OK(ph_work_settle(many.works[i], PH_VERDICT_DONE, &t_err));
    rig_drain(&rig);
    CHECK_INT(rig_stats(&rig).done, THOUSANDS);
    CHECK_INT(rig_stats(&rig).claimed, THOUSANDS);
    CHECK_INT(rig_stats(&rig).stale, 0);
    rig_end(&rig);
}

static ph_verdict settle_and_hang(void *context, ph_work *work)
{
    OK(ph_work_settle(work, PH_VERDICT_DONE, NULL));
    gate_pass(context);
    return PH_VERDICT_KEEP;
}

TEST(a_handler_that_hangs_after_it_has_settled_its_work_is_replaced)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE };
    ph_handler handler = PH_HANDLER_INIT;
    struct rig rig;

    rig_open(&rig);
    rig.opts.threads = 1;
    rig_new(&rig);
    handler.topic = "hang";
    handler.handle = settle_and_hang;
    handler.context = &gate;
    handler.time_limit_ms = 50;
    OK(ph_dispatcher_handle(rig.dispatcher, &handler, &t_err));
    rig_handle(&rig, "t", play, &part);
    rig_start(&rig);
    rig_put(&rig, "hang");
    gate_await(&gate, 1);
    rig_put(&rig, "t");
    AWAIT(part.calls == 1);
    CHECK_INT(rig_stats(&rig).replaced_threads, 1);
    CHECK_INT(rig_stats(&rig).stale, 0);
    gate_open(&gate);
    AWAIT(rig_stats(&rig).running == 0);
    rig_drain(&rig);
    CHECK_INT(rig_stats(&rig).done, 2);
    rig_end(&rig);
}

/* The last thread to be free is free for a new message, too, though nothing is there to be settled. */
TEST(what_comes_when_all_are_kept_is_found_by_the_next_look)
{
    static struct shelf shelf = SHELF_INIT;
    struct rig rig;

    rig_open(&rig);
    put_many(rig.side, "t", 6, NULL);
    rig.opts.doorbell = PH_DOORBELL_OFF;
    rig.opts.retention_ms = -1;
    rig.opts.threads = 1;
    rig.opts.lease_s = 12; /* renewed after 4 s: the look must not wait for that */
    rig_run(&rig, NULL, shelve_slowly, &shelf);
    AWAIT(shelf.count == 6);
    rig_put(&rig, "t");
    AWAIT(shelf.count == 7);
    CHECK_INT(rig_stats(&rig).renewals, 0);
    for (int i = 0; i < 7; i++)
        OK(ph_work_settle(shelf.works[i], PH_VERDICT_DONE, &t_err));
    rig_drain(&rig);
    rig_end(&rig);
}
