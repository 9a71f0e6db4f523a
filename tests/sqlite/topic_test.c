/* topic_test.c - a queue's way into the index of topics, and what a claim looks at there. */
#include "seam.h"
#include "store/sqlite/by_topic.h"

#include <stdlib.h>

static const char *const mine[] = { "mine" };

static void put_many(ph_store *store, const char *topic, size_t count)
{
    ph_message *messages = calloc(count, sizeof(*messages));

    CHECK(messages != NULL);
    for (size_t i = 0; i < count; i++) {
        messages[i] = (ph_message)PH_MESSAGE_INIT;
        messages[i].topic = topic;
        messages[i].payload = "payload";
    }
    OK(ph_enqueue_many(store, PH_OWN_TX, messages, count, 0, NULL, &t_err));
    free(messages);
}

/* A claim of one message of "mine" in a transaction; returns how many it got. */
static size_t claim_mine(ph_store *store, ph_tx tx)
{
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_batch *batch = NULL;
    size_t count;

    opts.topics = mine;
    opts.topic_count = 1;
    opts.batch_size = 1;
    OK(ph_outbox_claim(store, tx, ph_owner_new(), &opts, 0, &batch, &t_err));
    count = ph_batch_count(batch);
    ph_batch_free(batch);
    return count;
}

static long long by_topic(struct t_conn *conn)
{
    return t_number(conn, "SELECT by_topic FROM {t}queue WHERE door = 0 AND namespace = ''");
}

static long long indexed(struct t_conn *conn)
{
    return t_number(conn, "SELECT count(*) FROM {t}pending WHERE topic >= 0");
}

TEST(a_queue_whose_claims_name_no_topics_has_nothing_in_the_index)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();

    put_many(store, "mine", 10);
    t_ack_all(store, owner, t_claim(store, owner, 5));
    CHECK_INT(by_topic(conn), PH__BY_TOPIC_NO);
    CHECK_INT(indexed(conn), 0);
    CHECK_INT(claim_mine(store, PH_OWN_TX), 1);
    CHECK_INT(by_topic(conn), PH__BY_TOPIC_YES);
    CHECK_INT(indexed(conn), 4);
    put_many(store, "mine", 3);
    CHECK_INT(indexed(conn), 7);
    t_check_places(conn);
}

TEST(rows_from_before_come_into_the_index_in_portions)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();

    put_many(store, "other", 2 * PH__TURN_ROWS + 300);
    CHECK_INT(claim_mine(store, PH_OWN_TX), 0);
    CHECK_INT(by_topic(conn), PH__BY_TOPIC_TURNING);
    CHECK_INT(indexed(conn), PH__TURN_ROWS);
    t_check_places(conn);
    put_many(store, "mine", 1);
    CHECK_INT(indexed(conn), PH__TURN_ROWS + 1);
    CHECK_INT(claim_mine(store, PH_OWN_TX), 1); /* found behind those that are still to come */
    CHECK_INT(by_topic(conn), PH__BY_TOPIC_TURNING);
    CHECK_INT(indexed(conn), 2 * PH__TURN_ROWS);
    t_check_places(conn);
    CHECK_INT(claim_mine(store, PH_OWN_TX), 0);
    CHECK_INT(by_topic(conn), PH__BY_TOPIC_YES);
    CHECK_INT(indexed(conn), 2 * PH__TURN_ROWS + 300);
    t_check_places(conn);
}

TEST(a_claim_that_is_rolled_back_leaves_the_index_alone)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();

    put_many(store, "mine", 10);
    t_begin(conn);
    CHECK_INT(claim_mine(store, t_tx(conn)), 1);
    CHECK_INT(indexed(conn), 9);
    t_rollback(conn);
    CHECK_INT(by_topic(conn), PH__BY_TOPIC_NO);
    CHECK_INT(indexed(conn), 0);
    CHECK_INT(claim_mine(store, PH_OWN_TX), 1);
    t_check_places(conn);
}

/* The instructions of the store's statements since the last call. */
static long steps(ph_store *store)
{
    const struct ph__sqlite *own = store->own;
    long sum = 0;

    for (size_t i = 0; i < PH__SQL_STATEMENTS; i++) {
        if (own->statements.all[i])
            sum += sqlite3_stmt_status(own->statements.all[i], SQLITE_STMTSTATUS_VM_STEP, true);
    }
    return sum;
}

static long steps_of_claims(ph_store *store, int count)
{
    (void)steps(store);
    for (int i = 0; i < count; i++)
        CHECK_INT(claim_mine(store, PH_OWN_TX), 1);
    return steps(store);
}

TEST(messages_of_other_topics_ahead_are_not_looked_at)
{
    ph_store *store = t_open(NULL);
    long few, many;

    put_many(store, "other", 200); /* more than a claim walks over before it uses the index */
    put_many(store, "mine", 10);
    CHECK_INT(claim_mine(store, PH_OWN_TX), 1);
    few = steps_of_claims(store, 9);
    put_many(store, "other", 5000);
    put_many(store, "mine", 10);
    CHECK_INT(claim_mine(store, PH_OWN_TX), 1);
    many = steps_of_claims(store, 9);
    printf("%ld instructions, with more ahead %ld\n", few, many);
    CHECK(few > 0 && many < few + few / 10);
}
