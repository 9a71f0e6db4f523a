/* doctor_test.c - what the doctor finds, and that it finds nothing where nothing is. */
#include "doors.h"

/* The findings of one check: how many, the worst, and the text of that. */
struct found {
    int count;
    ph_finding_level level;
    char text[1024], advice[400];
};

static ph_report *examine(ph_store *store, bool deep)
{
    ph_doctor_opts opts = PH_DOCTOR_OPTS_INIT;
    ph_report *report = NULL;

    opts.deep = deep;
    OK(ph_doctor(store, &opts, 0, &report, &t_err));
    return report;
}

static struct found find(const ph_report *report, const char *check)
{
    struct found found = { 0 };

    for (size_t i = 0; i < ph_report_count(report); i++) {
        const ph_finding *finding = ph_report_at(report, i);

        if (strcmp(finding->check, check) != 0)
            continue;
        if (found.count++ == 0 || finding->level > found.level) {
            found.level = finding->level;
            snprintf(found.text, sizeof(found.text), "%s", finding->text);
            snprintf(found.advice, sizeof(found.advice), "%s",
                     finding->advice ? finding->advice : "");
        }
    }
    return found;
}

static struct found check_of(ph_store *store, bool deep, const char *check)
{
    ph_report *report = examine(store, deep);
    struct found found = find(report, check);

    ph_report_free(report);
    return found;
}

static ph_work_batch_opts an_instance(ph_owner instance)
{
    ph_work_batch_opts opts = PH_WORK_BATCH_OPTS_INIT;

    opts.instance_id = instance;
    opts.service_name = "service";
    opts.host_name = "machine";
    return opts;
}

/* Registers, or beats the heart. */
static void beat(ph_store *store, ph_owner instance, int lease_s, int stale_s)
{
    ph_work_batch_opts opts = an_instance(instance);
    ph_work_batch *batch;

    opts.instance_lease_s = lease_s;
    opts.stale_threshold_s = stale_s;
    OK(ph_process_work_batch(store, PH_OWN_TX, &opts, 0, &batch, &t_err));
    ph_work_batch_free(batch);
}

TEST(instances_that_are_late_silent_or_hasty_are_told)
{
    ph_store *store = t_open(NULL);
    ph_owner hasty = ph_owner_new();
    struct found found;

    t_clock_set(store, T_EPOCH);
    beat(store, ph_owner_new(), 30, 60);
    beat(store, ph_owner_new(), 300, 600);
    found = check_of(store, false, "instances");
    CHECK_INT(found.level, PH_FINDING_OK);
    CHECK_STR(found.text, "2 live instances");
    beat(store, hasty, 30, 59);
    found = check_of(store, false, "instances");
    CHECK_INT(found.count, 1);
    CHECK_INT(found.level, PH_FINDING_WARNING);
    CHECK(strstr(found.text, "less than twice their lease") != NULL);
    CHECK(strstr(found.text, "59 s, and its lease is 30 s") != NULL);
    OK(ph_instance_leave(store, PH_OWN_TX, hasty, 0, NULL, &t_err));
    t_clock_advance(store, 28 * T_SECOND); /* three tenths of 60 s, and a third of 30 s */
    CHECK_INT(check_of(store, false, "instances").level, PH_FINDING_OK);
    t_clock_advance(store, T_SECOND);
    found = check_of(store, false, "instances");
    CHECK_INT(found.level, PH_FINDING_WARNING);
    CHECK(strstr(found.text, "1 live instances have missed three heartbeats") != NULL);
    CHECK(strstr(found.text, "last seen 29 s ago") != NULL);
    t_clock_advance(store, 31 * T_SECOND);
    CHECK(strstr(check_of(store, false, "instances").text, "missed three heartbeats") != NULL);
    t_clock_advance(store, 1);
    found = check_of(store, false, "instances");
    CHECK_INT(found.level, PH_FINDING_WARNING);
    CHECK(strstr(found.text, "1 live instances have stopped beating") != NULL);
    CHECK(strstr(found.text, "of service on machine") != NULL);
}

TEST(instances_that_share_by_different_partitions_are_told)
{
    ph_store *store = t_open(NULL);
    ph_work_batch_opts opts = an_instance(ph_owner_new());
    ph_work_batch *batch;
    struct found found;

    beat(store, ph_owner_new(), 30, 600);
    opts.service_name = "another"; /* that is its own affair */
    opts.partition_count = 7;
    OK(ph_process_work_batch(store, PH_OWN_TX, &opts, 0, &batch, &t_err));
    ph_work_batch_free(batch);
    CHECK_INT(check_of(store, false, "instances").level, PH_FINDING_OK);
    opts = an_instance(ph_owner_new());
    opts.partition_count = 7;
    OK(ph_process_work_batch(store, PH_OWN_TX, &opts, 0, &batch, &t_err));
    ph_work_batch_free(batch);
    found = check_of(store, false, "instances");
    CHECK_INT(found.count, 1);
    CHECK_INT(found.level, PH_FINDING_WARNING);
    CHECK(strstr(found.text, "live instances of the service service share streams by different "
                             "numbers of partitions") != NULL);
    OK(ph_instance_leave(store, PH_OWN_TX, opts.instance_id, 0, NULL, &t_err));
    CHECK_INT(check_of(store, false, "instances").level, PH_FINDING_OK);
}

TEST(streams_that_stand_still_are_told)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_message m = PH_MESSAGE_INIT;
    ph_lease_ref ref = { 0 };
    ph_batch *batch;
    struct found found;

    settings.dead_head = PH_DEAD_HEAD_BLOCK;
    OK(ph_queue_set(store, PH_OWN_TX, PH_OUTBOX, NULL, &settings, 0, &t_err));
    m.topic = "topic";
    m.payload = "x";
    m.stream = "a stream";
    OK(ph_enqueue(store, PH_OWN_TX, &m, 0, NULL, &t_err));
    OK(ph_enqueue(store, PH_OWN_TX, &m, 0, NULL, &t_err));
    CHECK_INT(check_of(store, false, "streams").count, 0);
    batch = t_claim(store, owner, 1);
    ref.work_id = ph_batch_at(batch, 0)->work_id;
    OK(ph_outbox_fail(store, PH_OWN_TX, owner, &ref, 1, "no", 0, NULL, &t_err));
    ph_batch_free(batch);
    found = check_of(store, false, "streams");
    CHECK_INT(found.count, 1);
    CHECK_INT(found.level, PH_FINDING_WARNING);
    CHECK(strstr(found.text,
                 "1 stream stands still behind a dead head, for example \"a stream\" in "
                 "the outbox queue \"\": ") != NULL);
    CHECK(strstr(found.advice, "ph_dead_retry()") != NULL);
    settings.dead_head = PH_DEAD_HEAD_SKIP;
    OK(ph_queue_set(store, PH_OWN_TX, PH_OUTBOX, NULL, &settings, 0, &t_err));
    CHECK_INT(check_of(store, false, "streams").count, 0);
}

TEST(a_healthy_store_is_found_healthy)
{
    static const char *const checks[] = { "schema",         "clock",     "oldest-ready",
                                          "expired-leases", "dead",      "places",
                                          "joins",          "instances", "identity" };
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_report *report;

    put_many(store, "topic", 20, NULL);
    t_ack_all(store, owner, t_claim(store, owner, 5));
    ph_batch_free(t_claim(store, owner, 5));
    report = examine(store, true);
    for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++) {
        struct found found = find(report, checks[i]);

        CHECK_INT(found.count, 1);
        if (found.level != PH_FINDING_OK)
            printf("%s: %s\n", checks[i], found.text);
        CHECK_INT(found.level, PH_FINDING_OK);
        CHECK_STR(found.advice, "");
    }
    CHECK(find(report, "durability").count > 0);
    CHECK(find(report, "version").count > 0);
    CHECK(find(report, "vacuum").count > 0);
    ph_report_free(report);
}

TEST(only_a_deep_examination_looks_at_the_places)
{
    ph_store *store = t_open(NULL);

    CHECK_INT(check_of(store, false, "places").count, 0);
    CHECK_INT(check_of(store, true, "places").count, 1);
}

TEST(every_finding_has_a_name_and_a_text_and_bad_ones_have_advice)
{
    ph_store *store = t_open(NULL);
    ph_report *report = examine(store, true);
    ph_finding_level worst = PH_FINDING_OK;

    CHECK(ph_report_count(report) >= 8);
    for (size_t i = 0; i < ph_report_count(report); i++) {
        const ph_finding *finding = ph_report_at(report, i);

        CHECK(finding->check && *finding->check);
        CHECK(finding->text && *finding->text);
        if (finding->level > PH_FINDING_INFO)
            CHECK(finding->advice && *finding->advice);
        if (finding->level > worst)
            worst = finding->level;
    }
    CHECK(ph_report_at(report, ph_report_count(report)) == NULL);
    CHECK_INT(ph_report_worst(report), worst);
    ph_report_free(report);
}

TEST(a_missing_schema_is_a_finding)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store = NULL;
    ph_report *report;
    struct found found;

    opts.schema = t_schema();
    OK(ph_open_lazy(t_url(), &opts, &store, &t_err));
    report = examine(store, true);
    found = find(report, "schema");
    CHECK_INT(found.count, 1);
    CHECK_INT(found.level, PH_FINDING_ERROR);
    CHECK_STR(found.text, "no schema is installed");
    CHECK_STR(found.advice, "call ph_migrate()");
    CHECK_INT(find(report, "places").count, 0);
    CHECK_INT(find(report, "dead").count, 0);
    CHECK(find(report, "version").count > 0);
    CHECK_INT(ph_report_worst(report), PH_FINDING_ERROR);
    ph_report_free(report);

    OK(ph_migrate(store, 0, NULL, &t_err));
    found = check_of(store, true, "schema");
    CHECK_INT(found.level, PH_FINDING_OK);
    CHECK_INT(check_of(store, true, "places").level, PH_FINDING_OK);
    ph_close(store);
}

TEST(a_database_that_cannot_be_reached_is_an_error_and_no_report)
{
    ph_report *report = NULL;
    ph_store *store = NULL;
    const char *url = t_is_pg() ? "postgresql:///nowhere?host=/nonexistent" : "sqlite:/";

    OK(ph_open_lazy(url, NULL, &store, &t_err));
    CHECK(ph_doctor(store, NULL, 0, &report, &t_err) < 0);
    CHECK(report == NULL);
    ph_close(store);
}

/* An instance claims so, and gets what it gets. */
static void claim_as(ph_store *store, ph_owner instance, const char *const *topic)
{
    ph_work_batch_opts opts = PH_WORK_BATCH_OPTS_INIT;
    ph_work_batch *batch = NULL;

    opts.instance_id = instance;
    opts.service_name = "svc";
    opts.host_name = "host";
    opts.process_id = 1;
    opts.batch_size = 1;
    opts.topics = topic;
    opts.topic_count = topic ? 1 : 0;
    OK(ph_process_work_batch(store, PH_OWN_TX, &opts, 0, &batch, &t_err));
    ph_work_batch_free(batch);
}

/* Of messages that are due for a minute. Where nobody is at work at all that is no warning. */
TEST(topics_that_no_live_instance_claims_are_found)
{
    static const char *const orders[] = { "order" };
    ph_store *store = t_open(NULL);
    ph_owner instance = ph_owner_new();
    struct found found;

    t_clock_set(store, T_EPOCH);
    put_many(store, "mail", 3, NULL);
    t_clock_advance(store, 59 * T_SECOND);
    t_enqueue(store, "order", "x");
    CHECK_INT(check_of(store, false, "unclaimed").count, 0);
    t_clock_advance(store, T_SECOND);
    found = check_of(store, false, "unclaimed");
    REQ_INT("OBX-055", found.count, 1);
    CHECK_INT(found.level, PH_FINDING_INFO);
    claim_as(store, instance, orders);
    found = check_of(store, false, "unclaimed");
    REQ_INT("OBX-055", found.count, 1);
    CHECK_INT(found.level, PH_FINDING_WARNING);
    CHECK_STR(found.text, "3 messages of the topic \"mail\" in the outbox queue \"\" are due, the "
                          "oldest for 60 s, and no live instance claims them");
    claim_as(store, instance, NULL); /* all of them */
    CHECK_INT(check_of(store, false, "unclaimed").count, 0);
    OK(ph_instance_leave(store, PH_OWN_TX, instance, 0, NULL, &t_err));
    CHECK_INT(check_of(store, false, "unclaimed").count, 1);
}

TEST(a_message_that_is_ready_for_long_is_a_finding)
{
    ph_store *store = t_open(NULL);
    struct found found;

    t_clock_set(store, T_EPOCH);
    t_enqueue(store, "topic", "payload");
    t_clock_advance(store, 299 * T_SECOND);
    CHECK_INT(check_of(store, false, "oldest-ready").level, PH_FINDING_OK);
    t_clock_advance(store, 2 * T_SECOND);
    found = check_of(store, false, "oldest-ready");
    CHECK_INT(found.level, PH_FINDING_WARNING);
    CHECK_STR(found.text, "1 ready, the oldest for 301 s");
}

TEST(expired_leases_are_a_finding)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    struct found found;

    t_clock_set(store, T_EPOCH);
    put_many(store, "topic", 2, NULL);
    ph_batch_free(t_claim(store, owner, 2));
    CHECK_INT(check_of(store, false, "expired-leases").level, PH_FINDING_OK);
    t_clock_advance(store, 31 * T_SECOND);
    found = check_of(store, false, "expired-leases");
    CHECK_INT(found.level, PH_FINDING_WARNING);
    CHECK_STR(found.text, "2 messages under leases that have run out");
}

TEST(dead_letters_are_worth_knowing)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    struct found found;

    t_enqueue(store, "topic", "payload");
    settle(store, owner, take_one(store, owner), PH_FAIL, "why", 0);
    found = check_of(store, false, "dead");
    CHECK_INT(found.level, PH_FINDING_INFO);
    CHECK_STR(found.text, "1 dead letters");
}

/* No scheduler runs, or one who claims them himself gave one up. */
DOOR_TEST(that_wait_or_died_are_findings)
{
    const char *check = door->name;
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_lease_ref taken;
    struct found found;

    t_clock_set(store, T_EPOCH);
    door->make(store, "", "payload");
    door->make(store, "", "payload");
    t_clock_advance(store, 299 * T_SECOND);
    CHECK_INT(check_of(store, false, check).count, 0);
    t_clock_advance(store, 2 * T_SECOND);
    found = check_of(store, false, check);
    CHECK_INT(found.level, PH_FINDING_WARNING);
    CHECK_STR(found.text, "2 are due, the oldest for 301 s");
    CHECK(strstr(found.advice, "ph_queue_list()") != NULL);
    for (int i = 0; i < 2; i++) {
        taken = door_take_one(door, store, owner);
        OK(door->fail(store, PH_OWN_TX, owner, &taken, 1, "why", 0, NULL, &t_err));
    }
    found = check_of(store, false, check);
    CHECK_INT(found.count, 1);
    CHECK_INT(found.level, PH_FINDING_INFO);
    CHECK_STR(found.text, "2 dead letters");
}

TEST(a_clock_that_differs_is_a_finding)
{
    ph_store *store = t_open(NULL);

    CHECK_INT(check_of(store, false, "clock").level, PH_FINDING_OK);
    t_clock_set(store, T_EPOCH); /* years ago */
    CHECK_INT(check_of(store, false, "clock").level, PH_FINDING_WARNING);
}

/* ------------------------------------------------------------------- places */

/* The deep examination must find exactly this; %s stands for the message's id. */
static void trouble_is_found(ph_store *store, const char *words, ph_work_id id)
{
    ph_report *report = examine(store, true);
    struct found found = find(report, "places");
    char text[PH_ID_TEXT_SIZE], wanted[200];
    const char *gap = strstr(words, "%s");

    snprintf(wanted, sizeof(wanted), "%.*s%s%s", gap ? (int)(gap - words) : (int)strlen(words),
             words, gap ? ph_id_text(id.b, text) : "", gap ? gap + 2 : "");
    printf("%s\n", found.text);
    CHECK_INT(found.count, 1);
    CHECK_INT(found.level, PH_FINDING_ERROR);
    CHECK(strstr(found.text, wanted) != NULL);
    CHECK(*found.advice);
    CHECK_INT(ph_report_worst(report), PH_FINDING_ERROR);
    ph_report_free(report);
    CHECK_INT(check_of(store, false, "places").count, 0);
}

TEST(a_message_in_no_place_is_found)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_work_id id;

    t_ack_all(store, owner, (t_enqueue(store, "topic", "done"), t_claim(store, owner, 1)));
    id = t_enqueue(store, "topic", "lost").work_id;
    t_sql(conn, "DELETE FROM {t}pending");
    trouble_is_found(store, "1 are wrong: %s in no place", id);
}

TEST(a_message_in_two_places_is_found)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_work_id id = t_enqueue(store, "topic", "twice").work_id;

    t_sql(conn, "INSERT INTO {t}dead (id, queue, reason, died_at) "
                "SELECT id, (SELECT min(id) FROM {t}queue), 1, due FROM {t}pending");
    t_enqueue(store, "topic", "once");
    trouble_is_found(store, "of 2 messages 1 are wrong: %s in dead and in pending", id);
}

TEST(a_settled_message_that_is_also_pending_is_found)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_work_id id = t_enqueue(store, "topic", "twice").work_id;

    t_sql(conn, "CREATE TEMP TABLE kept AS SELECT * FROM {t}pending");
    t_ack_all(store, owner, t_claim(store, owner, 1));
    CHECK_INT(check_of(store, true, "places").level, PH_FINDING_OK);
    t_sql(conn, "INSERT INTO {t}pending SELECT * FROM kept");
    trouble_is_found(store, "of 1 messages 1 are wrong: %s in done and in pending", id);
}

TEST(a_leased_message_that_is_also_pending_is_found)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_enqueued all[3];
    ph_lease_ref refs[3];

    put_many(store, "topic", 3, all);
    t_sql(conn, "CREATE TEMP TABLE kept AS SELECT * FROM {t}pending");
    take(store, owner, 3, refs);
    ack(store, owner, refs[0]);
    CHECK_INT(check_of(store, true, "places").level, PH_FINDING_OK);
    t_sql(conn, "INSERT INTO {t}pending SELECT * FROM kept WHERE id > (SELECT id FROM kept ORDER "
                "BY id LIMIT 1)");
    trouble_is_found(store, "of 3 messages 2 are wrong: %s in lease and in pending",
                     all[1].work_id);
}

TEST(a_place_without_a_message_is_found)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_work_id none = { { 0 } };

    t_enqueue(store, "topic", "gone");
    t_enqueue(store, "topic", "there");
    t_sql(conn,
          "DELETE FROM {t}message WHERE id = (SELECT id FROM {t}pending ORDER BY id LIMIT 1)");
    trouble_is_found(store, "of 1 messages 1 are wrong", none);
    trouble_is_found(store, "in pending, but there is no such message", none);
    t_sql(conn, "DELETE FROM {t}message");
    trouble_is_found(store, "of 0 messages 2 are wrong", none);
}

TEST(many_offenders_are_counted_and_a_few_are_named)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_enqueued all[100];

    put_many(store, "topic", 100, all);
    t_sql(conn, "DELETE FROM {t}pending");
    trouble_is_found(store, "100 are wrong: %s in no place", all[0].work_id);
}

/* ----------------------------------------------------------------- progress */

struct progress {
    int calls;
    int64_t done, total;
    bool fell;
};

static void on_progress(void *context, int64_t done, int64_t total)
{
    struct progress *progress = context;

    progress->calls++;
    progress->fell = progress->fell || done < progress->done || (total && done > total);
    progress->done = done;
    progress->total = total;
}

TEST(a_deep_examination_tells_its_progress)
{
    ph_store *store = t_open(NULL);
    ph_doctor_opts opts = PH_DOCTOR_OPTS_INIT;
    struct progress progress = { 0 };
    ph_report *report = NULL;

    put_many(store, "topic", 1000, NULL);
    opts.deep = true;
    opts.progress = on_progress;
    opts.progress_context = &progress;
    OK(ph_doctor(store, &opts, 0, &report, &t_err));
    CHECK(progress.calls > 0);
    CHECK(!progress.fell);
    CHECK(progress.total > 0);
    CHECK_INT(progress.done, progress.total);
    ph_report_free(report);
}

TEST(bad_arguments_of_the_doctor_are_refused)
{
    ph_store *store = t_open(NULL);
    ph_report *report = NULL;

    CHECK_INT(ph_doctor(NULL, NULL, 0, &report, &t_err), PH_EINVAL);
    CHECK_INT(ph_doctor(store, NULL, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_doctor(store, NULL, -1, &report, &t_err), PH_EINVAL);
    CHECK(report == NULL);
    CHECK_INT(ph_report_count(NULL), 0);
    CHECK(ph_report_at(NULL, 0) == NULL);
    CHECK_INT(ph_report_worst(NULL), PH_FINDING_OK);
    ph_report_free(NULL);
}

/* -------------------------------------------------------------------- joins */

TEST(a_join_that_has_counted_wrong_is_found)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_message step = PH_MESSAGE_INIT;
    ph_wait wait = PH_WAIT_INIT;
    ph_join_id join;

    step.topic = wait.on_complete_topic = "topic";
    step.payload = wait.on_complete_payload = "x";
    step.join_id = &join;
    OK(ph_join_start(store, PH_OWN_TX, 2, NULL, 0, &join, &t_err));
    OK(ph_enqueue(store, PH_OWN_TX, &step, 0, NULL, &t_err));
    OK(ph_join_wait(store, PH_OWN_TX, join, &wait, 0, NULL, &t_err));
    CHECK_INT(check_of(store, false, "joins").count, 0);
    CHECK_INT(check_of(store, true, "joins").level, PH_FINDING_OK);
    t_sql(conn, "UPDATE {t}join_head SET completed = 1");
    CHECK_INT(check_of(store, true, "joins").level, PH_FINDING_ERROR);
    t_sql(conn, "UPDATE {t}join_head SET completed = 0, status = 3"); /* a wait is left behind */
    CHECK_INT(check_of(store, true, "joins").level, PH_FINDING_ERROR);
    t_sql(conn, "UPDATE {t}join_head SET status = 0");
    CHECK_INT(check_of(store, true, "joins").level, PH_FINDING_OK);
}
