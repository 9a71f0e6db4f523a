/* stream_lease_test.c - leases that hold runs: renewed, run out, taken back. The sentences that are
 * quoted are those of docs/states.md, Streams. */
#include "lanes.h"

/* "Reap of a lease with runs: of each run the first unsettled message is lost, as any message; the
 * rest is parked again, without an entry." */
LANE_TEST(of_a_run_that_was_lost_only_the_first_counts)
{
    ph_store *store = open_at_epoch();
    ph_owner dead = ph_owner_new(), owner = ph_owner_new();
    ph_batch *batch;
    struct seen s;

    fill(door, store, "a1 a2 a3 b1 b2 -x");
    batch = door_claim(door, store, dead, NULL, 50);
    CHECK_STR(settled(door, store, dead, batch, "ack a1"), "acked");
    t_clock_advance(store, 30 * T_SECOND);
    CHECK_INT(door_reaped(door, store), 0);
    t_clock_advance(store, 1);
    CHECK(door_reaped(door, store) >= 3);
    REQ_STR("STR-012", lane(door, store, "a"), "a1=done a2=ready a3=parked");
    REQ_STR("STR-012", lane(door, store, "b"), "b1=ready b2=parked");
    s = see_named(door, store, "a2");
    REQ_STR("STR-012", s.kinds, "lost");
    CHECK_INT(s.attempts, 1);
    s = see_named(door, store, "a3");
    REQ_STR("STR-012", s.kinds, "");
    CHECK_INT(s.attempts, 0);
    CHECK_INT(door_reaped(door, store), 0);
    CHECK_STR(settled(door, store, dead, batch, "ack a2, ack b1, release a3"), "stale stale stale");
    ph_batch_free(batch);
    /* "a group of up to 8; with room left, what follows the heads" */
    batch = door_claim(door, store, owner, NULL, 50);
    REQ_STR("STR-012", payloads(batch), "a2 a3 b1 b2 -x");
    CHECK_INT(ph_batch_at(batch, 0)->attempts, 2);
    CHECK_INT(ph_batch_at(batch, 1)->attempts, 1);
    CHECK_STR(settled(door, store, owner, batch, "ack a2, ack b1, ack b2, ack -x"),
              "acked acked acked acked");
    ph_batch_free(batch);
    CHECK_STR(lane(door, store, "a"), "a1=done a2=done a3=leased");
    t_clock_advance(store, 31 * T_SECOND); /* a lease counts for all its messages */
    fill(door, store, "a4");
    CHECK_STR(worked(door, store, owner, 50), "a3");
    CHECK_STR(see_named(door, store, "a3").kinds, "lost");
    CHECK_STR(worked(door, store, owner, 50), "a4"); /* "attempts 0, lost 0" */
    all_is_well(store);
}

/* While others wait a head that was lost goes without what follows it. */
LANE_TEST(lost_heads_come_together_before_what_follows_them)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();

    fill(door, store, "a1 a2 a3 b1 b2 b3");
    CHECK_STR(claimed(door, store, ph_owner_new(), 50), "a1 a2 a3 b1 b2 b3");
    t_clock_advance(store, 31 * T_SECOND);
    CHECK_INT(door_reaped(door, store), 6);
    t_clock_advance(store, 1);
    fill(door, store, "-x");
    CHECK_STR(worked(door, store, owner, 50), "a1 b1");
    CHECK_STR(worked(door, store, owner, 50), "a2 a3 b2 b3 -x");
    all_is_well(store);
}

/* Scenario 3: the claim takes it back by itself, and the order holds across the crash. */
LANE_TEST_LONG(a_crash_in_the_middle_of_a_run_keeps_the_order)
{
    ph_store *store = open_at_epoch();
    ph_owner dead = ph_owner_new(), owner = ph_owner_new();
    ph_batch *batch;

    fill(door, store, "a1 a2 a3 a4");
    batch = door_claim(door, store, dead, NULL, 50);
    CHECK_STR(settled(door, store, dead, batch, "ack a1, ack a2"), "acked acked");
    ph_batch_free(batch);
    fill(door, store, "a5");
    t_clock_advance(store, 31 * T_SECOND);
    REQ_STR("STR-002", worked(door, store, owner, 2), "a3 a4");
    REQ_STR("STR-002", worked(door, store, owner, 50), "a5");
    all_is_well(store);
}

/* A head whose worker is lost on its last attempt is dead, and its followers go on. */
TEST(a_head_that_is_lost_on_its_last_attempt_dies_alone)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_message m = in_stream("a", "a1");

    m.max_attempts = 1;
    put(store, &m);
    m.payload = "a2";
    put(store, &m);
    CHECK_STR(claimed(&outbox_door, store, ph_owner_new(), 50), "a1 a2");
    t_clock_advance(store, 31 * T_SECOND);
    CHECK(reap(store) >= 1);
    REQ_STR("STR-012", lane(&outbox_door, store, "a"), "a1=dead a2=ready");
    CHECK_STR(see_named(&outbox_door, store, "a1").dead_reason, "lost");
    CHECK_STR(worked(&outbox_door, store, owner, 50), "a2"); /* its first attempt */
    all_is_well(store);
}

/* Lost again and again: each time the same head, alone from the second time on, until its attempts
 * are spent. */
LANE_TEST_LONG(a_head_that_kills_its_workers_runs_out_of_attempts)
{
    ph_store *store = open_at_epoch();
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;

    settings.max_attempts = 3;
    set_door_queue(door, store, &settings);
    fill(door, store, "a1 a2");
    CHECK_STR(claimed(door, store, ph_owner_new(), 50), "a1 a2");
    for (int i = 0; i < 2; i++) {
        t_clock_advance(store, 31 * T_SECOND);
        CHECK_STR(claimed(door, store, ph_owner_new(), 50), i == 0 ? "a1 a2" : "a1");
    }
    t_clock_advance(store, 31 * T_SECOND);
    CHECK_STR(claimed(door, store, ph_owner_new(), 50), "a2");
    CHECK_STR(see_named(door, store, "a1").kinds, "lost,lost,lost");
    CHECK_STR(lane(door, store, "a"), "a1=dead a2=leased");
    all_is_well(store);
}

/* "An expired lease that was not yet taken back counts as held." */
LANE_TEST_LONG(an_expired_run_that_nobody_took_back_can_still_be_settled)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_batch *batch;

    fill(door, store, "a1 a2 a3");
    batch = door_claim(door, store, owner, NULL, 50);
    t_clock_advance(store, 90 * T_SECOND);
    CHECK_STR(settled(door, store, owner, batch, "ack a1, abandon a2"), "acked abandoned");
    ph_batch_free(batch);
    CHECK_STR(lane(door, store, "a"), "a1=done a2=ready a3=parked");
    CHECK_STR(see_named(door, store, "a2").kinds, "abandoned");
    all_is_well(store);
}

/* Renewing one message of a run renews the lease of all; what was given back has none. */
LANE_TEST_LONG(a_run_is_renewed_and_what_was_given_back_is_not)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_lease_ref refs[4];
    ph_outcome out[4];
    ph_batch *batch;

    fill(door, store, "a1 a2 a3 a4");
    batch = door_claim(door, store, owner, NULL, 50);
    for (size_t i = 0; i < 4; i++)
        refs[i] = ph_lease_ref_of(ph_batch_at(batch, i));
    t_clock_advance(store, 20 * T_SECOND);
    OK(door->renew(store, PH_OWN_TX, owner, refs + 2, 1, 60, 0, out, &t_err));
    CHECK_INT(out[0], PH_OUTCOME_RENEWED);
    CHECK_INT(see_named(door, store, "a1").locked_until, T_EPOCH + 80 * T_SECOND);
    CHECK_INT(see_lane(door, store, "a").locked_until, T_EPOCH + 80 * T_SECOND);
    CHECK_STR(settled(door, store, owner, batch, "ack a1, release a3"), "acked released");
    OK(door->renew(store, PH_OWN_TX, owner, refs, 4, 90, 0, out, &t_err));
    CHECK_INT(out[0], PH_OUTCOME_STALE);
    CHECK_INT(out[1], PH_OUTCOME_RENEWED);
    CHECK_INT(out[2], PH_OUTCOME_STALE);
    CHECK_INT(out[3], PH_OUTCOME_STALE);
    CHECK_INT(see_named(door, store, "a2").locked_until, T_EPOCH + 110 * T_SECOND);
    t_clock_set(store, T_EPOCH + 110 * T_SECOND);
    CHECK_STR(claimed(door, store, ph_owner_new(), 50), "");
    CHECK_STR(settled(door, store, owner, batch, "ack a2"), "acked");
    ph_batch_free(batch);
    CHECK_STR(worked(door, store, owner, 50), "a3 a4");
    all_is_well(store);
}

/* Many leases with runs at once: each comes back for itself. */
TEST(many_lost_runs_come_back)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    char words[2000] = "";

    for (int i = 0; i < 26 * 3; i++) {
        size_t used = strlen(words);

        snprintf(words + used, sizeof(words) - used, "%c%d ", 'a' + i % 26, i / 26 + 1);
    }
    fill(&outbox_door, store, words);
    for (int i = 0; i < 26; i++)
        CHECK_INT(claimable(store, 1), 1); /* a lease each: the heads */
    CHECK_INT(claimable(store, 1), 0);
    t_clock_advance(store, 31 * T_SECOND);
    CHECK_INT(reap(store), 26);
    t_clock_advance(store, 1); /* so that the next heads stand behind those that were lost */
    for (int i = 0; i < 4; i++) {
        ph_batch *batch = t_claim(store, owner, 50);

        CHECK_INT(ph_batch_count(batch), i < 3 ? 8 : 2);
        for (size_t k = 0; k < ph_batch_count(batch); k++)
            CHECK_INT(ph_batch_at(batch, k)->seq, 1);
        t_ack_all(store, owner, batch);
    }
    t_ack_all(store, owner, t_claim(store, owner, 100));
    CHECK_INT(claimable(store, 100), 0);
    CHECK_STR(lane(&outbox_door, store, "z"), "z1=done z2=done z3=done");
    all_is_well(store);
}
