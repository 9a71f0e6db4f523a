/* round_trip_test.c - one verb, one question to the server and one answer. */
#include "common.h"

#include <libpq-fe.h>
#include <stdlib.h>

static FILE *trace;

static void start_counting(struct t_conn *conn)
{
    char path[300];

    snprintf(path, sizeof(path), "%s/trace", t_dir());
    trace = fopen(path, "w+");
    CHECK(trace != NULL);
    PQtrace((PGconn *)t_native(conn), trace);
}

/* Since the last call. The server says ReadyForQuery once per round trip. */
static int round_trips(struct t_conn *conn)
{
    static long read_up_to;
    char line[4096];
    int count = 0;

    PQuntrace((PGconn *)t_native(conn));
    fflush(trace);
    fseek(trace, read_up_to, SEEK_SET);
    while (fgets(line, sizeof(line), trace))
        count += strstr(line, "ReadyForQuery") != NULL;
    read_up_to = ftell(trace);
    PQtrace((PGconn *)t_native(conn), trace);
    return count;
}

TEST(every_verb_is_one_round_trip)
{
    ph_owner owner = ph_owner_new();
    ph_lease_ref refs[10];
    ph_batch *batch = NULL;
    ph_message m[10];
    struct t_conn *conn;
    ph_store *store;

    if (!t_is_pg())
        t_not_here("concerns servers only");
    store = t_open(NULL);
    conn = t_connect();
    for (int i = 0; i < 10; i++)
        m[i] = a_message("orders", "x");
    m[1].dedupe_key = m[2].dedupe_key = "k";
    t_begin(conn);
    start_counting(conn);
    OK(ph_enqueue(store, t_tx(conn), &m[0], 0, NULL, &t_err));
    REQ_INT("OBX-120", round_trips(conn), 1);
    OK(ph_enqueue_many(store, t_tx(conn), m, 10, 0, NULL, &t_err));
    REQ_INT("OBX-120", round_trips(conn), 1);
    OK(ph_outbox_claim(store, t_tx(conn), owner, NULL, 0, &batch, &t_err));
    REQ_INT("OBX-120", round_trips(conn), 1);
    CHECK_INT(ph_batch_count(batch), 10);
    for (size_t i = 0; i < 10; i++)
        refs[i] = ph_lease_ref_of(ph_batch_at(batch, i));
    ph_batch_free(batch);
    OK(ph_outbox_renew(store, t_tx(conn), owner, refs, 10, 0, 0, NULL, &t_err));
    CHECK_INT(round_trips(conn), 1);
    OK(ph_outbox_ack(store, t_tx(conn), owner, refs, 4, 0, NULL, &t_err));
    REQ_INT("OBX-120", round_trips(conn), 1);
    OK(ph_outbox_abandon(store, t_tx(conn), owner, refs + 4, 2, "e", 0, 0, NULL, &t_err));
    REQ_INT("OBX-120", round_trips(conn), 1);
    OK(ph_outbox_fail(store, t_tx(conn), owner, refs + 6, 2, "e", 0, NULL, &t_err));
    REQ_INT("OBX-120", round_trips(conn), 1);
    OK(ph_outbox_reap_expired(store, t_tx(conn), 0, NULL, &t_err));
    CHECK_INT(round_trips(conn), 1);
    PQuntrace((PGconn *)t_native(conn));
    fclose(trace);
    t_rollback(conn);
    t_disconnect(conn);
}
