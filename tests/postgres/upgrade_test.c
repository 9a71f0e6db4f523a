/* upgrade_test.c - a schema of an older version, with messages in it, is brought up. */
#include "common.h"

#include "util/embedded.h"

#include <string.h>

extern const struct ph__embedded ph__pg_migrations[];
extern const struct ph__embedded schema_1[]; /* schema_1.sql */

static ph_work_id id_of(int number)
{
    ph_work_id id;

    CHECK_INT(ph_id_parse(say("00000000-000%d-8000-8000-000000000000", number), id.b), 0);
    return id;
}

/* What a library of version 1 left behind. */
static ph_store *old_store(struct t_conn *conn)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store = NULL;

    t_sql(conn, "CREATE SCHEMA {schema}");
    t_begin(conn);
    t_sql(conn, "SET LOCAL search_path = {schema}");
    t_sql(conn, ph__pg_migrations[0].text);
    t_sql(conn, schema_1[0].text);
    t_commit(conn);
    opts.schema = t_schema();
    OK(ph_open_lazy(t_url(), &opts, &store, &t_err));
    return store;
}

TEST(version_1_is_brought_up_with_its_messages)
{
    struct t_conn *conn = t_connect();
    ph_store *store = old_store(conn);
    ph_schema_status status = PH_SCHEMA_STATUS_INIT;
    ph_owner owner = { { 0 } };
    ph_lease_ref leased = { .work_id = id_of(2), .fence = 9 };
    ph_outcome outcome = PH_OUTCOME_UNKNOWN;
    ph_work_id dead = id_of(4), again = { { 0 } };
    ph_batch *batch;
    int applied = -1;

    CHECK_INT(ph_id_parse("77777777-7777-4777-8777-777777777777", owner.b), 0);
    OK(ph_schema_inspect(store, 0, &status, &t_err));
    CHECK(status.installed == 1 && !status.usable && status.pending);
    CHECK_INT(ph_outbox_reap_expired(store, PH_OWN_TX, 0, NULL, &t_err), PH_ETOOOLD);
    OK(ph_migrate(store, 0, &applied, &t_err));
    REQ_INT("OBX-110", applied, status.library - 1);
    OK(ph_schema_inspect(store, 0, &status, &t_err));
    CHECK(status.installed == status.library && status.usable && !status.pending);
    CHECK_INT(status.serves_from, 6); /* programs of older versions are told to go */
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}migration"), status.library);
    CHECK_STR(t_value(conn, "SELECT to_regclass('{t}pending_5')"), ""); /* it was written anew */
    t_check_places(conn);

    CHECK_STR(t_value(conn, "SELECT string_agg(status, ' ' ORDER BY id) FROM {t}outbox"),
              "ready in_progress done failed");
    OK(ph_outbox_ack(store, PH_OWN_TX, owner, &leased, 1, 0, &outcome, &t_err));
    CHECK_INT(outcome, PH_OUTCOME_ACKED);
    OK(ph_dead_retry(store, PH_OWN_TX, &dead, 1, 0, &again, &t_err));
    CHECK(!ph_id_is_zero(again.b));
    batch = t_claim(store, owner, 10);
    CHECK_INT(ph_batch_count(batch), 2);
    CHECK_STR(ph_batch_at(batch, 0)->payload, "payload 1");
    CHECK(ph_batch_at(batch, 0)->fence > 9);
    CHECK_INT(t_ack_all(store, owner, batch), 2);
    t_check_places(conn);
    ph_close(store);
}

/* Where something is granted on what is replaced, it stays granted. */
TEST(grants_outlive_the_upgrade)
{
    struct t_conn *conn = t_connect();
    ph_store *store = old_store(conn);
    const char *role = say("%s_old", t_schema());

    t_sql(conn, say("CREATE ROLE %s; GRANT EXECUTE ON FUNCTION {t}enqueue TO %s; GRANT SELECT ON "
                    "{t}outbox TO %s",
                    role, role, role));
    OK(ph_migrate(store, 0, NULL, &t_err));
    CHECK_STR(t_value(conn, say("SELECT string_agg(proname, ' ') FROM pg_proc WHERE pronamespace = "
                                "'{schema}'::regnamespace AND has_function_privilege('%s', oid, "
                                "'EXECUTE')",
                                role)),
              "enqueue");
    CHECK_STR(t_value(conn, say("SELECT has_table_privilege('%s', '{t}outbox', 'SELECT')", role)),
              "t");
    t_sql(conn, say("DROP OWNED BY %s; DROP ROLE %s", role, role));
    ph_close(store);
}

/* What a role may do: ack, start a join, read the jobs. */
static const char *rights_of(struct t_conn *conn, const char *role)
{
    return t_value(conn, say("SELECT concat_ws(' ', has_function_privilege('%s', '{t}outbox_ack("
                             "uuid, uuid[], bigint[])', 'EXECUTE'), has_function_privilege('%s', "
                             "'{t}join_start(integer, text, text, timestamptz)', 'EXECUTE'), "
                             "has_table_privilege('%s', '{t}jobs', 'SELECT'))",
                             role, role, role));
}

/* The roles that migrate sql --roles makes have their rights on functions that were replaced; a role
 * that may not use the schema, made for another database of this server, gets none. */
TEST(roles_have_their_rights_after_the_upgrade)
{
    struct t_conn *conn = t_connect();
    ph_store *store = old_store(conn);
    char worker[100], reader[100];

    snprintf(worker, sizeof(worker), "%s_worker", t_schema());
    snprintf(reader, sizeof(reader), "%s_reader", t_schema());
    t_sql(conn, say("CREATE ROLE %s; CREATE ROLE %s; GRANT USAGE ON SCHEMA {schema} TO %s", worker,
                    reader, worker));
    OK(ph_migrate(store, 0, NULL, &t_err));
    CHECK_STR(rights_of(conn, worker), "t t t");
    CHECK_STR(rights_of(conn, reader), "f f f");
    t_sql(conn, say("DROP OWNED BY %s, %s; DROP ROLE %s, %s", worker, reader, worker, reader));
    ph_close(store);
}

/* It would go on reading the table of before. */
TEST(a_view_of_a_users_on_pending_stops_the_migration)
{
    struct t_conn *conn = t_connect();
    ph_store *store = old_store(conn);

    t_sql(conn, "CREATE VIEW {schema}.mine AS SELECT id FROM {t}pending");
    CHECK(ph_migrate(store, 0, NULL, &t_err) < 0);
    CHECK(strstr(t_err.message, "pending_5") != NULL);
    t_sql(conn, "DROP VIEW {schema}.mine");
    OK(ph_migrate(store, 0, NULL, &t_err));
    ph_close(store);
}
