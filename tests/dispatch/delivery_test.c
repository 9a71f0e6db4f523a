/* delivery_test.c - what a handler sees, and how many run at once. */
#include "rig.h"

#include <dirent.h>

#include <stdlib.h>

/* ------------------------------------------------------------- the whole message */

struct sight {
    ph_delivery delivery;
    char topic[40], payload[40], ns[40], key[80], correlation[40], headers[40], error[40];
    ph_tenant_id tenant;
    bool cancelled, waited, own_tx;
    ph_store *store;
};

static ph_verdict look(void *context, ph_work *work)
{
    struct sight *sight = context;
    const ph_delivery *d = ph_work_delivery(work);
    ph_tx tx = ph_work_tx(work);

    sight->delivery = *d;
    snprintf(sight->topic, sizeof(sight->topic), "%s", d->topic);
    snprintf(sight->payload, sizeof(sight->payload), "%s", d->payload);
    snprintf(sight->ns, sizeof(sight->ns), "%s", d->ns);
    snprintf(sight->key, sizeof(sight->key), "%s", d->dedupe_key ? d->dedupe_key : "none");
    snprintf(sight->correlation, sizeof(sight->correlation), "%s",
             d->correlation_id ? d->correlation_id : "none");
    snprintf(sight->headers, sizeof(sight->headers), "%s", d->headers ? d->headers : "none");
    snprintf(sight->error, sizeof(sight->error), "%s", d->last_error ? d->last_error : "none");
    if (d->tenant_id)
        sight->tenant = *d->tenant_id;
    sight->cancelled = ph_work_cancelled(work);
    sight->waited = ph_work_wait(work, 1);
    sight->own_tx = tx.backend == NULL && tx.connection == NULL;
    return PH_VERDICT_DONE;
}

TEST(a_handler_sees_the_whole_message)
{
    static struct sight sight;
    ph_message message = a_message("order.placed", "{\"cents\":1999}");
    ph_tenant_id tenant = { { 1, 2, 3 } };
    ph_message_id message_id = { { 7, 7, 7 } };
    char key[80], id[PH_ID_TEXT_SIZE];
    ph_enqueued enqueued;
    struct rig rig;

    rig_open(&rig);
    t_clock_set(rig.side, T_EPOCH);
    message.ns = "billing";
    message.tenant_id = &tenant;
    snprintf(key, sizeof(key), "%s/order/7", ph_id_text(tenant.b, id));
    message.dedupe_key = key;
    message.correlation_id = "trace-7";
    message.headers = "{\"a\":\"b\"}";
    message.message_id = &message_id;
    message.priority = PH_PRIORITY_URGENT;
    message.due_at = T_EPOCH - 5 * T_SECOND;
    enqueued = put(rig.side, &message);
    rig.opts.ns = "billing";
    rig_run(&rig, NULL, look, &sight);
    rig_drain(&rig);
    REQ_STR("OBX-057", sight.topic, "order.placed");
    REQ_STR("OBX-057", sight.payload, "{\"cents\":1999}");
    REQ_INT("OBX-057", sight.delivery.payload_length, 14);
    REQ_STR("OBX-057", sight.ns, "billing");
    REQ("OBX-057", same_id(sight.tenant.b, tenant.b));
    REQ_STR("OBX-057", sight.key, key);
    REQ_STR("OBX-057", sight.correlation, "trace-7");
    REQ("OBX-057", strstr(sight.headers, "\"a\"") && strstr(sight.headers, "\"b\""));
    REQ("OBX-057", same_id(sight.delivery.message_id.b, message_id.b));
    REQ("OBX-057", same_id(sight.delivery.work_id.b, enqueued.work_id.b));
    REQ_INT("OBX-057", sight.delivery.priority, PH_PRIORITY_URGENT);
    REQ_INT("OBX-057", sight.delivery.attempts, 1);
    REQ_INT("OBX-057", sight.delivery.retry_count, 0);
    REQ_INT("OBX-057", sight.delivery.created_at, T_EPOCH);
    REQ_INT("OBX-057", sight.delivery.due_at, T_EPOCH - 5 * T_SECOND);
    REQ("OBX-057", sight.delivery.fence > 0);
    REQ_STR("OBX-057", sight.error, "none");
    REQ("OBX-057", !sight.cancelled && !sight.waited);
    CHECK(sight.own_tx);
    rig_end(&rig);
}

TEST(what_is_not_given_is_null)
{
    static struct sight sight;
    struct rig rig;

    rig_open(&rig);
    rig_put(&rig, "t");
    rig_run(&rig, NULL, look, &sight);
    rig_drain(&rig);
    CHECK_STR(sight.key, "none");
    CHECK_STR(sight.correlation, "none");
    CHECK_STR(sight.headers, "none");
    CHECK(sight.delivery.tenant_id == NULL);
    CHECK_STR(sight.ns, "");
    CHECK_INT(sight.delivery.priority, PH_PRIORITY_NORMAL);
    rig_end(&rig);
}

static ph_verdict weigh(void *context, ph_work *work)
{
    const ph_delivery *d = ph_work_delivery(work);
    _Atomic size_t *weight = context;

    *weight = strlen(d->payload) == d->payload_length ? d->payload_length : 0;
    return PH_VERDICT_DONE;
}

TEST(a_large_payload_arrives_whole)
{
    static _Atomic size_t weight;
    struct rig rig;

    rig_open(&rig);
    t_enqueue(rig.side, "t", repeated("x", 1 << 20));
    rig_run(&rig, NULL, weigh, &weight);
    rig_drain(&rig);
    CHECK_INT(weight, 1 << 20);
    rig_end(&rig);
}

struct twice {
    struct sight sights[2];
    _Atomic int calls;
};

static ph_verdict first_go_wrong(void *context, ph_work *work)
{
    struct twice *twice = context;
    int call = twice->calls++;

    CHECK(call < 2);
    look(&twice->sights[call], work);
    ph_work_error(work, "once");
    return call == 0 ? PH_VERDICT_RETRY : PH_VERDICT_DONE;
}

TEST(a_second_delivery_has_the_same_ids_and_counts)
{
    static struct twice twice;
    struct rig rig;

    rig_open(&rig);
    t_clock_set(rig.side, T_EPOCH);
    rig_put(&rig, "t");
    rig_run(&rig, NULL, first_go_wrong, &twice);
    rig_drain(&rig);
    t_clock_advance(rig.side, 2 * T_SECOND);
    AWAIT(rig_stats(&rig).done == 1);
    REQ("OBX-058",
        same_id(twice.sights[0].delivery.message_id.b, twice.sights[1].delivery.message_id.b));
    REQ("OBX-058", same_id(twice.sights[0].delivery.work_id.b, twice.sights[1].delivery.work_id.b));
    REQ_INT("OBX-058", twice.sights[1].delivery.attempts, 2);
    CHECK_INT(twice.sights[1].delivery.retry_count, 1);
    CHECK_STR(twice.sights[1].error, "once");
    CHECK(twice.sights[1].delivery.fence > twice.sights[0].delivery.fence);
    REQ_INT("OBX-057", twice.sights[1].delivery.due_at, T_EPOCH);
    rig_end(&rig);
}

/* The worker before died with it: the same message id reaches another one. */
TEST(a_message_of_a_lost_worker_is_delivered_again)
{
    static struct sight sight;
    ph_enqueued enqueued;
    struct rig rig;

    rig_open(&rig);
    t_clock_set(rig.side, T_EPOCH);
    enqueued = t_enqueue(rig.side, "t", "x");
    take_one(rig.side, ph_owner_new()); /* and never settles */
    rig_run(&rig, NULL, look, &sight);
    AWAIT(rig_stats(&rig).empty_claims > 0);
    t_clock_advance(rig.side, 31 * T_SECOND);
    AWAIT(rig_stats(&rig).done == 1);
    REQ("OBX-058", same_id(sight.delivery.message_id.b, enqueued.message_id.b));
    REQ_INT("OBX-058", sight.delivery.attempts, 2);
    rig_end(&rig);
}

/* ------------------------------------------------------------------- at once */

#define CROWD 200

/* Per message: how many handlers of this dispatcher have it now. */
struct crowd {
    _Atomic int inside[CROWD], calls[CROWD], at_once, most, twice;
    _Atomic unsigned random;
};

static ph_verdict jostle(void *context, ph_work *work)
{
    struct crowd *crowd = context;
    int index = atoi(ph_work_delivery(work)->payload);
    int now = ++crowd->at_once, most = crowd->most;
    unsigned dice = atomic_fetch_add(&crowd->random, 2654435761u) >> 16;
    ph_verdict verdict;

    while (now > most && !atomic_compare_exchange_weak(&crowd->most, &most, now))
        ;
    if (++crowd->inside[index] > 1)
        crowd->twice++;
    crowd->calls[index]++;
    if (dice % 3 == 0)
        nap();
    verdict = crowd->calls[index] >= 5 || dice % 2 ? PH_VERDICT_DONE : PH_VERDICT_RETRY;
    if (verdict == PH_VERDICT_RETRY && dice % 4 == 0)
        verdict = PH_VERDICT_DEFER;
    ph_work_delay(work, 0);
    crowd->inside[index]--;
    crowd->at_once--;
    return verdict;
}

TEST(no_message_is_in_two_handlers_at_once)
{
    static struct crowd crowds[2];
    struct rig rig, other;

    rig_open(&rig);
    put_many(rig.side, "t", CROWD, NULL);
    rig.opts.threads = 8;
    rig.opts.batch_size = 7;
    rig.opts.lease_s = 1; /* on a slow machine some leases run out, which must do no harm */
    rig_run(&rig, NULL, jostle, &crowds[0]);
    other = rig;
    other.store = t_open(NULL);
    rig_run(&other, NULL, jostle, &crowds[1]);
    AWAIT(t_number(rig.conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 2") == CROWD);
    REQ_INT("OBX-059", crowds[0].twice, 0);
    REQ_INT("OBX-059", crowds[1].twice, 0);
    CHECK(crowds[0].most <= 8 && crowds[1].most <= 8);
    rig_end(&other);
    rig_end(&rig);
}

struct again {
    struct gate gate;
    _Atomic int inside, twice, calls, others;
};

/* Holds the message "x" at its first call. */
static ph_verdict hold_the_first(void *context, ph_work *work)
{
    struct again *again = context;

    if (strcmp(ph_work_delivery(work)->payload, "x") != 0) {
        again->others++;
        return PH_VERDICT_DONE;
    }
    if (++again->inside > 1)
        again->twice++;
    if (again->calls++ == 0)
        gate_pass(&again->gate);
    again->inside--;
    return PH_VERDICT_DONE;
}

/* The lease runs out in the database, and the dispatcher claims the message again while its own
 * handler still has it. */
TEST(a_message_that_comes_back_to_its_own_dispatcher_waits)
{
    static struct again again = { .gate = GATE_INIT };
    struct rig rig;
    ph_work_id id;

    rig_open(&rig);
    t_clock_set(rig.side, T_EPOCH);
    id = rig_put(&rig, "t");
    rig_run(&rig, NULL, hold_the_first, &again);
    gate_await(&again.gate, 1);
    t_clock_advance(rig.side, 31 * T_SECOND);
    AWAIT(rig_stats(&rig).claimed >= 2);
    put_many(rig.side, "t", 5, NULL); /* the others are not held up */
    AWAIT(again.others == 5);
    REQ_INT("OBX-059", again.twice, 0);
    gate_open(&again.gate);
    rig_drain(&rig);
    t_clock_advance(rig.side, 3600 * T_SECOND); /* it may have been put off meanwhile */
    AWAIT(see(rig.side, id).status == PH_DONE);
    REQ_INT("OBX-059", again.twice, 0);
    rig_end(&rig);
}

static ph_verdict hold_or_jostle(void *context, ph_work *work)
{
    struct again *again = context;

    if (strcmp(ph_work_delivery(work)->topic, "held") == 0) {
        gate_pass(&again->gate);
        return PH_VERDICT_DONE;
    }
    if (++again->inside > 1)
        again->twice++;
    for (int i = 0; i < 30; i++)
        nap();
    again->inside--;
    again->calls++;
    return PH_VERDICT_DONE;
}

/* Both deliveries wait when two threads become free. */
TEST(a_message_that_comes_back_while_it_waits_is_not_handled_twice_at_once)
{
    static struct again again = { .gate = GATE_INIT };
    struct rig rig;

    rig_open(&rig);
    t_clock_set(rig.side, T_EPOCH);
    rig.opts.threads = 2;
    put_many(rig.side, "held", 2, NULL);
    rig_put(&rig, "t");
    rig_run(&rig, NULL, hold_or_jostle, &again);
    gate_await(&again.gate, 2);
    AWAIT(rig_stats(&rig).claimed == 3);
    t_clock_advance(rig.side, 31 * T_SECOND);
    AWAIT(rig_stats(&rig).claimed >= 6);
    gate_open(&again.gate);
    rig_drain(&rig);
    REQ_INT("OBX-059", again.twice, 0);
    CHECK(again.calls >= 1);
    rig_end(&rig);
}

static ph_verdict put_off_and_stay(void *context, ph_work *work)
{
    struct again *again = context;
    bool is_first = again->calls++ == 0;

    if (++again->inside > 1)
        again->twice++;
    if (is_first) {
        ph_work_delay(work, 0);
        OK(ph_work_settle(work, PH_VERDICT_DEFER, &t_err));
        gate_pass(&again->gate);
    }
    again->inside--;
    return is_first ? PH_VERDICT_KEEP : PH_VERDICT_DONE;
}

/* Its attempt was refunded, so that the second delivery looks like the first. */
TEST(a_message_that_was_settled_before_its_handler_returned_waits_for_that)
{
    static struct again again = { .gate = GATE_INIT };
    struct rig rig;

    rig_open(&rig);
    rig_put(&rig, "t");
    rig_run(&rig, NULL, put_off_and_stay, &again);
    gate_await(&again.gate, 1);
    AWAIT(rig_stats(&rig).released >= 1);
    REQ_INT("OBX-059", again.calls, 1);
    gate_open(&again.gate);
    AWAIT(rig_stats(&rig).done == 1);
    REQ_INT("OBX-059", again.twice, 0);
    rig_end(&rig);
}

TEST(different_messages_are_handled_at_the_same_time)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    struct rig rig;

    rig_open(&rig);
    put_many(rig.side, "t", 20, NULL);
    rig.opts.threads = 12;
    rig_run(&rig, NULL, play, &part);
    gate_await(&gate, 12); /* none of them could pass if they came one after the other */
    REQ_INT("OBX-060", part.calls, 12);
    REQ_INT("OBX-060", rig_stats(&rig).running, 12);
    gate_open(&gate);
    rig_drain(&rig);
    CHECK_INT(part.calls, 20);
    CHECK_INT(rig_stats(&rig).running, 0);
    rig_end(&rig);
}

TEST(one_thread_handles_one_message_at_a_time)
{
    static struct crowd crowd;
    struct rig rig;

    rig_open(&rig);
    put_many(rig.side, "t", 50, NULL);
    rig.opts.threads = 1;
    rig_run(&rig, NULL, jostle, &crowd);
    rig_drain(&rig);
    CHECK_INT(crowd.most, 1);
    rig_end(&rig);
}

TEST(no_more_is_in_flight_than_the_options_say)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    ph_dispatcher_stats stats;
    struct rig rig;

    rig_open(&rig);
    put_many(rig.side, "t", 60, NULL);
    rig.opts.threads = 2;
    rig.opts.batch_size = 3;
    rig.opts.prefetch = 6;
    rig.opts.in_flight_max = 7;
    rig_run(&rig, NULL, play, &part);
    gate_await(&gate, 2);
    AWAIT(rig_stats(&rig).claimed >= 6);
    for (int i = 0; i < 100; i++) {
        CHECK(rig_stats(&rig).claimed <= 7);
        nap();
    }
    CHECK(t_number(rig.conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 1") <= 7);
    gate_open(&gate);
    do {
        stats = rig_stats(&rig);
        CHECK(stats.waiting + stats.running + stats.kept <= 7);
    } while (stats.done < 60);
    rig_end(&rig);
}

TEST(without_prefetch_only_idle_threads_get_messages)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    struct rig rig;

    rig_open(&rig);
    put_many(rig.side, "t", 20, NULL);
    rig.opts.threads = 3;
    rig.opts.prefetch = -1;
    rig_run(&rig, NULL, play, &part);
    gate_await(&gate, 3);
    for (int i = 0; i < 100; i++)
        nap();
    CHECK_INT(rig_stats(&rig).claimed, 3);
    CHECK_INT(t_number(rig.conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 0"), 17);
    gate_open(&gate);
    rig_drain(&rig);
    CHECK_INT(part.calls, 20);
    rig_end(&rig);
}

static ph_verdict take_50_ms(void *context, ph_work *work)
{
    (void)context;
    (void)ph_work_wait(work, 50);
    return PH_VERDICT_DONE;
}

TEST(slow_handlers_leave_to_others_what_they_cannot_reach)
{
    ph_dispatcher_stats stats;
    struct rig rig;
    int most = 0;

    rig_open(&rig);
    rig.opts.threads = 1;
    rig.opts.prefetch = 100;
    rig.opts.lease_s = 1; /* ten in half a lease */
    put_many(rig.side, "t", 20, NULL);
    rig_run(&rig, NULL, take_50_ms, NULL);
    rig_drain(&rig);
    put_many(rig.side, "t", 100, NULL);
    do {
        stats = rig_stats(&rig);
        most = stats.waiting > most ? stats.waiting : most;
        nap();
    } while (stats.done < 40);
    CHECK(most > 0 && most <= 20);
    rig_end(&rig);
}

static int threads_of_this_process(void)
{
    DIR *folder = opendir("/proc/self/task");
    int count = 0;

    CHECK(folder != NULL);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

TEST(a_dispatcher_that_may_have_one_connection_has_one)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    struct rig rig;
    int before;

    if (UNDER_TSAN)
        t_not_here("its runtime has a thread of its own");
    rig_open(&rig);
    before = threads_of_this_process();
    rig.opts.connections = 1;
    put_many(rig.side, "t", 200, NULL);
    rig_run(&rig, "t", play, &part);
    rig_drain(&rig);
    CHECK_INT(part.calls, 200);
    CHECK_INT(threads_of_this_process(), before + 4 + 1);
    rig_end(&rig);
}

TEST(threads_are_started_when_asked_for_and_not_before)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    int before, after;
    struct rig rig;

    if (UNDER_TSAN)
        t_not_here("its runtime has a thread of its own");
    rig_open(&rig);
    before = threads_of_this_process();
    rig.opts.threads = 3;
    rig_new(&rig);
    rig_handle(&rig, NULL, play, &part);
    CHECK_INT(threads_of_this_process(), before);
    rig_start(&rig);
    after = threads_of_this_process();
    CHECK_INT(after, before + 3 + (t_is_pg() ? 2 : 1));
    rig_end(&rig);
    CHECK_INT(threads_of_this_process(), before);
}

TEST(settlements_travel_together_and_with_the_next_claim)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    rig_open(&rig);
    put_many(rig.side, "t", 2000, NULL);
    rig_run(&rig, NULL, play, &part);
    rig_drain(&rig);
    CHECK_INT(rig_stats(&rig).done, 2000);
    CHECK(rig_stats(&rig).exchanges < 500); /* 40 claims of 50, and some flushes */
    rig_end(&rig);
}

static ph_verdict enqueue_without_transaction(void *context, ph_work *work)
{
    _Atomic int *refused = context;
    ph_message message = a_message("next", "x");
    ph_error err;

    if (ph_work_store(work) == NULL &&
        ph_enqueue(ph_work_store(work), ph_work_tx(work), &message, 0, NULL, &err) == PH_EINVAL)
        (*refused)++;
    return PH_VERDICT_DONE;
}

/* The dispatcher's own store is another thread's. */
TEST(a_handler_without_transaction_has_no_store)
{
    static _Atomic int refused;
    struct rig rig;

    rig_open(&rig);
    rig_put(&rig, "t");
    rig_run(&rig, "t", enqueue_without_transaction, &refused);
    rig_drain(&rig);
    CHECK_INT(refused, 1);
    rig_end(&rig);
}
