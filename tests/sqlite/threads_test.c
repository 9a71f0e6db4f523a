/* threads_test.c - several stores of one process on one file, each with a thread of its own, as a
 * dispatcher with transactional handlers has them. */
#include "seam.h"

#include <pthread.h>
#include <stdlib.h>

#define THREADS 6
#define MESSAGES 40 /* per thread */

/* One thread: enqueues, works through whatever comes in exchanges and in handlers' transactions,
 * and looks around in between. Nothing of the harness that is not safe in threads. */
struct worker {
    pthread_t thread;
    ph_store *store;
    int acked, failed;
    char error[300];
};

static void failed(struct worker *w, const char *what, const ph_error *err)
{
    if (w->failed++ == 0)
        snprintf(w->error, sizeof(w->error), "%s: %s", what, err->message);
}

static void produce(struct worker *w)
{
    ph_message m = PH_MESSAGE_INIT;
    ph_error err;

    m.topic = m.payload = "x";
    if (ph_enqueue(w->store, PH_OWN_TX, &m, 0, NULL, &err) < 0)
        failed(w, "enqueue", &err);
}

static void ack_in_transaction(struct worker *w, ph_owner owner, const ph_delivery *delivery)
{
    ph_lease_ref lease = ph_lease_ref_of(delivery);
    ph_outcome outcome = PH_OUTCOME_UNKNOWN;
    PH__CALL(call);
    ph_error err;
    ph_tx tx;

    if (ph__call_own(&call, w->store, 0, &err) < 0 || w->store->backend->tx_begin(&call, &tx) < 0) {
        failed(w, "begin", &err);
        return;
    }
    if (ph_outbox_ack(w->store, tx, owner, &lease, 1, 0, &outcome, &err) < 0)
        failed(w, "ack", &err);
    call.deadline = ph__deadline_in(30000);
    call.err = &err;
    if (w->store->backend->tx_end(&call, true) < 0)
        failed(w, "end", &err);
    else if (outcome == PH_OUTCOME_ACKED)
        w->acked++;
}

static void ack_by_exchange(struct worker *w, ph_owner owner, const ph_delivery *delivery)
{
    ph_settlement item = { .lease = ph_lease_ref_of(delivery), .verb = PH_ACK };
    ph_outcome outcome = PH_OUTCOME_UNKNOWN;
    ph_error err;

    if (ph_outbox_exchange(w->store, PH_OWN_TX, owner, &item, 1, NULL, 0, &outcome, NULL, &err) < 0)
        failed(w, "exchange", &err);
    else if (outcome == PH_OUTCOME_ACKED)
        w->acked++;
}

static void consume(struct worker *w, ph_owner owner)
{
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_batch *batch = NULL;
    ph_error err;

    opts.batch_size = 2;
    if (ph_outbox_exchange(w->store, PH_OWN_TX, owner, NULL, 0, &opts, 0, NULL, &batch, &err) < 0)
        failed(w, "claim", &err);
    for (size_t i = 0; i < ph_batch_count(batch); i++) {
        if (i % 2)
            ack_in_transaction(w, owner, ph_batch_at(batch, i));
        else
            ack_by_exchange(w, owner, ph_batch_at(batch, i));
    }
    ph_batch_free(batch);
}

static void look_around(struct worker *w)
{
    ph_messages *list = NULL;
    ph_report *report = NULL;
    PH__CALL(call);
    ph_error err;
    int fd;

    if (ph_outbox_list(w->store, PH_OWN_TX, NULL, 0, &list, &err) < 0)
        failed(w, "list", &err);
    ph_messages_free(list);
    if (ph_doctor(w->store, NULL, 0, &report, &err) < 0)
        failed(w, "doctor", &err);
    ph_report_free(report);
    if (ph__call_own(&call, w->store, 0, &err) == 0 &&
        w->store->backend->doorbell_listen(&call, "", &fd) == 0)
        (void)w->store->backend->doorbell_taken(w->store, "");
}

static void *work(void *context)
{
    struct worker *w = context;
    ph_owner owner = ph_owner_new();
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_error err;

    if (ph_open(t_url(), &opts, &w->store, &err) < 0) {
        failed(w, "open", &err);
        return NULL;
    }
    for (int i = 0; i < MESSAGES; i++) {
        produce(w);
        consume(w, owner);
        if (i % 10 == 0)
            look_around(w);
    }
    ph_close(w->store);
    return NULL;
}

TEST(stores_of_one_file_work_in_threads_at_once)
{
    static struct worker workers[THREADS];
    ph_store *store = t_open(NULL);
    struct t_conn *conn;
    ph_owner owner = ph_owner_new();
    ph_batch *batch;
    int acked = 0;

    for (int i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        if (workers[i].failed)
            printf("%d failed: %s\n", workers[i].failed, workers[i].error);
        CHECK_INT(workers[i].failed, 0);
        acked += workers[i].acked;
    }
    do {
        batch = t_claim(store, owner, 100);
        acked += (int)ph_batch_count(batch);
    } while (t_ack_all(store, owner, batch) > 0);
    CHECK_INT(acked, THREADS * MESSAGES);
    conn = t_connect();
    t_check_places(conn);
    CHECK_INT(t_number(conn, "SELECT sum(length(ids) / 13) FROM {t}done"), THREADS * MESSAGES);
}
