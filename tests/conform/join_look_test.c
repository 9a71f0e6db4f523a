/* join_look_test.c - joins as readers see them, and where they are in the schema. */
#include "joins.h"

#include <sqlite3.h>

/* ------------------------------------------------------------------------ find */

TEST(find_shows_every_field_of_a_join)
{
    ph_store *store = t_open(NULL);
    ph_join_opts opts = PH_JOIN_OPTS_INIT;
    ph_enqueued a, b;
    ph_join_info *info;
    ph_join_id join;

    t_clock_set(store, T_EPOCH);
    opts.grouping_key = "order 7";
    opts.metadata = "about it";
    opts.deadline = T_EPOCH + 1000 * T_SECOND;
    OK(ph_join_start(store, PH_OWN_TX, 3, &opts, 0, &join, &t_err));
    a = put_step(store, join);
    t_clock_advance(store, T_SECOND);
    b = put_step(store, join);
    wait_for(store, join, true);
    wait_for(store, join, true);
    t_clock_advance(store, T_SECOND);
    end_step(store, PH_ACK);
    info = find_join(store, join);
    CHECK(same_id(info->id.b, join.b));
    CHECK_STR(info->grouping_key, "order 7");
    CHECK_STR(info->metadata, "about it");
    CHECK_INT(info->state, PH_JOIN_PENDING);
    CHECK_INT(info->expected_steps, 3);
    CHECK_INT(info->attached_steps, 2);
    CHECK_INT(info->completed_steps, 1);
    CHECK_INT(info->failed_steps, 0);
    CHECK_INT(info->open_waits, 2);
    CHECK_INT(info->created_at, T_EPOCH);
    CHECK_INT(info->updated_at, T_EPOCH + 2 * T_SECOND);
    CHECK_INT(info->deadline, T_EPOCH + 1000 * T_SECOND);
    CHECK_INT(info->finished_at, 0);
    CHECK_INT(info->member_count, 2);
    CHECK(same_id(info->members[0].message_id.b, a.message_id.b));
    CHECK(same_id(info->members[0].work_id.b, a.work_id.b));
    CHECK_INT(info->members[0].state, 1);
    CHECK_INT(info->members[0].created_at, T_EPOCH);
    CHECK_STR(info->members[0].topic, STEP);
    CHECK(same_id(info->members[1].message_id.b, b.message_id.b));
    CHECK_INT(info->members[1].state, 0);
    CHECK_INT(info->members[1].created_at, T_EPOCH + T_SECOND);
    ph_join_info_free(info);
}

TEST(find_shows_the_first_members_up_to_a_limit)
{
    static ph_enqueued e[1005];
    static ph_message_id ids[1005];
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 1005);
    ph_join_info *info = NULL;

    put_many(store, STEP, 1005, e);
    for (int i = 0; i < 1005; i++)
        ids[i] = e[i].message_id;
    OK(ph_join_attach_many(store, PH_OWN_TX, join, ids, 1005, 0, &t_err));
    OK(ph_join_find(store, PH_OWN_TX, join, 3, 0, &info, &t_err));
    CHECK_INT(info->member_count, 3);
    CHECK_INT(info->attached_steps, 1005);
    ph_join_info_free(info);
    OK(ph_join_find(store, PH_OWN_TX, join, 0, 0, &info, &t_err));
    CHECK_INT(info->member_count, 1000); /* the default */
    ph_join_info_free(info);
    OK(ph_join_find(store, PH_OWN_TX, join, PH_BATCH_MAX, 0, &info, &t_err));
    CHECK_INT(info->member_count, 1005);
    ph_join_info_free(info);
}

TEST(find_says_what_is_missing)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 1), none = { { 0 } };
    ph_join_info *info = NULL;

    CHECK_INT(ph_join_find(store, PH_OWN_TX, no_join(), 0, 0, &info, &t_err), PH_ENOTFOUND);
    CHECK_INT(ph_join_find(store, PH_OWN_TX, none, 0, 0, &info, &t_err), PH_EINVAL);
    CHECK_INT(ph_join_find(store, PH_OWN_TX, join, -1, 0, &info, &t_err), PH_EINVAL);
    CHECK_INT(ph_join_find(store, PH_OWN_TX, join, PH_BATCH_MAX + 1, 0, &info, &t_err), PH_EINVAL);
    CHECK_INT(ph_join_find(store, PH_OWN_TX, join, 0, 0, NULL, &t_err), PH_EINVAL);
    CHECK(info == NULL);
    ph_join_info_free(NULL);
}

/* ------------------------------------------------------------------------ list */

/* The numbers of expected steps of what is listed: "3 2 1". */
static const char *listed(ph_store *store, const ph_join_list_opts *opts)
{
    static char text[400];
    ph_joins *list = NULL;

    OK(ph_join_list(store, PH_OWN_TX, opts, 0, &list, &t_err));
    text[0] = '\0';
    for (size_t i = 0; i < ph_joins_count(list); i++) {
        size_t used = strlen(text);

        CHECK_INT(ph_joins_at(list, i)->member_count, 0);
        snprintf(text + used, sizeof(text) - used, "%s%d", i ? " " : "",
                 ph_joins_at(list, i)->expected_steps);
    }
    CHECK(ph_joins_at(list, ph_joins_count(list)) == NULL);
    ph_joins_free(list);
    return text;
}

/* Six joins, told apart by their number of steps; the odd ones have a key. */
static void six_joins(ph_store *store, ph_join_id *ids)
{
    for (int i = 0; i < 6; i++) {
        ph_join_opts opts = PH_JOIN_OPTS_INIT;

        opts.grouping_key = i % 2 ? NULL : "odd";
        OK(ph_join_start(store, PH_OWN_TX, i + 1, &opts, 0, &ids[i], &t_err));
    }
}

TEST(joins_are_listed_by_key)
{
    ph_store *store = t_open(NULL);
    ph_join_list_opts opts = PH_JOIN_LIST_OPTS_INIT;
    ph_join_id ids[6];

    six_joins(store, ids);
    CHECK_STR(listed(store, NULL), "6 5 4 3 2 1");
    opts.grouping_key = "odd";
    REQ_STR("OBX-095 JOIN-082", listed(store, &opts), "5 3 1");
    opts.oldest_first = true;
    REQ_STR("OBX-095 JOIN-082", listed(store, &opts), "1 3 5");
    opts.limit = 2;
    CHECK_STR(listed(store, &opts), "1 3");
    opts.after = ids[2];
    CHECK_STR(listed(store, &opts), "5");
    opts.grouping_key = "even";
    REQ_STR("OBX-095 JOIN-082", listed(store, &opts), "");
}

TEST(joins_are_listed_page_by_page)
{
    ph_store *store = t_open(NULL);
    ph_join_list_opts opts = PH_JOIN_LIST_OPTS_INIT;
    ph_join_id ids[6];

    six_joins(store, ids);
    opts.limit = 4;
    CHECK_STR(listed(store, &opts), "6 5 4 3");
    opts.after = ids[2];
    CHECK_STR(listed(store, &opts), "2 1");
    opts.after = ids[0];
    CHECK_STR(listed(store, &opts), "");
    opts.oldest_first = true;
    CHECK_STR(listed(store, &opts), "2 3 4 5");
}

TEST(joins_are_listed_by_status)
{
    ph_store *store = t_open(NULL);
    ph_join_list_opts opts = PH_JOIN_LIST_OPTS_INIT;
    ph_join_id ids[6];

    six_joins(store, ids);
    put_step(store, ids[0]);
    end_step(store, PH_ACK);
    put_step(store, ids[1]);
    put_step(store, ids[1]);
    end_step(store, PH_ACK);
    end_step(store, PH_FAIL);
    cancel(store, ids[2]);
    opts.state = PH_JOIN_PENDING;
    CHECK_STR(listed(store, &opts), "6 5 4");
    opts.state = PH_JOIN_COMPLETED;
    CHECK_STR(listed(store, &opts), "1");
    opts.state = PH_JOIN_FAILED;
    CHECK_STR(listed(store, &opts), "2");
    opts.state = PH_JOIN_CANCELLED;
    CHECK_STR(listed(store, &opts), "3");
    opts.grouping_key = "odd";
    CHECK_STR(listed(store, &opts), "3");
    opts.state = PH_JOIN_FAILED;
    CHECK_STR(listed(store, &opts), "");
}

TEST(a_list_of_joins_says_what_is_wrong)
{
    ph_store *store = t_open(NULL);
    ph_join_list_opts good = PH_JOIN_LIST_OPTS_INIT, bad;
    ph_joins *list = NULL;

#define REFUSED(member, value)                                                                     \
    do {                                                                                           \
        bad = good;                                                                                \
        bad.member = (value);                                                                      \
        CHECK_INT(ph_join_list(store, PH_OWN_TX, &bad, 0, &list, &t_err), PH_EINVAL);              \
    } while (0)
    REFUSED(state, -2);
    REFUSED(state, 4);
    REFUSED(limit, -1);
    REFUSED(limit, PH_BATCH_MAX + 1);
    REFUSED(grouping_key, repeated("k", PH_NAME_MAX + 1));
    REFUSED(grouping_key, "\xff");
    REFUSED(after, ((ph_join_id){ { 1, 2, 3 } }));
    REFUSED(size, 0);
#undef REFUSED
    CHECK_INT(ph_join_list(store, PH_OWN_TX, NULL, 0, NULL, &t_err), PH_EINVAL);
    CHECK(list == NULL);
    CHECK_INT(ph_joins_count(NULL), 0);
    CHECK(ph_joins_at(NULL, 0) == NULL);
    ph_joins_free(NULL);
}

TEST(a_list_of_joins_shows_what_find_shows)
{
    ph_store *store = t_open(NULL);
    ph_join_opts opts = PH_JOIN_OPTS_INIT;
    ph_joins *list = NULL;
    const ph_join_info *a;
    ph_join_info *b;
    ph_join_id join;

    t_clock_set(store, T_EPOCH);
    opts.grouping_key = "k";
    opts.metadata = "m";
    opts.deadline = T_EPOCH + T_SECOND;
    OK(ph_join_start(store, PH_OWN_TX, 2, &opts, 0, &join, &t_err));
    put_step(store, join);
    wait_for(store, join, true);
    t_clock_advance(store, 1);
    end_step(store, PH_FAIL);
    for (int i = 0; i < 2; i++) {
        OK(ph_join_list(store, PH_OWN_TX, NULL, 0, &list, &t_err));
        a = ph_joins_at(list, 0);
        b = find_join(store, join);
        CHECK(same_id(a->id.b, b->id.b));
        CHECK_STR(a->grouping_key, b->grouping_key);
        CHECK_STR(a->metadata, b->metadata);
        CHECK(a->state == b->state && a->expected_steps == b->expected_steps &&
              a->attached_steps == b->attached_steps && a->completed_steps == b->completed_steps &&
              a->failed_steps == b->failed_steps && a->open_waits == b->open_waits);
        CHECK(a->created_at == b->created_at && a->updated_at == b->updated_at &&
              a->deadline == b->deadline && a->finished_at == b->finished_at);
        ph_join_info_free(b);
        ph_joins_free(list);
        cancel(store, join);
    }
}

/* ----------------------------------------------------------------------- views */

TEST(the_views_show_joins_and_their_steps)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_join_opts opts = PH_JOIN_OPTS_INIT;
    char id[PH_ID_TEXT_SIZE], sql[300];
    ph_enqueued e;
    ph_join_id join;

    opts.grouping_key = "k";
    opts.metadata = "m";
    OK(ph_join_start(store, PH_OWN_TX, 2, &opts, 0, &join, &t_err));
    e = put_step(store, join);
    end_step(store, PH_FAIL);
    wait_for(store, join, true);
    CHECK_STR(join_view(conn, join, "grouping_key"), "k");
    CHECK_STR(join_view(conn, join, "metadata"), "m");
    CHECK_STR(join_view(conn, join, "status"), "pending");
    CHECK_STR(join_view(conn, join, "expected_steps"), "2");
    CHECK_STR(join_view(conn, join, "attached_steps"), "1");
    CHECK_STR(join_view(conn, join, "completed_steps"), "0");
    CHECK_STR(join_view(conn, join, "failed_steps"), "1");
    CHECK_STR(join_view(conn, join, "open_waits"), "1");
    CHECK_STR(join_view(conn, join, "finished_at"), "");
    CHECK(*join_view(conn, join, "created_at") && *join_view(conn, join, "updated_at"));
    snprintf(sql, sizeof(sql),
             "SELECT status || ' ' || topic FROM {t}join_members WHERE message_id = '%s'",
             ph_id_text(e.message_id.b, id));
    CHECK_STR(t_value(conn, sql), "failed " STEP);
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM {t}join_members WHERE join_id = '%s'",
             ph_id_text(join.b, id));
    CHECK_INT(t_number(conn, sql), 1);
    cancel(store, join);
    CHECK_STR(join_view(conn, join, "status"), "cancelled");
    CHECK(*join_view(conn, join, "finished_at"));
    t_disconnect(conn);
}

/* ---------------------------------------------------------------------- schema */

/* The columns of a table in the order of their names, joined by blanks. */
static const char *columns_of(struct t_conn *conn, const char *table)
{
    char sql[400];

    if (t_is_pg())
        snprintf(sql, sizeof(sql),
                 "SELECT string_agg(column_name, ' ' ORDER BY column_name COLLATE \"C\") FROM "
                 "information_schema.columns WHERE table_schema = '%s' AND table_name = '%s'",
                 t_schema(), table);
    else
        snprintf(sql, sizeof(sql),
                 "SELECT group_concat(name, ' ') FROM (SELECT name FROM "
                 "pragma_table_info('{p}%s') ORDER BY name)",
                 table);
    return t_value(conn, sql);
}

TEST(messages_know_nothing_of_joins)
{
    static const char *const places[] = { "message", "pending", "lease", "done", "dead" };
    struct t_conn *conn;

    t_open(NULL);
    conn = t_connect();
    for (int i = 0; i < 5; i++) {
        printf("%s: %s\n", places[i], columns_of(conn, places[i]));
        CHECK(*columns_of(conn, places[i]));
        REQ("JOIN-014 JOIN-033", strstr(columns_of(conn, places[i]), "join") == NULL);
        REQ("JOIN-014 JOIN-033", strstr(columns_of(conn, places[i]), "step") == NULL);
    }
    if (t_is_pg())
        REQ_INT("JOIN-014",
                t_number(conn, "SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND "
                               "(conrelid = '{t}message'::regclass OR "
                               "confrelid = '{t}message'::regclass)"),
                0);
    else
        REQ_INT("JOIN-014",
                t_number(conn, "SELECT count(*) FROM pragma_foreign_key_list('{p}message')"), 0);
    /* As the first version of the schema made it, and with what streams and the inbox add. */
    REQ_STR("JOIN-092", columns_of(conn, "message"),
            t_is_pg() ? "correlation_id created_at dedupe_key due_at expires_at headers id level "
                        "max_attempts message_id payload queue seq source stream stream_id "
                        "tenant_id topic"
                      : "correlation_id created_at dedupe_key due_at expires_at headers id level "
                        "max_attempts message_id payload queue salt seq source stream tenant_id "
                        "topic");
    t_disconnect(conn);
}

TEST(deployment_creates_the_join_tables_and_again_does_no_harm)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    struct t_conn *conn = t_connect();
    ph_store *store = NULL;
    char before[500];
    ph_join_id join;
    int applied = -1;

    opts.schema = t_schema();
    OK(ph_open_lazy(t_url(), &opts, &store, &t_err));
    OK(ph_migrate(store, 0, &applied, &t_err));
    CHECK(applied > 0);
    REQ("JOIN-090", *columns_of(conn, "join_head") && *columns_of(conn, "join_member"));
    snprintf(before, sizeof(before), "%s", columns_of(conn, "message"));
    join = start_join(store, 2);
    put_step(store, join);
    wait_for(store, join, true);
    for (int i = 0; i < 3; i++) {
        REQ_INT("JOIN-091", ph_migrate(store, 0, &applied, &t_err), 0);
        REQ_INT("JOIN-091", applied, 0);
        ph_close(t_open(NULL)); /* deploys, too */
    }
    REQ_STR("JOIN-091", standing(store, join), "0+0/2 pending");
    REQ_STR("JOIN-092", columns_of(conn, "message"), before);
    ph_close(store);
    t_disconnect(conn);
}

/* "2 1": the joins of a message that are there, by their number of expected steps. */
static const char *joins_of(ph_store *store, ph_message_id message, ph_join_list_opts opts)
{
    static char text[100];
    ph_joins *list = NULL;

    opts.step = message;
    OK(ph_join_list(store, PH_OWN_TX, &opts, 0, &list, &t_err));
    text[0] = '\0';
    for (size_t i = 0; i < ph_joins_count(list); i++) {
        size_t used = strlen(text);

        snprintf(text + used, sizeof(text) - used, "%s%d", used ? " " : "",
                 ph_joins_at(list, i)->expected_steps);
    }
    ph_joins_free(list);
    return text;
}

TEST(the_joins_of_a_message_are_found_by_its_message_id)
{
    ph_store *store = t_open(NULL);
    ph_join_list_opts opts = PH_JOIN_LIST_OPTS_INIT;
    ph_message_id given = no_message(), own;
    ph_message m = a_message(STEP, "x");
    ph_join_id joins[5];

    for (int i = 0; i < 5; i++)
        joins[i] = start_join(store, i + 1);
    m.message_id = &given;
    put(store, &m);
    own = a_step(store).message_id;
    REQ_STR("JOIN-080", joins_of(store, given, opts), "");
    for (int i = 1; i < 4; i++) {
        attach(store, joins[i], given);
        if (i % 2)
            attach(store, joins[i], own);
    }
    attach(store, joins[4], own);
    REQ_STR("JOIN-080", joins_of(store, given, opts), "4 3 2");
    REQ_STR("JOIN-080", joins_of(store, own, opts), "5 4 2");
    CHECK(cancel(store, joins[3]));
    opts.state = PH_JOIN_PENDING;
    opts.oldest_first = true;
    CHECK_STR(joins_of(store, own, opts), "2 5");
    opts.after = joins[1];
    opts.limit = 1;
    CHECK_STR(joins_of(store, own, opts), "5");
    opts.grouping_key = "none";
    CHECK_STR(joins_of(store, own, opts), "");
}

/* The plan of looking joins up by their key. */
static void plan(struct t_conn *conn, char *ret_plan, size_t size)
{
    sqlite3_stmt *statement = NULL;

    if (t_is_pg()) {
        t_sql(conn, "CREATE FUNCTION {t}t_plan() RETURNS text LANGUAGE plpgsql AS $$ DECLARE line "
                    "text; plan text := ''; BEGIN FOR line IN EXPLAIN SELECT id FROM {t}joins "
                    "WHERE grouping_key = 'k' LOOP plan := plan || line || ' '; END LOOP; "
                    "RETURN plan; END $$");
        snprintf(ret_plan, size, "%s", t_value(conn, "SELECT {t}t_plan()"));
        return;
    }
    ret_plan[0] = '\0';
    CHECK_INT(sqlite3_prepare_v2(t_native(conn),
                                 "EXPLAIN QUERY PLAN SELECT id FROM posthorn_joins WHERE "
                                 "grouping_key = 'k'",
                                 -1, &statement, NULL),
              SQLITE_OK);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        size_t used = strlen(ret_plan);

        snprintf(ret_plan + used, size - used, "%s ", sqlite3_column_text(statement, 3));
    }
    sqlite3_finalize(statement);
}

TEST(joins_are_looked_up_by_key_through_an_index)
{
    struct t_conn *conn;
    char text[2000];

    t_open(NULL);
    conn = t_connect();
    if (t_is_pg())
        t_sql(conn, "INSERT INTO {t}join_head (id, created_at, updated_at, expected, grouping_key) "
                    "SELECT gen_random_uuid(), now(), now(), 1, 'k' || n FROM "
                    "generate_series(1, 5000) n; ANALYZE {t}join_head");
    plan(conn, text, sizeof(text));
    printf("%s\n", text);
    REQ("JOIN-082", strstr(text, "join_head_grouping_key") != NULL);
    t_disconnect(conn);
}
