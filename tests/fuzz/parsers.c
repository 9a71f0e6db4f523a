#include "parsers.h"

#include "core/message.h"
#include "schedule/cron.h"
#include "schedule/fire.h"
#include "schedule/rule.h"
#include "schedule/zone.h"
#include "store/store.h"
#include "util/time_text.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static ph_error err;

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "%s\n", what);
        abort();
    }
}

/* As a text, in memory of its own size. */
static char *text_of(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    require(text != NULL, "no memory");
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

/* A folder of this process, and a file in it. */
static const char *folder(void)
{
    static char path[100];

    if (!path[0]) {
        const char *parent = getenv("TMPDIR");

        snprintf(path, sizeof(path), "%.60s/fuzz.XXXXXX", parent ? parent : "/tmp");
        require(mkdtemp(path) != NULL, "no folder");
    }
    return path;
}

static const char *file_with(const char *name, const uint8_t *data, size_t size)
{
    static char path[200];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder(), name);
    file = fopen(path, "w");
    require(file && fwrite(data, 1, size, file) == size && fclose(file) == 0, "cannot write");
    return path;
}

/* ------------------------------------------------------------------------ times */

static const int64_t instants[] = { INT64_C(-62135596800), -1, 0, 1700000000, 4102444800,
                                    INT64_C(253402300799) };
#define INSTANTS (sizeof(instants) / sizeof(*instants))

static void parse_cron(const uint8_t *data, size_t size)
{
    char *text = text_of(data, size);
    struct ph__cron cron;
    int64_t next;

    if (ph__cron_parse(text, &cron, &err) == 0) {
        for (size_t i = 0; i < INSTANTS; i++) {
            if (ph__cron_match(&cron, instants[i], &next))
                require(next >= instants[i], "a time before the one asked for");
        }
    } else {
        require(err.code == PH_EINVAL && err.message[0], "a refusal without a word");
    }
    free(text);
}

static void parse_zone(const uint8_t *data, size_t size)
{
    struct ph__zone *zone = NULL;
    struct ph__cron cron;

    file_with("Zone", data, size);
    require(setenv("TZDIR", folder(), 1) == 0, "setenv");
    if (ph__zone_load("Zone", &zone, &err) == 0) {
        for (size_t i = 0; i < INSTANTS; i++) {
            int64_t until, next;
            int offset = ph__zone_offset(zone, instants[i], &until);

            require(offset > -100000 && offset < 100000 && until > instants[i],
                    "an impossible offset");
            (void)ph__zone_instant(zone, instants[i]);
            require(ph__cron_parse("30 2 * * *", &cron, &err) == 0, "cron");
            if (instants[i] > 0 && ph__fire_next(&cron, zone, instants[i] * 1000000, &next))
                require(next > instants[i] * 1000000, "an instant that is not later");
        }
    }
    ph__zone_free(zone);
    unsetenv("TZDIR");
}

static void parse_rule(const uint8_t *data, size_t size)
{
    char *text = text_of(data, size);
    struct ph__rule rule;

    if (ph__rule_parse(text, &rule)) {
        for (size_t i = 0; i < INSTANTS; i++) {
            int64_t from, until;

            (void)ph__rule_offset(&rule, instants[i], &from, &until);
            require(from <= instants[i] && until > instants[i], "a stretch without its instant");
        }
    }
    free(text);
}

static void parse_time(const uint8_t *data, size_t size)
{
    char *text = text_of(data, size), again[PH__TIME_TEXT_SIZE];
    int64_t time, same;
    bool zoned;

    if (ph__time_parse(text, &time, &zoned)) {
        require(time >= PH_TIME_MIN && time <= PH_TIME_MAX, "a time outside the years");
        require(ph__time_parse(ph__time_text(time, again), &same, &zoned) && same == time,
                "a time that is another one when written and read again");
    }
    free(text);
}

/* ------------------------------------------------------------------------ texts */

static void parse_id(const uint8_t *data, size_t size)
{
    char *text = text_of(data, size), again[PH_ID_TEXT_SIZE];
    uint8_t id[16], same[16];

    if (ph_id_parse(text, id) == 0)
        require(ph_id_parse(ph_id_text(id, again), same) == 0 && memcmp(id, same, 16) == 0,
                "an id that is another one when written and read again");
    free(text);
}

/* Other URLs are paths, which may hold anything; and a host may be called like the secret. */
static bool has_secret(const char *url)
{
    const char *secret = strstr(url, ":s3cret@");

    return secret && strstr(url, "s3cret") == secret + 1 && !strstr(secret + 8, "s3cret") &&
           (strncmp(url, "postgres", 8) == 0 ||
            (strncmp(url, "sqlite://", 9) == 0 && url[9] != '/'));
}

/* A secret in front of an @ is never shown. */
static void parse_url(const uint8_t *data, size_t size)
{
    char *text = text_of(data, size);
    ph_store *store = NULL;
    int r = ph_open_lazy(text, NULL, &store, &err);
    const char *shown = r == 0 ? ph_store_id(store) : err.message;

    if (has_secret(text) && strstr(shown, "s3cret")) {
        fprintf(stderr, "%s\nis shown as\n%s\n", text, shown);
        abort();
    }
    ph_close(store);
    free(text);
}

static void parse_json(const uint8_t *data, size_t size)
{
    char *text = text_of(data, size);

    (void)ph__object_check(text, "headers", true, &err);
    free(text);
}

/* Without queries, which would go to servers. */
static void parse_set_file(const uint8_t *data, size_t size)
{
    char *text = text_of(data, size);
    ph_set_opts opts = PH_SET_OPTS_INIT;
    ph_databases *list = NULL;
    ph_set *set = NULL;

    if (!strstr(text, "query") && ph_set_new(&opts, &set, &err) == 0) {
        if (ph_set_add_file(set, file_with("set", data, size), &err) == 0) {
            (void)!ph_set_refresh(set, 1000, NULL, &err);
            if (ph_database_list(set, NULL, &list, &err) == 0)
                ph_databases_free(list);
        }
        ph_set_free(set);
    }
    free(text);
}

/* --------------------------------------------------------------- the extension's JSON */

static sqlite3 *host(void)
{
    static sqlite3 *db;

    if (!db)
        require(sqlite3_open(":memory:", &db) == SQLITE_OK &&
                    sqlite3_enable_load_extension(db, 1) == SQLITE_OK &&
                    sqlite3_load_extension(db, FUZZ_EXTENSION, NULL, NULL) == SQLITE_OK &&
                    sqlite3_exec(db, "SELECT posthorn_migrate()", NULL, NULL, NULL) == SQLITE_OK,
                "the extension does not load: " FUZZ_EXTENSION);
    return db;
}

/* Whatever the text is, the host's transaction can go on, and is rolled back. */
static void parse_extension(const uint8_t *data, size_t size)
{
    static const char *const statements[] = {
        "SELECT count(*) FROM posthorn_enqueue_many(?1)",
        "SELECT posthorn_enqueue('t', 'p', ?1)",
        "SELECT count(*) FROM posthorn_outbox_ack('5e1f1e55-0000-4000-8000-000000000001', ?1)",
        "SELECT posthorn_queue_set('outbox', '', ?1)",
        ("SELECT count(*) FROM posthorn_outbox_claim('5e1f1e55-0000-4000-8000-000000000001', 30, "
         "3, '', ?1)"),
    };
    sqlite3 *db = host();
    sqlite3_stmt *stmt;

    require(sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK, "begin");
    for (size_t i = 0; i < sizeof(statements) / sizeof(*statements); i++) {
        require(sqlite3_prepare_v2(db, statements[i], -1, &stmt, NULL) == SQLITE_OK, "prepare");
        sqlite3_bind_text(stmt, 1, (const char *)data, (int)size, SQLITE_STATIC);
        while (sqlite3_step(stmt) == SQLITE_ROW)
            ;
        sqlite3_finalize(stmt);
        require(!sqlite3_get_autocommit(db), "the host's transaction is gone");
    }
    require(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL) == SQLITE_OK, "rollback");
}

const struct fuzz_parser fuzz_parsers[] = {
    { "cron", parse_cron },
    { "zone", parse_zone },
    { "rule", parse_rule },
    { "time", parse_time },
    { "id", parse_id },
    { "url", parse_url },
    { "headers", parse_json },
    { "set", parse_set_file },
    { "extension", parse_extension },
    { NULL, NULL },
};
