/* check_first.c - arguments are checked before a database is touched: with the server down, or the
 * file missing, a wrong one is still said to be wrong. tests/meta looks whether all verbs are here. */
#include "harness.h"

#include <stdio.h>
#include <string.h>

#include <posthorn/coordination.h>
#include <posthorn/dispatcher.h>
#include <posthorn/inbox.h>
#include <posthorn/join.h>
#include <posthorn/schedule.h>

static const char bad[] = "\xff"; /* as a name: not UTF-8 */

static void refused(int r, const char *verb)
{
    if (r != PH_EINVAL || t_err.code != PH_EINVAL || !*t_err.message)
        printf("%s: %d: %s\n", verb, r, t_err.message);
    CHECK_INT(r, PH_EINVAL);
    CHECK_INT(t_err.code, PH_EINVAL);
    CHECK(*t_err.message);
    t_err = (ph_error){ 0 };
}

/* Of a verb with a caller's transaction, of one without. */
#define WRONG(verb, ...) refused(verb(store, PH_OWN_TX, __VA_ARGS__, &t_err), #verb)
#define WRONG_OWN(verb, ...) refused(verb(store, __VA_ARGS__, &t_err), #verb)

static const ph_owner nobody;
static const ph_owner owner = { { 1 } };
static const ph_settlement no_verb = { .verb = (ph_settle_verb)77 };
static const ph_lease_ref no_fence = { .fence = -1 };

#define WORKERS(door)                                                                              \
    static void workers_of_##door(ph_store *store)                                                 \
    {                                                                                              \
        WRONG(ph_##door##_claim, nobody, NULL, 0, &(ph_batch *){ NULL });                          \
        WRONG(ph_##door##_claim, owner, NULL, 0, NULL);                                            \
        WRONG(ph_##door##_settle, owner, &no_verb, 1, 0, NULL);                                    \
        WRONG(ph_##door##_settle, nobody, &no_verb, 1, 0, NULL);                                   \
        WRONG(ph_##door##_ack, owner, &no_fence, 1, 0, NULL);                                      \
        WRONG(ph_##door##_ack, nobody, NULL, 0, 0, NULL);                                          \
        WRONG(ph_##door##_abandon, owner, &no_fence, 1, NULL, 0, 0, NULL);                         \
        WRONG(ph_##door##_fail, owner, &no_fence, 1, NULL, 0, NULL);                               \
        WRONG(ph_##door##_release, owner, &no_fence, 1, 0, NULL);                                  \
        WRONG(ph_##door##_renew, owner, &no_fence, 1, 0, 0, NULL);                                 \
        WRONG(ph_##door##_renew, owner, NULL, 0, -1, 0, NULL);                                     \
        WRONG(ph_##door##_reap_expired, -1, NULL);                                                 \
        WRONG(ph_##door##_find, (ph_work_id){ { 1 } }, 0, NULL);                                   \
        WRONG(ph_##door##_count, NULL, 0, NULL);                                                   \
        WRONG(ph_##door##_list, NULL, 0, NULL);                                                    \
    }

WORKERS(outbox)
WORKERS(inbox)
WORKERS(timers)
WORKERS(job_runs)

static void producers(ph_store *store)
{
    ph_message message = PH_MESSAGE_INIT;
    ph_inbox_message inbox = PH_INBOX_MESSAGE_INIT;
    ph_timer timer = PH_TIMER_INIT;

    message.topic = inbox.topic = timer.topic = bad;
    message.payload = inbox.payload = timer.payload = "";
    WRONG(ph_enqueue, &message, 0, NULL);
    WRONG(ph_enqueue_many, &message, 1, 0, NULL);
    WRONG(ph_enqueue_many, &message, 0, 0, NULL);
    WRONG(ph_inbox_receive, &inbox, 0, NULL);
    WRONG(ph_inbox_receive_many, &inbox, 1, 0, NULL);
    WRONG(ph_timer_schedule, &timer, 0, NULL);
    WRONG(ph_timer_cancel, (ph_work_id){ { 0 } }, 0, NULL);
    WRONG_OWN(ph_doorbell_ring, bad, 0);
}

static void exchanges(ph_store *store)
{
    ph_claim_opts claim = PH_CLAIM_OPTS_INIT;
    ph_work_batch_opts opts = PH_WORK_BATCH_OPTS_INIT;
    ph_work_batch *batch = NULL;

    WRONG(ph_outbox_exchange, owner, &no_verb, 1, NULL, 0, NULL, NULL);
    WRONG(ph_outbox_exchange, owner, NULL, 0, &claim, 0, NULL, NULL);
    opts.instance_id = owner;
    opts.service_name = bad;
    WRONG(ph_process_work_batch, &opts, 0, &batch);
    opts.service_name = "service";
    opts.outbox = &no_verb;
    opts.outbox_count = 1;
    WRONG(ph_process_work_batch, &opts, 0, &batch);
    WRONG(ph_process_work_batch, &opts, 0, NULL);
}

static void operators(ph_store *store)
{
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_queue_list_opts queues = PH_QUEUE_LIST_OPTS_INIT;
    ph_schema_status status = { 0 };

    queues.ns = bad;
    settings.max_attempts = -1;
    WRONG(ph_dead_retry, NULL, 1, 0, NULL);
    WRONG(ph_dead_discard, NULL, 1, 0, NULL);
    WRONG(ph_queue_set, PH_OUTBOX, "", &settings, 0);
    WRONG(ph_queue_pause, PH_OUTBOX, bad, 0);
    WRONG(ph_queue_resume, PH_OUTBOX, bad, 0);
    WRONG(ph_queue_delete, PH_OUTBOX, bad, 0, NULL);
    WRONG(ph_queue_list, &queues, 0, &(ph_queues *){ NULL });
    WRONG(ph_queue_list, NULL, 0, NULL);
    WRONG(ph_outbox_queue_set, "", &settings, 0);
    WRONG(ph_outbox_queue_pause, bad, 0);
    WRONG(ph_outbox_queue_resume, bad, 0);
    WRONG(ph_outbox_queue_delete, bad, 0, NULL);
    WRONG(ph_retention_run, -1, 0, NULL);
    WRONG(ph_clock, 0, NULL);
    WRONG_OWN(ph_doctor, NULL, 0, NULL);
    WRONG_OWN(ph_migrate, -1, NULL);
    WRONG_OWN(ph_schema_inspect, 0, &status);
    WRONG_OWN(ph_schema_inspect, 0, NULL);
    WRONG_OWN(ph_migrate_sql, false, NULL);
}

static void joins(ph_store *store)
{
    const ph_message_id message = { { 1 } };
    const ph_join_id join = { { 1 } }, none = { { 0 } };
    ph_wait wait = PH_WAIT_INIT;

    WRONG(ph_join_start, 0, NULL, 0, &(ph_join_id){ { 0 } });
    WRONG(ph_join_attach, none, message, 0);
    WRONG(ph_join_attach_many, join, &message, 0, 0);
    WRONG(ph_join_report_completed, none, message, 0);
    WRONG(ph_join_report_failed, none, message, 0);
    WRONG(ph_join_wait, join, &wait, 0, NULL);
    WRONG(ph_join_cancel, none, 0, NULL);
    WRONG(ph_join_find, join, 0, 0, NULL);
    WRONG(ph_join_list, NULL, 0, NULL);
}

static void jobs(ph_store *store)
{
    ph_scheduler *scheduler = NULL;
    ph_schedule schedule = { 0 };
    ph_job job = PH_JOB_INIT;

    job.name = job.topic = "job";
    job.cron = "no cron";
    WRONG(ph_job_set, &job, 0, NULL);
    WRONG(ph_job_delete, bad, 0, NULL);
    WRONG(ph_job_trigger, bad, 0, NULL);
    WRONG(ph_job_pause, bad, 0);
    WRONG(ph_job_resume, bad, 0);
    WRONG(ph_job_list, NULL, 0, NULL);
    WRONG_OWN(ph_scheduler_new, NULL, NULL);
    OK(ph_scheduler_new(store, NULL, &scheduler, &t_err));
    refused(ph_scheduler_run(scheduler, 0, &schedule, &t_err), "ph_scheduler_run");
    ph_scheduler_free(scheduler);
}

static void workers_together(ph_store *store)
{
    const ph_receptor_result receptor = { .receptor = bad };
    const ph_checkpoint_result checkpoint = { .consumer = bad };
    ph_dispatcher_opts opts = PH_DISPATCHER_OPTS_INIT;
    ph_instance_list_opts instances = PH_INSTANCE_LIST_OPTS_INIT;

    instances.service = bad;
    WRONG(ph_instance_list, &instances, 0, &(ph_instances *){ NULL });
    WRONG(ph_instance_list, NULL, 0, NULL);
    WRONG(ph_instance_leave, nobody, 0, NULL);
    WRONG(ph_stream_list, NULL, 0, NULL);
    WRONG(ph_stream_read, PH_OUTBOX, "", bad, 0, 0, 0, &(ph_messages *){ NULL });
    WRONG(ph_receptor_report, &receptor, 1, 0);
    WRONG(ph_receptor_list, NULL, 0, &(ph_receptors *){ NULL });
    WRONG(ph_checkpoint_report, &checkpoint, 1, 0);
    WRONG(ph_checkpoint_rewind, PH_OUTBOX, "", "stream", bad, 0, 0, NULL);
    WRONG(ph_checkpoint_list, NULL, 0, &(ph_checkpoints *){ NULL });
    opts.ns = bad;
    WRONG_OWN(ph_dispatcher_new, &opts, &(ph_dispatcher *){ NULL });
}

static void all(const char *url)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store = NULL;
    int64_t now;

    opts.deploy_schema = true; /* nor is that done for a call that is refused */
    OK(ph_open_lazy(url, &opts, &store, &t_err));
    workers_of_outbox(store);
    workers_of_inbox(store);
    workers_of_timers(store);
    workers_of_job_runs(store);
    producers(store);
    exchanges(store);
    operators(store);
    joins(store);
    jobs(store);
    workers_together(store);
    CHECK(ph_clock(store, PH_OWN_TX, 1000, &now, &t_err) < 0); /* it is not there */
    CHECK(t_err.code != PH_EINVAL);
    ph_close(store);
}

TEST(a_wrong_argument_is_said_to_be_wrong_without_a_server)
{
    if (!strstr(ph_backends(), "postgresql"))
        t_not_here("no PostgreSQL in this build");
    all("postgresql://127.0.0.1:1/orders");
}

TEST(a_wrong_argument_is_said_to_be_wrong_without_a_file)
{
    if (!strstr(ph_backends(), "sqlite"))
        t_not_here("no SQLite in this build");
    all("sqlite:/nowhere/at/all/orders.db");
}
