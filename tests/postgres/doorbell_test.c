/* doorbell_test.c - the notifications behind the doorbell, and what may happen to them. */
#include "seam.h"

#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* A session that hears everything. */
static PGconn *an_ear(void)
{
    struct t_conn *conn = t_connect();

    t_sql(conn, say("LISTEN \"posthorn_%s\"", t_schema()));
    return t_native(conn);
}

/* The payload of the next notification; it must come. */
static const char *heard(PGconn *ear)
{
    struct pollfd fd = { .fd = PQsocket(ear), .events = POLLIN };
    const char *payload = NULL;

    for (int waited = 0; waited < PATIENCE_MS && !payload; waited += 100) {
        PGnotify *notice;

        CHECK(PQconsumeInput(ear));
        notice = PQnotifies(ear);
        if (notice) {
            payload = say("%s", notice->extra);
            PQfreemem(notice);
        } else {
            (void)poll(&fd, 1, 100);
        }
    }
    CHECK(payload != NULL);
    return payload;
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

TEST(the_doorbell_rings_from_sql)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = a_connection(NULL);
    PGconn *ear = an_ear();

    CHECK(seam_listen(store) >= 0);
    t_sql(conn, "SELECT {t}doorbell_ring()");
    CHECK_STR(heard(ear), "");
    CHECK(seam_hears(store, ""));
    t_begin(conn); /* inside a transaction: with its commit */
    t_sql(conn, "SELECT {t}enqueue('t', 'p', namespace => 'Zürich'); "
                "SELECT {t}doorbell_ring(namespace => 'Zürich')");
    t_commit(conn);
    CHECK_STR(heard(ear), "Zürich");
    CHECK(!seam_taken(store, ""));
    refused(conn, "22023", "doorbell_ring: namespace is null", "SELECT {t}doorbell_ring(NULL)");
    refused(conn, "22023", "doorbell_ring: namespace is null or has more than 255 characters",
            "SELECT {t}doorbell_ring(repeat('x', 256))");
    t_sql(conn, "SELECT {t}doorbell_ring(repeat('ü', 255))");
    CHECK_INT(strlen(heard(ear)), 510);
}

TEST(rings_are_rare)
{
    ph_store *store = t_open(NULL);
    PGconn *ear = an_ear();
    int64_t started = now_ms();
    struct t_conn *conn = a_connection(NULL);
    int count = 0;

    for (int i = 0; i < 300; i++) {
        t_enqueue(store, "t", "p");
        OK(ph_doorbell_ring(store, "", 0, &t_err));
    }
    (void)t_clock(store); /* has read the answer of the last ring, if one was sent */
    started = now_ms() - started;
    t_sql(conn, "SELECT {t}doorbell_ring('the end')");
    while (strcmp(heard(ear), "the end") != 0)
        count++;
    CHECK(count >= 1);
    CHECK(count <= started / 5 + 1);
}

TEST(a_listener_whose_server_is_gone_is_woken_and_listens_again)
{
    ph_store *store = t_open(NULL), *producer = t_open(NULL);
    struct t_conn *conn = a_connection(NULL);
    struct pollfd fd = { .fd = seam_listen(store), .events = POLLIN };

    t_sql(conn, say("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE query = "
                    "'LISTEN \"posthorn_%s\"'",
                    t_schema()));
    CHECK_INT(poll(&fd, 1, PATIENCE_MS), 1);
    CHECK(seam_taken(store, "")); /* a reason to look */
    CHECK(seam_listen(store) >= 0);
    t_enqueue(producer, "t", "p");
    CHECK(seam_hears(store, ""));
}

/* A ring that was sent and not yet answered is no reason for the next call to fail. */
TEST(a_connection_lost_after_a_ring_is_made_anew)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = a_connection(NULL);

    for (int i = 0; i < 5; i++) {
        t_enqueue(store, "t", "p");
        t_sql(conn, say("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE query "
                        "LIKE '%%\"%s\".doorbell_ring%%' AND pid <> pg_backend_pid()",
                        t_schema()));
        usleep(6000);
    }
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 5);
}

/* A schema whose roles were granted before there was a doorbell. */
TEST(a_producer_that_may_not_ring_enqueues)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store = NULL;
    struct t_conn *conn;
    const char *role = say("%s_silent", t_schema());

    ph_close(t_open(NULL));
    conn = a_connection(NULL);
    t_sql(conn, say("CREATE ROLE %s LOGIN; GRANT USAGE ON SCHEMA {schema} TO %s; GRANT EXECUTE ON "
                    "ALL FUNCTIONS IN SCHEMA {schema} TO %s; REVOKE EXECUTE ON FUNCTION "
                    "{t}doorbell_ring FROM %s",
                    role, role, role, role));
    opts.schema = t_schema();
    OK(t_try_open(url_with(t_url(), say("user=%s", role)), &opts, &store));
    for (int i = 0; i < 3; i++) {
        t_enqueue(store, "t", "p");
        usleep(6000);
    }
    CHECK_INT(ph_doorbell_ring(store, NULL, 0, &t_err), PH_EPERM);
    ph_close(store);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 3);
    t_sql(conn, say("DROP OWNED BY %s; DROP ROLE %s", role, role));
}
