/* instance_test.c - what a dispatcher is for others: registered, alive, taken for dead, gone. */
#include "rig.h"

#include <errno.h>
#include <unistd.h>

/* The instances of a service by state, or all (0); one of them is copied out. */
static size_t instances(struct rig *rig, const char *service, ph_instance_state state,
                        ph_instance_info *ret_last)
{
    ph_instances *list;
    size_t count = 0;

    OK(ph_instance_list(rig->side, PH_OWN_TX,
                        T_OPTS(ph_instance_list_opts, .service = service, .ended_too = true), 0,
                        &list, &t_err));
    for (size_t i = 0; i < ph_instances_count(list); i++) {
        if (state && ph_instances_at(list, i)->state != state)
            continue;
        if (ret_last)
            *ret_last = *ph_instances_at(list, i); /* its texts are not valid any more */
        count++;
    }
    ph_instances_free(list);
    return count;
}

/* Another instance finds that this one's heart has stopped. In one transaction, since the
 * dispatcher may beat at any time. */
static void evict(struct rig *rig)
{
    ph_work_batch_opts opts = PH_WORK_BATCH_OPTS_INIT;
    ph_work_batch *batch;
    int evicted;

    opts.instance_id = ph_owner_new();
    opts.service_name = "other";
    opts.flags = PH_BATCH_NO_OUTBOX | PH_BATCH_NO_INBOX;
    t_begin(rig->conn);
    t_sql(rig->conn, t_is_pg()
                         ? "UPDATE {t}instance SET heartbeat_at = heartbeat_at - interval '1 day'"
                         : "UPDATE {t}instance SET heartbeat_at = heartbeat_at - 86400000000");
    OK(ph_process_work_batch(rig->side, t_tx(rig->conn), &opts, 0, &batch, &t_err));
    evicted = batch->evicted;
    ph_work_batch_free(batch);
    t_commit(rig->conn);
    CHECK_INT(evicted, 1);
}

TEST(a_dispatcher_registers_and_says_good_bye)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    ph_instances *list;
    const ph_instance_info *info;
    struct rig rig;
    ph_owner owner;

    rig_open(&rig);
    rig.opts.service = "billing";
    rig.opts.metadata = "{\"version\": \"1.2\"}";
    rig.opts.lease_s = 20;
    rig.opts.stale_threshold_s = 50;
    rig_run(&rig, NULL, play, &part);
    rig_drain(&rig);
    owner = ph_dispatcher_owner(rig.dispatcher);
    OK(ph_instance_list(rig.side, PH_OWN_TX, T_OPTS(ph_instance_list_opts, .service = "billing"), 0,
                        &list, &t_err));
    CHECK_INT(ph_instances_count(list), 1);
    info = ph_instances_at(list, 0);
    CHECK(same_id(info->id.b, owner.b));
    CHECK_STR(info->service, "billing");
    CHECK(info->host && *info->host);
    CHECK_INT(info->process_id, getpid());
    CHECK(strstr(info->metadata, "1.2") != NULL);
    CHECK_INT(info->lease_s, 20);
    CHECK_INT(info->stale_threshold_s, 50);
    ph_instances_free(list);
    rig_stop(&rig);
    CHECK_INT(instances(&rig, "billing", PH_INSTANCE_LIVE, NULL), 0);
    CHECK_INT(instances(&rig, "billing", PH_INSTANCE_LEFT, NULL), 1);
    rig_end(&rig);
}

TEST(without_a_name_it_is_called_as_its_program)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    rig_open(&rig);
    rig_run(&rig, NULL, play, &part);
    AWAIT(instances(&rig, program_invocation_short_name, PH_INSTANCE_LIVE, NULL) == 1);
    rig_end(&rig);
}

TEST(it_has_an_id_of_its_own_at_every_start)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    rig_open(&rig);
    rig.opts.service = "s";
    for (int i = 1; i <= 3; i++) {
        rig_run(&rig, NULL, play, &part);
        rig_drain(&rig);
        rig_end(&rig);
        CHECK_INT(instances(&rig, "s", PH_INSTANCE_LEFT, NULL), i);
    }
}

TEST(a_bad_name_or_threshold_is_refused)
{
    ph_dispatcher_opts good = PH_DISPATCHER_OPTS_INIT, opts;
    ph_dispatcher *dispatcher = NULL;
    ph_store *store = t_open(NULL);

    opts = good, opts.service = "";
    CHECK_INT(ph_dispatcher_new(store, &opts, &dispatcher, &t_err), PH_EINVAL);
    opts = good, opts.metadata = "[1]";
    CHECK_INT(ph_dispatcher_new(store, &opts, &dispatcher, &t_err), PH_EINVAL);
    opts = good, opts.lease_s = 100, opts.stale_threshold_s = 199;
    CHECK_INT(ph_dispatcher_new(store, &opts, &dispatcher, &t_err), PH_EINVAL);
    CHECK(strstr(t_err.message, "200") != NULL);
    opts = good, opts.partition_count = PH_PARTITIONS_MAX + 1;
    CHECK_INT(ph_dispatcher_new(store, &opts, &dispatcher, &t_err), PH_EINVAL);
    opts = good, opts.max_partitions = -1;
    CHECK_INT(ph_dispatcher_new(store, &opts, &dispatcher, &t_err), PH_EINVAL);
    CHECK(dispatcher == NULL);
    opts = good, opts.lease_s = PH_LEASE_MAX_S;
    OK(ph_dispatcher_new(store, &opts, &dispatcher, &t_err));
    ph_dispatcher_free(dispatcher);
}

static void *stop_it(void *context)
{
    struct rig *rig = context;
    ph_error err;

    CHECK(ph_dispatcher_stop(rig->dispatcher, AWAIT_LIMIT_S * 1000, &err) == 0);
    return NULL;
}

static void await_beat(struct rig *rig)
{
    ph_instance_info before = { 0 }, now = { 0 };

    CHECK_INT(instances(rig, "s", PH_INSTANCE_LIVE, &before), 1);
    AWAIT(instances(rig, "s", PH_INSTANCE_LIVE, &now) == 1 &&
          now.last_heartbeat_at > before.last_heartbeat_at);
}

/* Neither busy threads nor a stop that waits for them stop the heart. */
TEST(the_heart_beats_until_the_last_handler_has_ended)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    struct rig rig;
    pthread_t thread;

    rig_open(&rig);
    rig_put(&rig, "t");
    rig.opts.service = "s";
    rig.opts.threads = 1;
    rig.opts.prefetch = -1;
    rig.opts.lease_s = 1;
    rig.opts.stale_threshold_s = 2;
    rig_run(&rig, NULL, play, &part);
    gate_await(&gate, 1);
    await_beat(&rig);
    await_beat(&rig);
    CHECK(pthread_create(&thread, NULL, stop_it, &rig) == 0);
    await_beat(&rig);
    await_beat(&rig);
    gate_open(&gate);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_INT(rig_stats(&rig).evictions, 0);
    CHECK_INT(rig_stats(&rig).done, 1);
    rig_end(&rig);
}

/* … even if there is nothing else to say: no claim, for there is no room, and no renewal yet. */
TEST(the_heart_beats_by_itself)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    struct rig rig;

    rig_open(&rig);
    rig_put(&rig, "t");
    rig.opts.service = "s";
    rig.opts.threads = 1;
    rig.opts.prefetch = -1;
    rig.opts.lease_s = 30;           /* renewed after 10 s … */
    rig.opts.stale_threshold_s = 60; /* … and a heartbeat is due after 6 */
    rig_run(&rig, NULL, play, &part);
    gate_await(&gate, 1);
    await_beat(&rig);
    REQ_INT("INS-002", rig_stats(&rig).renewals, 0);
    gate_open(&gate);
    rig_end(&rig);
}

TEST(one_that_was_taken_for_dead_registers_anew_and_goes_on)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    struct rig rig;
    ph_owner before, after;

    rig_open(&rig);
    rig.opts.service = "s";
    rig_run(&rig, NULL, play, &part);
    rig_drain(&rig);
    before = ph_dispatcher_owner(rig.dispatcher);
    evict(&rig);
    AWAIT(rig_stats(&rig).evictions == 1);
    after = ph_dispatcher_owner(rig.dispatcher);
    CHECK(!same_id(before.b, after.b));
    /* it is counted before it is said */
    AWAIT(journal_count(rig.journal, PH_LOG_WARN, "dispatcher", "taken for dead") == 1);
    rig_put(&rig, "t");
    rig_drain(&rig);
    CHECK_INT(part.calls, 1);
    CHECK_INT(rig_stats(&rig).done, 1);
    CHECK_INT(rig_stats(&rig).outages, 0);
    CHECK_INT(instances(&rig, "s", PH_INSTANCE_LIVE, NULL), 1);
    CHECK_INT(instances(&rig, "s", PH_INSTANCE_EVICTED, NULL), 1);
    rig_end(&rig);
    CHECK_INT(instances(&rig, "s", PH_INSTANCE_LIVE, NULL), 0);
}

/* Whatever it had claimed is somebody else's: it is told so, and forgotten. */
TEST(what_an_evicted_one_had_claimed_is_cancelled_and_comes_again)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    struct rig rig;

    rig_open(&rig);
    put_many(rig.side, "t", 5, NULL);
    rig_put_stream(&rig, "t", "s0", 5);
    rig.opts.threads = 2;
    rig_run(&rig, NULL, play, &part);
    gate_await(&gate, 2);
    evict(&rig);
    AWAIT(rig_stats(&rig).evictions == 1 && rig_stats(&rig).cancelled == 2);
    gate_open(&gate);
    AWAIT(t_number(rig.conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 2") == 10);
    rig_drain(&rig);
    CHECK_INT(part.calls, 12);
    CHECK_INT(part.cancelled, 2);
    CHECK_INT(rig_stats(&rig).done, 10);
    CHECK(rig_stats(&rig).stale >= 2);
    rig_end(&rig);
}

static ph_verdict write_at_gate(void *context, ph_work *work)
{
    struct gate *gate = context;

    gate_pass(gate);
    return effect_write(work) ? PH_VERDICT_DONE : PH_VERDICT_RETRY;
}

TEST(the_effect_of_an_evicted_one_is_rolled_back)
{
    static struct gate gate = GATE_INIT;
    struct rig rig;

    if (!t_is_pg())
        t_not_here("a transaction of a handler keeps all others out");
    rig_open(&rig);
    effects_make(rig.conn);
    rig_put(&rig, "t");
    rig_new(&rig);
    rig_handle_in_tx(&rig, NULL, write_at_gate, &gate);
    rig_start(&rig);
    gate_await(&gate, 1);
    evict(&rig);
    AWAIT(rig_stats(&rig).evictions == 1);
    gate_open(&gate);
    AWAIT(rig_stats(&rig).done == 1);
    CHECK_INT(effects(rig.conn), 1);
    CHECK_INT(gate.arrived, 2);
    rig_end(&rig);
}

static ph_verdict keep(void *context, ph_work *work)
{
    _Atomic(ph_work *) *kept = context;

    *kept = work;
    return PH_VERDICT_KEEP;
}

TEST(a_kept_work_of_an_evicted_one_is_settled_in_vain)
{
    static _Atomic(ph_work *) kept;
    struct rig rig;
    ph_work_id id;

    rig_open(&rig);
    id = rig_put(&rig, "t");
    rig.opts.lease_s = 3;
    rig.opts.message_limit = 1; /* so that it does not take it back itself */
    rig_run(&rig, NULL, keep, &kept);
    AWAIT(rig_stats(&rig).kept == 1);
    evict(&rig);
    AWAIT(rig_stats(&rig).evictions == 1);
    CHECK(ph_work_cancelled(kept));
    CHECK_STR(ph_work_delivery(kept)->topic, "t");
    OK(ph_work_settle(kept, PH_VERDICT_DONE, &t_err));
    CHECK_INT(rig_stats(&rig).kept, 0);
    CHECK_INT(rig_stats(&rig).stale, 1);
    rig_end(&rig);
    CHECK_INT(see(rig.side, id).status, PH_READY);
}

TEST(an_eviction_while_it_stops_ends_well)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    struct rig rig;
    pthread_t thread;
    ph_work_id id;

    rig_open(&rig);
    id = rig_put(&rig, "t");
    rig.opts.lease_s = 1;
    rig.opts.stale_threshold_s = 2;
    rig_run(&rig, NULL, play, &part);
    gate_await(&gate, 1);
    CHECK(pthread_create(&thread, NULL, stop_it, &rig) == 0);
    evict(&rig);
    AWAIT(rig_stats(&rig).evictions == 1);
    gate_open(&gate);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_INT(rig_stats(&rig).done, 0);
    CHECK_INT(see(rig.side, id).status, PH_READY);
    rig_end(&rig);
}
