/* doorbell_test.c - somebody else's commit wakes us, our own does not. */
#include "seam.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define HANG_MS 60000 /* generous: to tell a hang from a slow machine */

/* Waits for the doorbell; false if nothing comes in that time. */
static bool rings(ph_store *store, int fd, int timeout_ms)
{
    ph__deadline limit = ph__deadline_in(timeout_ms);
    struct pollfd wait = { .fd = fd, .events = POLLIN };

    do {
        if (poll(&wait, 1, ph__deadline_left_ms(limit)) > 0 && taken(store))
            return true;
    } while (ph__deadline_left_ms(limit) > 0);
    return false;
}

static bool is_quiet(int fd)
{
    struct pollfd wait = { .fd = fd, .events = POLLIN };

    return poll(&wait, 1, 0) == 0;
}

static size_t claimable(ph_store *store)
{
    ph_owner owner = ph_owner_new();

    return t_ack_all(store, owner, t_claim(store, owner, 100));
}

#ifndef __linux__
TEST(there_is_no_doorbell_here)
{
    CHECK_INT(listen_to(t_open(NULL)), -1);
}
#else

TEST(the_descriptor_is_closed_on_exec_and_never_blocks)
{
    ph_store *store = t_open(NULL);
    int fd = listen_to(store);

    CHECK(fd >= 0);
    CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    CHECK(fcntl(fd, F_GETFL) & O_NONBLOCK);
    CHECK_INT(listen_to(store), fd);
    ph_close(store);
    CHECK(fcntl(fd, F_GETFD) < 0);
}

TEST(a_commit_of_another_process_wakes_us)
{
    int go[2];
    pid_t child;
    ph_store *store;
    char byte = 0;
    int fd, ended;

    CHECK_INT(pipe(go), 0);
    fflush(NULL);
    child = fork(); /* before any connection: they must not cross a fork */
    CHECK(child >= 0);
    if (child == 0) {
        for (int i = 0; i < 20 && read(go[0], &byte, 1) == 1; i++) {
            store = t_open(NULL);
            t_enqueue(store, "topic", "payload");
            ph_close(store);
        }
        _exit(0);
    }
    store = t_open(NULL);
    fd = listen_to(store);
    CHECK(fd >= 0);
    for (int i = 0; i < 20; i++) {
        CHECK_INT(write(go[1], "x", 1), 1);
        CHECK(rings(store, fd, HANG_MS));
        while (claimable(store) == 0) /* it may have rung a little early, never too late */
            CHECK(rings(store, fd, HANG_MS));
    }
    close(go[1]);
    CHECK_INT(waitpid(child, &ended, 0), child);
    CHECK_INT(ended, 0);
}

TEST(our_own_commits_do_not_wake_us)
{
    ph_store *store = t_open(NULL);
    int fd = listen_to(store);

    for (int i = 0; i < 50; i++) {
        t_enqueue(store, "topic", "payload");
        claimable(store);
        CHECK(!taken(store));
        CHECK(is_quiet(fd));
    }
    for (int i = 0; i < 5; i++) { /* nor does a checkpoint */
        char *payload = calloc(1, 1000001);

        memset(payload, 'x', 1000000);
        for (int n = 0; n < 5; n++)
            t_enqueue(store, "topic", payload);
        free(payload);
        CHECK(!taken(store));
        CHECK(is_quiet(fd));
    }
}

TEST(a_commit_on_a_connection_of_the_callers_wakes_us)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_message m = PH_MESSAGE_INIT;
    int fd = listen_to(store);

    m.topic = m.payload = "x";
    t_begin(conn);
    OK(ph_enqueue(store, t_tx(conn), &m, 0, NULL, &t_err));
    t_commit(conn);
    CHECK(rings(store, fd, HANG_MS));
    CHECK_INT(claimable(store), 1);
    CHECK(!taken(store));
    CHECK(is_quiet(fd));
}

TEST(a_doorbell_that_rang_before_we_slept_is_heard)
{
    ph_store *store = t_open(NULL), *other = t_open(NULL);

    (void)listen_to(store);
    t_enqueue(other, "topic", "payload");
    t_enqueue(store, "topic", "our own, after it");
    CHECK(taken(store));
    CHECK(!taken(store));
}

TEST(a_transaction_that_was_rolled_back_does_not_wake_us)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    int fd;

    t_sql(conn, "CREATE TABLE big (x); PRAGMA cache_size = 1; PRAGMA cache_spill = ON");
    fd = listen_to(store);
    (void)taken(store);
    t_begin(conn);
    t_sql(conn, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) "
                "INSERT INTO big SELECT zeroblob(5000) FROM n"); /* spills into the log */
    CHECK(!is_quiet(fd));
    t_rollback(conn);
    CHECK(!taken(store));
    CHECK(is_quiet(fd));
}

TEST(a_commit_that_is_still_under_way_may_be_announced_but_is_never_missed)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    int fd;

    t_sql(conn, "CREATE TABLE big (x); PRAGMA cache_size = 1; PRAGMA cache_spill = ON");
    fd = listen_to(store);
    (void)taken(store);
    t_begin(conn);
    t_sql(conn, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) "
                "INSERT INTO big SELECT zeroblob(5000) FROM n");
    CHECK(!is_quiet(fd));
    CHECK(taken(store)); /* the log grows, and somebody holds the lock */
    t_commit(conn);
    CHECK(rings(store, fd, HANG_MS));
}

TEST(without_a_descriptor_everything_else_works)
{
    ph_store *store = t_open(NULL), *other = t_open(NULL);
    struct rlimit before, none;
    int fd;

    CHECK_INT(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 3;
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &none), 0);
    CHECK_INT(listen_to(store), -1);
    CHECK(!taken(store));
    t_enqueue(other, "topic", "payload");
    CHECK(taken(store)); /* asked, it still knows */
    CHECK_INT(claimable(store), 1);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &before), 0);
    fd = listen_to(store);
    CHECK(fd >= 0);
    t_enqueue(other, "topic", "payload");
    CHECK(rings(store, fd, HANG_MS));
}

TEST(a_log_that_was_replaced_is_watched_again)
{
    ph_store *store = t_open(NULL), *other;
    char path[500], aside[510];
    int fd = listen_to(store);

    snprintf(path, sizeof(path), "%s-wal", t_url() + strlen("sqlite:"));
    snprintf(aside, sizeof(aside), "%s.aside", path);
    CHECK_INT(rename(path, aside), 0); /* nobody may do that, but it must not deafen us */
    CHECK_INT(rename(aside, path), 0);
    (void)taken(store);
    CHECK_INT(listen_to(store), fd);
    other = t_open(NULL);
    t_enqueue(other, "topic", "payload");
    CHECK(rings(store, fd, HANG_MS));
}

TEST(the_doorbell_survives_a_handler_that_spoils_the_connection)
{
    ph_store *store = t_open(NULL), *other = t_open(NULL);
    int fd = listen_to(store);
    ph_tx tx = begin_lent(store);

    run_on(tx, "CREATE TEMP TABLE left_behind (x)"); /* the connection is made anew */
    OK(end_lent(store, true));
    fd = listen_to(store);
    (void)taken(store);
    CHECK(!taken(store));
    t_enqueue(other, "topic", "payload");
    CHECK(rings(store, fd, HANG_MS));
}

#endif

TEST(a_file_that_is_not_there_yet_has_no_doorbell)
{
    ph_store *store = NULL;
    PH__CALL(call);
    int fd = -2;

    OK(ph_open_lazy(t_url(), NULL, &store, &t_err));
    CHECK(!taken(store));
    OK(ph__call_begin(&call, store, PH_OWN_TX, 0, &t_err));
    OK(ph__call_connect_bare(&call, 0));
    OK(store->backend->doorbell_listen(&call, "", &fd));
    CHECK_INT(fd, -1);
    CHECK(!taken(store));
    ph__call_end(&call);
    ph_close(store);
}

TEST(ringing_does_nothing_here)
{
    ph_store *store = t_open(NULL);

    (void)listen_to(store);
    OK(ph_doorbell_ring(store, NULL, 0, &t_err));
    OK(ph_doorbell_ring(store, "anywhere", 0, &t_err));
    CHECK(!taken(store));
}
