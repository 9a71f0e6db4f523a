/* inbox_test.c - handlers of the inbox, alone and beside those of the outbox. */
#include "rig.h"

#include <stdlib.h>

struct seen_message {
    pthread_mutex_t mutex;
    int calls;
    char source[32], source_id[32], payload[32];
};

static ph_verdict look(void *context, ph_work *work)
{
    struct seen_message *seen = context;
    const ph_delivery *delivery = ph_work_delivery(work);

    pthread_mutex_lock(&seen->mutex);
    seen->calls++;
    snprintf(seen->source, sizeof(seen->source), "%s", delivery->source ? delivery->source : "");
    snprintf(seen->source_id, sizeof(seen->source_id), "%s",
             delivery->source_id ? delivery->source_id : "");
    snprintf(seen->payload, sizeof(seen->payload), "%s", delivery->payload);
    pthread_mutex_unlock(&seen->mutex);
    return PH_VERDICT_DONE;
}

TEST(a_message_of_the_inbox_is_handled_once_however_often_it_comes)
{
    static struct seen_message seen = { .mutex = PTHREAD_MUTEX_INITIALIZER };
    struct rig rig;

    rig_open(&rig);
    CHECK(rig_receive(&rig, "t", "7", NULL));
    CHECK(!rig_receive(&rig, "t", "7", NULL));
    rig_new(&rig);
    rig_handle_inbox(&rig, "t", look, &seen, false);
    rig_start(&rig);
    rig_drain(&rig);
    CHECK(!rig_receive(&rig, "t", "7", NULL));
    rig_drain(&rig);
    CHECK_INT(seen.calls, 1);
    CHECK_STR(seen.source, "elsewhere");
    CHECK_STR(seen.source_id, "7");
    CHECK_STR(seen.payload, "x");
    CHECK_INT(rig_stats(&rig).done, 1);
    rig_end(&rig);
}

TEST(each_door_has_handlers_of_its_own)
{
    static struct part out = { .verdict = PH_VERDICT_DONE }, in = { .verdict = PH_VERDICT_DONE };
    static struct part rest_out = { .verdict = PH_VERDICT_DONE };
    static struct part rest_in = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    rig_open(&rig);
    rig_new(&rig);
    rig_handle(&rig, "t", play, &out);
    rig_handle(&rig, NULL, play, &rest_out);
    rig_handle_inbox(&rig, "t", play, &in, false);
    rig_handle_inbox(&rig, NULL, play, &rest_in, false);
    rig_put(&rig, "t");
    for (int i = 0; i < 2; i++)
        rig_put(&rig, "other");
    rig_receive(&rig, "t", "1", NULL);
    rig_receive(&rig, "t", "2", NULL);
    rig_receive(&rig, "t", "3", NULL);
    rig_receive(&rig, "other", "4", NULL);
    rig_start(&rig);
    rig_drain(&rig);
    CHECK_INT(out.calls, 1);
    CHECK_INT(rest_out.calls, 2);
    CHECK_INT(in.calls, 3);
    CHECK_INT(rest_in.calls, 1);
    rig_end(&rig);
}

TEST(one_handler_per_topic_and_door)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    ph_handler handler = PH_HANDLER_INIT;
    struct rig rig;

    rig_open(&rig);
    rig_new(&rig);
    rig_handle(&rig, "t", play, &part);
    rig_handle_inbox(&rig, "t", play, &part, false);
    handler.topic = "t";
    handler.handle = play;
    handler.inbox = true;
    CHECK_INT(ph_dispatcher_handle(rig.dispatcher, &handler, &t_err), PH_EINVAL);
    CHECK(strstr(t_err.message, "inbox") != NULL);
    rig_end(&rig);
}

TEST(a_door_without_handlers_is_left_alone)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    ph_queue_counts counts = PH_QUEUE_COUNTS_INIT;
    struct rig rig;

    rig_open(&rig);
    rig_receive(&rig, "t", "1", NULL);
    rig_put(&rig, "t");
    rig.opts.any_topic = true;
    rig_run(&rig, "t", play, &part);
    rig_drain(&rig);
    rig_end(&rig);
    CHECK_INT(part.calls, 1);
    OK(ph_inbox_count(rig.side, PH_OWN_TX, NULL, 0, &counts, &t_err));
    CHECK_INT(counts.ready, 1);
    rig_new(&rig);
    rig_handle_inbox(&rig, "t", play, &part, false);
    rig_start(&rig);
    rig_put(&rig, "t");
    rig_drain(&rig);
    rig_end(&rig);
    CHECK_INT(part.calls, 2);
    CHECK_INT(claimable(rig.side, 10), 1);
}

static ph_verdict emit(void *context, ph_work *work)
{
    ph_message message = a_message("emitted", ph_work_delivery(work)->source_id);
    _Atomic int *calls = context;

    if (!effect_write(work) ||
        ph_enqueue(ph_work_store(work), ph_work_tx(work), &message, 0, NULL, NULL) < 0)
        return PH_VERDICT_RETRY;
    if (++*calls == 1) { /* the first time it is all undone */
        ph_work_delay(work, 0);
        return PH_VERDICT_RETRY;
    }
    return PH_VERDICT_DONE;
}

TEST(what_a_handler_writes_and_emits_commits_with_the_completion)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    static _Atomic int calls;
    struct rig rig;

    rig_open(&rig);
    effects_make(rig.conn);
    rig_new(&rig);
    rig_handle_inbox(&rig, "t", emit, &calls, true);
    rig_handle(&rig, "emitted", play, &part);
    for (int i = 0; i < 5; i++) {
        char id[8];

        snprintf(id, sizeof(id), "%d", i);
        rig_receive(&rig, "t", id, NULL);
        rig_receive(&rig, "t", id, NULL);
    }
    rig_start(&rig);
    rig_drain(&rig);
    CHECK_INT(calls, 6);
    CHECK_INT(effects(rig.conn), 5);
    CHECK_INT(effects_distinct(rig.conn), 5);
    CHECK_INT(part.calls, 5);
    CHECK_INT(rig_stats(&rig).stale, 0);
    rig_end(&rig);
}

TEST(verdicts_count_in_the_inbox_as_in_the_outbox)
{
    static struct part fails = { .verdict = PH_VERDICT_FAIL };
    static struct part retries = { .verdict = PH_VERDICT_RETRY };
    ph_queue_counts counts = PH_QUEUE_COUNTS_INIT;
    struct rig rig;

    rig_open(&rig);
    rig_new(&rig);
    rig_handle_inbox(&rig, "fail", play, &fails, false);
    rig_handle_inbox(&rig, "retry", play, &retries, false);
    rig_receive(&rig, "fail", "1", NULL);
    rig_receive(&rig, "retry", "2", NULL);
    rig_start(&rig);
    rig_drain(&rig);
    rig_end(&rig);
    OK(ph_inbox_count(rig.side, PH_OWN_TX, NULL, 0, &counts, &t_err));
    CHECK_INT(counts.dead, 1);
    CHECK_INT(counts.scheduled, 1);
}

/* Which door each message came from, in the order of handling. */
struct order {
    int count;
    bool inbox[400];
};

static ph_verdict note_door(void *context, ph_work *work)
{
    struct order *order = context;

    order->inbox[order->count++] = ph_work_delivery(work)->source != NULL;
    return PH_VERDICT_DONE;
}

static void put_both(struct rig *rig, int count)
{
    put_many(rig->side, "t", (size_t)count, NULL);
    for (int i = 0; i < count; i++) {
        char id[12];

        snprintf(id, sizeof(id), "%d", i);
        rig_receive(rig, "t", id, NULL);
    }
}

static void run_both(struct rig *rig, struct order *order)
{
    rig->opts.threads = 1; /* so that nothing in order needs a lock */
    rig_new(rig);
    rig_handle(rig, "t", note_door, order);
    rig_handle_inbox(rig, "t", note_door, order, false);
    rig_start(rig);
    rig_drain(rig);
}

TEST(neither_door_keeps_the_other_waiting)
{
    static struct order order;
    int inbox = 0;
    struct rig rig;

    rig_open(&rig);
    put_both(&rig, 200);
    rig.opts.batch_size = 20;
    run_both(&rig, &order);
    CHECK_INT(order.count, 400);
    for (int i = 0; i < 200; i++)
        inbox += order.inbox[i];
    CHECK(inbox > 50 && inbox < 150);
    rig_end(&rig);
}

/* With room for one message only the doors take turns. */
TEST(both_doors_are_drained_with_room_for_one)
{
    static struct order order;
    int inbox = 0;
    struct rig rig;

    rig_open(&rig);
    put_both(&rig, 20);
    rig.opts.prefetch = -1;
    rig.opts.batch_size = 1;
    run_both(&rig, &order);
    CHECK_INT(order.count, 40);
    for (int i = 0; i < 20; i++)
        inbox += order.inbox[i];
    CHECK(inbox > 5 && inbox < 15);
    rig_receive(&rig, "t", "late", NULL);
    rig_drain(&rig);
    CHECK_INT(order.count, 41);
    rig_put(&rig, "t");
    rig_drain(&rig);
    CHECK_INT(order.count, 42);
    rig_end(&rig);
}

TEST(the_doorbell_rings_for_the_inbox_too)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    struct rig rig;
    double began;

    rig_open(&rig);
    rig.opts.poll_ms = 10000;
    rig_new(&rig);
    rig_handle_inbox(&rig, "t", play, &part, false);
    rig_start(&rig);
    for (int i = 0; i < 5; i++) { /* by then it sleeps for seconds */
        int64_t before = rig_stats(&rig).empty_claims;

        AWAIT(rig_stats(&rig).empty_claims > before);
    }
    began = t_now_s();
    rig_receive(&rig, "t", "1", NULL);
    AWAIT(part.calls == 1);
    CHECK(t_now_s() - began < 5);
    rig_end(&rig);
}

struct sequence {
    _Atomic int64_t last;
    _Atomic bool wrong;
};

static ph_verdict in_sequence(void *context, ph_work *work)
{
    struct sequence *sequence = context;

    if (ph_work_delivery(work)->seq != sequence->last + 1)
        sequence->wrong = true;
    sequence->last = ph_work_delivery(work)->seq;
    return PH_VERDICT_DONE;
}

TEST(streams_of_the_inbox_keep_their_order)
{
    static struct sequence sequence;
    struct rig rig;

    rig_open(&rig);
    for (int i = 0; i < 100; i++) {
        char id[8];

        snprintf(id, sizeof(id), "%d", i);
        rig_receive(&rig, "t", id, "s");
    }
    rig.opts.threads = 8;
    rig_new(&rig);
    rig_handle_inbox(&rig, "t", in_sequence, &sequence, false);
    rig_start(&rig);
    rig_drain(&rig);
    CHECK(!sequence.wrong);
    CHECK_INT(sequence.last, 100);
    rig_end(&rig);
}
