/* threads.c - what the header says about threads: different stores are
 * independent, and one store may be used by many threads at once as long as
 * each brings a transaction of its own. Meant to be run under TSan too. */
#include "harness.h"

#include <pthread.h>
#include <stdatomic.h>

#define THREADS 4
#define ROUNDS 10

struct member {
    pthread_t thread;
    const char *url;
    ph_store *store;
    struct t_conn *conn; /* NULL: the store's own transactions */
    ph_owner owner;
    int acked, status;
    ph_error err;
};

/* ---------------------------------------------------------------- a fresh start */

static void *deployer_main(void *context)
{
    struct member *member = context;
    ph_store_opts opts = PH_STORE_OPTS_INIT;

    opts.deploy_schema = true;
    member->status = ph_open(member->url, &opts, &member->store, &member->err);
    return NULL;
}

/* On SQLite the file itself, and its journal mode, are made by all of them at once. */
TEST(threads_deploy_into_one_empty_database)
{
    struct member members[THREADS] = { 0 };
    const char *url = t_fresh_database();

    for (int i = 0; i < THREADS; i++) {
        members[i].url = url;
        CHECK_INT(pthread_create(&members[i].thread, NULL, deployer_main, &members[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK_INT(pthread_join(members[i].thread, NULL), 0);
        t_err = members[i].err;
        REQ_INT("OBX-100 OBX-110", members[i].status, 0);
        t_enqueue(members[i].store, "fresh", "x");
    }
    for (int i = 0; i < THREADS; i++)
        ph_close(members[i].store);
}

/* ------------------------------------------------------------------ the work */

static void count_line(void *context, const ph_log_event *event)
{
    (void)event;
    atomic_fetch_add((atomic_int *)context, 1);
}

/* One message in, at most one out. */
static int exchange(struct member *member, ph_tx tx)
{
    ph_message message = PH_MESSAGE_INIT;
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_enqueued enqueued;
    ph_batch *batch = NULL;
    int r;

    message.topic = "threads";
    message.payload = "x";
    opts.batch_size = 1;
    r = ph_enqueue(member->store, tx, &message, 0, &enqueued, &member->err);
    if (r == 0)
        r = ph_outbox_claim(member->store, tx, member->owner, &opts, 0, &batch, &member->err);
    if (r == 0 && ph_batch_count(batch) == 1) {
        ph_lease_ref lease = ph_lease_ref_of(ph_batch_at(batch, 0));
        ph_outcome outcome = PH_OUTCOME_UNKNOWN;

        r = ph_outbox_ack(member->store, tx, member->owner, &lease, 1, 0, &outcome, &member->err);
        member->acked += outcome == PH_OUTCOME_ACKED;
    }
    ph_batch_free(batch);
    return r;
}

static void *member_main(void *context)
{
    struct member *member = context;

    for (int i = 0; i < ROUNDS && member->status == 0; i++) {
        if (!member->conn) {
            member->status = exchange(member, PH_OWN_TX);
            continue;
        }
        t_begin(member->conn);
        member->status = exchange(member, t_tx(member->conn));
        t_commit(member->conn);
    }
    return NULL;
}

/* Runs all; returns how many messages were acked. */
static int run_all(struct member *members)
{
    int acked = 0;

    for (int i = 0; i < THREADS; i++) {
        members[i].owner = ph_owner_new();
        CHECK_INT(pthread_create(&members[i].thread, NULL, member_main, &members[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(pthread_join(members[i].thread, NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        t_err = members[i].err;
        CHECK_INT(members[i].status, 0);
        acked += members[i].acked;
    }
    return acked;
}

/* What was not acked is still there, and nothing was handed out twice. */
static void check_sum(ph_store *store, int acked)
{
    ph_queue_counts counts = PH_QUEUE_COUNTS_INIT;
    struct t_conn *conn = t_connect();

    OK(ph_outbox_count(store, PH_OWN_TX, NULL, 0, &counts, &t_err));
    REQ_INT("OBX-100 OBX-101", acked + counts.ready, THREADS * ROUNDS);
    CHECK_INT(counts.in_progress, 0);
    t_check_places(conn);
}

TEST(threads_with_a_store_each)
{
    struct member members[THREADS] = { 0 };
    ph_store *store = t_open(NULL);

    for (int i = 0; i < THREADS; i++)
        members[i].store = t_open(NULL);
    check_sum(store, run_all(members));
}

TEST(threads_share_a_store_through_transactions_of_their_own)
{
    struct member members[THREADS] = { 0 };
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    atomic_int logged = 0;
    ph_store *store;

    opts.log = count_line;
    opts.log_context = &logged;
    opts.log_level = PH_LOG_DEBUG;
    store = t_open(&opts);
    atomic_store(&logged, 0);
    for (int i = 0; i < THREADS; i++) {
        members[i].store = store;
        members[i].conn = t_connect();
    }
    check_sum(store, run_all(members));
    CHECK(atomic_load(&logged) >= THREADS * ROUNDS);
}
