/* doors_test.c - timers, job runs and inbox messages live like outbox messages: claim, settle,
 * leases, dead letters, settings, each behind a door of its own. */
#include "doors.h"

/* What each test is about, by door. */
static const char *worked_as(const struct door *door)
{
    return door == &timers_door ? "TIM-004" : door == &job_runs_door ? "JOB-005" : "INB-006";
}
#define WORKED(door) worked_as(door)

static ph_outcome door_settle(const struct door *door, ph_store *store, ph_owner owner,
                              ph_lease_ref ref, ph_settle_verb verb, int64_t delay_ms)
{
    ph_settlement item = { .lease = ref, .verb = verb, .error = "why", .delay_ms = delay_ms };
    ph_outcome outcome = PH_OUTCOME_UNKNOWN;

    OK(door->settle(store, PH_OWN_TX, owner, &item, 1, 0, &outcome, &t_err));
    return outcome;
}

static void set_door_attempts(const struct door *door, ph_store *store, int max_attempts)
{
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;

    settings.max_attempts = max_attempts;
    OK(ph_queue_set(store, PH_OWN_TX, door->number, NULL, &settings, 0, &t_err));
}

static int64_t door_reap(const struct door *door, ph_store *store)
{
    int64_t count = -1;

    OK(door->reap_expired(store, PH_OWN_TX, 0, &count, &t_err));
    return count;
}

/* --------------------------------------------------------------------- claim */

DOOR_TEST(are_claimed_once)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    const ph_delivery *d;
    ph_work_id id;
    ph_batch *batch;
    struct seen s;

    t_clock_set(store, T_EPOCH);
    id = door->make(store, "", "body");
    s = see_by(door->find, store, id);
    CHECK_INT(s.status, PH_READY);
    CHECK_INT(s.created_at, T_EPOCH);
    CHECK_INT(s.max_attempts, 10);
    batch = door_claim(door, store, owner, NULL, 10);
    REQ_INT(WORKED(door), ph_batch_count(batch), 1);
    d = ph_batch_at(batch, 0);
    CHECK(same_id(d->work_id.b, id.b));
    CHECK_STR(d->topic, "work");
    CHECK_STR(d->payload, "body");
    CHECK_STR(d->ns, "");
    CHECK_INT(d->attempts, 1);
    CHECK_INT(d->retry_count, 0);
    CHECK_INT(d->priority, PH_PRIORITY_NORMAL);
    CHECK(d->fence > 0);
    CHECK(!d->tenant_id && !d->correlation_id && !d->last_error);
    if (door == &inbox_door) {
        CHECK_STR(d->source, "elsewhere");
        CHECK_STR(d->source_id, "1");
    } else {
        CHECK(!d->dedupe_key && !d->source && !d->source_id);
    }
    ph_batch_free(batch);
    s = see_by(door->find, store, id);
    CHECK_INT(s.status, PH_IN_PROGRESS);
    CHECK_INT(s.locked_until, T_EPOCH + 30 * T_SECOND);
    CHECK(same_id(s.owner.b, owner.b));
    CHECK_INT(door_claimable(door, store), 0);
    t_check_places(conn);
}

DOOR_TEST(are_claimed_by_topic_and_namespace)
{
    static const char *const other[] = { "elsewhere" }, *const topics[] = { "elsewhere", "work" };
    ph_store *store = t_open(NULL);
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_owner owner = ph_owner_new();
    ph_batch *batch = NULL;

    door->make(store, "a", "in a");
    door->make(store, "b", "in b");
    CHECK_INT(door_claimable(door, store), 0);
    opts.ns = "b";
    opts.topics = other;
    opts.topic_count = 1;
    OK(door->claim(store, PH_OWN_TX, owner, &opts, 0, &batch, &t_err));
    CHECK_INT(ph_batch_count(batch), 0);
    ph_batch_free(batch);
    opts.topics = topics;
    opts.topic_count = 2;
    OK(door->claim(store, PH_OWN_TX, owner, &opts, 0, &batch, &t_err));
    CHECK_STR(payloads(batch), "in b");
    CHECK_STR(ph_batch_at(batch, 0)->ns, "b");
    ph_batch_free(batch);
    batch = door_claim(door, store, owner, "a", 10);
    CHECK_STR(payloads(batch), "in a");
    ph_batch_free(batch);
}

DOOR_TEST(come_in_the_order_of_their_time_and_in_batches)
{
    static const char *const bodies[] = { "0", "1", "2", "3", "4" };
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_batch *batch;

    t_clock_set(store, T_EPOCH);
    for (int i = 0; i < 5; i++) {
        door->make(store, "", bodies[i]);
        t_clock_advance(store, T_SECOND);
    }
    batch = door_claim(door, store, owner, NULL, 3);
    CHECK_STR(payloads(batch), "0 1 2");
    ph_batch_free(batch);
    batch = door_claim(door, store, owner, NULL, 3);
    CHECK_STR(payloads(batch), "3 4");
    ph_batch_free(batch);
}

/* -------------------------------------------------------------------- settle */

DOOR_TEST(are_acked)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref;
    ph_outcome out = PH_OUTCOME_UNKNOWN;
    struct seen s;

    t_clock_set(store, T_EPOCH);
    door->make(store, "", "body");
    ref = door_take_one(door, store, owner);
    t_clock_advance(store, T_SECOND);
    OK(door->ack(store, PH_OWN_TX, ph_owner_new(), &ref, 1, 0, &out, &t_err));
    CHECK_INT(out, PH_OUTCOME_STALE);
    OK(door->ack(store, PH_OWN_TX, owner, &ref, 1, 0, &out, &t_err));
    REQ_INT(WORKED(door), out, PH_OUTCOME_ACKED);
    s = see_by(door->find, store, ref.work_id);
    CHECK_INT(s.status, PH_DONE);
    CHECK_INT(s.attempts, 1);
    CHECK_INT(s.processed_at, T_EPOCH + T_SECOND);
    CHECK(same_id(s.owner.b, owner.b));
    CHECK_INT(door_settle(door, store, owner, ref, PH_ACK, 0), PH_OUTCOME_ACKED); /* it was */
    t_clock_advance(store, 60 * T_SECOND);
    CHECK_INT(door_claimable(door, store), 0);
    t_check_places(conn);
}

DOOR_TEST(come_back_after_an_abandon)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref;
    ph_outcome out = PH_OUTCOME_UNKNOWN;
    struct seen s;

    t_clock_set(store, T_EPOCH);
    door->make(store, "", "body");
    ref = door_take_one(door, store, owner);
    OK(door->abandon(store, PH_OWN_TX, owner, &ref, 1, "not yet", PH_DELAY_POLICY, 0, &out,
                     &t_err));
    REQ_INT(WORKED(door), out, PH_OUTCOME_ABANDONED);
    s = see_by(door->find, store, ref.work_id);
    CHECK_INT(s.status, PH_READY);
    CHECK_INT(s.retry_count, 1);
    CHECK_STR(s.last_error, "not yet");
    CHECK_INT(s.next_attempt_at, T_EPOCH + 2 * T_SECOND);
    t_clock_advance(store, 2 * T_SECOND - 1);
    CHECK_INT(door_claimable(door, store), 0);
    t_clock_advance(store, 1);
    CHECK_INT(door_take_one(door, store, owner).attempts, 2);
}

DOOR_TEST(die_with_the_last_attempt)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_work_id id;

    set_door_attempts(door, store, 2);
    id = door->make(store, "", "body");
    CHECK_INT(see_by(door->find, store, id).max_attempts, 2);
    CHECK_INT(door_settle(door, store, owner, door_take_one(door, store, owner), PH_ABANDON, 0),
              PH_OUTCOME_ABANDONED);
    CHECK_INT(door_settle(door, store, owner, door_take_one(door, store, owner), PH_ABANDON, 0),
              PH_OUTCOME_DEAD);
    CHECK_STR(see_by(door->find, store, id).dead_reason, "attempts");
    CHECK_STR(see_by(door->find, store, id).kinds, "abandoned,abandoned");
    CHECK_INT(door_claimable(door, store), 0);
    t_check_places(conn);
}

DOOR_TEST(are_failed_retried_and_discarded)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_work_id id, again = { { 0 } };
    ph_lease_ref ref;
    ph_outcome out = PH_OUTCOME_UNKNOWN;
    int64_t count = -1;

    id = door->make(store, "", "body");
    ref = door_take_one(door, store, owner);
    OK(door->fail(store, PH_OWN_TX, owner, &ref, 1, "never", 0, &out, &t_err));
    CHECK_INT(out, PH_OUTCOME_FAILED);
    CHECK_STR(see_by(door->find, store, id).dead_reason, "failed");
    CHECK_STR(see_by(door->find, store, id).last_error, "never");
    OK(ph_dead_retry(store, PH_OWN_TX, &id, 1, 0, &again, &t_err));
    CHECK(!ph_id_is_zero(again.b));
    CHECK_INT(see_by(door->find, store, again).status, PH_READY);
    CHECK_INT(door_counts(door, store, NULL).dead, 0);
    CHECK_INT(claimable(store, 10), 0); /* behind its own door, not the outbox's */
    ref = door_take_one(door, store, owner);
    CHECK(same_id(ref.work_id.b, again.b));
    CHECK_INT(ref.attempts, 1);
    CHECK_INT(door_settle(door, store, owner, ref, PH_FAIL, 0), PH_OUTCOME_FAILED);
    CHECK_INT(door_counts(door, store, NULL).dead, 1);
    OK(ph_dead_discard(store, PH_OWN_TX, &again, 1, 0, &count, &t_err));
    CHECK_INT(count, 1);
    CHECK(!see_by(door->find, store, again).there);
    t_check_places(conn);
}

DOOR_TEST(are_released)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref;
    ph_outcome out = PH_OUTCOME_UNKNOWN;

    t_clock_set(store, T_EPOCH);
    door->make(store, "", "body");
    ref = door_take_one(door, store, owner);
    OK(door->release(store, PH_OWN_TX, owner, &ref, 1, 0, &out, &t_err));
    CHECK_INT(out, PH_OUTCOME_RELEASED);
    ref = door_take_one(door, store, owner);
    CHECK_INT(ref.attempts, 1);
    CHECK_INT(door_settle(door, store, owner, ref, PH_RELEASE, 5000), PH_OUTCOME_RELEASED);
    CHECK_INT(see_by(door->find, store, ref.work_id).next_attempt_at, T_EPOCH + 5 * T_SECOND);
    CHECK_INT(door_claimable(door, store), 0);
}

DOOR_TEST(are_settled_each_in_its_own_way)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_settlement items[4] = { { .verb = PH_ACK },
                               { .verb = PH_ABANDON, .delay_ms = 1000 },
                               { .verb = PH_FAIL },
                               { .verb = PH_RELEASE } };
    ph_outcome out[4];
    ph_batch *batch;

    for (int i = 0; i < 4; i++)
        door->make(store, "", "body");
    batch = door_claim(door, store, owner, NULL, 4);
    CHECK_INT(ph_batch_count(batch), 4);
    for (size_t i = 0; i < 4; i++)
        items[i].lease = ph_lease_ref_of(ph_batch_at(batch, i));
    ph_batch_free(batch);
    OK(door->settle(store, PH_OWN_TX, owner, items, 4, 0, out, &t_err));
    CHECK_INT(out[0], PH_OUTCOME_ACKED);
    CHECK_INT(out[1], PH_OUTCOME_ABANDONED);
    CHECK_INT(out[2], PH_OUTCOME_FAILED);
    CHECK_INT(out[3], PH_OUTCOME_RELEASED);
    t_check_places(conn);
}

/* -------------------------------------------------------------------- leases */

/* "what a lease_s of 0 means, everywhere" (PH_LEASE_S) */
DOOR_TEST(leased_for_0_seconds_are_leased_for_the_default)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_message_info *info = NULL;
    ph_batch *batch = NULL;
    ph_lease_ref ref;

    t_clock_set(store, T_EPOCH);
    door->make(store, "", "body");
    OK(door->claim(store, PH_OWN_TX, owner, NULL, 0, &batch, &t_err));
    ref = ph_lease_ref_of(ph_batch_at(batch, 0));
    ph_batch_free(batch);
    OK(door->find(store, PH_OWN_TX, ref.work_id, 0, &info, &t_err));
    CHECK_INT(info->locked_until, T_EPOCH + PH_LEASE_S * T_SECOND);
    ph_message_info_free(info);
    t_clock_advance(store, 10 * T_SECOND);
    OK(door->renew(store, PH_OWN_TX, owner, &ref, 1, 0, 0, NULL, &t_err));
    OK(door->find(store, PH_OWN_TX, ref.work_id, 0, &info, &t_err));
    CHECK_INT(info->locked_until, T_EPOCH + (10 + PH_LEASE_S) * T_SECOND);
    ph_message_info_free(info);
}

DOOR_TEST(of_a_crashed_worker_come_back)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner crashed = ph_owner_new(), next = ph_owner_new();
    ph_lease_ref lost, again;

    t_clock_set(store, T_EPOCH);
    door->make(store, "", "body");
    lost = door_take_one(door, store, crashed);
    t_clock_advance(store, 30 * T_SECOND);
    CHECK_INT(door_claimable(door, store), 0);
    t_clock_advance(store, 1);
    CHECK_INT(door_counts(door, store, NULL).expired_leases, 1);
    again = door_take_one(door, store, next); /* without anybody calling reap */
    REQ(door == &timers_door ? "TIM-005" : WORKED(door), same_id(again.work_id.b, lost.work_id.b));
    CHECK_INT(again.attempts, 2);
    CHECK_STR(see_by(door->find, store, lost.work_id).kinds, "lost");
    CHECK_INT(door_settle(door, store, crashed, lost, PH_ACK, 0), PH_OUTCOME_STALE);
    CHECK_INT(door_settle(door, store, next, again, PH_ACK, 0), PH_OUTCOME_ACKED);
    t_check_places(conn);
}

DOOR_TEST(are_reaped_and_buried_with_the_last_attempt)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_work_id id;

    t_clock_set(store, T_EPOCH);
    set_door_attempts(door, store, 2);
    id = door->make(store, "", "body");
    door_take_one(door, store, owner);
    t_clock_advance(store, 30 * T_SECOND);
    CHECK_INT(door_reap(door, store), 0);
    t_clock_advance(store, 1);
    REQ_INT(WORKED(door), door_reap(door, store), 1);
    CHECK_INT(see_by(door->find, store, id).status, PH_READY);
    door_take_one(door, store, owner);
    t_clock_advance(store, 31 * T_SECOND);
    CHECK_INT(door_reap(door, store), 1);
    CHECK_STR(see_by(door->find, store, id).dead_reason, "lost");
    CHECK_INT(door_reap(door, store), 0);
    t_check_places(conn);
}

DOOR_TEST(keep_their_lease_when_it_is_renewed)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_outcome out = PH_OUTCOME_UNKNOWN;
    ph_lease_ref ref;

    t_clock_set(store, T_EPOCH);
    door->make(store, "", "body");
    ref = door_take_one(door, store, owner);
    t_clock_advance(store, 20 * T_SECOND);
    OK(door->renew(store, PH_OWN_TX, owner, &ref, 1, 40, 0, &out, &t_err));
    CHECK_INT(out, PH_OUTCOME_RENEWED);
    CHECK_INT(see_by(door->find, store, ref.work_id).locked_until, T_EPOCH + 60 * T_SECOND);
    OK(door->renew(store, PH_OWN_TX, ph_owner_new(), &ref, 1, 40, 0, &out, &t_err));
    CHECK_INT(out, PH_OUTCOME_STALE);
}

/* --------------------------------------------------------- one door, not another */

DOOR_TEST(are_not_seen_through_other_doors)
{
    const struct door *all[] = { &outbox_door, &inbox_door, &timers_door, &job_runs_door };
    const struct door *others[3];
    int count = 0;
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref;

    for (int i = 0; i < 4; i++) {
        if (all[i] != door)
            others[count++] = all[i];
    }
    t_clock_set(store, T_EPOCH);
    door->make(store, "", "body");
    for (int i = 0; i < count; i++) {
        CHECK_INT(door_claimable(others[i], store), 0);
        CHECK_INT(door_counts(others[i], store, NULL).ready, 0);
    }
    ref = door_take_one(door, store, owner);
    for (int i = 0; i < count; i++) {
        ph_outcome out = PH_OUTCOME_ACKED;

        CHECK(!see_by(others[i]->find, store, ref.work_id).there);
        OK(others[i]->ack(store, PH_OWN_TX, owner, &ref, 1, 0, &out, &t_err));
        CHECK(out == PH_OUTCOME_UNKNOWN || out == PH_OUTCOME_STALE);
        OK(others[i]->renew(store, PH_OWN_TX, owner, &ref, 1, 60, 0, &out, &t_err));
        CHECK(out == PH_OUTCOME_UNKNOWN || out == PH_OUTCOME_STALE);
    }
    t_clock_advance(store, 31 * T_SECOND);
    for (int i = 0; i < count; i++)
        CHECK_INT(door_reap(others[i], store), 0);
    CHECK_INT(see_by(door->find, store, ref.work_id).status, PH_IN_PROGRESS);
    CHECK_INT(door_reap(door, store), 1);
    t_check_places(conn);
}

DOOR_TEST(have_settings_and_a_pause_of_their_own)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_queues *list = NULL;
    const ph_queue_info *queue;

    t_enqueue(store, "work", "message");
    door->make(store, "", "body");
    set_door_attempts(door, store, 3);
    OK(ph_queue_pause(store, PH_OWN_TX, door->number, "", 0, &t_err));
    CHECK_INT(door_claimable(door, store), 0);
    CHECK_INT(claimable(store, 10), 1);
    OK(ph_queue_list(store, PH_OWN_TX, T_OPTS(ph_queue_list_opts, .door = door->number), 0, &list,
                     &t_err));
    CHECK_INT(ph_queues_count(list), 1);
    queue = ph_queues_at(list, 0);
    CHECK_STR(queue->ns, "");
    CHECK(queue->paused);
    CHECK_INT(queue->settings.max_attempts, 3);
    CHECK_INT(queue->counts.ready, 1);
    ph_queues_free(list);
    OK(ph_queue_list(store, PH_OWN_TX, NULL, 0, &list, &t_err));
    CHECK_INT(ph_queues_count(list), 1);
    CHECK(!ph_queues_at(list, 0)->paused);
    CHECK_INT(ph_queues_at(list, 0)->settings.max_attempts, 10);
    ph_queues_free(list);
    OK(ph_queue_resume(store, PH_OWN_TX, door->number, "", 0, &t_err));
    door_take_one(door, store, owner);
}

/* The outbox functions and those with a door are the same for the outbox. */
TEST(the_outbox_is_a_door_too)
{
    ph_store *store = t_open(NULL);
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_queues *list = NULL;

    settings.max_attempts = 4;
    OK(ph_queue_set(store, PH_OWN_TX, PH_OUTBOX, "a", &settings, 0, &t_err));
    OK(ph_queue_pause(store, PH_OWN_TX, PH_OUTBOX, "a", 0, &t_err));
    OK(ph_queue_list(store, PH_OWN_TX, T_OPTS(ph_queue_list_opts, .ns = "a"), 0, &list, &t_err));
    CHECK_INT(ph_queues_count(list), 1);
    CHECK(ph_queues_at(list, 0)->paused);
    CHECK_INT(ph_queues_at(list, 0)->settings.max_attempts, 4);
    ph_queues_free(list);
    OK(ph_queue_resume(store, PH_OWN_TX, PH_OUTBOX, "a", 0, &t_err));
    outbox_door.make(store, "a", "body");
    ph_batch_free(door_claim(&outbox_door, store, ph_owner_new(), "a", 1));
    CHECK_INT(door_counts(&outbox_door, store, "a").in_progress, 1);
}

DOOR_TEST(are_counted_and_listed)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_message_list_opts opts = PH_MESSAGE_LIST_OPTS_INIT;
    ph_messages *list = NULL;
    ph_work_id first, second;
    ph_queue_counts counts;

    t_clock_set(store, T_EPOCH);
    first = door->make(store, "", "first");
    second = door->make(store, "other", "second");
    t_enqueue(store, "work", "message");
    t_clock_advance(store, T_SECOND);
    counts = door_counts(door, store, NULL);
    CHECK_INT(counts.ready, 2);
    CHECK_INT(counts.oldest_ready_ms, 1000);
    CHECK_INT(door_counts(door, store, "other").ready, 1);
    opts.oldest_first = opts.with_payload = true;
    OK(door->list(store, PH_OWN_TX, &opts, 0, &list, &t_err));
    CHECK_INT(ph_messages_count(list), 2);
    CHECK(same_id(ph_messages_at(list, 0)->message->work_id.b, first.b));
    CHECK(same_id(ph_messages_at(list, 1)->message->work_id.b, second.b));
    CHECK_STR(ph_messages_at(list, 1)->message->payload, "second");
    ph_messages_free(list);
    door_take_one(door, store, owner);
    opts.state = PH_LIST_IN_PROGRESS;
    OK(door->list(store, PH_OWN_TX, &opts, 0, &list, &t_err));
    CHECK_INT(ph_messages_count(list), 1);
    ph_messages_free(list);
    opts.state = PH_LIST_READY;
    opts.ns = "other";
    OK(door->list(store, PH_OWN_TX, &opts, 0, &list, &t_err));
    CHECK_INT(ph_messages_count(list), 1);
    ph_messages_free(list);
}

DOOR_TEST(go_by_the_retention_of_their_queue)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_owner owner = ph_owner_new();
    ph_work_id id;
    int64_t count = -1;

    t_clock_set(store, T_EPOCH);
    settings.retention_s = 10;
    OK(ph_queue_set(store, PH_OWN_TX, door->number, NULL, &settings, 0, &t_err));
    id = door->make(store, "", "body");
    CHECK_INT(door_settle(door, store, owner, door_take_one(door, store, owner), PH_ACK, 0),
              PH_OUTCOME_ACKED);
    t_clock_advance(store, 10 * T_SECOND - 1);
    OK(ph_retention_run(store, PH_OWN_TX, 0, 0, &count, &t_err));
    CHECK_INT(count, 0);
    t_clock_advance(store, 1);
    OK(ph_retention_run(store, PH_OWN_TX, 0, 0, &count, &t_err));
    CHECK_INT(count, 1);
    CHECK(!see_by(door->find, store, id).there);
    CHECK_INT(run_count(conn), 0);
    t_check_places(conn);
}

DOOR_TEST(are_deleted_when_acked_if_the_queue_says_so)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_owner owner = ph_owner_new();

    settings.delete_on_ack = 1;
    OK(ph_queue_set(store, PH_OWN_TX, door->number, NULL, &settings, 0, &t_err));
    door->make(store, "", "body");
    CHECK_INT(door_settle(door, store, owner, door_take_one(door, store, owner), PH_ACK, 0),
              PH_OUTCOME_ACKED);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 0);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}done"), 0);
    CHECK_INT(run_count(conn), 0);
}

/* ------------------------------------------------- in the caller's transaction */

DOOR_TEST(are_worked_in_the_callers_transaction)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_outcome out = PH_OUTCOME_UNKNOWN;
    ph_batch *batch = NULL;
    ph_lease_ref ref;

    door->make(store, "", "body");
    CHECK_INT(door->claim(store, t_tx(conn), owner, NULL, 0, &batch, &t_err), PH_ENOTX);
    t_begin(conn);
    OK(door->claim(store, t_tx(conn), owner, NULL, 0, &batch, &t_err));
    CHECK_INT(ph_batch_count(batch), 1);
    ph_batch_free(batch);
    t_rollback(conn);
    ref = door_take_one(door, store, owner);
    t_begin(conn);
    OK(door->ack(store, t_tx(conn), owner, &ref, 1, 0, &out, &t_err));
    CHECK_INT(out, PH_OUTCOME_ACKED);
    t_rollback(conn);
    CHECK_INT(see_by(door->find, store, ref.work_id).status, PH_IN_PROGRESS);
    t_begin(conn);
    OK(door->abandon(store, t_tx(conn), owner, &ref, 1, "e", 0, 0, &out, &t_err));
    t_commit(conn);
    CHECK_INT(see_by(door->find, store, ref.work_id).status, PH_READY);
    t_check_places(conn);
}

/* ------------------------------------------------------------------ arguments */

DOOR_TEST(refuse_bad_arguments)
{
    static const ph_owner nobody;
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_queue_counts counts = PH_QUEUE_COUNTS_INIT;
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_batch *batch = NULL;
    ph_message_info *info = NULL;
    ph_messages *list = NULL;
    ph_lease_ref ref;

    door->make(store, "", "body");
    CHECK_INT(door->claim(NULL, PH_OWN_TX, owner, NULL, 0, &batch, &t_err), PH_EINVAL);
    CHECK_STR(t_err.message, "store is NULL; open one with ph_open()");
    CHECK_INT(door->claim(store, PH_OWN_TX, nobody, NULL, 0, &batch, &t_err), PH_EINVAL);
    CHECK_STR(t_err.message, "owner is empty; make one with ph_owner_new()");
    CHECK_INT(door->claim(store, PH_OWN_TX, owner, NULL, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(door->claim(store, PH_OWN_TX, owner, NULL, -1, &batch, &t_err), PH_EINVAL);
    opts.batch_size = PH_BATCH_MAX + 1;
    CHECK_INT(door->claim(store, PH_OWN_TX, owner, &opts, 0, &batch, &t_err), PH_EINVAL);
    CHECK_STR(t_err.message, "batch_size is 10001; give 1 to 10000, or 0 for 50");
    CHECK(batch == NULL);
    ref = door_take_one(door, store, owner);
    CHECK_INT(door->ack(store, PH_OWN_TX, nobody, &ref, 1, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(door->ack(store, PH_OWN_TX, owner, NULL, 1, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(door->fail(NULL, PH_OWN_TX, owner, &ref, 1, NULL, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(door->release(store, PH_OWN_TX, nobody, &ref, 1, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(door->abandon(store, PH_OWN_TX, owner, &ref, 1, NULL, -2, 0, NULL, &t_err),
              PH_EINVAL);
    CHECK_INT(door->settle(store, PH_OWN_TX, owner, NULL, 0, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(door->renew(store, PH_OWN_TX, owner, &ref, 1, -1, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(door->reap_expired(store, PH_OWN_TX, -1, NULL, &t_err), PH_EINVAL);
    CHECK_INT(door->find(store, PH_OWN_TX, ref.work_id, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(door->count(store, PH_OWN_TX, "\xff", 0, &counts, &t_err), PH_EINVAL);
    CHECK_INT(door->count(store, PH_OWN_TX, NULL, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(door->list(store, PH_OWN_TX, NULL, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(see_by(door->find, store, ref.work_id).status, PH_IN_PROGRESS);
    memset(ref.work_id.b, 0x11, sizeof(ref.work_id.b));
    CHECK_INT(door->find(store, PH_OWN_TX, ref.work_id, 0, &info, &t_err), PH_ENOTFOUND);
    CHECK(strstr(t_err.message, door == &timers_door     ? "there is no timer 1111"
                                : door == &job_runs_door ? "there is no job run 1111"
                                                         : "1111") != NULL);
    CHECK(info == NULL && list == NULL);
    OK(door->ack(store, PH_OWN_TX, owner, NULL, 0, 0, NULL, &t_err)); /* an empty list is fine */
}

TEST(a_door_that_does_not_exist_is_refused)
{
    ph_store *store = t_open(NULL);
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_queues *list = NULL;

    CHECK_INT(ph_queue_set(store, PH_OWN_TX, (ph_door)5, NULL, &settings, 0, &t_err), PH_EINVAL);
    CHECK_STR(t_err.message, "door 5 is not a ph_door");
    CHECK_INT(ph_queue_pause(store, PH_OWN_TX, (ph_door)4, NULL, 0, &t_err), PH_EINVAL);
    CHECK_INT(ph_queue_resume(store, PH_OWN_TX, (ph_door)-1, NULL, 0, &t_err), PH_EINVAL);
    CHECK_INT(ph_queue_list(store, PH_OWN_TX, T_OPTS(ph_queue_list_opts, .door = (ph_door)4), 0,
                            &list, &t_err),
              PH_EINVAL);
    CHECK(list == NULL);
    CHECK_INT(ph_queue_set(store, PH_OWN_TX, PH_TIMERS, NULL, NULL, 0, &t_err), PH_EINVAL);
    CHECK_INT(ph_queue_set(store, PH_OWN_TX, PH_TIMERS, "\xff", &settings, 0, &t_err), PH_EINVAL);
    CHECK_INT(ph_queue_list(store, PH_OWN_TX, T_OPTS(ph_queue_list_opts, .door = PH_TIMERS), 0,
                            NULL, &t_err),
              PH_EINVAL);
    OK(ph_queue_list(store, PH_OWN_TX, T_OPTS(ph_queue_list_opts, .door = PH_TIMERS), 0, &list,
                     &t_err));
    CHECK_INT(ph_queues_count(list), 0);
    ph_queues_free(list);
}
