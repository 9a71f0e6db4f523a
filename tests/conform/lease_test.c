/* lease_test.c - leases that run out, are taken back, and are renewed. */
#include "common.h"

TEST(reap_takes_back_every_expired_lease_and_no_other)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner early = ph_owner_new(), late = ph_owner_new();
    ph_lease_ref first, second;
    struct seen s;

    t_clock_set(store, T_EPOCH);
    put_many(store, "orders", 2, NULL);
    first = take_one(store, early);
    t_clock_advance(store, 10 * T_SECOND);
    second = take_one(store, late);
    t_clock_set(store, T_EPOCH + 30 * T_SECOND);
    REQ_INT("OBX-049", reap(store), 0); /* until < now: not at the very moment */
    t_clock_advance(store, 1);
    REQ_INT("OBX-049", reap(store), 1);
    s = see(store, first.work_id);
    CHECK_INT(s.status, PH_READY);
    REQ_INT("OBX-050", s.locked_until, 0);
    REQ("OBX-050", ph_id_is_zero(s.owner.b));
    REQ_STR("OBX-050", t_view(conn, first.work_id, "owner_token"), "");
    CHECK_INT(s.next_attempt_at, T_EPOCH + 30 * T_SECOND + 1);
    CHECK_INT(s.attempts, 1);
    CHECK_INT(s.retry_count, 0);
    CHECK_STR(s.kinds, "lost");
    REQ_INT("OBX-049", see(store, second.work_id).status, PH_IN_PROGRESS);
    REQ_INT("OBX-051", take_one(store, late).attempts, 2);
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(reap_leaves_settled_messages_alone)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_lease_ref refs[5];

    t_clock_set(store, T_EPOCH);
    put_many(store, "orders", 5, NULL);
    CHECK_INT(take(store, owner, 5, refs), 5);
    CHECK_INT(ack(store, owner, refs[1]), PH_OUTCOME_ACKED);
    CHECK_INT(settle(store, owner, refs[3], PH_FAIL, "no", 0), PH_OUTCOME_FAILED);
    t_clock_advance(store, 31 * T_SECOND);
    CHECK_INT(reap(store), 3);
    REQ_INT("OBX-052", see(store, refs[1].work_id).status, PH_DONE);
    REQ_INT("OBX-052", see(store, refs[3].work_id).status, PH_FAILED);
    CHECK_INT(see(store, refs[1].work_id).history_count, 0);
    CHECK_STR(see(store, refs[3].work_id).kinds, "failed");
    CHECK_INT(see(store, refs[0].work_id).status, PH_READY);
    CHECK_INT(reap(store), 0);
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(reap_buries_those_that_used_their_last_attempt)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_message m = a_message("orders", "last chance");
    ph_enqueued last, other;

    t_clock_set(store, T_EPOCH);
    m.max_attempts = 1;
    last = put(store, &m);
    other = t_enqueue(store, "orders", "x");
    CHECK_INT(claimable(store, 2), 2);
    t_clock_advance(store, 31 * T_SECOND);
    CHECK_INT(reap(store), 2);
    CHECK_STR(see(store, last.work_id).dead_reason, "lost");
    CHECK_STR(see(store, last.work_id).kinds, "lost");
    CHECK_INT(see(store, other.work_id).status, PH_READY);
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(reap_is_not_held_up_by_a_page_of_spent_messages)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    static ph_message m[600];
    ph_enqueued good;

    t_clock_set(store, T_EPOCH);
    for (int i = 0; i < 600; i++) {
        m[i] = a_message("orders", "spent");
        m[i].max_attempts = 1;
    }
    OK(ph_enqueue_many(store, PH_OWN_TX, m, 600, 0, NULL, &t_err));
    for (int i = 0; i < 60; i++)
        CHECK_INT(claimable(store, 10), 10);
    good = t_enqueue(store, "orders", "good");
    CHECK_INT(claimable(store, 10), 1);
    t_clock_advance(store, 31 * T_SECOND);
    CHECK_INT(reap(store), 601);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}dead"), 600);
    CHECK_INT(see(store, good.work_id).status, PH_READY);
    CHECK_INT(claimable(store, 10), 1);
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(an_owner_that_crashed_in_the_middle_of_a_batch_loses_only_the_rest)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new(), next = ph_owner_new();
    ph_lease_ref refs[6];

    t_clock_set(store, T_EPOCH);
    put_many(store, "orders", 6, NULL);
    CHECK_INT(take(store, owner, 6, refs), 6);
    for (int i = 0; i < 3; i++)
        CHECK_INT(ack(store, owner, refs[i]), PH_OUTCOME_ACKED);
    t_clock_advance(store, 31 * T_SECOND);
    for (int i = 3; i < 6; i++) {
        ph_lease_ref again = take_one(store, next);

        REQ("OBX-053", same_id(again.work_id.b, refs[i].work_id.b));
        CHECK_INT(ack(store, next, again), PH_OUTCOME_ACKED);
    }
    CHECK_INT(claimable(store, 10), 0);
    CHECK_INT(ack(store, owner, refs[5]), PH_OUTCOME_STALE);
    t_check_places(conn);
    t_disconnect(conn);
}

/* ----------------------------------------------------------------------- renew */

TEST(renew_extends_ones_own_lease)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_lease_ref refs[3];
    ph_outcome out[2];

    t_clock_set(store, T_EPOCH);
    put_many(store, "orders", 3, NULL);
    CHECK_INT(take(store, owner, 2, refs), 2);
    CHECK_INT(take(store, owner, 1, refs + 2), 1);
    t_clock_advance(store, 20 * T_SECOND);
    CHECK_INT(renew(store, owner, refs[0], 60), PH_OUTCOME_RENEWED);
    CHECK_INT(see(store, refs[0].work_id).locked_until, T_EPOCH + 80 * T_SECOND);
    CHECK_INT(see(store, refs[1].work_id).locked_until, T_EPOCH + 80 * T_SECOND); /* one batch */
    CHECK_INT(see(store, refs[2].work_id).locked_until, T_EPOCH + 30 * T_SECOND);
    OK(ph_outbox_renew(store, PH_OWN_TX, owner, refs, 2, 0, 0, out, &t_err));
    CHECK_INT(out[0], PH_OUTCOME_RENEWED);
    CHECK_INT(out[1], PH_OUTCOME_RENEWED);
    /* not shortened */
    CHECK_INT(see(store, refs[0].work_id).locked_until, T_EPOCH + 80 * T_SECOND);
    t_clock_set(store, T_EPOCH + 80 * T_SECOND);
    CHECK_INT(reap(store), 1);
    CHECK_INT(see(store, refs[0].work_id).status, PH_IN_PROGRESS);
    CHECK_INT(see(store, refs[0].work_id).attempts, 1);
}

TEST(renewals_are_capped_so_that_hung_work_is_freed)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_lease_ref ref;

    t_clock_set(store, T_EPOCH);
    settings.max_lease_s = 100;
    set_queue(store, &settings);
    t_enqueue(store, "orders", "hangs");
    ref = take_one(store, owner);
    for (int at = 20; at < 100; at += 20) {
        t_clock_set(store, T_EPOCH + at * T_SECOND);
        CHECK_INT(renew(store, owner, ref, 30), PH_OUTCOME_RENEWED);
        CHECK_INT(see(store, ref.work_id).locked_until,
                  T_EPOCH + (at + 30 < 100 ? at + 30 : 100) * T_SECOND);
    }
    t_clock_set(store, T_EPOCH + 100 * T_SECOND);
    CHECK_INT(renew(store, owner, ref, 30), PH_OUTCOME_STALE);
    CHECK_INT(see(store, ref.work_id).locked_until, T_EPOCH + 100 * T_SECOND);
    t_clock_advance(store, 1);
    CHECK_INT(take_one(store, ph_owner_new()).attempts, 2);
    CHECK_INT(renew(store, owner, ref, 30), PH_OUTCOME_STALE);
}

TEST(a_claim_may_be_longer_than_renewals_may_stretch_it)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_lease_ref ref;

    t_clock_set(store, T_EPOCH);
    settings.max_lease_s = 10;
    set_queue(store, &settings);
    t_enqueue(store, "orders", "x");
    ref = take_one(store, owner);
    CHECK_INT(see(store, ref.work_id).locked_until, T_EPOCH + 30 * T_SECOND);
    t_clock_advance(store, 5 * T_SECOND);
    CHECK_INT(renew(store, owner, ref, 60), PH_OUTCOME_RENEWED);
    CHECK_INT(see(store, ref.work_id).locked_until, T_EPOCH + 30 * T_SECOND); /* not shortened */
    t_clock_advance(store, 5 * T_SECOND);
    CHECK_INT(renew(store, owner, ref, 60), PH_OUTCOME_STALE);
    CHECK_INT(ack(store, owner, ref), PH_OUTCOME_ACKED);
}

TEST(renew_answers_for_each_id)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_lease_ref refs[5] = { 0 };
    ph_outcome out[5];

    put_many(store, "orders", 3, NULL);
    refs[0] = take_one(store, owner);
    refs[1] = take_one(store, ph_owner_new());
    refs[2] = refs[0];
    memset(refs[3].work_id.b, 0xee, 16);
    refs[4] = refs[0];
    refs[4].fence = 0;
    OK(ph_outbox_renew(store, PH_OWN_TX, owner, refs, 5, 30, 0, out, &t_err));
    CHECK_INT(out[0], PH_OUTCOME_RENEWED);
    CHECK_INT(out[1], PH_OUTCOME_STALE);
    CHECK_INT(out[2], PH_OUTCOME_RENEWED);
    CHECK_INT(out[3], PH_OUTCOME_UNKNOWN);
    CHECK_INT(out[4], PH_OUTCOME_RENEWED);
}

TEST(a_settled_message_cannot_be_renewed_though_its_lease_lives)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_lease_ref refs[2];

    put_many(store, "orders", 2, NULL);
    CHECK_INT(take(store, owner, 2, refs), 2);
    CHECK_INT(ack(store, owner, refs[0]), PH_OUTCOME_ACKED);
    CHECK_INT(renew(store, owner, refs[0], 30), PH_OUTCOME_STALE);
    CHECK_INT(renew(store, owner, refs[1], 30), PH_OUTCOME_RENEWED);
    CHECK_INT(ack(store, owner, refs[1]), PH_OUTCOME_ACKED);
    CHECK_INT(renew(store, owner, refs[1], 30), PH_OUTCOME_STALE);
}

TEST(an_expired_lease_that_nobody_took_back_can_be_renewed)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref;

    t_clock_set(store, T_EPOCH);
    t_enqueue(store, "orders", "x");
    ref = take_one(store, owner);
    t_clock_advance(store, 45 * T_SECOND);
    CHECK_INT(renew(store, owner, ref, 30), PH_OUTCOME_RENEWED);
    CHECK_INT(reap(store), 0);
    CHECK_INT(see(store, ref.work_id).locked_until, T_EPOCH + 75 * T_SECOND);
}

/* "what a lease_s of 0 means, everywhere" (PH_LEASE_S); of the other doors: doors_test.c */
TEST(a_lease_of_0_seconds_is_the_default)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_batch *batch = NULL;
    ph_lease_ref ref;

    CHECK_INT(PH_LEASE_S, 30);
    t_clock_set(store, T_EPOCH);
    t_enqueue(store, "orders", "x");
    OK(ph_outbox_exchange(store, PH_OWN_TX, owner, NULL, 0, &opts, 0, NULL, &batch, &t_err));
    ref = ph_lease_ref_of(ph_batch_at(batch, 0));
    ph_batch_free(batch);
    CHECK_INT(see(store, ref.work_id).locked_until, T_EPOCH + PH_LEASE_S * T_SECOND);
    t_clock_advance(store, 10 * T_SECOND);
    CHECK_INT(renew(store, owner, ref, 0), PH_OUTCOME_RENEWED);
    CHECK_INT(see(store, ref.work_id).locked_until, T_EPOCH + (10 + PH_LEASE_S) * T_SECOND);
}

TEST(the_longest_lease_and_the_longest_renewal)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_batch *batch;
    ph_lease_ref ref;

    t_clock_set(store, T_EPOCH);
    t_enqueue(store, "orders", "x");
    opts.lease_s = PH_LEASE_MAX_S;
    batch = claim_with(store, owner, &opts);
    ref = ph_lease_ref_of(ph_batch_at(batch, 0));
    ph_batch_free(batch);
    t_clock_advance(store, T_SECOND);
    CHECK_INT(renew(store, owner, ref, PH_LEASE_MAX_S), PH_OUTCOME_RENEWED);
    CHECK_INT(see(store, ref.work_id).locked_until, T_EPOCH + PH_LEASE_MAX_S * T_SECOND);
}
