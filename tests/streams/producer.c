/* producer.c - stores messages in many streams, in every way there is. */
#include "fleet.h"

#include <stdlib.h>
#include <time.h>

#define AT_ONCE_MAX 8
#define HOT_STREAM 1

struct producer {
    struct fleet *fleet;
    int number;
    ph_store *store;
    struct t_conn *conn;
    int next[STREAMS_MAX]; /* of each stream: how many it has committed */
};

/* Messages that are stored together. */
struct load {
    ph_message messages[AT_ONCE_MAX];
    int streams[AT_ONCE_MAX];
    char keys[AT_ONCE_MAX][16], payloads[AT_ONCE_MAX][48];
    size_t count;
};

static int any_stream(const struct plan *plan)
{
    unsigned what = t_dice(50);

    return what < 5 ? 0 : what < 6 ? HOT_STREAM : 1 + (int)t_dice((unsigned)plan->streams);
}

/* The number of a message among those of this producer in its stream, if all before it are
 * committed. */
static int number_of(const struct producer *by, const struct load *load, size_t index)
{
    int number = by->next[load->streams[index]];

    for (size_t i = 0; i < index; i++)
        number += load->streams[i] == load->streams[index];
    CHECK(number < NUMBERS_MAX);
    return number;
}

static void load_make(const struct producer *by, size_t count, struct load *ret_load)
{
    static const ph_priority priorities[] = { PH_PRIORITY_URGENT, PH_PRIORITY_NORMAL,
                                              PH_PRIORITY_LOW, PH_PRIORITY_BULK };
    const struct plan *plan = &by->fleet->plan;

    ret_load->count = count;
    for (size_t i = 0; i < count; i++) {
        int stream = ret_load->streams[i] = any_stream(plan);
        ph_message *message = &ret_load->messages[i];

        snprintf(ret_load->keys[i], sizeof(ret_load->keys[i]), "s%d", stream);
        snprintf(ret_load->payloads[i], sizeof(ret_load->payloads[i]), "%d %d %d", stream,
                 by->number, number_of(by, ret_load, i));
        *message = a_message(plan->in_transactions && t_dice(6) == 0 ? STEP_IN_TX : STEP,
                             ret_load->payloads[i]);
        message->stream = stream ? ret_load->keys[i] : NULL;
        if (t_dice(10) == 0)
            message->priority = priorities[t_dice(4)];
    }
}

static void committed(struct producer *by, const struct load *load)
{
    for (size_t i = 0; i < load->count; i++) {
        by->next[load->streams[i]]++;
        atomic_fetch_add(&by->fleet->in_stream[by->number][load->streams[i]], 1);
    }
    atomic_fetch_add(&by->fleet->made, (int)load->count);
}

/* One call after the other: against another producer's opposite order this may be refused. */
static bool store_one_by_one(struct producer *by, const struct load *load)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < load->count; i++)
        r = ph_enqueue(by->store, t_tx(by->conn), &load->messages[i], 0, NULL, &t_err);
    if (r == PH_ECONFLICT)
        return false;
    OK(r);
    return true;
}

static void store(struct producer *by, const struct load *load)
{
    unsigned way = t_dice(10);
    bool keep = way != 9;

    if (way < 5) {
        OK(ph_enqueue_many(by->store, PH_OWN_TX, load->messages, load->count, 0, NULL, &t_err));
        committed(by, load);
        return;
    }
    t_begin(by->conn);
    if (way < 7)
        keep = store_one_by_one(by, load);
    else
        OK(ph_enqueue_many(by->store, t_tx(by->conn), load->messages, load->count, 0, NULL,
                           &t_err));
    if (keep && t_dice(2))
        t_nap_ms(t_dice(t_is_pg() ? 20 : 3));
    if (keep) {
        t_commit(by->conn);
        committed(by, load);
    } else {
        t_rollback(by->conn);
    }
}

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void produce(struct fleet *fleet, int number)
{
    struct producer *by = calloc(1, sizeof(*by));
    const struct plan *plan = &fleet->plan;
    int64_t start = now_ms();
    int made = 0;

    CHECK(by != NULL);
    *by = (struct producer){ .fleet = fleet, .number = number };
    by->store = t_open(NULL);
    by->conn = t_connect();
    while (made < plan->messages) {
        int64_t due = start + (int64_t)made * plan->duration_ms / plan->messages, now = now_ms();
        struct load load;

        if (due > now)
            t_nap_ms((unsigned)(due - now));
        load_make(by, 1 + t_dice(AT_ONCE_MAX), &load);
        store(by, &load);
        made += (int)load.count;
    }
    t_disconnect(by->conn);
    ph_close(by->store);
    free(by);
}
