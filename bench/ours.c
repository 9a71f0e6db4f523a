/* ours.c - the measured side: enqueue, claim and ack through the library. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *payload;

/* Letters at random, but the same in every run: a database could compress them otherwise. */
void bench_payload_resize(size_t size)
{
    unsigned long seed = 1;

    free(payload);
    payload = malloc(size + 1);
    if (!payload)
        bench_die("payload", "out of memory");
    for (size_t i = 0; i < size; i++) {
        seed = seed * 6364136223846793005UL + 1442695040888963407UL;
        payload[i] = (char)('A' + (seed >> 33) % 26 + ((seed >> 60) % 2) * 32);
    }
    payload[size] = '\0';
}

const char *bench_payload(void)
{
    if (!payload)
        bench_payload_resize(BENCH_PAYLOAD_SIZE);
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

/* Which messages are stored. */
struct filling {
    int64_t due_at;
    long streams, topics; /* 0: none; one */
};

static void fill(const char *url, long count, const struct filling *how)
{
    enum { PER_CALL_MAX = 5000, BYTES_PER_CALL = 64 << 20, KEY_SIZE = 32 };
    size_t fitting = BYTES_PER_CALL / (strlen(bench_payload()) + 1);
    long per_call = fitting < PER_CALL_MAX ? (long)fitting : PER_CALL_MAX;
    ph_store *store = bench_open(url);
    ph_message *messages = calloc(PER_CALL_MAX, sizeof(*messages));
    char(*keys)[KEY_SIZE] = calloc(PER_CALL_MAX, KEY_SIZE);
    ph_message like = PH_MESSAGE_INIT;
    ph_error err;

    if (!messages || !keys)
        bench_die("fill", "out of memory");
    like.topic = "order.created";
    like.payload = bench_payload();
    like.due_at = how->due_at;
    for (long done = 0; done < count;) {
        long n = count - done < per_call ? count - done : per_call;

        for (long i = 0; i < n; i++) {
            messages[i] = like;
            if (how->topics > 0) {
                snprintf(keys[i], KEY_SIZE, "topic/%ld", (done + i) % how->topics);
                messages[i].topic = keys[i];
            } else if (how->streams > 0) {
                snprintf(keys[i], KEY_SIZE, "stream/%ld", (done + i) % how->streams);
                messages[i].stream = keys[i];
            }
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
    fill(url, count, &(struct filling){ .due_at = due_at });
}

void bench_fill_streams(const char *url, long count, long streams)
{
    fill(url, count, &(struct filling){ .streams = streams });
}

void bench_fill_topics(const char *url, long count, long topics)
{
    fill(url, count, &(struct filling){ .topics = topics });
}

void bench_delete_on_ack(const char *url)
{
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_store *store = bench_open(url);
    ph_error err;

    settings.delete_on_ack = 1;
    bench_must(ph_outbox_queue_set(store, PH_OWN_TX, NULL, &settings, 0, &err), &err, "queue");
    ph_close(store);
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

long bench_drain_exchanging(const char *url, int batch_size, const char *topic, long most)
{
    ph_store *store = bench_open(url);
    ph_settlement *items = calloc((size_t)batch_size, sizeof(*items));
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_owner owner = ph_owner_new();
    size_t count = 0;
    long done = 0;
    ph_error err;

    if (!items)
        bench_die("drain", "out of memory");
    opts.batch_size = batch_size;
    opts.topics = topic ? &topic : NULL;
    opts.topic_count = topic ? 1 : 0;
    do {
        ph_batch *batch = NULL;
        bool last = most > 0 && done + (long)count >= most;

        bench_must(ph_outbox_exchange(store, PH_OWN_TX, owner, items, count, last ? NULL : &opts, 0,
                                      NULL, &batch, &err),
                   &err, "exchange");
        done += (long)count;
        if (last)
            break;
        count = ph_batch_count(batch);
        for (size_t i = 0; i < count; i++)
            items[i] =
                (ph_settlement){ .lease = ph_lease_ref_of(ph_batch_at(batch, i)), .verb = PH_ACK };
        ph_batch_free(batch);
    } while (count > 0);
    free(items);
    ph_close(store);
    return done;
}

void bench_enqueue_ours(const char *url, long count, int per_call)
{
    ph_store *store = bench_open(url);
    ph_message *messages = calloc((size_t)per_call, sizeof(*messages));
    ph_message like = PH_MESSAGE_INIT;
    ph_error err;

    if (!messages)
        bench_die("enqueue", "out of memory");
    like.topic = "order.created";
    like.payload = bench_payload();
    for (int i = 0; i < per_call; i++)
        messages[i] = like;
    for (long done = 0; done < count; done += per_call) {
        if (per_call == 1)
            bench_must(ph_enqueue(store, PH_OWN_TX, messages, 0, NULL, &err), &err, "enqueue");
        else
            bench_must(ph_enqueue_many(store, PH_OWN_TX, messages, (size_t)per_call, 0, NULL, &err),
                       &err, "enqueue");
    }
    free(messages);
    ph_close(store);
}
