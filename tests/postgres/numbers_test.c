/* numbers_test.c - what numbers queues and messages get, whatever their producers try. */
#include "common.h"

/* The half of an id that is random: setseed() makes random() repeat, not this. */
static const char *salt(struct t_conn *conn, const char *enqueue)
{
    t_sql(conn, "SELECT setseed(0.5)");
    return say("%s", t_value(conn, say("SELECT right((%s)::text, 8)", enqueue)));
}

TEST(ids_do_not_repeat_after_setseed)
{
    static const char *const enqueues[] = {
        "SELECT work_id FROM {t}enqueue('t', 'p')",
        "SELECT work_id FROM {t}enqueue('t', 'p', 'ns' || clock_timestamp())",
        "SELECT work_id FROM {t}enqueue_many('[{\"topic\": \"t\", \"payload\": \"p\"}]')",
        "SELECT {t}timer_schedule('t', 'p', now())",
    };
    struct t_conn *conn;

    ph_close(t_open(NULL));
    conn = a_connection(NULL);
    for (size_t i = 0; i < sizeof(enqueues) / sizeof(*enqueues); i++) {
        const char *first = salt(conn, enqueues[i]);

        CHECK(strcmp(first, salt(conn, enqueues[i])) != 0);
    }
    t_sql(conn, "SELECT setseed(0.5), {t}job_set('a', 't', '@daily')");
    t_sql(conn, "SELECT setseed(0.5), {t}job_set('b', 't', '@daily')");
    CHECK_INT(t_number(conn, "SELECT count(DISTINCT generation) FROM {t}job"), 2);
}

/* There are 2^29: what is rolled back must not use them up, as it would with a sequence. */
TEST(the_number_of_a_queue_that_was_rolled_back_is_free_again)
{
    struct t_conn *conn, *other;

    ph_close(t_open(NULL));
    conn = a_connection(NULL);
    other = a_connection(NULL);
    CHECK_STR(t_value(conn, "SELECT pg_get_serial_sequence('{t}queue', 'id')"), "");
    CHECK_STR(t_value(conn, "SELECT string_agg(attname, ' ') FROM pg_attribute WHERE attrelid = "
                            "'{t}queue'::regclass AND (attidentity <> '' OR "
                            "(attname = 'id' AND atthasdef))"),
              "");
    t_begin(conn);
    t_sql(conn, "SELECT {t}enqueue('t', 'p', 'a' || i) FROM generate_series(1, 500) i");
    t_sql(other, "SET lock_timeout = '5s'"); /* nobody waits for who makes other queues */
    t_sql(other, "SELECT {t}enqueue('t', 'p', 'b' || i) FROM generate_series(1, 500) i");
    t_rollback(conn);
    CHECK_STR(t_value(conn, "SELECT count(*) || ' ' || (min(id) >= 1) || (max(id) < 536870912) "
                            "FROM {t}queue WHERE namespace <> ''"),
              "500 truetrue");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox WHERE status = 'ready'"), 500);
    t_check_places(conn);
}
