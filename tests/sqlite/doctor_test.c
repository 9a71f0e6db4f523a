/* doctor_test.c - what the doctor finds in a file. */
#include "harness.h"
#include "store/sqlite/doctor.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static ph_report *examine(ph_store *store, bool deep)
{
    ph_doctor_opts opts = PH_DOCTOR_OPTS_INIT;
    ph_report *report = NULL;

    opts.deep = deep;
    OK(ph_doctor(store, &opts, 0, &report, &t_err));
    return report;
}

/* The worst finding of a check: its text; *ret_level -1 if there is none. */
static const char *worst(ph_store *store, bool deep, const char *check, int *ret_level)
{
    static char text[1024];
    ph_report *report = examine(store, deep);

    *ret_level = -1;
    text[0] = '\0';
    for (size_t i = 0; i < ph_report_count(report); i++) {
        const ph_finding *finding = ph_report_at(report, i);

        if (strcmp(finding->check, check) == 0 && (int)finding->level > *ret_level) {
            *ret_level = finding->level;
            snprintf(text, sizeof(text), "%s", finding->text);
        }
    }
    ph_report_free(report);
    return text;
}

static int level(ph_store *store, bool deep, const char *check)
{
    int found;
    const char *text = worst(store, deep, check, &found);

    printf("%s: %s\n", check, text);
    return found;
}

static const char *path_of(const char *suffix)
{
    static char path[500];

    snprintf(path, sizeof(path), "%s%s", t_url() + strlen("sqlite:"), suffix);
    return path;
}

static int64_t size_of(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 ? (int64_t)status.st_size : -1;
}

TEST(the_versions_that_can_lose_pages_are_known)
{
    static const int bad[] = { 3007000, 3040001, 3044005, 3045000, 3050006, 3051000, 3051002 };
    static const int good[] = { 3006023, 3044006, 3044099, 3050007, 3050012, 3051003, 3052000 };

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        CHECK(ph__sqlite_may_lose_pages(bad[i]));
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
        CHECK(!ph__sqlite_may_lose_pages(good[i]));
}

TEST(the_version_is_named_and_judged)
{
    ph_store *store = t_open(NULL);
    int found;
    const char *text = worst(store, false, "version", &found);

    CHECK(strstr(text, sqlite3_libversion()) != NULL);
    CHECK_INT(found, ph__sqlite_may_lose_pages(sqlite3_libversion_number()) ? PH_FINDING_WARNING
                                                                            : PH_FINDING_OK);
}

TEST(a_healthy_file_is_found_healthy)
{
    ph_store *store = t_open(NULL);

    t_enqueue(store, "topic", "payload");
    CHECK_INT(level(store, true, "durability"), PH_FINDING_OK);
    CHECK_INT(level(store, true, "vacuum"), PH_FINDING_OK);
    CHECK_INT(level(store, true, "file"), PH_FINDING_OK);
    CHECK_INT(level(store, true, "integrity"), PH_FINDING_OK);
    CHECK_INT(level(store, false, "integrity"), -1);
}

TEST(a_short_examination_writes_nothing_and_waits_for_nobody)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect(), *writer = t_connect();
    ph_report *report = NULL;
    int64_t file, log;
    long long before;

    t_enqueue(store, "topic", "payload");
    file = size_of(path_of(""));
    log = size_of(path_of("-wal"));
    before = t_number(conn, "PRAGMA data_version");
    t_begin(writer); /* the write lock is not needed */
    OK(ph_doctor(store, NULL, 50, &report, &t_err));
    ph_report_free(report);
    t_rollback(writer);
    ph_report_free(examine(store, false));
    CHECK_INT(t_number(conn, "PRAGMA data_version"), before);
    CHECK_INT(size_of(path_of("")), file);
    CHECK_INT(size_of(path_of("-wal")), log);
}

TEST(a_file_that_is_missing_is_found)
{
    ph_store *store = NULL;

    OK(ph_open_lazy(t_url(), NULL, &store, &t_err));
    CHECK_INT(level(store, true, "file"), PH_FINDING_ERROR);
    CHECK_INT(level(store, true, "schema"), PH_FINDING_ERROR);
    CHECK_INT(size_of(path_of("")), -1); /* and is not made by looking */
    ph_close(store);
}

TEST(a_file_without_a_log_is_found)
{
    struct t_conn *conn;
    ph_store *store = NULL;

    ph_close(t_open(NULL));
    conn = t_connect();
    CHECK_STR(t_value(conn, "PRAGMA journal_mode = DELETE"), "delete");
    OK(ph_open_lazy(t_url(), NULL, &store, &t_err)); /* opening would turn it on */
    CHECK_INT(level(store, false, "durability"), PH_FINDING_WARNING);
    CHECK_INT(level(store, true, "vacuum"), PH_FINDING_OK);
    CHECK_INT(level(store, true, "places"), PH_FINDING_OK);
    ph_close(store);
}

TEST(a_reader_that_holds_the_log_back_is_found)
{
    ph_store *store = t_open(NULL);
    struct t_conn *reader = t_connect();

    t_enqueue(store, "topic", "payload");
    t_sql(reader, "BEGIN");
    CHECK_INT(t_number(reader, "SELECT count(*) FROM {t}message"), 1);
    t_enqueue(store, "topic", "payload");
    CHECK_INT(level(store, true, "vacuum"), PH_FINDING_WARNING);
    CHECK_INT(level(store, false, "vacuum"), PH_FINDING_OK); /* it is small yet */
    t_sql(reader, "COMMIT");
    CHECK_INT(level(store, true, "vacuum"), PH_FINDING_OK);
}

TEST(a_log_that_has_grown_is_found)
{
    ph_store *store = t_open(NULL);
    struct t_conn *reader = t_connect();
    char *payload = calloc(1, 1000001);

    memset(payload, 'x', 1000000);
    t_sql(reader, "BEGIN");
    t_number(reader, "SELECT count(*) FROM {t}message");
    for (int i = 0; i < 70; i++)
        t_enqueue(store, "topic", payload);
    free(payload);
    CHECK_INT(level(store, false, "vacuum"), PH_FINDING_WARNING);
}

TEST(a_damaged_page_is_found)
{
    unsigned char garbage[512];
    long long page;
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    int fd;

    t_enqueue(store, "topic", "payload");
    page = t_number(conn, "SELECT rootpage FROM sqlite_schema "
                          "WHERE name = 'posthorn_attempt_log_message'");
    t_disconnect(conn);
    ph_close(store); /* who closes last takes the log away */
    CHECK_INT(access(path_of("-wal"), F_OK), -1);
    memset(garbage, 0xaa, sizeof(garbage));
    fd = open(path_of(""), O_WRONLY);
    CHECK(fd >= 0);
    CHECK_INT(pwrite(fd, garbage, sizeof(garbage), (page - 1) * 4096), sizeof(garbage));
    close(fd);
    store = t_open(NULL);
    CHECK_INT(level(store, false, "integrity"), -1);
    CHECK_INT(level(store, true, "integrity"), PH_FINDING_ERROR);
}

TEST(lists_that_cannot_be_read_and_wrong_counts_are_found)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    int found;

    for (int i = 0; i < 3; i++)
        t_enqueue(store, "topic", "payload");
    t_ack_all(store, owner, t_claim(store, owner, 1));
    ph_batch_free(t_claim(store, owner, 1));
    t_sql(conn, "UPDATE {t}lease SET open = 2");
    CHECK(strstr(worst(store, true, "places", &found), "1 leases count") != NULL);
    CHECK_INT(found, PH_FINDING_ERROR);
    t_sql(conn, "UPDATE {t}lease SET open = 1");
    CHECK_INT(level(store, true, "places"), PH_FINDING_OK);
    t_sql(conn, "UPDATE {t}done SET ids = 'nonsense'");
    CHECK(strstr(worst(store, true, "places", &found), "cannot be read") != NULL);
    CHECK_INT(found, PH_FINDING_ERROR);
}

TEST(a_message_twice_in_the_same_place_and_numbers_out_of_range_are_found)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    int found;

    t_enqueue(store, "topic", "payload");
    t_sql(conn, "INSERT INTO {t}pending SELECT queue, level + 1, line, due, id, 0, 0, topic, NULL "
                "FROM {t}pending");
    CHECK(strstr(worst(store, true, "places", &found), "in pending twice") != NULL);
    t_sql(conn, "UPDATE {t}pending SET id = 99999999999 WHERE level = 2");
    CHECK(strstr(worst(store, true, "places", &found), "number 99999999999 in pending, but") !=
          NULL);
}

TEST(what_takes_too_long_ends_at_the_time_limit)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_doctor_opts deep = PH_DOCTOR_OPTS_INIT;
    ph_message_list_opts rare = PH_MESSAGE_LIST_OPTS_INIT;
    ph_messages *list = NULL;
    ph_report *report = NULL;

    t_sql(conn, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) "
                "INSERT INTO {t}message (salt, queue, level, topic, created_at, payload) "
                "SELECT i, 1, 1, 'topic', 0, '' FROM n");
    deep.deep = true;
    CHECK_INT(ph_doctor(store, &deep, 1, &report, &t_err), PH_ETIMEOUT);
    CHECK(t_err.flags & PH_RETRY);
    CHECK(report == NULL);
    rare.topic = "rare";
    CHECK_INT(ph_outbox_list(store, PH_OWN_TX, &rare, 1, &list, &t_err), PH_ETIMEOUT);
    CHECK(list == NULL);
    OK(ph_outbox_list(store, PH_OWN_TX, &rare, 0, &list, &t_err)); /* the store is as before */
    CHECK_INT(ph_messages_count(list), 0);
    ph_messages_free(list);
}

TEST(a_message_that_claims_by_topic_would_not_find_is_found)
{
    static const char *const topics[] = { "topic" };
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_batch *batch = NULL;
    int found;

    opts.topics = topics;
    opts.topic_count = 1;
    t_enqueue(store, "topic", "first");
    OK(ph_outbox_claim(store, PH_OWN_TX, ph_owner_new(), &opts, 0, &batch, &t_err));
    ph_batch_free(batch);
    t_enqueue(store, "topic", "second");
    CHECK_INT(level(store, true, "places"), PH_FINDING_OK);
    t_sql(conn, "UPDATE {t}pending SET topic = ~topic");
    CHECK(strstr(worst(store, true, "places", &found), "wrong topic") != NULL);
    t_sql(conn, "UPDATE {t}pending SET topic = ~topic + 1");
    CHECK(strstr(worst(store, true, "places", &found), "wrong topic") != NULL);
    CHECK_INT(found, PH_FINDING_ERROR);
}
