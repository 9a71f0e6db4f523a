/* serializable_test.c - callers whose transactions are REPEATABLE READ or
 * SERIALIZABLE: what another transaction committed since their snapshot is a
 * conflict, reported as one that a new transaction cures. */
#include "common.h"

static const char *const levels[] = { "REPEATABLE READ", "SERIALIZABLE" };
#define LEVELS (sizeof(levels) / sizeof(*levels))

static void begin(struct t_conn *conn, const char *level)
{
    t_sql(conn, say("BEGIN ISOLATION LEVEL %s", level));
    t_sql(conn, "SELECT count(*) FROM {t}queue"); /* the snapshot is taken here */
}

static void conflict(int status)
{
    if (status != PH_ECONFLICT)
        printf("%d: %s\n", status, t_err.message);
    CHECK_INT(status, PH_ECONFLICT);
    CHECK_STR(t_err.sqlstate, "40001");
    CHECK_INT(t_err.flags, PH_RETRY | PH_TX_DEAD);
    CHECK(strstr(t_err.message, "; roll back and try again") != NULL);
}

static ph_message keyed(const char *key, const char *ns)
{
    ph_message message = PH_MESSAGE_INIT;

    message.topic = "t";
    message.payload = "p";
    message.dedupe_key = key;
    message.ns = ns;
    return message;
}

TEST(a_key_taken_since_the_snapshot_is_a_conflict)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = a_connection(NULL);
    ph_enqueued first, second;

    for (size_t i = 0; i < LEVELS; i++) {
        ph_message m[2] = { keyed(say("k%zu", i), NULL), keyed(NULL, NULL) };

        begin(conn, levels[i]);
        OK(ph_enqueue(store, PH_OWN_TX, &m[0], 0, &first, &t_err));
        conflict(ph_enqueue(store, t_tx(conn), &m[0], 0, &second, &t_err));
        CHECK_INT(ph_enqueue(store, t_tx(conn), &m[1], 0, NULL, &t_err), PH_ETXDEAD);
        t_rollback(conn);
        begin(conn, levels[i]); /* sees it */
        OK(ph_enqueue(store, t_tx(conn), &m[0], 0, &second, &t_err));
        CHECK(!second.is_new && memcmp(&first.work_id, &second.work_id, 16) == 0);
        OK(ph_enqueue_many(store, t_tx(conn), m, 2, 0, NULL, &t_err));
        t_commit(conn);
    }
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox"), 2 * LEVELS);
}

TEST(many_keys_conflict_likewise)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = a_connection(NULL);

    for (size_t i = 0; i < LEVELS; i++) {
        ph_message m[2] = { keyed(NULL, NULL), keyed(say("k%zu", i), NULL) };

        begin(conn, levels[i]);
        OK(ph_enqueue(store, PH_OWN_TX, &m[1], 0, NULL, &t_err));
        conflict(ph_enqueue_many(store, t_tx(conn), m, 2, 0, NULL, &t_err));
        t_rollback(conn);
    }
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox"), LEVELS); /* none of the many */
}

/* The first message of a namespace makes its queue. */
TEST(a_queue_made_since_the_snapshot_is_a_conflict)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = a_connection(NULL);

    for (size_t i = 0; i < LEVELS; i++) {
        ph_message m = keyed(NULL, say("n%zu", i));

        begin(conn, levels[i]);
        OK(ph_enqueue(store, PH_OWN_TX, &m, 0, NULL, &t_err));
        conflict(ph_enqueue(store, t_tx(conn), &m, 0, NULL, &t_err));
        t_rollback(conn);
    }
}

TEST(without_a_race_every_level_works)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = a_connection(NULL);
    ph_owner owner = ph_owner_new();

    for (size_t i = 0; i < LEVELS; i++) {
        ph_message m = keyed(say("k%zu", i), NULL);
        ph_lease_ref ref;
        ph_batch *batch = NULL;
        ph_outcome outcome;

        begin(conn, levels[i]);
        OK(ph_enqueue(store, t_tx(conn), &m, 0, NULL, &t_err));
        OK(ph_outbox_claim(store, t_tx(conn), owner, NULL, 0, &batch, &t_err));
        CHECK_INT(ph_batch_count(batch), 1);
        ref = ph_lease_ref_of(ph_batch_at(batch, 0));
        ph_batch_free(batch);
        OK(ph_outbox_ack(store, t_tx(conn), owner, &ref, 1, 0, &outcome, &t_err));
        CHECK_INT(outcome, PH_OUTCOME_ACKED);
        t_commit(conn);
    }
    t_check_places(conn);
}

TEST(messages_claimed_since_the_snapshot_are_a_conflict)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = a_connection(NULL);
    ph_owner owner = ph_owner_new();

    for (size_t i = 0; i < LEVELS; i++) {
        ph_batch *batch = NULL;

        t_enqueue(store, "t", "p");
        begin(conn, levels[i]);
        CHECK_INT(t_ack_all(store, owner, t_claim(store, owner, 1)), 1);
        conflict(ph_outbox_claim(store, t_tx(conn), ph_owner_new(), NULL, 0, &batch, &t_err));
        CHECK(batch == NULL);
        t_rollback(conn);
    }
    t_check_places(conn);
}

/* A server or role may have such a level as its default: the store's own
 * transactions repeat themselves when they lose. */
TEST(the_store_copes_with_such_a_default)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_owner owner = ph_owner_new();
    ph_store *stores[2] = { NULL, NULL };
    size_t acked = 0;

    t_open(NULL);
    opts.schema = t_schema();
    for (int i = 0; i < 2; i++)
        OK(t_try_open(
            url_with(t_url(), "options=-c%20default_transaction_isolation%3Dserializable"), &opts,
            &stores[i]));
    for (int i = 0; i < 40; i++) {
        ph_message m = keyed(say("k%d", i / 2), NULL);

        OK(ph_enqueue(stores[i % 2], PH_OWN_TX, &m, 0, NULL, &t_err));
    }
    for (int i = 0; i < 20; i++)
        acked += t_ack_all(stores[i % 2], owner, t_claim(stores[i % 2], owner, 3));
    CHECK_INT(acked, 20);
}
