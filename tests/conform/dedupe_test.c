/* dedupe_test.c - a key is stored once per (namespace, topic), and a duplicate is an answer. */
#include "common.h"

static ph_enqueued put_key(ph_store *store, const char *topic, const char *key)
{
    ph_message m = a_message(topic, "x");

    m.dedupe_key = key;
    return put(store, &m);
}

static long long rows(struct t_conn *conn)
{
    return t_number(conn, "SELECT count(*) FROM {t}outbox");
}

TEST(a_duplicate_answers_with_the_ids_of_the_first)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_message first = a_message("orders", "first"), second = a_message("orders", "second");
    ph_enqueued one, two;

    first.dedupe_key = second.dedupe_key = "k";
    one = put(store, &first);
    two = put(store, &second);
    CHECK(one.is_new && !two.is_new);
    CHECK(same_id(one.work_id.b, two.work_id.b));
    CHECK(same_id(one.message_id.b, two.message_id.b));
    CHECK_INT(rows(conn), 1);
    CHECK_STR(claimed_payloads(store, ph_owner_new(), 10), "first");
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(a_duplicate_keeps_the_message_id_of_the_first)
{
    static const ph_message_id one = { { 1 } }, other = { { 2 } };
    ph_store *store = t_open(NULL);
    ph_message m = a_message("orders", "x");

    m.dedupe_key = "k";
    m.message_id = &one;
    put(store, &m);
    m.message_id = &other;
    CHECK(same_id(put(store, &m).message_id.b, one.b));
}

TEST(no_key_never_conflicts)
{
    ph_store *store = t_open(NULL);

    CHECK(put_key(store, "orders", NULL).is_new);
    CHECK(put_key(store, "orders", NULL).is_new);
    CHECK_INT(claimable(store, 10), 2);
}

TEST(keys_belong_to_their_topic_and_namespace)
{
    ph_store *store = t_open(NULL);
    ph_message m = a_message("orders", "x");

    m.dedupe_key = "k";
    CHECK(put(store, &m).is_new);
    m.topic = "Orders";
    CHECK(put(store, &m).is_new);
    m.ns = "shop";
    CHECK(put(store, &m).is_new);
    m.topic = "orders";
    CHECK(put(store, &m).is_new);
    CHECK(!put(store, &m).is_new);
    m.ns = NULL;
    CHECK(!put(store, &m).is_new);
}

TEST(keys_compare_byte_for_byte)
{
    static const char *const keys[] = {
        "k", "K", "k ", " k", "caf\xc3\xa9", "cafe\xcc\x81", "k\n"
    };
    ph_store *store = t_open(NULL);

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        CHECK(put_key(store, "orders", keys[i]).is_new);
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        CHECK(!put_key(store, "orders", keys[i]).is_new);
}

TEST(within_one_call_the_later_one_is_the_duplicate)
{
    ph_store *store = t_open(NULL);
    ph_message m[6];
    static const char *const keys[6] = { "b", "old", "a", "b", NULL, "a" };
    static const bool is_new[6] = { true, false, true, false, true, false };
    ph_enqueued old = put_key(store, "orders", "old"), e[6];

    for (int i = 0; i < 6; i++) {
        m[i] = a_message("orders", "x");
        m[i].dedupe_key = keys[i];
    }
    OK(ph_enqueue_many(store, PH_OWN_TX, m, 6, 0, e, &t_err));
    for (int i = 0; i < 6; i++)
        CHECK_INT(e[i].is_new, is_new[i]);
    CHECK(same_id(e[1].work_id.b, old.work_id.b));
    CHECK(same_id(e[3].work_id.b, e[0].work_id.b));
    CHECK(same_id(e[5].work_id.b, e[2].work_id.b));
    CHECK(same_id(e[5].message_id.b, e[2].message_id.b));
    CHECK_INT(claimable(store, 10), 4);
}

TEST(a_key_stays_taken_when_its_message_is_settled)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_enqueued done = put_key(store, "orders", "done"), dead;

    CHECK_INT(ack(store, owner, take_one(store, owner)), PH_OUTCOME_ACKED);
    dead = put_key(store, "orders", "dead");
    CHECK_INT(settle(store, owner, take_one(store, owner), PH_FAIL, "no", 0), PH_OUTCOME_FAILED);
    CHECK(!put_key(store, "orders", "done").is_new);
    CHECK(same_id(put_key(store, "orders", "done").work_id.b, done.work_id.b));
    CHECK(!put_key(store, "orders", "dead").is_new);
    CHECK(same_id(put_key(store, "orders", "dead").work_id.b, dead.work_id.b));
    CHECK_INT(claimable(store, 10), 0);
}

TEST(a_key_outlives_a_message_that_was_deleted_on_ack)
{
    ph_store *store = t_open(NULL);
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_owner owner = ph_owner_new();
    ph_enqueued e;

    settings.delete_on_ack = 1;
    set_queue(store, &settings);
    e = put_key(store, "orders", "k");
    CHECK_INT(ack(store, owner, take_one(store, owner)), PH_OUTCOME_ACKED);
    CHECK(!see(store, e.work_id).there);
    CHECK(!put_key(store, "orders", "k").is_new);
    CHECK(same_id(put_key(store, "orders", "k").work_id.b, e.work_id.b));
    CHECK(same_id(put_key(store, "orders", "k").message_id.b, e.message_id.b));
}

TEST(a_key_whose_transaction_rolled_back_is_free)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_message m = a_message("orders", "x");

    m.dedupe_key = "k";
    t_begin(conn);
    OK(try_put(store, t_tx(conn), &m));
    t_rollback(conn);
    CHECK(put(store, &m).is_new);
    CHECK_INT(rows(conn), 1);
    t_disconnect(conn);
}

TEST(a_duplicate_does_not_harm_the_callers_transaction)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_message m = a_message("orders", "x");
    ph_enqueued e;

    put_key(store, "orders", "k");
    m.dedupe_key = "k";
    t_begin(conn);
    OK(ph_enqueue(store, t_tx(conn), &m, 0, &e, &t_err));
    CHECK(!e.is_new);
    m.dedupe_key = "mine";
    OK(ph_enqueue(store, t_tx(conn), &m, 0, &e, &t_err));
    CHECK(e.is_new);
    OK(ph_enqueue(store, t_tx(conn), &m, 0, &e, &t_err));
    CHECK(!e.is_new); /* the transaction sees its own */
    t_commit(conn);
    CHECK_INT(rows(conn), 2);
    t_disconnect(conn);
}

TEST(with_a_tenant_the_key_names_it)
{
    static const ph_tenant_id tenant = { { 0xab, 0xcd, 0xef, 0x01, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
                                           12, 0xfe } };
    static const char *const good[] = {
        "abcdef01-0203-0405-0607-08090a0b0cfe/1", "ABCDEF01-0203-0405-0607-08090A0B0CFE/2",
        "abcdef0102030405060708090a0b0cfe/3",     "AbCdEf0102030405060708090A0b0CFE/4",
        "abcdef01-0203-0405-0607-08090a0b0cfe/",  "abcdef01-0203-0405-0607-08090a0b0cfe//",
    };
    static const char *const bad[] = {
        "1",
        "/1",
        "abcdef01-0203-0405-0607-08090a0b0cfe",
        "abcdef01-0203-0405-0607-08090a0b0cfe1/",
        "abcdef01-0203-0405-0607-08090a0b0cff/1",
        "abcdef01-02030405-0607-08090a0b0cfe/1",
        " abcdef01-0203-0405-0607-08090a0b0cfe/1",
        "{abcdef01-0203-0405-0607-08090a0b0cfe}/1",
        "abcdef0102030405060708090a0b0cfe",
        "x/abcdef01-0203-0405-0607-08090a0b0cfe/1",
    };
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_message m = a_message("orders", "x");

    m.tenant_id = &tenant;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        m.dedupe_key = good[i];
        CHECK(put(store, &m).is_new);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        m.dedupe_key = bad[i];
        CHECK_INT(try_put(store, PH_OWN_TX, &m), PH_EINVAL);
        CHECK(strstr(t_err.message, "dedupe_key") != NULL);
        CHECK_INT(rows(conn), sizeof(good) / sizeof(*good));
    }
    m.dedupe_key = NULL; /* a tenant without a key, and a key without a tenant, are free */
    CHECK(put(store, &m).is_new);
    m.tenant_id = NULL;
    m.dedupe_key = "1";
    CHECK(put(store, &m).is_new);
    t_disconnect(conn);
}

struct race {
    int new_ones;
    ph_work_id ids[6];
};

static void race_one(int index, void *argument)
{
    struct race *race = argument;
    ph_store *store = t_open(NULL);
    ph_enqueued e = put_key(store, "orders", "k");

    race->ids[index] = e.work_id;
    if (e.is_new)
        __atomic_add_fetch(&race->new_ones, 1, __ATOMIC_SEQ_CST);
    ph_close(store);
}

TEST(of_racing_producers_one_wins_and_all_know_the_winner)
{
    struct race *race = shared_memory(sizeof(*race));

    ph_close(t_open(NULL));
    in_processes(6, race_one, race);
    CHECK_INT(race->new_ones, 1);
    for (int i = 1; i < 6; i++)
        CHECK(same_id(race->ids[i].b, race->ids[0].b));
    CHECK_INT(claimable(t_open(NULL), 10), 1);
}

/* Each process enqueues the same keys in an order of its own, in one call. */
static void shuffle_one(int index, void *argument)
{
    static char keys[12][8];
    ph_store *store = t_open(NULL);
    int *new_ones = argument;

    for (int round = 0; round < 10; round++) {
        ph_message m[12];
        ph_enqueued e[12];

        for (int i = 0; i < 12; i++) {
            snprintf(keys[i], sizeof(keys[i]), "%d-%d", round,
                     (i * (index % 2 ? 5 : 7) + index) % 12);
            m[i] = a_message("orders", "x");
            m[i].dedupe_key = keys[i];
        }
        OK(ph_enqueue_many(store, PH_OWN_TX, m, 12, 0, e, &t_err));
        for (int i = 0; i < 12; i++)
            __atomic_add_fetch(new_ones, e[i].is_new, __ATOMIC_SEQ_CST);
    }
    ph_close(store);
}

TEST(keys_in_opposite_orders_do_not_deadlock_the_callers)
{
    int *new_ones = shared_memory(sizeof(*new_ones));
    struct t_conn *conn;

    ph_close(t_open(NULL));
    in_processes(4, shuffle_one, new_ones);
    REQ_INT("OBX-099", *new_ones, 120);
    conn = t_connect();
    CHECK_INT(rows(conn), 120);
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(a_key_that_another_transaction_holds_is_named_as_what_was_waited_for)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_message m = a_message("orders", "x"), two[2] = { m, m };
    ph_enqueued e[2];

    if (!t_is_pg())
        t_not_here("a file has one writer: its lock is waited for");
    m.dedupe_key = two[1].dedupe_key = "k";
    t_begin(conn);
    OK(try_put(store, t_tx(conn), &m));
    CHECK_INT(ph_enqueue(store, PH_OWN_TX, &m, 300, e, &t_err), PH_ETIMEOUT);
    CHECK_STR(t_err.message,
              "another transaction held the dedupe key until the time limit; try again "
              "when it has ended");
    CHECK_INT(t_err.flags, PH_RETRY);
    CHECK_INT(ph_enqueue_many(store, PH_OWN_TX, two, 2, 300, e, &t_err), PH_ETIMEOUT);
    CHECK(strstr(t_err.message, "another transaction held the dedupe key") != NULL);
    t_rollback(conn);
    OK(ph_enqueue(store, PH_OWN_TX, &m, 0, e, &t_err));
    CHECK(e[0].is_new);
}
