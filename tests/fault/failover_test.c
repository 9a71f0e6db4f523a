/* failover_test.c - a primary and its synchronous standby: stores find the one that can be written,
 * leave the one that cannot, and lose nothing when the standby takes over. */
#include "common.h"
#include "proxy.h"
#include "server.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static struct proxy *first, *second; /* before the primary and the standby */

static void start_pair(void)
{
    static char sockets[2][320];
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store = NULL;

    if (!t_is_pg())
        t_not_here("concerns servers only");
    server_start_new();
    opts.deploy_schema = true;
    OK(t_try_open(server_url(), &opts, &store));
    ph_close(store);
    server_start_standby();
    snprintf(sockets[0], sizeof(sockets[0]), "%s/.s.PGSQL.5432", t_dir());
    snprintf(sockets[1], sizeof(sockets[1]), "%s/.s.PGSQL.5433", t_dir());
    first = proxy_new(NULL, 0, sockets[0]);
    second = proxy_new(NULL, 0, sockets[1]);
}

/* With more parameters. Valid until the next call but one. */
static const char *url_of(const struct proxy *one, const struct proxy *other, const char *more)
{
    static char urls[2][400];
    static int next;
    char *url = urls[next++ % 2];

    snprintf(url, sizeof(urls[0]),
             "postgresql://postgres@127.0.0.1:%d,127.0.0.1:%d/postgres?sslmode=disable%s",
             proxy_port(one), proxy_port(other), more);
    return url;
}

static int claim_some(ph_store *store, ph_owner owner, size_t *ret_count)
{
    ph_batch *batch = NULL;
    int r = ph_outbox_claim(store, PH_OWN_TX, owner, NULL, 0, &batch, &t_err);

    *ret_count = r == 0 ? ph_batch_count(batch) : 0;
    ph_batch_free(batch);
    return r;
}

static void check_read_only(int r, unsigned flags, const char *words)
{
    CHECK_INT(r, PH_EREADONLY);
    CHECK_INT(t_err.flags, flags);
    CHECK_STR(t_err.sqlstate, "25006");
    CHECK(strstr(t_err.message, words));
}

/* Whatever the URL asks for, writes go to a primary or fail by name; an empty queue is no excuse. */
static void check_standby_is_not_taken_for_a_primary(void)
{
    static const char *const writers[] = { "", "&target_session_attrs=any",
                                           "&target_session_attrs=read-write",
                                           "&target_session_attrs=primary" };
    static const char *const readers[] = { "&target_session_attrs=standby",
                                           "&target_session_attrs=read-only",
                                           "&target_session_attrs=prefer-standby" };
    ph_message m = a_message("orders", "x");
    ph_queue_counts counts = PH_QUEUE_COUNTS_INIT;
    ph_store *store = NULL;
    size_t count;

    for (size_t i = 0; i < sizeof(writers) / sizeof(*writers); i++) {
        OK(t_try_open(url_of(second, first, writers[i]), NULL, &store));
        OK(try_put(store, PH_OWN_TX, &m));
        OK(claim_some(store, ph_owner_new(), &count));
        CHECK_INT(count, 1);
        ph_close(store);
    }
    for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++) {
        int calls = proxy_calls(second);

        OK(t_try_open(url_of(first, second, readers[i]), NULL, &store));
        CHECK_INT(proxy_calls(second), calls + 1);
        OK(ph_outbox_count(store, PH_OWN_TX, NULL, 0, &counts, &t_err));
        check_read_only(claim_some(store, ph_owner_new(), &count), PH_RETRY, "none of the 2 hosts");
        ph_close(store);
    }
    OK(t_try_open(standby_url(), NULL, &store));
    check_read_only(claim_some(store, ph_owner_new(), &count), 0, "the server is a standby");
    OK(ph_outbox_count(store, PH_OWN_TX, NULL, 0, &counts, &t_err)); /* it can be read */
    ph_close(store);
    OK(t_try_open(url_of(second, second, ""), NULL, &store));
    check_read_only(try_put(store, PH_OWN_TX, &m), PH_RETRY, "none of the 2 hosts");
    ph_close(store);
    proxy_turn(first, PROXY_REFUSE); /* nobody can be written: but what can be read is read */
    OK(t_try_open(url_of(first, second, ""), NULL, &store));
    OK(ph_outbox_count(store, PH_OWN_TX, NULL, 0, &counts, &t_err));
    check_read_only(try_put(store, PH_OWN_TX, &m), PH_RETRY, "none of the 2 hosts");
    ph_close(store);
    proxy_turn(first, PROXY_PASS);
}

static void make_first_read_only(void)
{
    struct t_conn *conn = t_connect_to(server_url());

    t_sql(conn, "ALTER SYSTEM SET default_transaction_read_only = on");
    t_sql(conn, "ALTER SYSTEM SET synchronous_standby_names = ''");
    t_sql(conn, "SELECT pg_reload_conf()");
    t_disconnect(conn);
}

TEST(a_server_that_cannot_be_written_is_left)
{
    ph_message m = a_message("orders", "x");
    ph_store *idle = NULL, *writer = NULL, *direct = NULL;
    ph_owner owner = ph_owner_new();
    size_t count = 0;

    start_pair();
    check_standby_is_not_taken_for_a_primary();
    OK(t_try_open(url_of(first, second, ""), NULL, &idle));
    OK(t_try_open(url_of(first, second, ""), NULL, &writer));
    OK(claim_some(idle, owner, &count)); /* what was left from before */
    OK(claim_some(idle, owner, &count));
    CHECK_INT(count, 0);
    OK(try_put(writer, PH_OWN_TX, &m)); /* goes to the first one, and stays there */
    standby_promote();
    make_first_read_only();
    OK(try_put(writer, PH_OWN_TX, &m)); /* refused by the one, and done by the other */
    OK(t_try_open(standby_url(), NULL, &direct));
    for (int i = 0; i < 500 && count == 0; i++) { /* the first claim may not know it yet */
        OK(claim_some(idle, owner, &count));
        t_nap_ms(10);
    }
    CHECK(count >= 1);
}

/* ------------------------------------------------------------------ under load */

#define NUMBERS 4000
#define LEASE_S 1

/* What the processes have seen, number by number. */
struct ledger {
    _Atomic bool enough, stop;         /* for the producer; for the workers */
    _Atomic int stored, produced;      /* how many enqueues succeeded, and were tried */
    _Atomic signed char fate[NUMBERS]; /* 1: stored; 2: unknown */
    _Atomic int delivered[NUMBERS], acked[NUMBERS], after_ack[NUMBERS];
};

static ph_store *open_patiently(const char *url)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store = NULL;

    opts.timeout_ms = 1000;
    for (int i = 0; ph_open(url, &opts, &store, &t_err) < 0; i++)
        CHECK(i < 20);
    return store;
}

static void produce(struct ledger *ledger, const char *url)
{
    ph_store *store = open_patiently(url);
    char payload[20];

    for (int i = 0; i < NUMBERS && !atomic_load(&ledger->enough); i++) {
        ph_message m = a_message("load", payload);
        int r;

        snprintf(payload, sizeof(payload), "%d", i);
        while ((r = ph_enqueue(store, PH_OWN_TX, &m, 0, NULL, &t_err)) < 0 &&
               !(t_err.flags & PH_UNKNOWN))
            CHECK(t_err.flags & PH_RETRY);
        atomic_store(&ledger->fate[i], r == 0 ? 1 : 2);
        atomic_fetch_add(&ledger->stored, r == 0);
        atomic_store(&ledger->produced, i + 1);
    }
    ph_close(store);
}

/* A call to a server that has gone may take as long as the lease, and then the rest of the batch is
 * another's. asked_s: before the claim. */
static void work_off(struct ledger *ledger, ph_store *store, ph_owner owner, ph_batch *batch,
                     double asked_s)
{
    size_t n = ph_batch_count(batch);

    for (size_t i = 0; i < n; i++) {
        const ph_delivery *d = ph_batch_at(batch, i);
        int number = atoi(d->payload);
        ph_outcome outcome = PH_OUTCOME_UNKNOWN;
        ph_lease_ref ref = ph_lease_ref_of(d);
        bool was_acked;

        CHECK(number >= 0 && number < NUMBERS);
        was_acked = atomic_load(&ledger->acked[number]);
        if (t_now_s() >= asked_s + LEASE_S)
            break;
        atomic_fetch_add(&ledger->delivered[number], 1);
        if (was_acked)
            atomic_fetch_add(&ledger->after_ack[number], 1);
        if (ph_outbox_ack(store, PH_OWN_TX, owner, &ref, 1, 0, &outcome, &t_err) == 0 &&
            outcome == PH_OUTCOME_ACKED)
            atomic_fetch_add(&ledger->acked[number], 1);
    }
    ph_batch_free(batch);
}

static void work(struct ledger *ledger, const char *url)
{
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_store *store = open_patiently(url);
    ph_owner owner = ph_owner_new();

    opts.batch_size = 5;
    opts.lease_s = LEASE_S;
    while (!atomic_load(&ledger->stop)) {
        double asked_s = t_now_s();
        ph_batch *batch = NULL;

        if (ph_outbox_claim(store, PH_OWN_TX, owner, &opts, 0, &batch, &t_err) == 0) {
            if (ph_batch_count(batch) == 0)
                t_nap_ms(5);
            work_off(ledger, store, owner, batch, asked_s);
        } else {
            CHECK(t_err.flags & PH_RETRY);
        }
    }
    ph_close(store);
}

static pid_t start_process(void (*body)(struct ledger *, const char *), struct ledger *ledger,
                           const char *url)
{
    pid_t pid = fork();

    CHECK(pid >= 0);
    if (pid == 0) {
        body(ledger, url);
        _exit(0);
    }
    return pid;
}

static void await_stored(struct ledger *ledger, int at_least)
{
    for (int i = 0; atomic_load(&ledger->stored) < at_least; i++) {
        CHECK(i < 4000);
        t_nap_ms(10);
    }
}

static void check_end(pid_t pid)
{
    int status = -1;

    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Nothing that was answered is lost or there twice, and what was delivered again had no ack. */
static void check_ledger(struct ledger *ledger, struct t_conn *conn)
{
    int unknown = 0, again = 0;

    for (int i = 0; i < atomic_load(&ledger->produced); i++) {
        char sql[100];
        long long there;

        snprintf(sql, sizeof(sql), "SELECT count(*) FROM posthorn.outbox WHERE payload = '%d'", i);
        there = t_number(conn, sql);
        unknown += atomic_load(&ledger->fate[i]) == 2;
        if (atomic_load(&ledger->fate[i]) == 1)
            CHECK_INT(there, 1);
        CHECK(there <= 1);
        CHECK(atomic_load(&ledger->delivered[i]) >= there);
        CHECK(atomic_load(&ledger->acked[i]) <= 1);
        CHECK_INT(atomic_load(&ledger->after_ack[i]), 0);
        again += atomic_load(&ledger->delivered[i]) > 1;
    }
    CHECK(unknown <= 2 && again <= 10); /* no more than was under way at that moment */
    t_conn_schema(conn, "posthorn");
    t_check_places(conn);
}

TEST(a_standby_takes_over_under_load_and_nothing_is_lost_or_doubled)
{
    struct ledger *ledger = shared_memory(sizeof(*ledger));
    struct t_conn *conn;
    pid_t pids[3];

    start_pair();
    pids[0] =
        start_process(produce, ledger, url_of(first, second, "&target_session_attrs=read-write"));
    pids[1] = start_process(work, ledger, url_of(first, second, ""));
    pids[2] = start_process(work, ledger, url_of(second, first, "&connect_timeout=1"));
    await_stored(ledger, 100);
    proxy_turn(first, PROXY_STALL); /* cut off, but it lives, and thinks that it is the primary */
    standby_promote();
    await_stored(ledger, atomic_load(&ledger->stored) + 100);
    atomic_store(&ledger->enough, true);
    check_end(pids[0]);
    conn = t_connect_to(standby_url());
    for (int i = 0; i < 2000; i++) { /* leases that nobody heard of run out */
        if (t_number(conn, "SELECT count(*) FROM posthorn.outbox WHERE status <> 'done'") == 0)
            break;
        t_nap_ms(10);
    }
    atomic_store(&ledger->stop, true);
    check_end(pids[1]);
    check_end(pids[2]);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM posthorn.outbox WHERE status <> 'done'"), 0);
    check_ledger(ledger, conn);
    t_disconnect(conn);
}
