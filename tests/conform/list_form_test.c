/* list_form_test.c - every list has the same form: options, count, items, free (inspect.h). */
#include "common.h"

/* What this library does not know of options, set by a newer program. */
#define NEWER(opts_type)                                                                           \
    struct {                                                                                       \
        opts_type known;                                                                           \
        size_t later;                                                                              \
    }

static void refused(int status, const char *because)
{
    CHECK_INT(status, PH_EINVAL);
    CHECK(strstr(t_err.message, because) != NULL);
}

/* name, of what (outbox and its like list messages), and the options that it needs. */
#define HAS_THE_FORM(store, name, what, ...)                                                       \
    do {                                                                                           \
        ph_##what##_list_opts opts = { .size = sizeof(opts), __VA_ARGS__ };                        \
        NEWER(ph_##what##_list_opts) newer = { opts, 0 };                                          \
        ph_##what##s *list = NULL;                                                                 \
                                                                                                   \
        newer.known.size = sizeof(newer);                                                          \
        OK(ph_##name##_list(store, PH_OWN_TX, &newer.known, 0, &list, &t_err));                    \
        CHECK(ph_##what##s_count(list) > 0);                                                       \
        CHECK(ph_##what##s_at(list, 0) != NULL);                                                   \
        CHECK(ph_##what##s_at(list, ph_##what##s_count(list)) == NULL);                            \
        ph_##what##s_free(list);                                                                   \
        list = NULL;                                                                               \
        newer.later = 1;                                                                           \
        refused(ph_##name##_list(store, PH_OWN_TX, &newer.known, 0, &list, &t_err),                \
                "ph_" #what "_list_opts: sets a member");                                          \
        refused(ph_##name##_list(store, PH_OWN_TX, &opts, 0, NULL, &t_err), "ret_list is NULL");   \
        opts.size = 0;                                                                             \
        refused(ph_##name##_list(store, PH_OWN_TX, &opts, 0, &list, &t_err),                       \
                "ph_" #what "_list_opts: the member size is not set");                             \
        CHECK(list == NULL);                                                                       \
        CHECK_INT(ph_##what##s_count(NULL), 0);                                                    \
        CHECK(ph_##what##s_at(NULL, 0) == NULL);                                                   \
        ph_##what##s_free(NULL);                                                                   \
    } while (0)

/* One of everything, as far as it can be made in a line or two. */
static ph_work_id make_things(ph_store *store)
{
    ph_work_batch_opts heart = PH_WORK_BATCH_OPTS_INIT;
    ph_inbox_message in = PH_INBOX_MESSAGE_INIT;
    ph_checkpoint_result reached = { PH_OUTBOX, NULL, "a", "c", 1, false, NULL };
    ph_receptor_result done = { .receptor = "r" };
    ph_work_batch *batch = NULL;
    ph_message m = PH_MESSAGE_INIT;
    ph_timer timer = PH_TIMER_INIT;
    ph_job job = PH_JOB_INIT;
    ph_enqueued out;
    ph_join_id join;

    m.topic = in.topic = timer.topic = job.topic = "t";
    m.payload = in.payload = timer.payload = "p";
    m.stream = in.source = in.source_id = job.name = "a";
    timer.due_at = T_EPOCH;
    job.cron = "@daily";
    OK(ph_enqueue(store, PH_OWN_TX, &m, 0, &out, &t_err));
    OK(ph_inbox_receive(store, PH_OWN_TX, &in, 0, NULL, &t_err));
    OK(ph_timer_schedule(store, PH_OWN_TX, &timer, 0, NULL, &t_err));
    OK(ph_job_set(store, PH_OWN_TX, &job, 0, NULL, &t_err));
    OK(ph_job_trigger(store, PH_OWN_TX, job.name, 0, NULL, &t_err));
    OK(ph_join_start(store, PH_OWN_TX, 1, NULL, 0, &join, &t_err));
    done.work_id = out.work_id;
    OK(ph_receptor_report(store, PH_OWN_TX, &done, 1, 0, &t_err));
    OK(ph_checkpoint_report(store, PH_OWN_TX, &reached, 1, 0, &t_err));
    heart.instance_id = ph_owner_new();
    heart.service_name = "s";
    heart.flags = PH_BATCH_NO_OUTBOX | PH_BATCH_NO_INBOX;
    OK(ph_process_work_batch(store, PH_OWN_TX, &heart, 0, &batch, &t_err));
    ph_work_batch_free(batch);
    return out.work_id;
}

TEST(every_list_has_the_same_form)
{
    ph_store *store = t_open(NULL);
    ph_work_id id = make_things(store);

    HAS_THE_FORM(store, outbox, message, .limit = 1);
    HAS_THE_FORM(store, inbox, message, .limit = 1);
    HAS_THE_FORM(store, timers, message, .limit = 1);
    HAS_THE_FORM(store, job_runs, message, .limit = 1);
    HAS_THE_FORM(store, queue, queue, .door = PH_INBOX);
    HAS_THE_FORM(store, job, job, .name = "a");
    HAS_THE_FORM(store, join, join, .state = PH_JOIN_PENDING);
    HAS_THE_FORM(store, stream, stream, .stream = "a");
    HAS_THE_FORM(store, instance, instance, .service = "s");
    HAS_THE_FORM(store, receptor, receptor, .work_id = id);
    HAS_THE_FORM(store, checkpoint, checkpoint, .stream = "a");
}

/* Options may be left out where nothing in them is required. */
TEST(no_options_are_the_defaults)
{
    ph_store *store = t_open(NULL);
    ph_receptors *receptors = NULL;
    ph_checkpoints *checkpoints = NULL;
    ph_instances *instances = NULL;
    ph_queues *queues = NULL;

    make_things(store);
    OK(ph_queue_list(store, PH_OWN_TX, NULL, 0, &queues, &t_err));
    CHECK_INT(ph_queues_count(queues), 1); /* of the outbox */
    CHECK_INT(ph_queues_at(queues, 0)->counts.ready, 1);
    OK(ph_instance_list(store, PH_OWN_TX, NULL, 0, &instances, &t_err));
    CHECK_INT(ph_instances_count(instances), 1);
    refused(ph_receptor_list(store, PH_OWN_TX, NULL, 0, &receptors, &t_err), "work_id is empty");
    refused(ph_checkpoint_list(store, PH_OWN_TX, NULL, 0, &checkpoints, &t_err), "stream is NULL");
    CHECK(receptors == NULL && checkpoints == NULL);
    ph_close(store); /* a list is a copy */
    CHECK_STR(ph_queues_at(queues, 0)->ns, "");
    CHECK_STR(ph_instances_at(instances, 0)->service, "s");
    ph_instances_free(instances);
    ph_queues_free(queues);
}
