/* stall_test.c - a file whose definitions were changed: what it would run inside one function, where
 * no time limit is looked at, does not run at all on our connections. */
#include "harness.h"
#include "store/sqlite/definition.h"

#include <sqlite3.h>
#include <stdlib.h>

/* A single function call each, which takes hours. */
#define SEARCHING "instr(hex(zeroblob(9000000)), hex(zeroblob(4000000)) || '1')"
#define REPLACING "length(replace(hex(zeroblob(9000000)), hex(zeroblob(4000000)) || '1', '2')) > 1"

#define WAIT_MS 1000
#define SOON_S 20

static int try_enqueue(ph_store *store)
{
    ph_message message = PH_MESSAGE_INIT;

    message.topic = message.payload = "x";
    return ph_enqueue(store, PH_OWN_TX, &message, WAIT_MS, NULL, &t_err);
}

static int try_find(ph_store *store, ph_work_id id)
{
    ph_message_info *info = NULL;

    return ph_outbox_find(store, PH_OWN_TX, id, WAIT_MS, &info, &t_err);
}

static const char *worst_finding(ph_store *store)
{
    ph_doctor_opts opts = PH_DOCTOR_OPTS_INIT;
    static char text[500];
    ph_report *report = NULL;

    text[0] = '\0';
    opts.deep = true; /* would check the constraints of all rows */
    OK(ph_doctor(store, &opts, 0, &report, &t_err));
    for (size_t i = 0; i < ph_report_count(report); i++) {
        const ph_finding *finding = ph_report_at(report, i);

        if (finding->level == PH_FINDING_ERROR)
            snprintf(text, sizeof(text), "%s", finding->text);
    }
    ph_report_free(report);
    return text;
}

/* Stores that were connected before, and stores that come later, refuse both to write and to read,
 * and the doctor says why. */
static void refused_after(const char *sql, const char *named)
{
    ph_work_id id = { { [5] = 1, [6] = 0x80, [8] = 0x80 } }; /* nobody has it */
    ph_store *before, *after;
    double began;

    t_limit(60);
    before = t_open(NULL);
    CHECK_INT(try_find(before, id), PH_ENOTFOUND);
    OK(ph_open_lazy(t_url(), NULL, &after, &t_err));
    t_sql(t_connect(), sql);
    began = t_now_s();
    CHECK_INT(try_enqueue(before), PH_ESTATE);
    CHECK(strstr(t_err.message, named) != NULL);
    CHECK_INT(try_find(before, id), PH_ESTATE);
    CHECK_INT(try_enqueue(after), PH_ESTATE);
    CHECK(strstr(t_err.message, named) != NULL);
    CHECK_INT(try_find(after, id), PH_ESTATE);
    CHECK(strstr(worst_finding(before), named) != NULL);
    CHECK(strstr(worst_finding(after), named) != NULL);
    CHECK(t_now_s() - began < SOON_S);
    ph_close(after);
}

/* In the definition of an object: one text for another. What is made then tells everybody that the
 * schema has changed. */
#define EDIT(name, text, other)                                                                    \
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, '" text              \
    "', \"" other "\") WHERE name = '" name                                                        \
    "'; PRAGMA writable_schema = RESET; CREATE TABLE made (x)"

TEST(an_index_with_an_expression_is_refused_by_name)
{
    refused_after("CREATE INDEX mine ON posthorn_message (" SEARCHING ", id)",
                  "the index \"mine\" on posthorn_message is not Posthorn's");
}

TEST(an_index_with_a_condition_is_refused_by_name)
{
    refused_after("CREATE INDEX mine ON posthorn_pending (id) WHERE " SEARCHING,
                  "the index \"mine\" on posthorn_pending is not Posthorn's");
}

TEST(an_index_that_refuses_rows_is_refused_by_name)
{
    refused_after("CREATE UNIQUE INDEX mine ON Posthorn_Message (topic)",
                  "the index \"mine\" on posthorn_message is not Posthorn's");
}

TEST(a_constraint_in_a_table_of_ours_is_refused)
{
    refused_after(EDIT("posthorn_message", ") STRICT", ", CHECK (" REPLACING ")) STRICT"),
                  "the table \"posthorn_message\" is not as Posthorn made it");
}

TEST(a_default_in_a_table_of_ours_is_refused)
{
    refused_after(
        EDIT("posthorn_message", ") STRICT", ", mine INTEGER DEFAULT (" SEARCHING ")) STRICT"),
        "the table \"posthorn_message\" is not as Posthorn made it");
}

/* Of the table that every transaction reads first. */
TEST(a_generated_column_in_a_table_of_ours_is_refused)
{
    refused_after(EDIT("posthorn_store", "clock_us ", "clock_us INTEGER AS (" SEARCHING "), other"),
                  "the table \"posthorn_store\" is not as Posthorn made it");
}

TEST(an_index_of_ours_that_was_changed_is_refused)
{
    refused_after(
        "DROP INDEX posthorn_lease_until; CREATE INDEX posthorn_lease_until ON "
        "posthorn_lease (until) WHERE " SEARCHING,
        "the index \"posthorn_lease_until\" on posthorn_lease is not as Posthorn made it");
}

TEST(a_view_of_ours_that_was_changed_is_refused)
{
    refused_after("PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE VIEW "
                  "posthorn_message_state AS SELECT * FROM (SELECT ' || substr(sql, instr(sql, "
                  "'SELECT') + 6) || ') WHERE instr(hex(zeroblob(9000000)), hex(zeroblob(4000000)) "
                  "|| 1) = 0' "
                  "WHERE name = 'posthorn_message_state'; "
                  "PRAGMA writable_schema = RESET; CREATE TABLE made (x)",
                  "the view \"posthorn_message_state\" is not as Posthorn made it");
}

TEST(a_table_of_an_older_version_that_was_changed_is_not_migrated)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    int applied;

    t_limit(60);
    t_sql(conn, EDIT("posthorn_store", ") STRICT", ", CHECK (" REPLACING ")) STRICT"));
    t_sql(conn, "PRAGMA ignore_check_constraints = ON; UPDATE posthorn_store SET version = 4");
    CHECK_INT(ph_migrate(store, WAIT_MS, &applied, &t_err), PH_ESTATE);
    CHECK(strstr(t_err.message, "the table \"posthorn_store\" is not as") != NULL);
}

/* Triggers have names of their own, and views are not looked at before a migration. */
TEST(a_trigger_with_the_name_of_a_view_keeps_a_file_from_being_migrated)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    int applied;

    t_sql(conn, "UPDATE posthorn_store SET version = 4; CREATE TRIGGER posthorn_message_state "
                "AFTER UPDATE ON posthorn_store BEGIN DELETE FROM posthorn_message; END");
    CHECK_INT(ph_migrate(store, WAIT_MS, &applied, &t_err), PH_ESTATE);
    CHECK(strstr(t_err.message, "the trigger \"posthorn_message_state\" on") != NULL);
}

/* ------------------------------------------------------------------ what is allowed */

TEST(indexes_on_plain_columns_and_columns_without_code_may_be_added)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();

    t_sql(conn, "CREATE INDEX mine ON posthorn_message (topic COLLATE NOCASE, created_at DESC);"
                "ALTER TABLE posthorn_message ADD COLUMN mine TEXT NOT NULL DEFAULT 'none';"
                "ALTER TABLE posthorn_pending ADD COLUMN mine INTEGER;"
                "CREATE TABLE notes (x, CHECK (length(x) < 5));"
                "CREATE INDEX posthorn_notes ON notes (length(x)) WHERE x IS NOT NULL");
    CHECK_INT(try_enqueue(store), 0);
    CHECK_INT(try_enqueue(t_open(NULL)), 0);
    CHECK_STR(worst_finding(store), "");
}

/* Some tools write statements anew. */
TEST(a_schema_without_its_comments_is_ours)
{
    ph_store *store = NULL;
    char *sql, *to, *from;

    OK(ph_open_lazy(t_url(), NULL, &store, &t_err));
    OK(ph_migrate_sql(store, false, &sql, &t_err));
    for (to = from = sql; *from; *to++ = *from++) {
        if (strncmp(from, "--", 2) == 0)
            from += strcspn(from, "\n");
        if (strncmp(from, "\n    ", 5) == 0)
            from += 4;
    }
    *to = '\0';
    t_sql(t_connect(), sql);
    free(sql);
    CHECK_INT(try_enqueue(store), 0);
    ph_close(store);
}

/* --------------------------------------------------------------- two definitions */

TEST(definitions_differ_in_blanks_comments_and_harmless_columns_only)
{
    static const char ours[] =
        "CREATE TABLE \"t\" (a INTEGER CHECK (a = 1), b TEXT, PRIMARY KEY (a))";
    static const struct {
        const char *sql;
        bool same;
    } cases[] = {
        { "CREATE TABLE \"t\"(a INTEGER -- one\nCHECK(a=1),b/**/TEXT,\n\tPRIMARY KEY (a) ) ",
          true },
        { "CREATE TABLE \"t\" (a INTEGER CHECK (a = 1), b TEXT, c INTEGER NOT NULL DEFAULT 'x', d "
          "BLOB, PRIMARY KEY (a))",
          true },
        { "CREATE TABLE \"t\" (a INTEGER CHECK (a = 1), PRIMARY KEY (a))", true },
        { "CREATE TABLE \"t\" (a INTEGER CHECK (a = 1), b TEXT, c DEFAULT (f()), PRIMARY KEY (a))",
          false },
        { "CREATE TABLE \"t\" (a INTEGER CHECK (a = 1 AND a GLOB 'x'), b TEXT, PRIMARY KEY (a))",
          false },
        { "CREATE TABLE \"t\" (a INTEGER CHECK (a = 1, 2), b TEXT, PRIMARY KEY (a))", false },
        { "CREATE TABLE \"t\" (a INTEGER CHECK (a = 1), b TEXT NOT NULL, PRIMARY KEY (a))", false },
        { "CREATE TABLE \"t\" (a INTEGER CHECK (a = 1), b TEXT, c NOT NULL ON CONFLICT IGNORE, "
          "PRIMARY KEY (a))",
          false },
        { "CREATE TABLE \"t\" (a INTEGER CHECK (a = 1), b TEXT, c unique, PRIMARY KEY (a))",
          false },
        { "CREATE TABLE \"t\" (a INTEGER CHECK (a = 1), b TEXT, PRIMARY KEY (b))", false },
        { "CREATE TABLE \"t\" (a INTEGER CHECK (a = 1), b TEXT, PRIMARY KEY (a)) STRICT", false },
        { "CREATE TABLE \"t\" (a INTEGER CHECK (a = 1), b TEXT, PRIMARY KEY (a)", false },
        { "CREATE TABLE \"t\" (a INTEGER CHECK (a = 1), b TEXT, '", false },
        { "CREATE TABLE \"t \" (a INTEGER CHECK (a = 1), b TEXT, PRIMARY KEY (a))", false },
        { "CREATE TABLE \"t\" (a INTEGER CHECK (a = 11), b TEXT, PRIMARY KEY (a))", false },
        { "CREATE TABLE \"t\" (a INTEGER CHECK (a = 1), b TEXT /*, PRIMARY KEY (a))", false },
        { "", false },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        if (ph__sqlite_same_definition(ours, cases[i].sql) != cases[i].same ||
            ph__sqlite_same_definition(cases[i].sql, ours) != cases[i].same)
            printf("%s\n", cases[i].sql);
        CHECK_INT(ph__sqlite_same_definition(ours, cases[i].sql), cases[i].same);
        CHECK_INT(ph__sqlite_same_definition(cases[i].sql, ours), cases[i].same);
    }
}

TEST(definitions_of_indexes_and_views_differ_in_the_case_of_names_only)
{
    static const char index[] = "CREATE UNIQUE INDEX \"t_a\" ON \"t\" (a) WHERE b = 'x'";
    static const char view[] =
        "CREATE VIEW \"v\" AS SELECT (SELECT x.a FROM \"t\" x WHERE x.a = 1)";

    CHECK(ph__sqlite_same_definition(index,
                                     "CREATE UNIQUE INDEX \"T_A\" ON \"T\" (a) WHERE b = 'x'"));
    CHECK(!ph__sqlite_same_definition(index,
                                      "CREATE UNIQUE INDEX \"t_a\" ON \"t\" (a) WHERE b = 'X'"));
    CHECK(!ph__sqlite_same_definition(
        index, "CREATE UNIQUE INDEX \"t_a\" ON \"t\" (a, b GLOB 'y') WHERE b = 'x'"));
    CHECK(!ph__sqlite_same_definition(index,
                                      "CREATE UNIQUE INDEX \"t_a\" ON \"t\" (b, a) WHERE b = 'x'"));
    CHECK(!ph__sqlite_same_definition(
        view, "CREATE VIEW \"v\" AS SELECT (SELECT x.a FROM \"t\" x, evil WHERE x.a = 1)"));
}
