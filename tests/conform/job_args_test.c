/* job_args_test.c - every argument of the functions of jobs at its edges. */
#include "doors.h"

/* It says exactly this, answers nothing, and stores nothing. */
static void refused(ph_store *store, const ph_job *job, const char *says)
{
    struct t_conn *conn = t_connect();
    bool is_new = true;

    CHECK_INT(ph_job_set(store, PH_OWN_TX, job, 0, &is_new, &t_err), PH_EINVAL);
    CHECK_INT(t_err.code, PH_EINVAL);
    CHECK_STR(t_err.message, says);
    is_new = false;
    CHECK_INT(ph_job_set(store, PH_OWN_TX, job, 0, &is_new, NULL), PH_EINVAL);
    CHECK(!is_new);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}job"), 0);
    t_disconnect(conn);
}

TEST(name_topic_and_cron_of_a_job_are_required)
{
    ph_store *store = t_open(NULL);
    ph_job job = a_job(NULL, "@daily");

    refused(store, NULL, "job is NULL");
    refused(store, &job, "name is NULL; it is required");
    job.name = "";
    refused(store, &job, "name is empty; it is required");
    job = a_job("j", "@daily");
    job.topic = NULL;
    refused(store, &job, "topic is NULL; it is required");
    job.topic = "";
    refused(store, &job, "topic is empty; it is required");
    job = a_job("j", NULL);
    refused(store, &job, "cron is empty; give an expression such as \"0 3 * * *\"");
    job.cron = "";
    refused(store, &job, "cron is empty; give an expression such as \"0 3 * * *\"");
}

TEST(texts_of_a_job_are_checked)
{
    ph_store *store = t_open(NULL);
    char *fits = repeated("\xe2\x82\xac", 255), *over = repeated("\xe2\x82\xac", 256);
    ph_job job = a_job(over, "@daily");

    refused(store, &job, "name has 256 characters; at most 255 are allowed");
    job.name = "\xc3";
    refused(store, &job, "name is not valid UTF-8");
    job = a_job("j", "@daily");
    job.topic = over;
    refused(store, &job, "topic has 256 characters; at most 255 are allowed");
    job.topic = "\xff";
    refused(store, &job, "topic is not valid UTF-8");
    job = a_job("j", "@daily");
    job.ns = over;
    refused(store, &job, "namespace has 256 characters; at most 255 are allowed");
    job = a_job("j", "@daily");
    job.payload = "\xff";
    refused(store, &job, "payload is not valid UTF-8, or holds a NUL");
    job.payload = "a\0b";
    job.payload_length = 3;
    refused(store, &job, "payload is not valid UTF-8, or holds a NUL");
    job.payload_length = (size_t)PH_PAYLOAD_MAX + 1;
    refused(store, &job, "payload has 67108865 bytes; at most 67108864 are allowed");
    job = a_job(fits, "@daily");
    job.topic = job.ns = fits;
    set_job(store, &job);
    CHECK_STR(see_job(store, fits).cron, "@daily");
}

TEST(expressions_that_are_wrong_or_never_true_are_refused)
{
    static const struct {
        const char *cron, *says;
    } bad[] = {
        { "0 0 30 2 *", "cron: \"0 0 30 2 *\" never fires; no date matches it" },
        { "0 0 31 4,6,9,11 *", "cron: \"0 0 31 4,6,9,11 *\" never fires; no date matches it" },
        { "60 * * * *", NULL },
        { "* * * *", NULL },
        { "hello", NULL },
        { "@reboot", NULL },
        { "* * * * * * *", NULL },
        { " ", NULL },
    };
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        ph_job job = a_job("j", bad[i].cron);

        printf("%s\n", bad[i].cron);
        REQ_INT("JOB-009", ph_job_set(store, PH_OWN_TX, &job, 0, NULL, &t_err), PH_EINVAL);
        if (bad[i].says)
            CHECK_STR(t_err.message, bad[i].says);
        CHECK(strncmp(t_err.message, "cron: ", 6) == 0);
    }
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}job"), 0);
}

TEST(an_expression_has_at_most_255_bytes)
{
    ph_store *store = t_open(NULL);
    char text[300];
    ph_job job = a_job("j", text);

    memset(text, ' ', sizeof(text));
    memcpy(text, "0 0 * * *", 9);
    text[PH_CRON_MAX] = '\0';
    set_job(store, &job);
    CHECK_STR(see_job(store, "j").cron, text);
    OK(ph_job_delete(store, PH_OWN_TX, "j", 0, NULL, &t_err));
    text[PH_CRON_MAX] = ' ';
    text[PH_CRON_MAX + 1] = '\0';
    refused(store, &job, "cron has 256 bytes; at most 255 are allowed");
}

TEST(zones_that_are_not_there_are_refused)
{
    static const char *const bad[] = {
        "Nowhere/City", "../../etc/passwd", "/etc/localtime", "Europe",
        "a b",          "Europe/Berlin\n",  "europe/berlin",  "right/UTC"
    };
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_job job = a_job("j", "@daily");

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        printf("%s\n", bad[i]);
        job.timezone = bad[i];
        CHECK_INT(ph_job_set(store, PH_OWN_TX, &job, 0, NULL, &t_err), PH_EINVAL);
        CHECK(strstr(t_err.message, "time zone") != NULL);
    }
    job.timezone = "";
    refused(store, &job, "timezone is empty; it is required");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}job"), 0);
    job.timezone = "Nowhere/City";
    refused(store, &job,
            "there is no time zone \"Nowhere/City\"; give one such as Europe/Berlin, and check "
            "that the zone files (package tzdata) are installed");
}

TEST(numbers_of_a_job_are_checked)
{
    ph_store *store = t_open(NULL);
    ph_job job = a_job("j", "@daily");

    job.misfire = (ph_misfire)4;
    refused(store, &job, "misfire 4 is not a ph_misfire");
    job.misfire = (ph_misfire)-1;
    refused(store, &job, "misfire -1 is not a ph_misfire");
    job = a_job("j", "@daily");
    job.overlap = (ph_overlap)3;
    refused(store, &job, "overlap 3 is not a ph_overlap");
    job = a_job("j", "@daily");
    job.misfire_limit = -1;
    refused(store, &job, "misfire_limit is -1; give 1 to 10000, or 0 for 100");
    job.misfire_limit = PH_MISFIRE_LIMIT_MAX + 1;
    refused(store, &job, "misfire_limit is 10001; give 1 to 10000, or 0 for 100");
    job.misfire_limit = PH_MISFIRE_LIMIT_MAX;
    set_job(store, &job);
}

/* A change that is refused leaves the job as it was. */
TEST(a_bad_change_changes_nothing)
{
    ph_store *store = t_open(NULL);
    ph_job job = a_job("j", "@daily");
    struct job_seen s;

    t_clock_set(store, T_EPOCH);
    set_job(store, &job);
    t_clock_advance(store, T_SECOND);
    job.topic = "other";
    job.cron = "61 * * * *";
    CHECK_INT(ph_job_set(store, PH_OWN_TX, &job, 0, NULL, &t_err), PH_EINVAL);
    s = see_job(store, "j");
    CHECK_STR(s.topic, "work");
    CHECK_STR(s.cron, "@daily");
    CHECK_INT(s.updated_at, T_EPOCH);
}

TEST(the_size_of_a_job_is_looked_at)
{
    struct {
        ph_job job;
        int64_t newer;
    } longer = { a_job("j", "@daily"), 1 };
    ph_store *store = t_open(NULL);
    ph_job job = a_job("j", "@daily");

    job.size = 0;
    refused(store, &job,
            "ph_job: the member size is not set; initialise the struct with its _INIT macro");
    longer.job.size = sizeof(longer);
    CHECK_INT(ph_job_set(store, PH_OWN_TX, &longer.job, 0, NULL, &t_err), PH_EINVAL);
    longer.newer = 0;
    set_job(store, &longer.job);
    job.size = offsetof(ph_job, timezone); /* an older caller, without zone and all that follows */
    job.timezone = "not read";
    set_job(store, &job);
    CHECK_STR(see_job(store, "j").timezone, "UTC");
}

static void names_are_checked(int (*call)(ph_store *store, const char *name))
{
    ph_store *store = t_open(NULL);

    CHECK_INT(call(NULL, "j"), PH_EINVAL);
    CHECK_STR(t_err.message, "store is NULL; open one with ph_open()");
    CHECK_INT(call(store, NULL), PH_EINVAL);
    CHECK_STR(t_err.message, "name is NULL; it is required");
    CHECK_INT(call(store, ""), PH_EINVAL);
    CHECK_STR(t_err.message, "name is empty; it is required");
    CHECK_INT(call(store, "\xff"), PH_EINVAL);
    CHECK_STR(t_err.message, "name is not valid UTF-8");
    CHECK_INT(call(store, repeated("a", 256)), PH_EINVAL);
    CHECK_STR(t_err.message, "name has 256 characters; at most 255 are allowed");
}

static void must_exist(int (*call)(ph_store *store, const char *name))
{
    ph_store *store = t_open(NULL);

    put_job(store, "Job", "@daily");
    CHECK_INT(call(store, "job"), PH_ENOTFOUND);
    CHECK_INT(t_err.code, PH_ENOTFOUND);
    CHECK_STR(t_err.message, "there is no job of this name; see ph_job_list()");
    OK(call(store, "Job"));
}

static int call_delete(ph_store *store, const char *name)
{
    bool deleted = true;
    int r = ph_job_delete(store, PH_OWN_TX, name, 0, &deleted, &t_err);

    CHECK(deleted == (r < 0));
    return r;
}

static int call_trigger(ph_store *store, const char *name)
{
    ph_work_id run = { { 0 } };
    int r = ph_job_trigger(store, PH_OWN_TX, name, 0, &run, &t_err);

    CHECK(ph_id_is_zero(run.b) == (r < 0));
    return r;
}

static int call_pause(ph_store *store, const char *name)
{
    return ph_job_pause(store, PH_OWN_TX, name, 0, &t_err);
}

static int call_resume(ph_store *store, const char *name)
{
    return ph_job_resume(store, PH_OWN_TX, name, 0, &t_err);
}

TEST(names_of_jobs_are_checked)
{
    names_are_checked(call_delete);
    names_are_checked(call_trigger);
    names_are_checked(call_pause);
    names_are_checked(call_resume);
    CHECK_INT(call_delete(t_open(NULL), "unknown"), 0);
}

TEST(a_job_must_exist_to_be_triggered_or_paused)
{
    must_exist(call_trigger);
    must_exist(call_pause);
    must_exist(call_resume);
}

/* What is not found does not harm the caller's transaction. */
TEST(an_unknown_job_leaves_the_transaction_healthy)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_job job = a_job("j", "never");

    t_begin(conn);
    CHECK_INT(ph_job_trigger(store, t_tx(conn), "none", 0, NULL, &t_err), PH_ENOTFOUND);
    CHECK_INT(ph_job_pause(store, t_tx(conn), "none", 0, &t_err), PH_ENOTFOUND);
    CHECK_INT(ph_job_resume(store, t_tx(conn), "none", 0, &t_err), PH_ENOTFOUND);
    CHECK_INT(ph_job_set(store, t_tx(conn), &job, 0, NULL, &t_err), PH_EINVAL);
    job.cron = "@daily";
    OK(ph_job_set(store, t_tx(conn), &job, 0, NULL, &t_err));
    t_commit(conn);
    CHECK(see_job(store, "j").there);
}

TEST(arguments_of_lists_of_jobs)
{
    ph_store *store = t_open(NULL);
    ph_job_list_opts opts = PH_JOB_LIST_OPTS_INIT;
    ph_jobs *list = NULL;

    CHECK_INT(ph_job_list(NULL, PH_OWN_TX, &opts, 0, &list, &t_err), PH_EINVAL);
    CHECK_INT(ph_job_list(store, PH_OWN_TX, &opts, 0, NULL, &t_err), PH_EINVAL);
    CHECK_STR(t_err.message, "ret_list is NULL");
    CHECK_INT(ph_job_list(store, PH_OWN_TX, &opts, -1, &list, &t_err), PH_EINVAL);
    opts.limit = -1;
    CHECK_INT(ph_job_list(store, PH_OWN_TX, &opts, 0, &list, &t_err), PH_EINVAL);
    CHECK_STR(t_err.message, "limit is -1; give 1 to 10000, or 0 for 50");
    opts.limit = PH_BATCH_MAX + 1;
    CHECK_INT(ph_job_list(store, PH_OWN_TX, &opts, 0, &list, &t_err), PH_EINVAL);
    opts = (ph_job_list_opts)PH_JOB_LIST_OPTS_INIT;
    opts.name = "";
    CHECK_INT(ph_job_list(store, PH_OWN_TX, &opts, 0, &list, &t_err), PH_EINVAL);
    opts.name = NULL;
    opts.ns = "\xff";
    CHECK_INT(ph_job_list(store, PH_OWN_TX, &opts, 0, &list, &t_err), PH_EINVAL);
    opts.ns = NULL;
    opts.after = "\xff";
    CHECK_INT(ph_job_list(store, PH_OWN_TX, &opts, 0, &list, &t_err), PH_EINVAL);
    opts.after = "";
    opts.size = 3;
    CHECK_INT(ph_job_list(store, PH_OWN_TX, &opts, 0, &list, &t_err), PH_EINVAL);
    CHECK(list == NULL);
    opts.size = sizeof(opts);
    opts.limit = PH_BATCH_MAX;
    OK(ph_job_list(store, PH_OWN_TX, &opts, 0, &list, &t_err));
    CHECK_INT(ph_jobs_count(list), 0);
    CHECK_INT(ph_jobs_count(NULL), 0);
    CHECK(ph_jobs_at(NULL, 0) == NULL);
    ph_jobs_free(list);
}

TEST(arguments_of_schedulers)
{
    ph_store *store = t_open(NULL);
    ph_scheduler_opts opts = PH_SCHEDULER_OPTS_INIT;
    ph_schedule schedule = PH_SCHEDULE_INIT;
    ph_scheduler *scheduler = NULL;

    CHECK_INT(ph_scheduler_new(NULL, &opts, &scheduler, &t_err), PH_EINVAL);
    CHECK_STR(t_err.message, "store is NULL; open one with ph_open()");
    CHECK_INT(ph_scheduler_new(store, &opts, NULL, &t_err), PH_EINVAL);
    CHECK_STR(t_err.message, "ret_scheduler is NULL");
    opts.batch_size = -1;
    CHECK_INT(ph_scheduler_new(store, &opts, &scheduler, &t_err), PH_EINVAL);
    CHECK_STR(t_err.message, "batch_size is -1; give 1 to 10000, or 0 for 1000");
    opts.batch_size = PH_BATCH_MAX + 1;
    CHECK_INT(ph_scheduler_new(store, &opts, &scheduler, &t_err), PH_EINVAL);
    opts.batch_size = PH_BATCH_MAX;
    opts.size = 1;
    CHECK_INT(ph_scheduler_new(store, &opts, &scheduler, &t_err), PH_EINVAL);
    CHECK(scheduler == NULL);
    CHECK_INT(ph_scheduler_run(NULL, 0, &schedule, &t_err), PH_EINVAL);
    CHECK_STR(t_err.message, "scheduler is NULL; make one with ph_scheduler_new()");
    opts.size = sizeof(opts);
    OK(ph_scheduler_new(store, &opts, &scheduler, &t_err));
    CHECK_INT(ph_scheduler_run(scheduler, -1, &schedule, &t_err), PH_EINVAL);
    schedule.size = 0;
    CHECK_INT(ph_scheduler_run(scheduler, 0, &schedule, &t_err), PH_EINVAL);
    CHECK_STR(
        t_err.message,
        "ph_schedule: the member size is not set; initialise the struct with its _INIT macro");
    schedule.size = offsetof(ph_schedule, now); /* an older caller */
    schedule.now = 7;
    OK(ph_scheduler_run(scheduler, 0, &schedule, &t_err));
    CHECK_INT(schedule.now, 7);
    OK(ph_scheduler_run(scheduler, 0, NULL, NULL));
    ph_scheduler_free(scheduler);
    ph_scheduler_free(NULL);
}
