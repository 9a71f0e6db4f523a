/* server_error_test.c - PostgreSQL fails in the middle of a verb, after some of its statements have
 * run: by name, with nothing left behind, and again when that can help. */
#include "common.h"

static void only_pg(void)
{
    if (!t_is_pg())
        t_not_here("concerns servers only");
}

/* Rows on their way into pending meet this error, the first times times. */
static void make_trouble(struct t_conn *conn, const char *sqlstate, int times)
{
    char sql[600];

    snprintf(sql, sizeof(sql),
             "CREATE SEQUENCE {t}trouble; CREATE FUNCTION {t}trouble() RETURNS trigger LANGUAGE "
             "plpgsql AS $$ BEGIN IF nextval('{t}trouble') <= %d THEN RAISE EXCEPTION 'trouble' "
             "USING ERRCODE = '%s'; END IF; RETURN NEW; END $$; CREATE TRIGGER trouble BEFORE "
             "INSERT ON {t}pending FOR EACH ROW EXECUTE FUNCTION {t}trouble()",
             times, sqlstate);
    t_sql(conn, sql);
}

static void fails_with(const char *sqlstate, int expected, unsigned flags)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_message m[2] = { a_message("orders", "0"), a_message("orders", "1") };

    make_trouble(conn, sqlstate, 1000000);
    CHECK_INT(ph_enqueue_many(store, PH_OWN_TX, m, 2, 1000, NULL, &t_err), expected);
    CHECK_STR(t_err.sqlstate, sqlstate);
    CHECK_INT(t_err.flags, flags);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 0);
    t_sql(conn, "DROP TRIGGER trouble ON {t}pending");
    OK(ph_enqueue_many(store, PH_OWN_TX, m, 2, 0, NULL, &t_err));
    CHECK_INT(claimable(store, 10), 2);
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(a_full_disk_of_the_server)
{
    only_pg();
    fails_with("53100", PH_EFULL, PH_RETRY);
}

TEST(a_server_out_of_memory)
{
    only_pg();
    fails_with("53200", PH_ENOMEM, PH_RETRY);
}

TEST(a_right_that_was_taken_away)
{
    only_pg();
    fails_with("42501", PH_EPERM, 0);
}

TEST(a_conflict_that_does_not_end_is_reported_at_last)
{
    only_pg();
    fails_with("40001", PH_ECONFLICT, PH_RETRY);
}

TEST(a_deadlock_that_passes_is_retried)
{
    ph_store *store;
    struct t_conn *conn;
    ph_message m = a_message("orders", "x");

    only_pg();
    store = t_open(NULL);
    conn = t_connect();
    make_trouble(conn, "40P01", 2);
    REQ_INT("OBX-099", try_put(store, PH_OWN_TX, &m), 0);
    REQ_INT("OBX-099", t_number(conn, "SELECT last_value FROM {t}trouble"), 3);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 1);
    t_disconnect(conn);
}

TEST(a_deadlock_in_the_callers_transaction_is_his_to_retry)
{
    ph_store *store;
    struct t_conn *conn;
    ph_message m = a_message("orders", "x");

    only_pg();
    store = t_open(NULL);
    conn = t_connect();
    make_trouble(conn, "40P01", 1);
    t_begin(conn);
    REQ_INT("OBX-099", try_put(store, t_tx(conn), &m), PH_ECONFLICT);
    REQ_INT("OBX-099", t_err.flags, PH_RETRY | PH_TX_DEAD);
    t_rollback(conn);
    t_begin(conn);
    OK(try_put(store, t_tx(conn), &m));
    t_commit(conn);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 1);
    t_disconnect(conn);
}
