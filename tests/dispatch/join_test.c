/* join_test.c - a dispatcher settles the steps of joins; handlers know nothing of them, and get
 * what the joins send. */
#include "rig.h"

#include "joins.h"

#define STEPS 40

static ph_verdict step(void *context, ph_work *work)
{
    _Atomic int *calls = context;

    (*calls)++;
    if (strcmp(ph_work_delivery(work)->payload, "bad") == 0)
        return PH_VERDICT_FAIL;
    return PH_VERDICT_DONE;
}

/* What a handler of continuations has seen. */
static struct {
    _Atomic int calls;
    char payload[40], join_id[PH_ID_TEXT_SIZE], join_status[20];
} next;

static ph_verdict go_on(void *context, ph_work *work)
{
    const ph_delivery *d = ph_work_delivery(work);

    (void)context;
    snprintf(next.payload, sizeof(next.payload), "%s", d->payload);
    snprintf(next.join_id, sizeof(next.join_id), "%s", json_text(d->headers, "join_id"));
    snprintf(next.join_status, sizeof(next.join_status), "%s",
             json_text(d->headers, "join_status"));
    next.calls++;
    return PH_VERDICT_DONE;
}

/* A join with steps, of which so many fail, and a wait. */
static ph_join_id prepare(struct rig *rig, int failing)
{
    ph_message messages[STEPS];
    ph_join_id join = start_join(rig->side, STEPS);

    for (int i = 0; i < STEPS; i++) {
        messages[i] = a_message(STEP, i < failing ? "bad" : "good");
        messages[i].join_id = &join;
    }
    OK(ph_enqueue_many(rig->side, PH_OWN_TX, messages, STEPS, 0, NULL, &t_err));
    wait_for(rig->side, join, true);
    return join;
}

static void drain_joins(bool in_tx)
{
    _Atomic int calls = 0;
    char id[PH_ID_TEXT_SIZE];
    struct rig rig;
    ph_join_id join;

    rig_open(&rig);
    rig_new(&rig);
    if (in_tx)
        rig_handle_in_tx(&rig, STEP, step, &calls);
    else
        rig_handle(&rig, STEP, step, &calls);
    rig_handle(&rig, GOOD, go_on, NULL);
    rig_handle(&rig, BAD, go_on, NULL);
    rig_start(&rig);
    join = prepare(&rig, 0);
    rig_drain(&rig); /* the continuation, too */
    REQ_STR("OBX-089 JOIN-030", standing(rig.side, join), "40+0/40 completed");
    REQ_INT("OBX-093 JOIN-056", next.calls, 1);
    CHECK_STR(next.payload, "good");
    CHECK_STR(next.join_id, ph_id_text(join.b, id));
    CHECK_STR(next.join_status, "completed");
    join = prepare(&rig, 7);
    rig_drain(&rig);
    REQ_STR("OBX-089 JOIN-031", standing(rig.side, join), "33+7/40 failed");
    REQ_INT("OBX-094 JOIN-056", next.calls, 2);
    CHECK_STR(next.payload, "bad");
    CHECK_STR(next.join_id, ph_id_text(join.b, id));
    CHECK_STR(next.join_status, "failed");
    CHECK_INT(calls, 2 * STEPS);
    rig_end(&rig);
    t_check_joins(rig.conn);
}

TEST(a_dispatcher_counts_steps_and_hands_out_what_joins_send)
{
    drain_joins(false);
}

TEST(a_dispatcher_counts_steps_of_handlers_in_transactions)
{
    drain_joins(true);
}

/* Two stages: the handler of the first continuation starts the second join. */
static struct {
    _Atomic int stages;
    ph_join_id second;
} stage;

static ph_verdict next_stage(void *context, ph_work *work)
{
    ph_store *store = ph_work_store(work);
    ph_tx tx = ph_work_tx(work);
    ph_message message = a_message(STEP, "good");
    ph_wait wait = a_wait(true);

    (void)context;
    wait.on_complete_topic = "end";
    OK(ph_join_start(store, tx, 1, NULL, 0, &stage.second, NULL));
    message.join_id = &stage.second;
    OK(ph_enqueue(store, tx, &message, 0, NULL, NULL));
    OK(ph_join_wait(store, tx, stage.second, &wait, 0, NULL, NULL));
    stage.stages++;
    return PH_VERDICT_DONE;
}

TEST(stages_follow_each_other)
{
    _Atomic int calls = 0;
    struct rig rig;

    rig_open(&rig);
    rig_new(&rig);
    rig_handle(&rig, STEP, step, &calls);
    rig_handle_in_tx(&rig, GOOD, next_stage, NULL);
    rig_handle(&rig, "end", go_on, NULL);
    rig_start(&rig);
    prepare(&rig, 0);
    rig_drain(&rig);
    CHECK_INT(stage.stages, 1);
    CHECK_INT(next.calls, 1);
    CHECK_INT(calls, STEPS + 1);
    CHECK_STR(standing(rig.side, stage.second), "1+0/1 completed");
    rig_end(&rig);
    t_check_joins(rig.conn);
}
