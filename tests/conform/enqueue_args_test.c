/* enqueue_args_test.c - every argument of ph_enqueue and ph_enqueue_many at its edges. */
#include "common.h"

#include <stdlib.h>
#ifdef PH_WITH_POSTGRESQL
#include <posthorn/pg.h>
#endif
#ifdef PH_WITH_SQLITE
#include <posthorn/sqlite.h>
#endif

/* A newer header's message: one member more. */
struct longer_message {
    ph_message message;
    int64_t newer;
};

static void refused(ph_store *store, const ph_message *m, const char *names)
{
    ph_enqueued e, untouched;

    memset(&e, 0x5a, sizeof(e));
    memset(&untouched, 0x5a, sizeof(untouched));
    CHECK_INT(ph_enqueue(store, PH_OWN_TX, m, 0, &e, &t_err), PH_EINVAL);
    CHECK_INT(t_err.code, PH_EINVAL);
    if (!strstr(t_err.message, names))
        CHECK_STR(t_err.message, names);
    CHECK(memcmp(&e, &untouched, sizeof(e)) == 0);
}

TEST(topic_is_required)
{
    ph_store *store = t_open(NULL);
    ph_message m = a_message(NULL, "x");

    REQ_INT("OBX-004", try_put(store, PH_OWN_TX, &m), PH_EINVAL);
    CHECK_STR(t_err.message, "topic is NULL; it is required");
    m.topic = "";
    REQ_INT("OBX-004", try_put(store, PH_OWN_TX, &m), PH_EINVAL);
    CHECK_STR(t_err.message, "topic is empty; it is required");
    CHECK_INT(claimable(store, 1), 0);
}

TEST(payload_is_required)
{
    ph_store *store = t_open(NULL);
    ph_message m = a_message("orders", NULL);

    REQ_INT("OBX-005", try_put(store, PH_OWN_TX, &m), PH_EINVAL);
    CHECK(strstr(t_err.message, "payload is NULL") != NULL);
    m.payload_length = 0;
    REQ_INT("OBX-005", try_put(store, PH_OWN_TX, &m), PH_EINVAL);
    CHECK_INT(claimable(store, 1), 0);
}

TEST(names_hold_255_code_points)
{
    static const char *const characters[] = { "a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x93\xaf" };
    ph_store *store = t_open(NULL);

    for (int i = 0; i < 4; i++) {
        char *fits = repeated(characters[i], 255), *over = repeated(characters[i], 256);
        ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
        ph_message m = a_message(fits, "x");
        ph_batch *batch;

        m.correlation_id = m.dedupe_key = m.ns = fits;
        REQ_INT("OBX-007 OBX-009", try_put(store, PH_OWN_TX, &m), 0);
        opts.ns = fits;
        batch = claim_with(store, ph_owner_new(), &opts);
        REQ_STR("OBX-007", ph_batch_at(batch, 0)->topic, fits);
        REQ_STR("OBX-009", ph_batch_at(batch, 0)->correlation_id, fits);
        CHECK_STR(ph_batch_at(batch, 0)->dedupe_key, fits);
        ph_batch_free(batch);
        m = a_message(over, "x");
        REQ_INT("OBX-007", try_put(store, PH_OWN_TX, &m), PH_EINVAL);
        CHECK(strstr(t_err.message, "256") != NULL);
        m = a_message("orders", "x");
        m.correlation_id = over;
        REQ_INT("OBX-009", try_put(store, PH_OWN_TX, &m), PH_EINVAL);
    }
}

TEST(over_long_or_invalid_names_are_refused_by_name)
{
    ph_store *store = t_open(NULL);
    char *over = repeated("a", 256);
    ph_message m = a_message("orders", "x");

    m.ns = over;
    refused(store, &m, "namespace has 256");
    m.ns = "\xff";
    refused(store, &m, "namespace is not valid");
    m = a_message("\xc3", "x");
    refused(store, &m, "topic is not valid");
    m = a_message("orders", "x");
    m.dedupe_key = over;
    refused(store, &m, "dedupe_key has 256");
    m.dedupe_key = "";
    refused(store, &m, "dedupe_key is empty");
    m.dedupe_key = "\x80";
    refused(store, &m, "dedupe_key is not valid");
    m.dedupe_key = NULL;
    m.correlation_id = "\x80";
    refused(store, &m, "correlation_id is not valid");
    CHECK_INT(claimable(store, 1), 0);
}

TEST(headers_are_a_json_object_of_bounded_size)
{
    static const char *const good[] = { "{}",
                                        "{\"a\":\"\xe2\x82\xac\"}",
                                        " { \"a\" : null } ",
                                        "{\"big\": 123456789012345678901234567890}",
                                        "{\"it's\": \"quo\\\"ted \\\\ \\u00e9\"}",
                                        "{\"text\": \"1e-99999 \\\" 1e99999\", \"n\": 1e-300}" };
    static const char *const bad[] = {
        "",         "[]",      "1",           "\"text\"",         "null",    "{",
        "{\"a\":}", "{'a':1}", "{\"a\":1} x", "{\"a\":\"\xff\"}", "nonsense"
    };
    ph_store *store = t_open(NULL);
    ph_message m = a_message("orders", "x");

    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        m.headers = good[i];
        OK(try_put(store, PH_OWN_TX, &m));
    }
    CHECK_INT(claimable(store, 100), sizeof(good) / sizeof(*good));
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        m.headers = bad[i];
        CHECK_INT(try_put(store, PH_OWN_TX, &m), PH_EINVAL);
        CHECK(strstr(t_err.message, "headers are not a JSON object") == t_err.message);
    }
}

/* What one database's JSON cannot hold must not come as an error of the database. */
TEST(strange_headers_never_harm_the_callers_transaction)
{
    static const char *const strange[] = { "{\"a\": 1e-99999}",
                                           "{\"a\": 1e99999}",
                                           "{\"a\": 1e-99999999999999999999999}",
                                           "{\"a\": \"\\u0000\"}",
                                           "{\"a\": \"\\ud800\"}",
                                           "{\"a\": 1, \"a\": 2}",
                                           "{\"\": \"\"}",
                                           "{\"a\": -0.0, \"b\": 1E+2, \"c\": 0.1e-7}" };
    enum { N = sizeof(strange) / sizeof(*strange) };
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    char *deep = malloc(2100), *tiny = malloc(20100);
    ph_message m = a_message("orders", "x");

    strcpy(deep, "{\"a\":");
    memset(deep + 5, '[', 1000);
    memset(deep + 1005, ']', 1000);
    strcpy(deep + 2005, "}");
    snprintf(tiny, 20100, "{\"a\": 0.%s1}", repeated("0", 20000));
    t_begin(conn);
    for (size_t i = 0; i < N + 2; i++) {
        int r;

        m.headers = i < N ? strange[i] : i == N ? deep : tiny;
        r = try_put(store, t_tx(conn), &m);
        CHECK(r == 0 || r == PH_EINVAL);
        CHECK(!(t_err.flags & PH_TX_DEAD));
    }
    t_commit(conn);
    free(deep);
    free(tiny);
    t_disconnect(conn);
}

TEST(headers_up_to_their_limit)
{
    ph_store *store = t_open(NULL);
    char *over = malloc(PH_HEADERS_MAX + 2);
    ph_message m = a_message("orders", "x");

    memset(over, ' ', PH_HEADERS_MAX + 1);
    memcpy(over, "{\"a\":1", 6);
    over[PH_HEADERS_MAX] = '}';
    over[PH_HEADERS_MAX + 1] = '\0';
    m.headers = over;
    refused(store, &m, "headers have 65537");
    over[PH_HEADERS_MAX - 1] = '}';
    over[PH_HEADERS_MAX] = '\0';
    OK(try_put(store, PH_OWN_TX, &m));
    free(over);
}

TEST(ids_of_zeros_are_refused)
{
    static const ph_message_id no_message;
    static const ph_tenant_id no_tenant;
    ph_store *store = t_open(NULL);
    ph_message m = a_message("orders", "x");

    m.message_id = &no_message;
    refused(store, &m, "message_id is all zero");
    m.message_id = NULL;
    m.tenant_id = &no_tenant;
    refused(store, &m, "tenant_id is all zero");
}

TEST(numbers_at_their_edges)
{
    ph_store *store = t_open(NULL);
    ph_message m = a_message("orders", "x");

    m.priority = (ph_priority)-1;
    refused(store, &m, "priority");
    m.priority = (ph_priority)5;
    refused(store, &m, "priority");
    m.priority = PH_PRIORITY_BULK;
    m.max_attempts = -1;
    refused(store, &m, "max_attempts");
    m.max_attempts = PH_ATTEMPTS_MAX + 1;
    refused(store, &m, "max_attempts");
    m.max_attempts = PH_ATTEMPTS_MAX;
    OK(try_put(store, PH_OWN_TX, &m));
    m.max_attempts = 1;
    OK(try_put(store, PH_OWN_TX, &m));
    CHECK_INT(claimable(store, 10), 2);
}

TEST(times_at_their_edges)
{
    ph_store *store = t_open(NULL);
    ph_message m = a_message("orders", "x");

    m.due_at = PH_TIME_MIN - 1;
    refused(store, &m, "due_at");
    m.due_at = PH_TIME_MAX + 1;
    refused(store, &m, "due_at");
    m.due_at = INT64_MIN;
    refused(store, &m, "due_at");
    m.due_at = 0;
    m.expires_at = PH_TIME_MAX + 1;
    refused(store, &m, "expires_at");
    m.expires_at = PH_TIME_MIN - 1;
    refused(store, &m, "expires_at");
    m.due_at = T_EPOCH;
    m.expires_at = T_EPOCH;
    refused(store, &m, "expires_at is not after due_at");
    m.due_at = PH_TIME_MAX - 1;
    m.expires_at = PH_TIME_MAX;
    OK(try_put(store, PH_OWN_TX, &m));
    m.due_at = PH_TIME_MIN;
    OK(try_put(store, PH_OWN_TX, &m));
    CHECK_INT(claimable(store, 10), 1);
}

TEST(the_size_member_tells_the_version)
{
    ph_store *store = t_open(NULL);
    ph_message m = a_message("orders", "old");
    struct longer_message longer = { a_message("orders", "new"), 0 };

    m.size = 0;
    refused(store, &m, "size");
    m.size = sizeof(size_t) - 1;
    refused(store, &m, "size");
    m.size = (size_t)-1;
    refused(store, &m, "size");
    m.size = 4097;
    refused(store, &m, "size");
    m.size = offsetof(ph_message, ns); /* an older header: the rest does not exist for it */
    m.ns = (const char *)1;
    OK(try_put(store, PH_OWN_TX, &m));
    longer.message.size = sizeof(longer);
    OK(try_put(store, PH_OWN_TX, &longer.message));
    longer.newer = 1;
    refused(store, &longer.message, "does not know");
    CHECK_STR(claimed_payloads(store, ph_owner_new(), 10), "old new");
}

TEST(arrays_have_structs_of_equal_size)
{
    ph_store *store = t_open(NULL);
    struct longer_message m[2] = { { a_message("orders", "0"), 0 },
                                   { a_message("orders", "1"), 0 } };

    m[0].message.size = m[1].message.size = sizeof(m[0]);
    OK(ph_enqueue_many(store, PH_OWN_TX, &m[0].message, 2, 0, NULL, &t_err));
    CHECK_STR(claimed_payloads(store, ph_owner_new(), 10), "0 1");
    m[1].message.size = sizeof(ph_message);
    CHECK_INT(ph_enqueue_many(store, PH_OWN_TX, &m[0].message, 2, 0, NULL, &t_err), PH_EINVAL);
    CHECK(strstr(t_err.message, "message 1") != NULL);
    CHECK_INT(claimable(store, 10), 0);
}

TEST(null_pointers_are_refused_or_fine)
{
    ph_store *store = t_open(NULL);
    ph_message m = a_message("orders", "x");

    CHECK_INT(ph_enqueue(NULL, PH_OWN_TX, &m, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_enqueue(store, PH_OWN_TX, NULL, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_enqueue_many(NULL, PH_OWN_TX, &m, 1, 0, NULL, NULL), PH_EINVAL);
    CHECK_INT(ph_enqueue_many(store, PH_OWN_TX, NULL, 1, 0, NULL, NULL), PH_EINVAL);
    CHECK_INT(ph_enqueue(store, PH_OWN_TX, &m, -1, NULL, &t_err), PH_EINVAL);
    CHECK(strstr(t_err.message, "timeout_ms") != NULL);
    CHECK_INT(ph_enqueue(store, PH_OWN_TX, &m, 0, NULL, NULL), 0);
    CHECK_INT(ph_enqueue_many(store, PH_OWN_TX, &m, 1, 5000, NULL, NULL), 0);
    CHECK_INT(claimable(store, 10), 2);
}

TEST(an_error_is_cleared_by_success)
{
    ph_store *store = t_open(NULL);
    ph_message m = a_message("", "x");

    CHECK_INT(try_put(store, PH_OWN_TX, &m), PH_EINVAL);
    m.topic = "orders";
    CHECK_INT(try_put(store, PH_OWN_TX, &m), 0);
    CHECK_INT(t_err.code, 0);
    CHECK_INT(t_err.flags, 0);
    CHECK_STR(t_err.message, "");
}

TEST(a_transaction_of_the_other_backend_is_refused)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_message m = a_message("orders", "x");
    ph_tx tx = t_tx(conn);

#if defined(PH_WITH_SQLITE) && defined(PH_WITH_POSTGRESQL)
    tx = t_is_pg() ? ph_tx_sqlite((sqlite3 *)t_native(conn)) : ph_tx_pg((PGconn *)t_native(conn));
    CHECK_INT(try_put(store, tx, &m), PH_EINVAL);
    CHECK(strstr(t_err.message, "sqlite") && strstr(t_err.message, "postgresql"));
#endif
    tx.connection = NULL;
    CHECK_INT(try_put(store, tx, &m), PH_EINVAL);
    tx = t_tx(conn);
    tx.backend = NULL;
    CHECK_INT(try_put(store, tx, &m), PH_EINVAL);
    CHECK_INT(claimable(store, 10), 0);
    t_disconnect(conn);
}
