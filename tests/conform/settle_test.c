/* settle_test.c - ack, fail, release and mixed settlements: who may, and what is left behind. */
#include "common.h"

#include <stdlib.h>

static bool is_true(const char *text)
{
    return strcmp(text, "t") == 0 || strcmp(text, "1") == 0;
}

TEST(ack_marks_a_message_as_processed)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    char text[PH_ID_TEXT_SIZE];
    ph_enqueued e;
    ph_lease_ref ref;
    struct seen s;

    t_clock_set(store, T_EPOCH);
    e = t_enqueue(store, "orders", "x");
    ref = take_one(store, owner);
    t_clock_advance(store, 3 * T_SECOND);
    CHECK_INT(ack(store, owner, ref), PH_OUTCOME_ACKED);
    s = see(store, e.work_id);
    REQ_INT("OBX-027", s.status, PH_DONE);
    REQ_INT("OBX-028", s.processed_at, T_EPOCH + 3 * T_SECOND);
    REQ("OBX-029", same_id(s.owner.b, owner.b));
    CHECK_INT(s.updated_at, s.processed_at);
    CHECK_INT(s.attempts, 1);
    CHECK_INT(s.locked_until, 0);
    CHECK_INT(s.fence, 0);
    CHECK_INT(s.next_attempt_at, 0);
    CHECK_STR(s.dead_reason, "");
    REQ("OBX-027", is_true(t_view(conn, e.work_id, "is_processed")));
    REQ("OBX-028", *t_view(conn, e.work_id, "processed_at") != '\0');
    REQ_STR("OBX-029", t_view(conn, e.work_id, "processed_by"), ph_id_text(owner.b, text));
    CHECK_STR(t_view(conn, e.work_id, "status"), "done");
    CHECK_STR(t_view(conn, e.work_id, "status_code"), "2");
    CHECK_STR(t_view(conn, e.work_id, "owner_token"), "");
    CHECK_STR(t_view(conn, e.work_id, "locked_until"), "");
    t_check_places(conn);
    t_disconnect(conn);
}

/* Its older lease, which still lives, names the message, too: but it was given back there. */
TEST(an_expired_lease_is_found_behind_a_live_one_that_gave_the_message_back)
{
    ph_store *store = t_open(NULL);
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref;
    ph_outcome outcome;
    ph_batch *batch;

    t_clock_set(store, T_EPOCH);
    t_enqueue(store, "orders", "a");
    t_enqueue(store, "orders", "b");
    opts.lease_s = 300;
    OK(ph_outbox_claim(store, PH_OWN_TX, owner, &opts, 0, &batch, &t_err));
    CHECK_INT(ph_batch_count(batch), 2);
    ref = ph_lease_ref_of(ph_batch_at(batch, 0));
    ph_batch_free(batch);
    OK(ph_outbox_release(store, PH_OWN_TX, owner, &ref, 1, 0, &outcome, &t_err));
    CHECK_INT(outcome, PH_OUTCOME_RELEASED);
    opts.lease_s = 60;
    OK(ph_outbox_claim(store, PH_OWN_TX, owner, &opts, 0, &batch, &t_err));
    CHECK_INT(ph_batch_count(batch), 1);
    ph_batch_free(batch);
    t_clock_advance(store, 61 * T_SECOND);
    ref.fence = 0;
    OK(ph_outbox_ack(store, PH_OWN_TX, owner, &ref, 1, 0, &outcome, &t_err));
    CHECK_INT(outcome, PH_OUTCOME_ACKED);
}

TEST(an_acked_message_never_comes_back)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref;

    t_clock_set(store, T_EPOCH);
    t_enqueue(store, "orders", "x");
    ref = take_one(store, owner);
    CHECK_INT(ack(store, owner, ref), PH_OUTCOME_ACKED);
    REQ_INT("OBX-032", claimable(store, 10), 0);
    t_clock_advance(store, PH_LEASE_MAX_S * T_SECOND);
    CHECK_INT(reap(store), 0);
    REQ_INT("OBX-032", claimable(store, 10), 0);
    CHECK_INT(settle(store, owner, ref, PH_ABANDON, NULL, 0), PH_OUTCOME_STALE);
    CHECK_INT(see(store, ref.work_id).status, PH_DONE);
}

TEST(a_repeated_ack_by_the_same_owner_is_answered_acked)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_lease_ref refs[3], any;
    ph_outcome out[3];

    t_clock_set(store, T_EPOCH);
    put_many(store, "orders", 3, NULL);
    CHECK_INT(take(store, owner, 3, refs), 3);
    any = refs[0];
    any.fence = 0;
    CHECK_INT(ack(store, owner, refs[0]), PH_OUTCOME_ACKED);
    REQ_INT("OBX-031", ack(store, owner, refs[0]), PH_OUTCOME_ACKED);
    REQ_INT("OBX-031", ack(store, owner, any), PH_OUTCOME_ACKED);
    OK(ph_outbox_ack(store, PH_OWN_TX, owner, refs, 3, 0, out, &t_err)); /* one of them again */
    for (int i = 0; i < 3; i++)
        CHECK_INT(out[i], PH_OUTCOME_ACKED);
    REQ_INT("OBX-031", ack(store, ph_owner_new(), refs[0]), PH_OUTCOME_STALE); /* not his */
    refs[0].fence++;                                                           /* not that claim */
    CHECK_INT(ack(store, owner, refs[0]), PH_OUTCOME_STALE);
    CHECK_INT(settle(store, owner, any, PH_FAIL, "x", 0), PH_OUTCOME_STALE);
    CHECK_INT(settle(store, owner, any, PH_RELEASE, NULL, 0), PH_OUTCOME_STALE);
    CHECK_INT(renew(store, owner, any, 30), PH_OUTCOME_STALE);
    CHECK_INT(see(store, any.work_id).status, PH_DONE);
    CHECK_INT(see(store, any.work_id).history_count, 0);
}

/* The same owner has lost the message and got it again: the first claim's ack is still too late. */
TEST(an_ack_under_an_older_fence_is_stale_also_when_the_newer_has_acked)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_lease_ref old, new;

    t_clock_set(store, T_EPOCH);
    t_enqueue(store, "orders", "x");
    old = take_one(store, owner);
    t_clock_advance(store, 31 * T_SECOND);
    new = take_one(store, owner);
    CHECK_INT(ack(store, owner, new), PH_OUTCOME_ACKED);
    CHECK_INT(ack(store, owner, old), PH_OUTCOME_STALE);
    CHECK_INT(ack(store, owner, new), PH_OUTCOME_ACKED);
}

/* ------------------------------------------------------------------------ fail */

TEST(fail_makes_a_dead_letter)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref;
    struct seen s;

    t_clock_set(store, T_EPOCH);
    t_enqueue(store, "orders", "x");
    ref = take_one(store, owner);
    t_clock_advance(store, 2 * T_SECOND);
    CHECK_INT(settle(store, owner, ref, PH_FAIL, "no such customer", 0), PH_OUTCOME_FAILED);
    s = see(store, ref.work_id);
    REQ_INT("OBX-042", s.status, PH_FAILED);
    REQ_STR("OBX-043", s.last_error, "no such customer");
    CHECK_STR(s.dead_reason, "failed");
    CHECK_STR(s.kinds, "failed");
    CHECK_INT(s.attempts, 1);
    CHECK_INT(s.retry_count, 0);
    CHECK_INT(s.processed_at, 0);
    CHECK_INT(s.updated_at, T_EPOCH + 2 * T_SECOND);
    REQ_STR("OBX-043", t_view(conn, ref.work_id, "last_error"), "no such customer");
    CHECK_STR(t_view(conn, ref.work_id, "status"), "failed");
    CHECK(!is_true(t_view(conn, ref.work_id, "is_processed")));
    CHECK_STR(t_view(conn, ref.work_id, "processed_at"), "");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}dead_letters"), 1);
    t_clock_advance(store, PH_LEASE_MAX_S * T_SECOND);
    REQ_INT("OBX-042 OBX-048", claimable(store, 10), 0);
    CHECK_INT(reap(store), 0);
    t_check_places(conn);
    t_disconnect(conn);
}

/* --------------------------------------------------------------------- release */

TEST(release_costs_no_attempt)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref;
    struct seen s;

    t_clock_set(store, T_EPOCH);
    set_max_attempts(store, 2);
    t_enqueue(store, "orders", "x");
    for (int deploy = 1; deploy <= 5; deploy++) {
        t_clock_advance(store, T_SECOND);
        ref = take_one(store, owner);
        CHECK_INT(ref.attempts, 1);
        CHECK_INT(settle(store, owner, ref, PH_RELEASE, "not kept", 0), PH_OUTCOME_RELEASED);
        s = see(store, ref.work_id);
        CHECK_INT(s.status, PH_READY);
        CHECK_INT(s.attempts, 0);
        CHECK_INT(s.retry_count, 0);
        CHECK_INT(s.next_attempt_at, T_EPOCH + deploy * T_SECOND);
        CHECK(!s.has_error);
        CHECK(ph_id_is_zero(s.owner.b) && s.locked_until == 0);
    }
    CHECK_STR(s.kinds, "released,released,released,released,released");
    CHECK_INT(claimable(store, 1), 1);
}

/* ------------------------------------------------- only one's own, only what is there */

TEST(only_the_owner_settles)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new(), stranger = ph_owner_new();
    ph_lease_ref ref;

    t_enqueue(store, "orders", "x");
    ref = take_one(store, owner);
    REQ_INT("OBX-030", ack(store, stranger, ref), PH_OUTCOME_STALE);
    REQ_INT("OBX-038", settle(store, stranger, ref, PH_ABANDON, "x", 0), PH_OUTCOME_STALE);
    REQ_INT("OBX-044", settle(store, stranger, ref, PH_FAIL, "x", 0), PH_OUTCOME_STALE);
    CHECK_INT(settle(store, stranger, ref, PH_RELEASE, NULL, 0), PH_OUTCOME_STALE);
    CHECK_INT(renew(store, stranger, ref, 30), PH_OUTCOME_STALE);
    ref.fence = 0;
    REQ_INT("OBX-030", ack(store, stranger, ref), PH_OUTCOME_STALE);
    REQ_INT("OBX-030 OBX-038 OBX-044", see(store, ref.work_id).status, PH_IN_PROGRESS);
    CHECK_INT(see(store, ref.work_id).history_count, 0);
    CHECK_INT(ack(store, owner, ref), PH_OUTCOME_ACKED); /* no fence: any lease of the owner */
}

/* One of the owner's messages among strangers', unknown ids, and itself again. */
static void among_strangers(ph_settle_verb verb, ph_outcome expected, ph_message_state after,
                            const char *requirement)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new(), other = ph_owner_new();
    ph_settlement items[6] = { 0 };
    ph_outcome out[6];
    ph_lease_ref mine, theirs;

    put_many(store, "orders", 3, NULL);
    mine = take_one(store, owner);
    theirs = take_one(store, other);
    for (int i = 0; i < 6; i++)
        items[i] = (ph_settlement){ .lease = mine, .verb = verb, .error = "e" };
    items[0].lease = theirs;
    memset(items[1].lease.work_id.b, 0xee, 16); /* not even an id of ours */
    memset(items[2].lease.work_id.b, 0, 16);
    items[3].lease.work_id.b[15] ^= 1; /* ours, but for the nonce */
    OK(ph_outbox_settle(store, PH_OWN_TX, owner, items, 6, 0, out, &t_err));
    REQ_INT(requirement, out[0], PH_OUTCOME_STALE);
    REQ_INT(requirement, out[1], PH_OUTCOME_UNKNOWN);
    CHECK_INT(out[2], PH_OUTCOME_UNKNOWN);
    CHECK_INT(out[3], PH_OUTCOME_UNKNOWN);
    REQ_INT(requirement, out[4], expected);
    CHECK_INT(out[5], expected); /* the same id again: the first one's outcome */
    CHECK_INT(see(store, mine.work_id).status, after);
    CHECK_INT(see(store, mine.work_id).history_count, verb == PH_ACK ? 0 : 1);
    REQ_INT(requirement, see(store, theirs.work_id).status, PH_IN_PROGRESS);
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(foreign_and_unknown_ids_do_not_disturb_an_ack)
{
    among_strangers(PH_ACK, PH_OUTCOME_ACKED, PH_DONE, "OBX-031");
}

TEST(foreign_and_unknown_ids_do_not_disturb_an_abandon)
{
    among_strangers(PH_ABANDON, PH_OUTCOME_ABANDONED, PH_READY, "OBX-039");
}

TEST(foreign_and_unknown_ids_do_not_disturb_a_fail)
{
    among_strangers(PH_FAIL, PH_OUTCOME_FAILED, PH_FAILED, "OBX-045");
}

TEST(foreign_and_unknown_ids_do_not_disturb_a_release)
{
    among_strangers(PH_RELEASE, PH_OUTCOME_RELEASED, PH_READY, "OBX-031");
}

TEST(an_id_given_twice_with_different_verbs_keeps_the_first)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_settlement items[2] = { { .verb = PH_FAIL, .error = "no" }, { .verb = PH_ACK } };
    ph_outcome out[2];

    t_enqueue(store, "orders", "x");
    items[0].lease = items[1].lease = take_one(store, owner);
    OK(ph_outbox_settle(store, PH_OWN_TX, owner, items, 2, 0, out, &t_err));
    CHECK_INT(out[0], PH_OUTCOME_FAILED);
    CHECK_INT(out[1], PH_OUTCOME_FAILED);
    CHECK_INT(see(store, items[0].lease.work_id).status, PH_FAILED);
}

TEST(an_id_given_twice_with_different_fences_keeps_the_first)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_lease_ref refs[2];
    ph_outcome out[2];

    t_enqueue(store, "orders", "x");
    refs[0] = refs[1] = take_one(store, owner);
    refs[0].fence += 7;
    OK(ph_outbox_ack(store, PH_OWN_TX, owner, refs, 2, 0, out, &t_err));
    CHECK_INT(out[0], PH_OUTCOME_STALE);
    CHECK_INT(out[1], PH_OUTCOME_STALE);
    CHECK_INT(see(store, refs[0].work_id).status, PH_IN_PROGRESS);
}

TEST(a_message_that_is_not_leased_is_stale)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref = { 0 };

    ref.work_id = t_enqueue(store, "orders", "x").work_id;
    CHECK_INT(ack(store, owner, ref), PH_OUTCOME_STALE);
    ref.fence = 1;
    CHECK_INT(settle(store, owner, ref, PH_FAIL, "x", 0), PH_OUTCOME_STALE);
    CHECK_INT(renew(store, owner, ref, 30), PH_OUTCOME_STALE);
    CHECK_INT(see(store, ref.work_id).status, PH_READY);
}

TEST(a_negative_fence_is_refused)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref;

    t_enqueue(store, "orders", "x");
    ref = take_one(store, owner);
    ref.fence = -3;
    CHECK_INT(ph_outbox_ack(store, PH_OWN_TX, owner, &ref, 1, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_outbox_renew(store, PH_OWN_TX, owner, &ref, 1, 30, 0, NULL, &t_err), PH_EINVAL);
    CHECK_STR(t_err.message, "item 0: fence is negative; give 0 for any");
}

/* Also when a part of it was settled, and when nobody says under which fence. */
TEST(ten_thousand_messages_of_one_lease_are_settled_and_renewed)
{
    enum { MANY = PH_BATCH_MAX };
    static ph_lease_ref refs[MANY];
    static ph_outcome outcomes[MANY];
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_queue_counts left = PH_QUEUE_COUNTS_INIT;
    ph_batch *batch = NULL;

    put_many(store, "orders", MANY, NULL);
    opts.batch_size = MANY;
    OK(ph_outbox_claim(store, PH_OWN_TX, owner, &opts, 0, &batch, &t_err));
    CHECK_INT(ph_batch_count(batch), MANY);
    for (int i = 0; i < MANY; i++) {
        refs[i] = ph_lease_ref_of(ph_batch_at(batch, (size_t)i));
        refs[i].fence *= i % 2;
    }
    ph_batch_free(batch);
    CHECK_INT(ack(store, owner, refs[5000]), PH_OUTCOME_ACKED);
    OK(ph_outbox_renew(store, PH_OWN_TX, owner, refs, MANY, 30, 0, outcomes, &t_err));
    for (int i = 0; i < MANY; i++)
        CHECK_INT(outcomes[i], i == 5000 ? PH_OUTCOME_STALE : PH_OUTCOME_RENEWED);
    OK(ph_outbox_ack(store, PH_OWN_TX, owner, refs, MANY, 0, outcomes, &t_err));
    for (int i = 0; i < MANY; i++)
        CHECK_INT(outcomes[i], PH_OUTCOME_ACKED); /* one of them for the second time */
    OK(ph_outbox_count(store, PH_OWN_TX, NULL, 0, &left, &t_err));
    CHECK_INT(left.in_progress, 0);
}

TEST(an_old_claim_cannot_settle_what_its_owner_claimed_again)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_lease_ref stalled, current;

    t_clock_set(store, T_EPOCH);
    t_enqueue(store, "orders", "x");
    stalled = take_one(store, owner);
    t_clock_advance(store, 31 * T_SECOND);
    current = take_one(store, owner);
    CHECK(current.fence > stalled.fence && same_id(current.work_id.b, stalled.work_id.b));
    CHECK_INT(ack(store, owner, stalled), PH_OUTCOME_STALE);
    CHECK_INT(settle(store, owner, stalled, PH_ABANDON, "x", 0), PH_OUTCOME_STALE);
    CHECK_INT(settle(store, owner, stalled, PH_FAIL, "x", 0), PH_OUTCOME_STALE);
    CHECK_INT(settle(store, owner, stalled, PH_RELEASE, NULL, 0), PH_OUTCOME_STALE);
    CHECK_INT(renew(store, owner, stalled, 30), PH_OUTCOME_STALE);
    CHECK_INT(see(store, current.work_id).status, PH_IN_PROGRESS);
    CHECK_INT(ack(store, owner, current), PH_OUTCOME_ACKED);
}

TEST(an_expired_lease_that_nobody_took_back_can_still_be_settled)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_lease_ref refs[2];

    t_clock_set(store, T_EPOCH);
    put_many(store, "orders", 2, NULL);
    CHECK_INT(take(store, owner, 2, refs), 2);
    t_clock_advance(store, 1000 * T_SECOND);
    CHECK_INT(ack(store, owner, refs[0]), PH_OUTCOME_ACKED);
    CHECK_INT(reap(store), 1);
    CHECK_INT(ack(store, owner, refs[1]), PH_OUTCOME_STALE);
    CHECK_INT(see(store, refs[0].work_id).status, PH_DONE);
    CHECK_INT(see(store, refs[1].work_id).status, PH_READY);
}

/* ------------------------------------------------------------- mixed and in parts */

TEST(completions_and_failures_of_one_call_are_one_transaction)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_settlement items[4] = { { .verb = PH_ACK },
                               { .verb = PH_ABANDON, .error = "later" },
                               { .verb = PH_FAIL, .error = "never" },
                               { .verb = PH_RELEASE } };
    ph_lease_ref refs[4];
    ph_outcome out[4];

    put_many(store, "orders", 4, NULL);
    CHECK_INT(take(store, owner, 4, refs), 4);
    for (int i = 0; i < 4; i++)
        items[i].lease = refs[i];
    t_begin(conn);
    OK(ph_outbox_settle(store, t_tx(conn), owner, items, 4, 0, out, &t_err));
    t_rollback(conn);
    for (int i = 0; i < 4; i++)
        REQ_INT("OBX-097", see(store, refs[i].work_id).status, PH_IN_PROGRESS);
    OK(ph_outbox_settle(store, PH_OWN_TX, owner, items, 4, 0, out, &t_err));
    CHECK_INT(out[0], PH_OUTCOME_ACKED);
    CHECK_INT(out[1], PH_OUTCOME_ABANDONED);
    CHECK_INT(out[2], PH_OUTCOME_FAILED);
    CHECK_INT(out[3], PH_OUTCOME_RELEASED);
    CHECK_INT(see(store, refs[0].work_id).status, PH_DONE);
    CHECK_STR(see(store, refs[1].work_id).last_error, "later");
    CHECK_INT(see(store, refs[1].work_id).attempts, 1);
    CHECK_STR(see(store, refs[2].work_id).dead_reason, "failed");
    CHECK_INT(see(store, refs[3].work_id).attempts, 0);
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(one_bad_item_settles_nothing)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_settlement items[2] = { { .verb = PH_ACK }, { .verb = (ph_settle_verb)9 } };
    ph_lease_ref refs[2];

    put_many(store, "orders", 2, NULL);
    CHECK_INT(take(store, owner, 2, refs), 2);
    items[0].lease = refs[0];
    items[1].lease = refs[1];
    REQ_INT("OBX-097", ph_outbox_settle(store, PH_OWN_TX, owner, items, 2, 0, NULL, &t_err),
            PH_EINVAL);
    CHECK(strstr(t_err.message, "item 1") != NULL);
    REQ_INT("OBX-097", see(store, refs[0].work_id).status, PH_IN_PROGRESS);
}

TEST(a_batch_can_be_settled_one_by_one_in_any_order)
{
    static const int order[7] = { 3, 0, 6, 1, 5, 2, 4 };
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_lease_ref refs[7];

    put_many(store, "orders", 7, NULL);
    CHECK_INT(take(store, owner, 7, refs), 7);
    for (int i = 0; i < 7; i++) {
        CHECK_INT(ack(store, owner, refs[order[i]]), PH_OUTCOME_ACKED);
        CHECK_INT(ack(store, owner, refs[order[i]]), PH_OUTCOME_ACKED);
        for (int k = 0; k < 7; k++) {
            bool done = false;

            for (int j = 0; j <= i; j++)
                done = done || order[j] == k;
            CHECK_INT(see(store, refs[k].work_id).status, done ? PH_DONE : PH_IN_PROGRESS);
        }
    }
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}lease"), 0);
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(one_call_settles_messages_of_several_leases)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_lease_ref refs[6], mixed[6];
    ph_outcome out[6];

    put_many(store, "orders", 6, NULL);
    CHECK_INT(take(store, owner, 3, refs), 3);
    CHECK_INT(take(store, owner, 3, refs + 3), 3);
    for (int i = 0; i < 6; i++)
        mixed[i] = refs[(i * 5) % 6];
    mixed[2].fence = 0;
    OK(ph_outbox_ack(store, PH_OWN_TX, owner, mixed, 6, 0, out, &t_err));
    for (int i = 0; i < 6; i++) {
        CHECK_INT(out[i], PH_OUTCOME_ACKED);
        CHECK_INT(see(store, refs[i].work_id).status, PH_DONE);
    }
}

TEST(a_poison_message_does_not_make_its_neighbours_fail)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_lease_ref refs[5];

    put_many(store, "orders", 5, NULL);
    CHECK_INT(take(store, owner, 5, refs), 5);
    CHECK_INT(settle(store, owner, refs[2], PH_FAIL, "poison", 0), PH_OUTCOME_FAILED);
    for (int i = 0; i < 5; i++) {
        if (i == 2)
            continue;
        CHECK_INT(ack(store, owner, refs[i]), PH_OUTCOME_ACKED);
        CHECK_INT(see(store, refs[i].work_id).history_count, 0);
    }
}

TEST(a_queue_that_deletes_on_ack_keeps_the_rest_of_the_batch)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_lease_ref refs[5];

    t_clock_set(store, T_EPOCH);
    settings.delete_on_ack = 1;
    set_queue(store, &settings);
    put_many(store, "orders", 5, NULL);
    CHECK_INT(take(store, owner, 5, refs), 5);
    CHECK_INT(ack(store, owner, refs[1]), PH_OUTCOME_ACKED);
    CHECK_INT(settle(store, owner, refs[3], PH_ABANDON, "later", 0), PH_OUTCOME_ABANDONED);
    CHECK(!see(store, refs[1].work_id).there);
    CHECK_INT(ack(store, owner, refs[1]), PH_OUTCOME_UNKNOWN);
    CHECK_INT(ack(store, owner, refs[0]), PH_OUTCOME_ACKED);
    t_clock_advance(store, 31 * T_SECOND);
    CHECK_INT(reap(store), 2);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox"), 3);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}done"), 0);
    t_check_places(conn);
    t_disconnect(conn);
}

static void whole_batch(size_t n, ph_settle_verb verb, ph_outcome expected)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_lease_ref *refs = calloc(n, sizeof(*refs));
    ph_settlement *items = calloc(n, sizeof(*items));
    ph_outcome *out = calloc(n, sizeof(*out));

    put_many(store, "orders", n, NULL);
    CHECK_INT(take(store, owner, (int)n, refs), n);
    for (size_t i = 0; i < n; i++)
        items[n - 1 - i] = (ph_settlement){ .lease = refs[i], .verb = verb, .error = "e" };
    OK(ph_outbox_settle(store, PH_OWN_TX, owner, items, n, 0, out, &t_err));
    for (size_t i = 0; i < n; i++)
        CHECK_INT(out[i], expected);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}lease"), 0);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox WHERE status = 'in_progress'"), 0);
    t_check_places(conn);
    free(refs);
    free(items);
    free(out);
    ph_close(store);
    t_disconnect(conn);
}

TEST(batches_of_any_size_are_settled_at_once)
{
    whole_batch(1, PH_ACK, PH_OUTCOME_ACKED);
    whole_batch(2, PH_ACK, PH_OUTCOME_ACKED);
    whole_batch(500, PH_ACK, PH_OUTCOME_ACKED);
    whole_batch(500, PH_FAIL, PH_OUTCOME_FAILED);
    whole_batch(500, PH_ABANDON, PH_OUTCOME_ABANDONED);
    whole_batch(500, PH_RELEASE, PH_OUTCOME_RELEASED);
}

TEST(ten_thousand_are_acked_at_once)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_enqueued *e = calloc(PH_BATCH_MAX, sizeof(*e));

    put_many(store, "orders", PH_BATCH_MAX, e);
    CHECK_INT(t_ack_all(store, owner, t_claim(store, owner, PH_BATCH_MAX)), PH_BATCH_MAX);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}lease"), 0);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}pending"), 0);
    for (int i = 0; i < PH_BATCH_MAX; i += 1111) /* a look at all through the view takes long */
        CHECK_STR(t_view(conn, e[i].work_id, "status"), "done");
    free(e);
    t_disconnect(conn);
}
