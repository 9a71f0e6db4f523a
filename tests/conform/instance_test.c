/* instance_test.c - instances: registration, heartbeat, eviction, farewell (coordination.h;
 * docs/states.md, Instances; scenarios 1 and 5). */
#include "lanes.h"

#include <unistd.h>

/* Service and id of each instance in the list: "svc:1 svc:2", numbered as given. */
static const char *who(ph_store *store, const char *service, bool all, const ph_owner *known,
                       int count)
{
    static char text[1000];
    ph_instances *list = NULL;

    OK(ph_instance_list(store, PH_OWN_TX,
                        T_OPTS(ph_instance_list_opts, .service = service, .ended_too = all), 0,
                        &list, &t_err));
    text[0] = '\0';
    for (size_t i = 0; i < ph_instances_count(list); i++) {
        const ph_instance_info *info = ph_instances_at(list, i);
        size_t used = strlen(text);
        int n = 0;

        while (n < count && !same_id(known[n].b, info->id.b))
            n++;
        snprintf(text + used, sizeof(text) - used, "%s%s:%d", i ? " " : "", info->service, n);
    }
    CHECK(ph_instances_at(list, ph_instances_count(list)) == NULL);
    ph_instances_free(list);
    return text;
}

/* "not known: registered, started_at = heartbeat_at = T" */
TEST(the_first_call_registers)
{
    ph_store *store = open_at_epoch();
    ph_owner id = ph_owner_new();
    ph_work_batch_opts opts = a_call(id);
    ph_work_batch *batch;
    struct instance_seen s;

    opts.host_name = "host-7";
    opts.process_id = 4711;
    opts.metadata = "{\"zone\": \"b\"}";
    opts.instance_lease_s = 20;
    opts.stale_threshold_s = 50;
    batch = work(store, &opts);
    REQ("INS-001", batch->registered);
    CHECK_INT(batch->evicted, 0);
    ph_work_batch_free(batch);
    s = see_instance(store, id);
    REQ("INS-001", s.there);
    CHECK_INT(s.state, PH_INSTANCE_LIVE);
    CHECK_STR(s.service, SERVICE);
    CHECK_STR(s.host, "host-7");
    CHECK_INT(s.process_id, 4711);
    CHECK_STR(s.metadata, "{\"zone\": \"b\"}");
    CHECK_INT(s.started_at, T_EPOCH);
    CHECK_INT(s.last_heartbeat_at, T_EPOCH);
    CHECK_INT(s.ended_at, 0);
    CHECK_INT(s.lease_s, 20);
    CHECK_INT(s.stale_threshold_s, 50);
    CHECK_INT(s.in_progress, 0);
    t_clock_advance(store, 6 * T_SECOND);
    opts.metadata = "{\"zone\": \"c\"}";
    batch = work(store, &opts);
    REQ("INS-001", !batch->registered);
    ph_work_batch_free(batch);
    s = see_instance(store, id);
    CHECK_STR(s.metadata, "{\"zone\": \"c\"}");
    CHECK_INT(s.started_at, T_EPOCH);
    CHECK_INT(s.last_heartbeat_at, T_EPOCH + 6 * T_SECOND);
    all_is_well(store);
}

/* At once, although the heartbeat is young; and the same again writes nothing. */
TEST(what_an_instance_says_of_itself_anew_is_stored)
{
    ph_store *store = open_at_epoch();
    ph_owner id = ph_owner_new();
    ph_work_batch_opts opts = a_call(id);
    struct instance_seen s;

    ph_work_batch_free(work(store, &opts));
    t_clock_advance(store, T_SECOND / 10);
    opts.service_name = "renamed";
    opts.host_name = "host-8";
    opts.process_id = 4712;
    opts.metadata = "{\"zone\": \"d\"}";
    opts.instance_lease_s = 21;
    opts.stale_threshold_s = 51;
    opts.partition_count = 77;
    for (int i = 0; i < 2; i++) {
        ph_work_batch_free(work(store, &opts));
        s = see_instance(store, id);
        REQ_STR("INS-001", s.service, "renamed");
        CHECK_STR(s.host, "host-8");
        CHECK_INT(s.process_id, 4712);
        CHECK_STR(s.metadata, "{\"zone\": \"d\"}");
        CHECK_INT(s.lease_s, 21);
        CHECK_INT(s.stale_threshold_s, 51);
        CHECK_INT(s.partition_count, 77);
        CHECK_INT(s.last_heartbeat_at, T_EPOCH + T_SECOND / 10);
        t_clock_advance(store, T_SECOND / 10);
    }
    opts.metadata = NULL;
    ph_work_batch_free(work(store, &opts));
    CHECK_STR(see_instance(store, id).metadata, "");
    all_is_well(store);
}

TEST(host_process_and_times_have_defaults)
{
    ph_store *store = open_at_epoch();
    ph_owner id = ph_owner_new();
    char host[200] = "";
    struct instance_seen s;

    beat(store, id);
    s = see_instance(store, id);
    CHECK_INT(gethostname(host, sizeof(host) - 1), 0);
    CHECK_STR(s.host, host);
    CHECK_INT(s.process_id, getpid());
    CHECK_STR(s.metadata, "");
    CHECK_INT(s.lease_s, PH_INSTANCE_LEASE_S);
    CHECK_INT(s.stale_threshold_s, PH_STALE_THRESHOLD_S);
}

/* Scenario 1, and "heartbeat_at = T if the stored one is older than a tenth of the threshold, and
 * than one second". */
TEST(the_heartbeat_is_written_when_the_stored_one_is_old)
{
    ph_store *store = open_at_epoch();
    ph_owner id = ph_owner_new();
    ph_work_batch_opts opts = a_call(id);

    work_only(store, &opts); /* threshold 600 */
    t_clock_advance(store, 59 * T_SECOND);
    work_only(store, &opts);
    REQ_INT("INS-002", see_instance(store, id).last_heartbeat_at, T_EPOCH); /* young: not written */
    t_clock_advance(store, 2 * T_SECOND);
    work_only(store, &opts);
    REQ_INT("INS-002", see_instance(store, id).last_heartbeat_at, T_EPOCH + 61 * T_SECOND);
    all_is_well(store);
}

TEST(the_heartbeat_is_written_at_most_once_per_second)
{
    ph_store *store = open_at_epoch();
    ph_owner id = ph_owner_new();
    ph_work_batch_opts opts = a_call(id);

    opts.stale_threshold_s = 2; /* a tenth: 0.2 s */
    work_only(store, &opts);
    t_clock_advance(store, T_SECOND * 9 / 10);
    work_only(store, &opts);
    REQ_INT("INS-002", see_instance(store, id).last_heartbeat_at, T_EPOCH);
    t_clock_advance(store, T_SECOND * 2 / 10);
    work_only(store, &opts);
    REQ_INT("INS-002", see_instance(store, id).last_heartbeat_at, T_EPOCH + T_SECOND * 11 / 10);
}

/* However short its threshold is: who calls often enough is not taken for dead. */
TEST(a_short_threshold_leaves_time_for_the_next_heartbeat)
{
    ph_store *store = open_at_epoch();
    ph_owner id = ph_owner_new(), other = ph_owner_new();
    ph_work_batch_opts opts = a_call(id);

    opts.stale_threshold_s = 1;
    work_only(store, &opts);
    t_clock_advance(store, T_SECOND * 9 / 10);
    work_only(store, &opts);
    t_clock_advance(store, T_SECOND * 2 / 10);
    beat(store, other);
    REQ_INT("INS-003", see_instance(store, id).state, PH_INSTANCE_LIVE);
}

/* Others go by the threshold that is stored. */
TEST(a_longer_threshold_is_stored_before_the_old_one_is_over)
{
    ph_store *store = open_at_epoch();
    ph_owner id = ph_owner_new(), other = ph_owner_new();
    ph_work_batch_opts opts = a_call(id);

    opts.stale_threshold_s = 2;
    work_only(store, &opts);
    opts.stale_threshold_s = 600;
    for (int i = 0; i < 5; i++) {
        t_clock_advance(store, T_SECOND * 3 / 2);
        work_only(store, &opts);
        beat(store, other);
    }
    REQ_INT("INS-003", see_instance(store, id).state, PH_INSTANCE_LIVE);
    CHECK_INT(see_instance(store, id).stale_threshold_s, 600);
}

/* "a tenth of the threshold … (half a second, if that threshold is one second), or something else of
 * it has changed" */
TEST(a_new_threshold_drives_the_heart_at_once)
{
    ph_store *store = open_at_epoch();
    ph_owner id = ph_owner_new();
    ph_work_batch_opts opts = a_call(id);

    work_only(store, &opts); /* 600 s */
    opts.stale_threshold_s = 100;
    t_clock_advance(store, T_SECOND);
    work_only(store, &opts);
    REQ_INT("INS-002", see_instance(store, id).last_heartbeat_at, T_EPOCH + T_SECOND);
    CHECK_INT(see_instance(store, id).stale_threshold_s, 100);
    t_clock_advance(store, 10 * T_SECOND);
    work_only(store, &opts);
    REQ_INT("INS-002", see_instance(store, id).last_heartbeat_at, T_EPOCH + T_SECOND);
    t_clock_advance(store, 11 * T_SECOND);
    work_only(store, &opts);
    REQ_INT("INS-002", see_instance(store, id).last_heartbeat_at, T_EPOCH + 22 * T_SECOND);
    opts = a_call(ph_owner_new());
    opts.stale_threshold_s = 1;
    work_only(store, &opts);
    t_clock_advance(store, T_SECOND / 2 - 1);
    work_only(store, &opts);
    REQ_INT("INS-002", see_instance(store, opts.instance_id).last_heartbeat_at,
            T_EPOCH + 22 * T_SECOND);
    t_clock_advance(store, 2);
    work_only(store, &opts);
    REQ_INT("INS-002", see_instance(store, opts.instance_id).last_heartbeat_at,
            T_EPOCH + 22 * T_SECOND + T_SECOND / 2 + 1);
}

/* "every other live instance with heartbeat_at + its own threshold < T … is evicted" */
TEST(a_silent_instance_is_removed_by_its_own_threshold)
{
    ph_store *store = open_at_epoch();
    ph_owner quick = ph_owner_new(), slow = ph_owner_new(), caller = ph_owner_new();
    ph_work_batch_opts opts = a_call(quick);
    ph_work_batch *batch;

    opts.stale_threshold_s = 100;
    work_only(store, &opts);
    opts = a_call(slow);
    opts.service_name = "another"; /* the service does not matter */
    opts.stale_threshold_s = 200;
    work_only(store, &opts);
    opts = a_call(caller);
    t_clock_advance(store, 100 * T_SECOND);
    batch = work(store, &opts);
    CHECK_INT(batch->evicted, 0); /* not at the very moment */
    ph_work_batch_free(batch);
    t_clock_advance(store, 1);
    batch = work(store, &opts);
    REQ_INT("INS-003", batch->evicted, 1);
    ph_work_batch_free(batch);
    REQ_INT("INS-003", see_instance(store, quick).state, PH_INSTANCE_EVICTED);
    CHECK_INT(see_instance(store, quick).ended_at, T_EPOCH + 100 * T_SECOND + 1);
    REQ_INT("INS-003", see_instance(store, slow).state, PH_INSTANCE_LIVE);
    t_clock_advance(store, 100 * T_SECOND);
    batch = work(store, &opts);
    REQ_INT("INS-003", batch->evicted, 1);
    ph_work_batch_free(batch);
    batch = work(store, &opts);
    CHECK_INT(batch->evicted, 0); /* once */
    ph_work_batch_free(batch);
    all_is_well(store);
}

/* "every other": one that was silent for long, and that nobody has removed, goes on. */
TEST(nobody_removes_itself)
{
    ph_store *store = open_at_epoch();
    ph_owner id = ph_owner_new();

    beat(store, id);
    t_clock_advance(store, 86400 * T_SECOND);
    beat(store, id);
    CHECK_INT(see_instance(store, id).state, PH_INSTANCE_LIVE);
    CHECK_INT(see_instance(store, id).last_heartbeat_at, T_EPOCH + 86400 * T_SECOND);
}

/* Claims with the instance's id as owner, long lease, through the door's own claim. */
static ph_batch *hold(const struct door *door, ph_store *store, ph_owner owner, int n)
{
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_batch *batch = NULL;

    opts.batch_size = n;
    opts.lease_s = 3600;
    OK(door->claim(store, PH_OWN_TX, owner, &opts, 0, &batch, &t_err));
    return batch;
}

/* Scenario 5: "its leases, of every door, are taken back as reap does"; live instances survive. */
TEST(everything_of_a_removed_instance_is_released_stream_by_stream)
{
    ph_store *store = open_at_epoch();
    ph_owner dead = ph_owner_new(), live = ph_owner_new();
    ph_work_id timer;
    ph_batch *theirs;
    struct seen s;

    beat(store, dead);
    t_clock_advance(store, 300 * T_SECOND);
    beat(store, live);
    fill(&outbox_door, store, "a1 a2 a3 b1 b2 -x");
    fill(&inbox_door, store, "i1 i2 -y");
    timer = timers_door.make(store, "", "t");
    ph_batch_free(hold(&outbox_door, store, dead, 10));
    ph_batch_free(hold(&inbox_door, store, dead, 10));
    ph_batch_free(hold(&timers_door, store, dead, 10));
    fill(&outbox_door, store, "c1 c2 -z");
    theirs = hold(&outbox_door, store, live, 10);
    CHECK_INT(ph_batch_count(theirs), 3);
    CHECK_INT(see_instance(store, dead).in_progress, 10);
    CHECK_INT(see_instance(store, live).in_progress, 3);
    t_clock_advance(store, 301 * T_SECOND);
    beat(store, live); /* removes the other: its leases have not run out */
    REQ_INT("INS-004", see_instance(store, dead).state, PH_INSTANCE_EVICTED);
    REQ_INT("INS-004", see_instance(store, dead).in_progress, 0);
    REQ_STR("INS-004", lane(&outbox_door, store, "a"), "a1=ready a2=parked a3=parked");
    REQ_STR("INS-004", lane(&outbox_door, store, "b"), "b1=ready b2=parked");
    REQ_STR("INS-004", lane(&inbox_door, store, "i"), "i1=ready i2=parked");
    s = see_named(&outbox_door, store, "a1");
    CHECK_STR(s.kinds, "lost"); /* as if it had run out: the attempt counts */
    CHECK_INT(s.attempts, 1);
    CHECK_STR(see_named(&outbox_door, store, "a2").kinds, "");
    CHECK_INT(see_named(&outbox_door, store, "a2").attempts, 0);
    CHECK_STR(see_named(&outbox_door, store, "-x").kinds, "lost");
    CHECK_STR(see_named(&inbox_door, store, "-y").kinds, "lost");
    CHECK_STR(see_by(ph_timers_find, store, timer).kinds, "lost");
    REQ_STR("INS-004", lane(&outbox_door, store, "c"), "c1=leased c2=leased");
    CHECK_STR(settled(&outbox_door, store, live, theirs, "ack c1, ack c2, ack -z"),
              "acked acked acked");
    ph_batch_free(theirs);
    all_is_well(store);
}

/* On its last attempt what it had is dead, as with any lost lease. */
TEST(what_a_removed_instance_had_on_its_last_attempt_is_dead)
{
    ph_store *store = open_at_epoch();
    ph_owner dead = ph_owner_new();

    set_max_attempts(store, 1);
    fill(&outbox_door, store, "a1 a2 -x");
    beat(store, dead);
    ph_batch_free(hold(&outbox_door, store, dead, 10));
    t_clock_advance(store, 601 * T_SECOND);
    beat(store, ph_owner_new());
    CHECK_STR(lane(&outbox_door, store, "a"), "a1=dead a2=ready");
    CHECK_STR(see_named(&outbox_door, store, "a1").dead_reason, "lost");
    CHECK_STR(see_named(&outbox_door, store, "-x").dead_reason, "lost");
    all_is_well(store);
}

/* Scenario 5: "a zombie's heartbeat is refused", and nothing else of its call happens. */
TEST(a_zombie_is_refused_and_nothing_of_its_call_is_done)
{
    ph_store *store = open_at_epoch();
    ph_owner zombie = ph_owner_new();
    ph_work_batch_opts opts = a_claim(zombie, 10);
    ph_settlement item = { .verb = PH_ACK };
    ph_message m = a_message("new", "n");
    ph_work_batch *batch;
    char id[PH_ID_TEXT_SIZE];

    fill(&outbox_door, store, "a1 a2");
    batch = work(store, &opts);
    CHECK_STR(payloads(batch->outbox), "a1 a2");
    item.lease = ph_lease_ref_of(ph_batch_at(batch->outbox, 0));
    ph_work_batch_free(batch);
    t_clock_advance(store, 601 * T_SECOND);
    beat(store, ph_owner_new());
    opts.outbox = &item;
    opts.outbox_count = 1;
    opts.new_outbox = &m;
    opts.new_outbox_count = 1;
    for (int i = 0; i < 2; i++) {
        REQ_INT("INS-005", try_work(store, &opts), PH_EEVICTED);
        CHECK(strstr(t_err.message, ph_id_text(zombie.b, id)) != NULL);
        CHECK_INT(t_err.flags, 0);
    }
    REQ_STR("INS-005", lane(&outbox_door, store, "a"), "a1=ready a2=parked");
    CHECK_INT(door_counts(&outbox_door, store, NULL).ready, 1); /* no new message */
    CHECK_INT(see_instance(store, zombie).state, PH_INSTANCE_EVICTED);
    CHECK_INT(see_instance(store, zombie).last_heartbeat_at, T_EPOCH);
    opts.instance_id = ph_owner_new(); /* "register anew": it is told about its old lease */
    batch = work(store, &opts);
    CHECK(batch->registered);
    CHECK_INT(batch->outbox_outcomes[0], PH_OUTCOME_STALE);
    ph_work_batch_free(batch);
    all_is_well(store);
}

/* "Leave: its leases are released, message by message (runs: as a release of the first)". */
TEST(who_leaves_gives_back_everything_and_loses_no_attempt)
{
    ph_store *store = open_at_epoch();
    ph_owner id = ph_owner_new(), other = ph_owner_new();
    ph_work_id timer;
    ph_batch *batch;
    bool left = false;
    struct seen s;

    beat(store, id);
    beat(store, other);
    fill(&outbox_door, store, "a1 a2 -x");
    fill(&inbox_door, store, "i1 i2");
    timer = timers_door.make(store, "", "t");
    batch = hold(&outbox_door, store, id, 10);
    CHECK_STR(settled(&outbox_door, store, id, batch, "ack a1"), "acked");
    ph_batch_free(batch);
    ph_batch_free(hold(&inbox_door, store, id, 10));
    ph_batch_free(hold(&timers_door, store, id, 10));
    t_clock_advance(store, T_SECOND);
    OK(ph_instance_leave(store, PH_OWN_TX, id, 0, &left, &t_err));
    REQ("INS-006", left);
    CHECK_INT(see_instance(store, id).state, PH_INSTANCE_LEFT);
    CHECK_INT(see_instance(store, id).ended_at, T_EPOCH + T_SECOND);
    CHECK_INT(see_instance(store, id).in_progress, 0);
    REQ_STR("INS-006", lane(&outbox_door, store, "a"), "a1=done a2=ready");
    REQ_STR("INS-006", lane(&inbox_door, store, "i"), "i1=ready i2=parked");
    s = see_named(&outbox_door, store, "-x");
    REQ_INT("INS-006", s.attempts, 0);
    CHECK_STR(s.kinds, "released");
    CHECK_INT(see_named(&outbox_door, store, "a2").attempts, 0);
    CHECK_INT(see_named(&inbox_door, store, "i1").attempts, 0);
    CHECK_INT(see_by(ph_timers_find, store, timer).attempts, 0);
    CHECK_STR(worked(&inbox_door, store, ph_owner_new(), 10), "i1 i2"); /* not one by one */
    OK(ph_instance_leave(store, PH_OWN_TX, id, 0, &left, &t_err));
    REQ("INS-006", !left);
    {
        ph_work_batch_opts opts = a_call(id);

        REQ_INT("INS-005", try_work(store, &opts), PH_EEVICTED);
    }
    OK(ph_instance_leave(store, PH_OWN_TX, ph_owner_new(), 0, &left, &t_err));
    CHECK(!left); /* never heard of */
    CHECK_INT(see_instance(store, other).state, PH_INSTANCE_LIVE);
    all_is_well(store);
}

/* An evicted instance that says good-bye afterwards was not live. */
TEST(who_was_removed_cannot_leave)
{
    ph_store *store = open_at_epoch();
    ph_owner id = ph_owner_new();
    bool left = true;

    beat(store, id);
    t_clock_advance(store, 601 * T_SECOND);
    beat(store, ph_owner_new());
    OK(ph_instance_leave(store, PH_OWN_TX, id, 0, &left, &t_err));
    CHECK(!left);
    CHECK_INT(see_instance(store, id).state, PH_INSTANCE_EVICTED);
}

/* In the caller's transaction. */
TEST(leaving_and_registering_can_be_rolled_back)
{
    ph_store *store = open_at_epoch();
    struct t_conn *conn = t_connect();
    ph_owner id = ph_owner_new(), never = ph_owner_new();
    ph_work_batch_opts opts = a_call(never);
    ph_work_batch *batch = NULL;

    beat(store, id);
    fill(&outbox_door, store, "a1 a2");
    ph_batch_free(hold(&outbox_door, store, id, 10));
    t_begin(conn);
    OK(ph_instance_leave(store, t_tx(conn), id, 0, NULL, &t_err));
    OK(ph_process_work_batch(store, t_tx(conn), &opts, 0, &batch, &t_err));
    CHECK(batch->registered);
    ph_work_batch_free(batch);
    t_rollback(conn);
    CHECK_INT(see_instance(store, id).state, PH_INSTANCE_LIVE);
    CHECK(!see_instance(store, never).there);
    CHECK_STR(lane(&outbox_door, store, "a"), "a1=leased a2=leased");
    CHECK_INT(ph_instance_leave(store, t_tx(conn), id, 0, NULL, &t_err), PH_ENOTX);
    t_disconnect(conn);
    all_is_well(store);
}

/* "The live instances (or, with all, also those of the last day that have ended) of a service (NULL:
 * every), by service, then start." */
TEST(instances_are_listed_by_service_and_start)
{
    ph_store *store = open_at_epoch();
    ph_owner id[4];
    static const char *const services[] = { "web", "mail", "web", "mail" };

    for (int i = 0; i < 4; i++) {
        ph_work_batch_opts opts;

        id[i] = ph_owner_new();
        opts = a_call(id[i]);
        opts.service_name = services[i];
        work_only(store, &opts);
        t_clock_advance(store, T_SECOND);
    }
    OK(ph_instance_leave(store, PH_OWN_TX, id[1], 0, NULL, &t_err));
    CHECK_STR(who(store, NULL, false, id, 4), "mail:3 web:0 web:2");
    CHECK_STR(who(store, NULL, true, id, 4), "mail:1 mail:3 web:0 web:2");
    CHECK_STR(who(store, "web", false, id, 4), "web:0 web:2");
    CHECK_STR(who(store, "mail", true, id, 4), "mail:1 mail:3");
    CHECK_STR(who(store, "none", true, id, 4), "");
    ph_instances_free(NULL);
    CHECK_INT(ph_instances_count(NULL), 0);
}

/* "Retention deletes instances that ended more than a day ago." Live ones never. */
TEST(ended_instances_go_after_a_day)
{
    ph_store *store = open_at_epoch();
    struct t_conn *conn = t_connect();
    ph_owner live = ph_owner_new(), gone = ph_owner_new();

    beat(store, live);
    beat(store, gone);
    OK(ph_instance_leave(store, PH_OWN_TX, gone, 0, NULL, &t_err));
    t_clock_advance(store, 86400 * T_SECOND - 1);
    OK(ph_retention_run(store, PH_OWN_TX, 0, 0, NULL, &t_err));
    REQ("INS-007", see_instance(store, gone).there);
    t_clock_advance(store, 2);
    OK(ph_retention_run(store, PH_OWN_TX, 0, 0, NULL, &t_err));
    REQ("INS-007", !see_instance(store, gone).there);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}instance"), 1);
    REQ_INT("INS-007", see_instance(store, live).state, PH_INSTANCE_LIVE);
    t_disconnect(conn);
}

/* "doctor warns when the stale threshold is below twice the lease" */
TEST(the_doctor_warns_of_a_threshold_below_twice_the_lease)
{
    ph_store *store = t_open(NULL);
    ph_work_batch_opts opts = a_call(ph_owner_new());
    int warnings = 0;

    opts.instance_lease_s = 100;
    opts.stale_threshold_s = 200;
    work_only(store, &opts);
    for (int round = 0; round < 2; round++) {
        ph_doctor_opts doctor = PH_DOCTOR_OPTS_INIT;
        ph_report *report = NULL;

        OK(ph_doctor(store, &doctor, 0, &report, &t_err));
        warnings = 0;
        for (size_t i = 0; i < ph_report_count(report); i++) {
            const ph_finding *finding = ph_report_at(report, i);

            if (strcmp(finding->check, "instances") != 0)
                continue;
            warnings += finding->level == PH_FINDING_WARNING;
            if (finding->level == PH_FINDING_WARNING)
                CHECK(finding->advice && *finding->advice);
        }
        ph_report_free(report);
        REQ_INT("INS-008", warnings, round);
        opts = a_call(ph_owner_new());
        opts.instance_lease_s = 101;
        opts.stale_threshold_s = 200;
        work_only(store, &opts);
    }
}

TEST(bad_arguments_of_instances_are_refused)
{
    ph_store *store = t_open(NULL);
    ph_owner nobody = { { 0 } };
    ph_instances *list = NULL;

    CHECK_INT(ph_instance_leave(store, PH_OWN_TX, nobody, 0, NULL, &t_err), PH_EINVAL);
    CHECK(strstr(t_err.message, "instance is empty") != NULL);
    CHECK_INT(ph_instance_leave(NULL, PH_OWN_TX, ph_owner_new(), 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_instance_leave(store, PH_OWN_TX, ph_owner_new(), -1, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_instance_list(store, PH_OWN_TX, T_OPTS(ph_instance_list_opts, .service = ""), 0,
                               &list, &t_err),
              PH_EINVAL);
    CHECK_INT(ph_instance_list(store, PH_OWN_TX, T_OPTS(ph_instance_list_opts, .service = "\xff"),
                               0, &list, &t_err),
              PH_EINVAL);
    CHECK_INT(ph_instance_list(store, PH_OWN_TX, NULL, 0, NULL, &t_err), PH_EINVAL);
    CHECK(list == NULL);
}
