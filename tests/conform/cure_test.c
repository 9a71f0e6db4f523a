/* cure_test.c - what helps against errors and findings, for programs: alike on every backend. */
#include "doors.h"

/* The last error has this cure, with its text behind the cause. */
static void cured_by(int r, int code, ph_cure cure)
{
    char cause[PH_ERROR_MESSAGE_SIZE];
    size_t length;

    CHECK_INT(r, code);
    CHECK_STR(ph_cure_word(t_err.cure), ph_cure_word(cure));
    length = strlen(ph_error_cause(&t_err, cause));
    CHECK(length > 0 && strncmp(t_err.message, cause, length) == 0);
    CHECK(strncmp(t_err.message + length, "; ", 2) == 0);
    CHECK_STR(t_err.message + length + 2, ph_cure_text(cure));
}

TEST(a_schema_that_is_missing_is_to_be_made)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store = NULL;

    opts.schema = t_schema();
    cured_by(ph_open(t_url(), &opts, &store, &t_err), PH_ENOSCHEMA, PH_CURE_DEPLOY);
}

TEST(tables_that_are_missing_are_to_be_made)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store = NULL;

    t_open(NULL);
    opts.schema = t_schema();
    opts.table_prefix = "other_";
    cured_by(ph_open(t_url(), &opts, &store, &t_err), PH_ENOSCHEMA, PH_CURE_DEPLOY);
}

TEST(a_database_that_cannot_be_reached_is_to_be_looked_for)
{
    const char *nowhere = "postgresql:///postgres?host=/nowhere&port=1";
    ph_store *store = NULL;
    char folder[1040];

    if (!t_is_pg()) {
        snprintf(folder, sizeof(folder), "sqlite:%s", t_dir());
        nowhere = folder;
    }
    CHECK_INT(ph_open(nowhere, NULL, &store, &t_err), PH_ECONNECT);
    CHECK_STR(ph_cure_word(t_err.cure), "connection");
}

TEST(a_user_that_is_refused_is_to_be_corrected)
{
    const char *tcp;
    ph_store *store = NULL;
    char url[1200];

    if (!t_is_pg())
        t_not_here("SQLite has no users");
    tcp = t_tcp_url();
    if (!tcp)
        t_skip("needs the server of ./test with passwords");
    snprintf(url, sizeof(url), "%s&password=wrong", tcp);
    CHECK_INT(ph_open(url, NULL, &store, &t_err), PH_EAUTH);
    CHECK_STR(ph_cure_word(t_err.cure), "credentials");
}

TEST(a_file_that_is_no_database_is_to_be_restored)
{
    char path[1024], url[1040];
    ph_store *store = NULL;
    FILE *file;

    if (t_is_pg())
        t_not_here("concerns files only");
    snprintf(path, sizeof(path), "%s/no-database", t_dir());
    file = fopen(path, "w");
    CHECK(file != NULL);
    for (int i = 0; i < 4096; i++)
        fputs("no database ", file);
    fclose(file);
    snprintf(url, sizeof(url), "sqlite:%s", path);
    CHECK_INT(ph_open(url, NULL, &store, &t_err), PH_ECORRUPT);
    CHECK_STR(ph_cure_word(t_err.cure), "restore");
}

TEST(an_owner_that_is_empty_is_to_be_made)
{
    ph_work_batch_opts opts = PH_WORK_BATCH_OPTS_INIT;
    ph_owner none = { { 0 } };
    ph_store *store = t_open(NULL);
    ph_work_batch *work = NULL;
    ph_batch *batch = NULL;

    cured_by(ph_outbox_claim(store, PH_OWN_TX, none, NULL, 0, &batch, &t_err), PH_EINVAL,
             PH_CURE_NEW_OWNER);
    opts.service_name = "service";
    cured_by(ph_process_work_batch(store, PH_OWN_TX, &opts, 0, &work, &t_err), PH_EINVAL,
             PH_CURE_NEW_OWNER);
}

TEST(ids_that_are_empty_are_those_of_other_calls)
{
    ph_join_id join = { { 0 } };
    ph_message_id message = { { 0 } };
    ph_work_id timer = { { 0 } };
    ph_store *store = t_open(NULL);

    cured_by(ph_timer_cancel(store, PH_OWN_TX, timer, 0, NULL, &t_err), PH_EINVAL,
             PH_CURE_TIMER_ID);
    cured_by(ph_join_cancel(store, PH_OWN_TX, join, 0, NULL, &t_err), PH_EINVAL, PH_CURE_JOIN_ID);
    join.b[0] = 1;
    cured_by(ph_join_attach(store, PH_OWN_TX, join, message, 0, &t_err), PH_EINVAL,
             PH_CURE_MESSAGE_ID);
}

TEST(a_job_that_is_not_there_is_looked_for_in_the_list)
{
    ph_store *store = t_open(NULL);
    ph_work_id run;

    cured_by(ph_job_trigger(store, PH_OWN_TX, "nothing", 0, &run, &t_err), PH_ENOTFOUND,
             PH_CURE_LIST_JOBS);
}

TEST(a_time_in_another_unit_is_a_mistake)
{
    ph_timer timer = PH_TIMER_INIT;
    ph_store *store = t_open(NULL);
    ph_work_id id;

    timer.topic = timer.payload = "t";
    timer.due_at = 1764000000; /* seconds */
    cured_by(ph_timer_schedule(store, PH_OWN_TX, &timer, 0, &id, &t_err), PH_EINVAL,
             PH_CURE_TIME_UNIT);
}

TEST(a_queue_that_is_not_empty_is_for_the_retention)
{
    ph_store *store = t_open(NULL);

    put_many(store, "topic", 1, NULL);
    cured_by(ph_queue_delete(store, PH_OWN_TX, PH_OUTBOX, NULL, 0, NULL, &t_err), PH_ESTATE,
             PH_CURE_RETENTION);
}

TEST(a_database_without_a_name_is_to_be_renamed)
{
    ph_database database = PH_DATABASE_INIT;
    ph_set *set = NULL;

    OK(ph_set_new(NULL, &set, &t_err));
    database.id = "";
    database.url = t_url();
    CHECK_INT(ph_set_add(set, &database, &t_err), PH_EINVAL);
    CHECK_INT(t_err.cure, PH_CURE_RENAME);
    database.id = "a";
    OK(ph_set_add(set, &database, &t_err));
    database.id = "b";
    database.key = "a";
    CHECK_INT(ph_set_add(set, &database, &t_err), PH_EINVAL);
    CHECK_INT(t_err.cure, PH_CURE_RENAME);
    database.url = "telegraph:";
    CHECK_INT(ph_set_add(set, &database, &t_err), PH_EINVAL);
    CHECK_INT(t_err.cure, PH_CURE_NONE);
    ph_set_free(set);
}

/* ------------------------------------------------------------------ findings */

static ph_report *examined(ph_store *store, bool deep)
{
    ph_doctor_opts opts = PH_DOCTOR_OPTS_INIT;
    ph_report *report = NULL;

    opts.deep = deep;
    OK(ph_doctor(store, &opts, 0, &report, &t_err));
    return report;
}

static const ph_finding *finding_of(const ph_report *report, const char *check)
{
    const ph_finding *found = NULL;

    for (size_t i = 0; i < ph_report_count(report) && !found; i++) {
        if (strcmp(ph_report_at(report, i)->check, check) == 0)
            found = ph_report_at(report, i);
    }
    CHECK(found != NULL);
    return found;
}

/* What is to be done has a word for programs, and the other way round. */
static void all_have_cures(const ph_report *report)
{
    for (size_t i = 0; i < ph_report_count(report); i++) {
        const ph_finding *finding = ph_report_at(report, i);

        if ((finding->cure != PH_CURE_NONE) != (finding->advice != NULL))
            printf("%s: %s -> %s\n", finding->check, finding->text,
                   finding->advice ? finding->advice : "nothing");
        CHECK_INT(finding->cure != PH_CURE_NONE, finding->advice != NULL);
        CHECK(finding->cure == PH_CURE_NONE || strcmp(ph_cure_word(finding->cure), "none") != 0);
    }
}

TEST(findings_have_cures)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store = NULL;
    ph_report *report;

    opts.schema = t_schema();
    OK(ph_open_lazy(t_url(), &opts, &store, &t_err));
    report = examined(store, true);
    CHECK_INT(finding_of(report, "schema")->cure, PH_CURE_MIGRATE);
    all_have_cures(report);
    ph_report_free(report);
    ph_close(store);

    report = examined(t_open(NULL), true);
    CHECK_INT(finding_of(report, "schema")->cure, PH_CURE_NONE);
    all_have_cures(report);
    ph_report_free(report);
}

DOOR_TEST(have_findings_with_cures)
{
    const char *check = door->name;
    bool outbox = door == &outbox_door, inbox = door == &inbox_door;
    ph_door number = outbox                 ? PH_OUTBOX
                     : inbox                ? PH_INBOX
                     : door == &timers_door ? PH_TIMERS
                                            : PH_JOB_RUNS;
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    const ph_finding *finding;
    ph_lease_ref taken;
    ph_report *report;

    t_clock_set(store, T_EPOCH);
    door->make(store, "", "payload");
    t_clock_advance(store, 301 * T_SECOND);
    report = examined(store, false);
    finding = finding_of(report, outbox ? "oldest-ready" : check);
    CHECK_INT(finding->cure, outbox || inbox ? PH_CURE_WORKERS : PH_CURE_SCHEDULER);
    CHECK_INT(finding->door, number);
    all_have_cures(report);
    ph_report_free(report);
    taken = door_take_one(door, store, owner);
    OK(door->fail(store, PH_OWN_TX, owner, &taken, 1, "why", 0, NULL, &t_err));
    report = examined(store, false);
    finding = finding_of(report, outbox ? "dead" : check);
    CHECK_INT(finding->cure, PH_CURE_DEAD_LETTERS);
    CHECK_INT(finding->door, number);
    all_have_cures(report);
    ph_report_free(report);
}

TEST(leases_that_have_run_out_are_to_be_reaped)
{
    ph_store *store = t_open(NULL);
    ph_report *report;

    t_clock_set(store, T_EPOCH);
    put_many(store, "topic", 1, NULL);
    ph_batch_free(t_claim(store, ph_owner_new(), 1));
    t_clock_advance(store, 3600 * T_SECOND);
    report = examined(store, false);
    CHECK_INT(finding_of(report, "expired-leases")->cure, PH_CURE_REAP);
    all_have_cures(report);
    ph_report_free(report);
}

TEST(a_dead_head_is_named)
{
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_message m = PH_MESSAGE_INIT;
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    char id[PH_ID_TEXT_SIZE];
    ph_lease_ref ref = { 0 };
    ph_report *report;
    ph_batch *batch;

    settings.dead_head = PH_DEAD_HEAD_BLOCK;
    OK(ph_queue_set(store, PH_OWN_TX, PH_OUTBOX, NULL, &settings, 0, &t_err));
    m.topic = "topic";
    m.payload = "x";
    m.stream = "a stream";
    OK(ph_enqueue(store, PH_OWN_TX, &m, 0, NULL, &t_err));
    OK(ph_enqueue(store, PH_OWN_TX, &m, 0, NULL, &t_err));
    batch = t_claim(store, owner, 1);
    ref.work_id = ph_batch_at(batch, 0)->work_id;
    ph_batch_free(batch);
    OK(ph_outbox_fail(store, PH_OWN_TX, owner, &ref, 1, "no", 0, NULL, &t_err));
    report = examined(store, false);
    CHECK_INT(finding_of(report, "streams")->cure, PH_CURE_DEAD_HEAD);
    CHECK_STR(finding_of(report, "streams")->subject, ph_id_text(ref.work_id.b, id));
    ph_report_free(report);
}

TEST(a_database_is_known_by_the_subject_of_its_identity)
{
    ph_report *one = examined(t_open(NULL), false), *again = examined(t_open(NULL), false);

    CHECK(finding_of(one, "identity")->subject != NULL);
    CHECK_STR(finding_of(one, "identity")->subject, finding_of(again, "identity")->subject);
    ph_report_free(one);
    ph_report_free(again);
}
