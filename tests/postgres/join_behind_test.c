/* join_behind_test.c - steps that have ended and are still to be counted: they get their turn, and in
 * time. */
#include "common.h"

#define OWNER "'11111111-1111-4111-8111-111111111111'"
#define CLAIM "SELECT count(*) FROM {t}outbox_claim(" OWNER ", 3600, 1)"

/* Joins of one step and messages, all leased, that go by the names k1 to kN. */
static void joins_make(struct t_conn *conn, int count)
{
    t_sql(conn,
          say("SELECT {t}join_start(1, 'k' || i), {t}enqueue('t', 'p', dedupe_key => 'k' || i) "
              "FROM generate_series(1, %d) i",
              count));
    t_sql(conn, say("SELECT * FROM {t}outbox_claim(" OWNER ", 3600, %d)", count));
}

/* Attaches those from one number to another while they are acked or not: so the ack sees no step. */
static void attach(struct t_conn *conn, int from, int to, bool acked)
{
    struct t_conn *stranger = a_connection(NULL);

    t_begin(stranger);
    t_sql(stranger, say("SELECT {t}join_attach(j.id, o.message_id) FROM {t}joins j "
                        "JOIN {t}outbox o ON o.dedupe_key = j.grouping_key "
                        "WHERE substr(j.grouping_key, 2)::int BETWEEN %d AND %d",
                        from, to));
    if (acked)
        t_sql(conn, say("SELECT * FROM {t}outbox_ack(" OWNER ", ARRAY(SELECT o.id FROM {t}outbox o "
                        "WHERE substr(o.dedupe_key, 2)::int BETWEEN %d AND %d))",
                        from, to));
    t_commit(stranger);
}

static long long ended(struct t_conn *conn, const char *status)
{
    return t_number(conn, say("SELECT count(*) FROM {t}joins WHERE status = '%s'", status));
}

/* A claim looks at 20: those that cannot be counted do not stand in the way of others for ever. */
TEST(joins_that_are_held_keep_no_others_from_being_counted)
{
    struct t_conn *conn = (t_open(NULL), a_connection(NULL)), *stranger = a_connection(NULL);

    joins_make(conn, 60);
    attach(conn, 1, 25, true);   /* held below */
    attach(conn, 26, 50, false); /* in work for an hour */
    attach(conn, 51, 60, true);
    t_begin(stranger);
    t_sql(stranger, "SELECT FROM {t}join_head WHERE substr(grouping_key, 2)::int <= 25 FOR UPDATE");
    for (int i = 0; i < 100; i++)
        t_sql(conn, CLAIM);
    REQ_INT("JOIN-060", ended(conn, "completed"), 10);
    t_commit(stranger);
    for (int i = 0; i < 100; i++)
        t_sql(conn, CLAIM);
    REQ_INT("JOIN-060", ended(conn, "completed"), 35);
    t_check_joins(conn);
}

/* What has ended before the deadline was looked at counts, however many others are to be looked at. */
/* Whoever counts them finds only a note: the messages are gone. */
TEST(steps_that_died_and_were_discarded_uncounted_count_as_failed)
{
    struct t_conn *conn = (t_open(NULL), a_connection(NULL)), *stranger = a_connection(NULL);

    t_sql(conn, "SELECT {t}join_start(40)");
    t_sql(conn, "SELECT {t}enqueue('t', 'p') FROM generate_series(1, 40)");
    t_sql(conn, "SELECT * FROM {t}outbox_claim(" OWNER ", 3600, 40)");
    t_begin(stranger);
    t_sql(stranger, "SELECT {t}join_attach(j.id, o.message_id) FROM {t}joins j, {t}outbox o");
    t_sql(conn, "SELECT * FROM {t}outbox_fail(" OWNER ", ARRAY(SELECT id FROM {t}outbox))");
    t_commit(stranger);
    t_sql(conn, "SELECT {t}dead_discard(ARRAY(SELECT id FROM {t}outbox))");
    for (int i = 0; i < 10; i++)
        t_sql(conn, CLAIM);
    REQ_INT("JOIN-060", t_number(conn, "SELECT failed_steps FROM {t}joins"), 40);
    REQ_INT("JOIN-060", ended(conn, "failed"), 1);
    t_check_joins(conn);
}

TEST(a_deadline_comes_after_what_has_ended)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = a_connection(NULL);

    t_clock_set(store, T_EPOCH);
    joins_make(conn, 60);
    t_sql(conn, "UPDATE {t}join_head SET deadline = {t}clock() + '1 s' WHERE grouping_key = 'k60'");
    attach(conn, 1, 59, false);
    attach(conn, 60, 60, true);
    t_clock_advance(store, 2 * T_SECOND);
    t_sql(conn, CLAIM);
    REQ_INT("JOIN-042", ended(conn, "completed"), 1);
    REQ_INT("JOIN-042", ended(conn, "failed"), 0);
    t_check_joins(conn);
}

/* With nothing to count, steps of leased messages cost a claim no write. */
TEST(a_claim_that_counts_nothing_writes_nothing)
{
    struct t_conn *conn = (t_open(NULL), a_connection(NULL));

    joins_make(conn, 5);
    attach(conn, 1, 5, false);
    t_begin(conn);
    t_sql(conn, CLAIM);
    CHECK_INT(t_number(conn, "SELECT count(pg_current_xact_id_if_assigned())"), 0);
    t_commit(conn);
}
