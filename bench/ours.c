/* ours.c - the measured side: enqueue, claim and ack through the library. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *bench_payload(void)
{
    static char payload[BENCH_PAYLOAD_SIZE + 1];

    if (!payload[0])
        memset(payload, 'x', BENCH_PAYLOAD_SIZE);
    return payload;
}

ph_store *bench_open(const char *url)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store = NULL;
    ph_error err;

    opts.schema = "posthorn_bench";
    opts.timeout_ms = 600000;
    bench_must(ph_open(url, &opts, &store, &err), &err, "open");
    return store;
}

/* streams 0: none. */
static void fill(const char *url, long count, int64_t due_at, long streams)
{
    enum { PER_CALL = 5000, KEY_SIZE = 32 };
    ph_store *store = bench_open(url);
    ph_message *messages = calloc(PER_CALL, sizeof(*messages));
    char(*keys)[KEY_SIZE] = calloc(PER_CALL, KEY_SIZE);
    ph_message like = PH_MESSAGE_INIT;
    ph_error err;

    if (!messages || !keys)
        bench_die("fill", "out of memory");
    like.topic = "order.created";
    like.payload = bench_payload();
    like.due_at = due_at;
    for (long done = 0; done < count;) {
        long n = count - done < PER_CALL ? count - done : PER_CALL;

        for (long i = 0; i < n; i++) {
            messages[i] = like;
            if (streams == 0)
                continue;
            snprintf(keys[i], KEY_SIZE, "stream/%ld", (done + i) % streams);
            messages[i].stream = keys[i];
        }
        bench_must(ph_enqueue_many(store, PH_OWN_TX, messages, (size_t)n, 0, NULL, &err), &err,
                   "fill");
        done += n;
    }
    free(keys);
    free(messages);
    ph_close(store);
}

void bench_fill(const char *url, long count, int64_t due_at)
{
    fill(url, count, due_at, 0);
}

void bench_fill_streams(const char *url, long count, long streams)
{
    fill(url, count, 0, streams);
}

long bench_drain_ours(const char *url, int batch_size, long most)
{
    ph_store *store = bench_open(url);
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_owner owner = ph_owner_new();
    ph_lease_ref *refs = calloc((size_t)batch_size, sizeof(*refs));
    ph_error err;
    long done = 0;

    if (!refs)
        bench_die("drain", "out of memory");
    opts.batch_size = batch_size;
    while (most == 0 || done < most) {
        ph_batch *batch = NULL;
        size_t count;

        bench_must(ph_outbox_claim(store, PH_OWN_TX, owner, &opts, 0, &batch, &err), &err, "claim");
        count = ph_batch_count(batch);
        for (size_t i = 0; i < count; i++)
            refs[i] = ph_lease_ref_of(ph_batch_at(batch, i));
        bench_must(ph_outbox_ack(store, PH_OWN_TX, owner, refs, count, 0, NULL, &err), &err, "ack");
        ph_batch_free(batch);
        done += (long)count;
        if (count == 0)
            break;
    }
    free(refs);
    ph_close(store);
    return done;
}

void bench_drain_exchanging(const char *url, int batch_size)
{
    ph_store *store = bench_open(url);
    ph_settlement *items = calloc((size_t)batch_size, sizeof(*items));
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_owner owner = ph_owner_new();
    size_t count = 0;
    ph_error err;

    if (!items)
        bench_die("drain", "out of memory");
    opts.batch_size = batch_size;
    do {
        ph_batch *batch = NULL;

        bench_must(
            ph_outbox_exchange(store, PH_OWN_TX, owner, items, count, &opts, 0, NULL, &batch, &err),
            &err, "exchange");
        count = ph_batch_count(batch);
        for (size_t i = 0; i < count; i++)
            items[i] =
                (ph_settlement){ .lease = ph_lease_ref_of(ph_batch_at(batch, i)), .verb = PH_ACK };
        ph_batch_free(batch);
    } while (count > 0);
    free(items);
    ph_close(store);
}

void bench_enqueue_ours(const char *url, long count)
{
    ph_store *store = bench_open(url);
    ph_message message = PH_MESSAGE_INIT;
    ph_error err;

    message.topic = "order.created";
    message.payload = bench_payload();
    for (long i = 0; i < count; i++)
        bench_must(ph_enqueue(store, PH_OWN_TX, &message, 0, NULL, &err), &err, "enqueue");
    ph_close(store);
}
