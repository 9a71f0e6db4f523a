/* settle_args_test.c - arguments of the settling verbs, and the verbs in the caller's hands. */
#include "common.h"

#include <stdlib.h>

struct leased {
    ph_store *store;
    ph_owner owner;
    ph_lease_ref ref;
};

static struct leased one_leased(void)
{
    struct leased l = { .store = t_open(NULL), .owner = ph_owner_new() };

    t_enqueue(l.store, "orders", "x");
    l.ref = take_one(l.store, l.owner);
    return l;
}

TEST(settle_arguments_at_their_edges)
{
    static const ph_owner nobody;
    struct leased l = one_leased();
    ph_settlement item = { .lease = l.ref, .verb = PH_ACK };
    ph_settlement *many = calloc(PH_BATCH_MAX + 1, sizeof(*many));
    ph_outcome out = (ph_outcome)77;

    for (int i = 0; i <= PH_BATCH_MAX; i++)
        many[i] = item;
    CHECK_INT(ph_outbox_settle(NULL, PH_OWN_TX, l.owner, &item, 1, 0, &out, &t_err), PH_EINVAL);
    CHECK_INT(ph_outbox_settle(l.store, PH_OWN_TX, nobody, &item, 1, 0, &out, &t_err), PH_EINVAL);
    CHECK_INT(ph_outbox_settle(l.store, PH_OWN_TX, l.owner, NULL, 1, 0, &out, &t_err), PH_EINVAL);
    CHECK_INT(ph_outbox_settle(l.store, PH_OWN_TX, l.owner, &item, 0, 0, &out, &t_err), PH_EINVAL);
    CHECK_INT(ph_outbox_settle(l.store, PH_OWN_TX, l.owner, many, PH_BATCH_MAX + 1, 0, NULL, NULL),
              PH_EINVAL);
    CHECK_INT(ph_outbox_settle(l.store, PH_OWN_TX, l.owner, &item, 1, -1, &out, NULL), PH_EINVAL);
    item.verb = (ph_settle_verb)0;
    CHECK_INT(ph_outbox_settle(l.store, PH_OWN_TX, l.owner, &item, 1, 0, &out, NULL), PH_EINVAL);
    item.verb = (ph_settle_verb)5;
    CHECK_INT(ph_outbox_settle(l.store, PH_OWN_TX, l.owner, &item, 1, 0, &out, NULL), PH_EINVAL);
    item.verb = PH_ABANDON;
    item.delay_ms = -2;
    CHECK_INT(ph_outbox_settle(l.store, PH_OWN_TX, l.owner, &item, 1, 0, &out, &t_err), PH_EINVAL);
    item.delay_ms = 0;
    item.lease.fence = -1;
    CHECK_INT(ph_outbox_settle(l.store, PH_OWN_TX, l.owner, &item, 1, 0, &out, &t_err), PH_EINVAL);
    CHECK_INT(out, 77);
    CHECK_INT(see(l.store, l.ref.work_id).status, PH_IN_PROGRESS);
    CHECK_INT(ph_outbox_settle(l.store, PH_OWN_TX, l.owner, many, 1, 0, NULL, NULL), 0);
    CHECK_INT(see(l.store, l.ref.work_id).status, PH_DONE);
    free(many);
}

TEST(the_single_verbs_at_their_edges)
{
    static const ph_owner nobody;
    struct leased l = one_leased();
    ph_lease_ref *many = calloc(PH_BATCH_MAX + 1, sizeof(*many));
    ph_store *s = l.store;

    CHECK_INT(ph_outbox_ack(NULL, PH_OWN_TX, l.owner, &l.ref, 1, 0, NULL, NULL), PH_EINVAL);
    CHECK_INT(ph_outbox_ack(s, PH_OWN_TX, nobody, &l.ref, 1, 0, NULL, NULL), PH_EINVAL);
    CHECK_INT(ph_outbox_ack(s, PH_OWN_TX, nobody, &l.ref, 0, 0, NULL, NULL), PH_EINVAL);
    CHECK_INT(ph_outbox_ack(s, PH_OWN_TX, l.owner, NULL, 1, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_outbox_ack(s, PH_OWN_TX, l.owner, &l.ref, 1, -1, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_outbox_ack(s, PH_OWN_TX, l.owner, many, PH_BATCH_MAX + 1, 0, NULL, NULL),
              PH_EINVAL);
    CHECK_INT(ph_outbox_abandon(s, PH_OWN_TX, l.owner, &l.ref, 1, NULL, -2, 0, NULL, NULL),
              PH_EINVAL);
    CHECK_INT(ph_outbox_fail(s, PH_OWN_TX, nobody, &l.ref, 1, NULL, 0, NULL, NULL), PH_EINVAL);
    CHECK_INT(ph_outbox_release(s, PH_OWN_TX, nobody, &l.ref, 1, 0, NULL, NULL), PH_EINVAL);
    CHECK_INT(ph_outbox_renew(s, PH_OWN_TX, nobody, &l.ref, 1, 0, 0, NULL, NULL), PH_EINVAL);
    CHECK_INT(ph_outbox_renew(s, PH_OWN_TX, l.owner, &l.ref, 1, -1, 0, NULL, NULL), PH_EINVAL);
    CHECK_INT(ph_outbox_renew(s, PH_OWN_TX, l.owner, &l.ref, 1, PH_LEASE_MAX_S + 1, 0, NULL, NULL),
              PH_EINVAL);
    CHECK_INT(ph_outbox_renew(s, PH_OWN_TX, l.owner, NULL, 1, 0, 0, NULL, NULL), PH_EINVAL);
    CHECK_INT(ph_outbox_renew(s, PH_OWN_TX, l.owner, many, PH_BATCH_MAX + 1, 0, 0, NULL, NULL),
              PH_EINVAL);
    CHECK_INT(ph_outbox_reap_expired(NULL, PH_OWN_TX, 0, NULL, NULL), PH_EINVAL);
    CHECK_INT(ph_outbox_reap_expired(s, PH_OWN_TX, -1, NULL, NULL), PH_EINVAL);
    CHECK_INT(see(s, l.ref.work_id).status, PH_IN_PROGRESS);
    free(many);
}

TEST(an_empty_list_is_harmless)
{
    struct leased l = one_leased();
    ph_store *s = l.store;

    OK(ph_outbox_ack(s, PH_OWN_TX, l.owner, NULL, 0, 0, NULL, &t_err));
    OK(ph_outbox_ack(s, PH_OWN_TX, l.owner, &l.ref, 0, 0, NULL, &t_err));
    OK(ph_outbox_abandon(s, PH_OWN_TX, l.owner, NULL, 0, "e", 0, 0, NULL, &t_err));
    OK(ph_outbox_fail(s, PH_OWN_TX, l.owner, NULL, 0, "e", 0, NULL, &t_err));
    OK(ph_outbox_release(s, PH_OWN_TX, l.owner, NULL, 0, 0, NULL, &t_err));
    OK(ph_outbox_renew(s, PH_OWN_TX, l.owner, NULL, 0, 0, 0, NULL, &t_err));
    CHECK_INT(see(s, l.ref.work_id).status, PH_IN_PROGRESS);
}

TEST(outcomes_and_counts_need_not_be_asked_for)
{
    struct leased l = one_leased();

    OK(ph_outbox_renew(l.store, PH_OWN_TX, l.owner, &l.ref, 1, 0, 0, NULL, NULL));
    OK(ph_outbox_release(l.store, PH_OWN_TX, l.owner, &l.ref, 1, 0, NULL, NULL));
    OK(ph_outbox_reap_expired(l.store, PH_OWN_TX, 0, NULL, NULL));
    CHECK_INT(see(l.store, l.ref.work_id).status, PH_READY);
}

TEST(a_reference_is_made_of_a_delivery)
{
    ph_store *store = t_open(NULL);
    ph_batch *batch;
    const ph_delivery *d;
    ph_lease_ref ref, none = ph_lease_ref_of(NULL);

    t_enqueue(store, "orders", "x");
    batch = t_claim(store, ph_owner_new(), 1);
    d = ph_batch_at(batch, 0);
    ref = ph_lease_ref_of(d);
    CHECK(same_id(ref.work_id.b, d->work_id.b));
    CHECK_INT(ref.fence, d->fence);
    CHECK_INT(ref.attempts, 1);
    CHECK_INT(ref.retry_count, 0);
    CHECK(ph_id_is_zero(none.work_id.b) && none.fence == 0);
    ph_batch_free(batch);
}

/* --------------------------------------------------- in the caller's transaction */

/* Settles in a transaction that is rolled back, then in one that is committed. */
static void in_a_transaction(ph_settle_verb verb, ph_outcome expected, ph_message_state after)
{
    struct leased l = one_leased();
    struct t_conn *conn = t_connect();
    ph_settlement item = { .lease = l.ref, .verb = verb, .error = "e", .delay_ms = 0 };
    ph_outcome out = PH_OUTCOME_UNKNOWN;

    CHECK_INT(ph_outbox_settle(l.store, t_tx(conn), l.owner, &item, 1, 0, &out, &t_err), PH_ENOTX);
    t_begin(conn);
    OK(ph_outbox_settle(l.store, t_tx(conn), l.owner, &item, 1, 0, &out, &t_err));
    CHECK_INT(out, expected);
    t_rollback(conn);
    CHECK_INT(see(l.store, l.ref.work_id).status, PH_IN_PROGRESS);
    CHECK_INT(see(l.store, l.ref.work_id).history_count, 0);
    t_check_places(conn);
    t_begin(conn);
    OK(ph_outbox_settle(l.store, t_tx(conn), l.owner, &item, 1, 0, &out, &t_err));
    CHECK_INT(see(l.store, l.ref.work_id).status, PH_IN_PROGRESS); /* not yet, for others */
    t_commit(conn);
    CHECK_INT(out, expected);
    CHECK_INT(see(l.store, l.ref.work_id).status, after);
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(ack_in_the_callers_transaction)
{
    in_a_transaction(PH_ACK, PH_OUTCOME_ACKED, PH_DONE);
}

TEST(abandon_in_the_callers_transaction)
{
    in_a_transaction(PH_ABANDON, PH_OUTCOME_ABANDONED, PH_READY);
}

TEST(fail_in_the_callers_transaction)
{
    in_a_transaction(PH_FAIL, PH_OUTCOME_FAILED, PH_FAILED);
}

TEST(release_in_the_callers_transaction)
{
    in_a_transaction(PH_RELEASE, PH_OUTCOME_RELEASED, PH_READY);
}

TEST(renew_and_reap_in_the_callers_transaction)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref;
    ph_outcome out;
    int64_t count = -1;

    t_clock_set(store, T_EPOCH);
    t_enqueue(store, "orders", "x");
    ref = take_one(store, owner);
    t_begin(conn);
    OK(ph_outbox_renew(store, t_tx(conn), owner, &ref, 1, 60, 0, &out, &t_err));
    CHECK_INT(out, PH_OUTCOME_RENEWED);
    t_rollback(conn);
    CHECK_INT(see(store, ref.work_id).locked_until, T_EPOCH + 30 * T_SECOND);
    t_begin(conn);
    OK(ph_outbox_renew(store, t_tx(conn), owner, &ref, 1, 60, 0, &out, &t_err));
    t_commit(conn);
    CHECK_INT(see(store, ref.work_id).locked_until, T_EPOCH + 60 * T_SECOND);
    t_clock_advance(store, 61 * T_SECOND);
    t_begin(conn);
    OK(ph_outbox_reap_expired(store, t_tx(conn), 0, &count, &t_err));
    CHECK_INT(count, 1);
    t_rollback(conn);
    CHECK_INT(see(store, ref.work_id).status, PH_IN_PROGRESS);
    t_begin(conn);
    OK(ph_outbox_reap_expired(store, t_tx(conn), 0, &count, &t_err));
    t_commit(conn);
    CHECK_INT(see(store, ref.work_id).status, PH_READY);
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(a_handler_can_write_its_effect_and_ack_in_one_transaction)
{
    struct leased l = one_leased();
    struct t_conn *conn = t_connect();
    ph_outcome out;

    t_sql(conn, "CREATE TABLE {t}effect (n integer)");
    t_begin(conn);
    t_sql(conn, "INSERT INTO {t}effect VALUES (1)");
    OK(ph_outbox_ack(l.store, t_tx(conn), l.owner, &l.ref, 1, 0, &out, &t_err));
    t_rollback(conn);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}effect"), 0);
    CHECK_INT(see(l.store, l.ref.work_id).status, PH_IN_PROGRESS);
    t_begin(conn);
    t_sql(conn, "INSERT INTO {t}effect VALUES (1)");
    OK(ph_outbox_ack(l.store, t_tx(conn), l.owner, &l.ref, 1, 0, &out, &t_err));
    t_commit(conn);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}effect"), 1);
    CHECK_INT(see(l.store, l.ref.work_id).status, PH_DONE);
    t_begin(conn); /* as if nobody knew how the commit ended: not a second effect */
    t_sql(conn, "INSERT INTO {t}effect VALUES (1)");
    OK(ph_outbox_ack(l.store, t_tx(conn), l.owner, &l.ref, 1, 0, &out, &t_err));
    CHECK_INT(out, PH_OUTCOME_STALE);
    t_rollback(conn);
    OK(ph_outbox_ack(l.store, PH_OWN_TX, l.owner, &l.ref, 1, 0, &out, &t_err));
    CHECK_INT(out, PH_OUTCOME_ACKED);
    t_disconnect(conn);
}

/* The same program with its effect after the ack: nothing was written yet when the ack is answered,
 * which must not be taken for a call of its own. */
TEST(a_repeated_ack_that_comes_first_in_a_callers_transaction_is_stale)
{
    struct leased l = one_leased();
    struct t_conn *conn = t_connect();
    ph_settlement item = { .lease = l.ref, .verb = PH_ACK };
    ph_claim_opts claim = PH_CLAIM_OPTS_INIT;
    ph_outcome out;
    ph_batch *batch;

    t_sql(conn, "CREATE TABLE {t}effect (n integer)");
    for (int i = 0; i < 2; i++) { /* the second time nobody knew how the commit ended */
        t_begin(conn);
        OK(ph_outbox_ack(l.store, t_tx(conn), l.owner, &l.ref, 1, 0, &out, &t_err));
        CHECK_INT(out, i == 0 ? PH_OUTCOME_ACKED : PH_OUTCOME_STALE);
        t_sql(conn, "INSERT INTO {t}effect VALUES (1)");
        if (out == PH_OUTCOME_ACKED)
            t_commit(conn);
        else
            t_rollback(conn);
    }
    REQ_INT("OBX-031", t_number(conn, "SELECT count(*) FROM {t}effect"), 1);
    t_begin(conn);
    OK(ph_outbox_settle(l.store, t_tx(conn), l.owner, &item, 1, 0, &out, &t_err));
    CHECK_INT(out, PH_OUTCOME_STALE);
    t_rollback(conn);
    t_begin(conn);
    OK(ph_outbox_exchange(l.store, t_tx(conn), l.owner, &item, 1, &claim, 0, &out, &batch, &t_err));
    CHECK_INT(out, PH_OUTCOME_STALE);
    ph_batch_free(batch);
    t_rollback(conn);
    OK(ph_outbox_exchange(l.store, PH_OWN_TX, l.owner, &item, 1, &claim, 0, &out, &batch, &t_err));
    CHECK_INT(out, PH_OUTCOME_ACKED);
    ph_batch_free(batch);
    t_disconnect(conn);
}
