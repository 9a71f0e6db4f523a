/* stream_scene.c - streams, instances, inbox, receptors and checkpoints for the table in scene.c. */
#include "scene.h"

static ph_message in_stream(const char *stream)
{
    ph_message message = PH_MESSAGE_INIT;

    message.topic = "topic";
    message.payload = "payload";
    message.stream = stream;
    return message;
}

static ph_inbox_message from_elsewhere(const char *id)
{
    ph_inbox_message message = PH_INBOX_MESSAGE_INIT;

    message.source = "elsewhere";
    message.source_id = id;
    message.topic = "topic";
    message.payload = "payload";
    message.stream = "in";
    return message;
}

static ph_work_batch_opts a_call(const struct scene *scene)
{
    ph_work_batch_opts opts = PH_WORK_BATCH_OPTS_INIT;

    opts.instance_id = scene->owner;
    opts.service_name = "shop";
    opts.metadata = "{\"a\": 1}";
    opts.max_partitions = 5;
    return opts;
}

static int call(struct scene *scene, ph_tx tx, const ph_work_batch_opts *opts, ph_work_batch **ret)
{
    ph_work_batch *batch = NULL;
    int r = ph_process_work_batch(scene->store, tx, opts, 0, &batch, &t_err);

    CHECK(r == 0 || batch == NULL);
    if (ret)
        *ret = batch;
    else
        ph_work_batch_free(batch);
    return r;
}

/* An instance that has a run of the stream "a" and one of the inbox's; "b" is blocked by a dead
 * head, which is the last of the ids; "c" is ready, and its second message has expired. */
void scene_add_streams(struct scene *scene)
{
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_work_batch_opts opts = a_call(scene);
    ph_message messages[9];
    ph_inbox_message received[3];
    ph_checkpoint_result checkpoint = { PH_OUTBOX, NULL, "a", "reader", 3, false, NULL };
    ph_receptor_result receptor = { .receptor = "bill" };
    ph_work_batch *batch;
    ph_batch *dead;

    settings.dead_head = PH_DEAD_HEAD_BLOCK;
    OK(ph_outbox_queue_set(scene->store, PH_OWN_TX, NULL, &settings, 0, &t_err));
    for (int i = 0; i < 2; i++)
        messages[i] = in_stream("b");
    OK(ph_enqueue_many(scene->store, PH_OWN_TX, messages, 2, 0, NULL, &t_err));
    dead = t_claim(scene->store, scene->owner, 1);
    scene->ids[2] = ph_batch_at(dead, 0)->work_id;
    scene->leases[2] = ph_lease_ref_of(ph_batch_at(dead, 0));
    ph_batch_free(dead);
    OK(ph_outbox_fail(scene->store, PH_OWN_TX, scene->owner, &scene->leases[2], 1, "why", 0, NULL,
                      &t_err));
    for (int i = 0; i < 5; i++)
        messages[i] = in_stream("a");
    OK(ph_enqueue_many(scene->store, PH_OWN_TX, messages, 5, 0, NULL, &t_err));
    for (int i = 0; i < 3; i++)
        received[i] = from_elsewhere(i == 0 ? "1" : i == 1 ? "2" : "3");
    OK(ph_inbox_receive_many(scene->store, PH_OWN_TX, received, 3, 0, NULL, &t_err));
    opts.batch_size = 3;
    opts.stale_threshold_s = 1;
    OK(call(scene, PH_OWN_TX, &opts, &batch));
    CHECK_INT(ph_batch_count(batch->outbox), 3);
    for (size_t i = 0; i < 2; i++) {
        scene->leases[i] = ph_lease_ref_of(ph_batch_at(batch->outbox, i));
        scene->ids[i] = scene->leases[i].work_id;
        scene->messages[i] = ph_batch_at(batch->outbox, i)->message_id;
    }
    scene->leases[2] = ph_lease_ref_of(ph_batch_at(batch->inbox, 0));
    ph_work_batch_free(batch);
    OK(ph_checkpoint_report(scene->store, PH_OWN_TX, &checkpoint, 1, 0, &t_err));
    receptor.work_id = scene->ids[1];
    OK(ph_receptor_report(scene->store, PH_OWN_TX, &receptor, 1, 0, &t_err));
    for (int i = 0; i < 4; i++)
        messages[i] = in_stream("c");
    messages[0].expires_at = messages[1].expires_at = T_EPOCH + 2 * T_SECOND;
    OK(ph_enqueue_many(scene->store, PH_OWN_TX, messages, 4, 0, NULL, &t_err));
    t_clock_advance(scene->store, 2 * T_SECOND);
}

/* Every part, and each does something. */
static int work_batch(struct scene *scene, ph_tx tx)
{
    ph_work_batch_opts opts = a_call(scene);
    ph_settlement outbox[] = { { scene->leases[0], PH_ACK, NULL, PH_DELAY_POLICY },
                               { scene->leases[1], PH_ABANDON, "again", PH_DELAY_POLICY } };
    ph_settlement inbox = { scene->leases[2], PH_FAIL, "never", PH_DELAY_POLICY };
    ph_receptor_result receptors[] = { { scene->ids[0], "mail", false, NULL },
                                       { scene->ids[0], "bill", true, "no paper" } };
    ph_checkpoint_result checkpoints[] = { { PH_OUTBOX, NULL, "a", "reader", 1, false, NULL },
                                           { PH_INBOX, NULL, "in", "reader", 1, true, "no" } };
    ph_message new_outbox[] = { in_stream("a"), in_stream("new") };
    ph_inbox_message new_inbox = from_elsewhere("4");
    ph_lease_ref renew = scene->leases[2];

    opts.outbox = outbox;
    opts.outbox_count = 2;
    opts.inbox = &inbox;
    opts.inbox_count = 1;
    opts.receptors = receptors;
    opts.receptor_count = 2;
    opts.checkpoints = checkpoints;
    opts.checkpoint_count = 2;
    opts.new_outbox = new_outbox;
    opts.new_outbox_count = 2;
    opts.new_inbox = &new_inbox;
    opts.new_inbox_count = 1;
    opts.renew_inbox = &renew;
    opts.renew_inbox_count = 1;
    return call(scene, tx, &opts, NULL);
}

/* Another instance finds the first one dead. */
static int work_batch_evicts(struct scene *scene, ph_tx tx)
{
    ph_work_batch_opts opts = a_call(scene);

    opts.instance_id = (ph_owner){ { 1 } };
    return call(scene, tx, &opts, NULL);
}

static int instance_leave(struct scene *scene, ph_tx tx)
{
    return ph_instance_leave(scene->store, tx, scene->owner, 0, NULL, &t_err);
}

static int instance_list(struct scene *scene, ph_tx tx)
{
    ph_instances *list = NULL;
    int r = ph_instance_list(scene->store, tx, T_OPTS(ph_instance_list_opts, .ended_too = true), 0,
                             &list, &t_err);

    CHECK(r == 0 || list == NULL);
    ph_instances_free(list);
    return r;
}

static int stream_list(struct scene *scene, ph_tx tx)
{
    ph_stream_list_opts opts = PH_STREAM_LIST_OPTS_INIT;
    ph_streams *list = NULL;
    int r;

    opts.idle_too = true;
    r = ph_stream_list(scene->store, tx, &opts, 0, &list, &t_err);
    CHECK(r == 0 || list == NULL);
    CHECK(r < 0 || ph_streams_count(list) == 3);
    ph_streams_free(list);
    return r;
}

static int stream_read(struct scene *scene, ph_tx tx)
{
    ph_messages *list = NULL;
    int r = ph_stream_read(scene->store, tx, PH_OUTBOX, NULL, "a", 1, 0, 0, &list, &t_err);

    CHECK(r == 0 || list == NULL);
    CHECK(r < 0 || ph_messages_count(list) == 4);
    ph_messages_free(list);
    return r;
}

static int checkpoint_report(struct scene *scene, ph_tx tx)
{
    ph_checkpoint_result results[] = { { PH_OUTBOX, NULL, "a", "reader", 5, false, NULL },
                                       { PH_OUTBOX, NULL, "b", "reader", 1, true, "why" } };

    return ph_checkpoint_report(scene->store, tx, results, 2, 0, &t_err);
}

static int checkpoint_rewind(struct scene *scene, ph_tx tx)
{
    return ph_checkpoint_rewind(scene->store, tx, PH_OUTBOX, NULL, "a", "reader", 1, 0, NULL,
                                &t_err);
}

static int checkpoint_list(struct scene *scene, ph_tx tx)
{
    ph_checkpoints *list = NULL;
    int r = ph_checkpoint_list(scene->store, tx, T_OPTS(ph_checkpoint_list_opts, .stream = "a"), 0,
                               &list, &t_err);

    CHECK(r == 0 || list == NULL);
    CHECK(r < 0 || ph_checkpoints_at(list, 0)->ahead == 1);
    ph_checkpoints_free(list);
    return r;
}

static int receptor_report(struct scene *scene, ph_tx tx)
{
    ph_receptor_result results[] = { { scene->ids[0], "mail", false, NULL },
                                     { scene->ids[1], "mail", true, "no paper" } };

    return ph_receptor_report(scene->store, tx, results, 2, 0, &t_err);
}

static int receptor_list(struct scene *scene, ph_tx tx)
{
    ph_receptors *list = NULL;
    int r =
        ph_receptor_list(scene->store, tx, T_OPTS(ph_receptor_list_opts, .work_id = scene->ids[1]),
                         0, &list, &t_err);

    CHECK(r == 0 || list == NULL);
    CHECK(r < 0 || ph_receptors_count(list) == 1);
    ph_receptors_free(list);
    return r;
}

static int retry_blocking(struct scene *scene, ph_tx tx)
{
    ph_work_id copy;

    return ph_dead_retry(scene->store, tx, &scene->ids[2], 1, 0, &copy, &t_err);
}

static int discard_blocking(struct scene *scene, ph_tx tx)
{
    return ph_dead_discard(scene->store, tx, &scene->ids[2], 1, 0, NULL, &t_err);
}

static int unblock(struct scene *scene, ph_tx tx)
{
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;

    settings.dead_head = PH_DEAD_HEAD_SKIP;
    return ph_outbox_queue_set(scene->store, tx, NULL, &settings, 0, &t_err);
}

/* The head has expired, and what follows it. */
static int claim(struct scene *scene, ph_tx tx)
{
    ph_batch *batch = NULL;
    int r = ph_outbox_claim(scene->store, tx, scene->owner, NULL, 0, &batch, &t_err);

    CHECK(r == 0 || batch == NULL);
    ph_batch_free(batch);
    return r;
}

const struct verb stream_verbs[STREAM_VERBS] = {
    { "work_batch", WITH_STREAMS, false, work_batch },
    { "work_batch that evicts", WITH_STREAMS, false, work_batch_evicts },
    { "instance_leave", WITH_STREAMS, false, instance_leave },
    { "instance_list", WITH_STREAMS, false, instance_list },
    { "stream_list", WITH_STREAMS, false, stream_list },
    { "stream_read", WITH_STREAMS, false, stream_read },
    { "receptor_report", WITH_STREAMS, false, receptor_report },
    { "receptor_list", WITH_STREAMS, false, receptor_list },
    { "checkpoint_report", WITH_STREAMS, false, checkpoint_report },
    { "checkpoint_rewind", WITH_STREAMS, false, checkpoint_rewind },
    { "checkpoint_list", WITH_STREAMS, false, checkpoint_list },
    { "dead_retry of a blocking head", WITH_STREAMS, false, retry_blocking },
    { "dead_discard of a blocking head", WITH_STREAMS, false, discard_blocking },
    { "queue_set that unblocks", WITH_STREAMS, false, unblock },
    { "claim of streams", WITH_STREAMS, false, claim },
};
