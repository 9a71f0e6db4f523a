/* doorbell_test.c - to be woken when messages come, instead of looking all the time. */
#include "common.h"

#include "core/call.h"

#include <poll.h>
#include <unistd.h>

#define PATIENCE_MS 20000 /* only to notice that nothing comes at all */
#define QUIET_MS 6        /* a ring within 5 ms of the last one is left out */

static int listen_to(ph_store *store, const char *ns)
{
    PH__CALL(call);
    int fd = -2;

    OK(ph__call_own(&call, store, 0, &t_err));
    OK(store->backend->doorbell_listen(&call, ns, &fd));
    return fd;
}

/* As a dispatcher does it: asks, listens, sleeps until something comes, asks again. */
static bool hears(ph_store *store, const char *ns)
{
    for (int waited = 0; waited < PATIENCE_MS; waited += 100) {
        struct pollfd fd = { .fd = listen_to(store, ns), .events = POLLIN };

        CHECK(fd.fd >= 0);
        if (store->backend->doorbell_taken(store, ns))
            return true;
        (void)poll(&fd, 1, 100);
    }
    return false;
}

/* A store that listens, and has heard all that was there before. */
static ph_store *listener(const char *ns)
{
    ph_store *store = t_open(NULL);

    CHECK(listen_to(store, ns) >= 0);
    while (store->backend->doorbell_taken(store, ns))
        ;
    return store;
}

static void put_into(ph_store *store, const char *ns, int64_t due_at)
{
    ph_message m = a_message("o", "x");

    m.ns = ns;
    m.due_at = due_at;
    put(store, &m);
}

TEST(an_enqueue_wakes_those_who_listen)
{
    ph_store *producer = t_open(NULL), *store = listener("");
    ph_message many[3] = { a_message("o", "1"), a_message("o", "2"), a_message("o", "3") };

    t_enqueue(producer, "o", "x");
    CHECK(hears(store, ""));
    usleep(QUIET_MS * 1000);
    OK(ph_enqueue_many(producer, PH_OWN_TX, many, 3, 0, NULL, &t_err));
    CHECK(hears(store, ""));
    CHECK_INT(claimable(store, 10), 4);
}

TEST(an_enqueue_into_several_namespaces_wakes_all_of_them)
{
    ph_store *producer = t_open(NULL), *stores[2] = { listener("a"), listener("b") };
    ph_message many[3] = { a_message("o", "1"), a_message("o", "2"), a_message("o", "3") };

    many[0].ns = many[2].ns = "a";
    many[1].ns = "b";
    OK(ph_enqueue_many(producer, PH_OWN_TX, many, 3, 0, NULL, &t_err));
    CHECK(hears(stores[0], "a"));
    CHECK(hears(stores[1], "b"));
}

TEST(a_ring_after_the_callers_commit_wakes)
{
    ph_store *producer = t_open(NULL), *store = listener("n");
    struct t_conn *conn = t_connect();
    ph_message m = a_message("o", "x");

    m.ns = "n";
    t_begin(conn);
    OK(try_put(producer, t_tx(conn), &m));
    t_commit(conn);
    OK(ph_doorbell_ring(producer, "n", 0, &t_err));
    CHECK(hears(store, "n"));
}

/* What comes while another call reads its answer is not on the socket any more. */
TEST(a_ring_is_not_lost_in_other_calls)
{
    ph_store *producer = t_open(NULL), *store = listener("");
    bool taken = false;

    t_enqueue(producer, "o", "x");
    for (int waited = 0; waited < PATIENCE_MS && !taken; waited += 10) {
        (void)t_clock(store);
        taken = store->backend->doorbell_taken(store, "");
        usleep(10000);
    }
    CHECK(taken);
}

TEST(calls_work_while_the_doorbell_rings)
{
    ph_store *producer = t_open(NULL), *store = listener("");
    ph_owner owner = ph_owner_new();
    size_t acked = 0;

    for (int i = 0; i < 200; i++) {
        t_enqueue(producer, "o", "x");
        if (i % 3 == 0)
            OK(ph_doorbell_ring(producer, NULL, 0, &t_err));
        t_enqueue(store, "o", "y"); /* rings too, on the connection that listens */
        acked += t_ack_all(store, owner, t_claim(store, owner, 2));
        if (i % 50 == 0)
            usleep(QUIET_MS * 1000);
    }
    CHECK_INT(acked, 400);
    CHECK(hears(store, ""));
}

TEST(listening_again_changes_nothing)
{
    ph_store *producer = t_open(NULL), *store = listener("");
    int fd = listen_to(store, "");

    for (int i = 0; i < 10; i++)
        CHECK_INT(listen_to(store, ""), fd);
    t_enqueue(producer, "o", "x");
    CHECK(hears(store, ""));
    CHECK(!store->backend->doorbell_taken(store, "")); /* once */
}

/* On SQLite every commit is heard by all. */
TEST(other_namespaces_and_later_messages_do_not_wake)
{
    ph_store *producer, *store;
    struct pollfd fd = { .events = POLLIN };

    if (!t_is_pg())
        t_not_here("a commit does not say whom it concerns");
    producer = t_open(NULL);
    store = listener("mine");
    fd.fd = listen_to(store, "mine");
    put_into(producer, "mine", INT64_C(4102444800000000)); /* the year 2100 */
    usleep(QUIET_MS * 1000);
    put_into(producer, "other", 0);
    CHECK_INT(poll(&fd, 1, PATIENCE_MS),
              1); /* that of the other namespace has come, and no other */
    CHECK(!store->backend->doorbell_taken(store, "mine"));
    usleep(QUIET_MS * 1000);
    put_into(producer, "mine", 0);
    CHECK(hears(store, "mine"));
}

TEST(a_duplicate_does_not_wake)
{
    ph_store *producer, *store;
    struct pollfd fd = { .events = POLLIN };
    ph_message m = a_message("o", "x");

    if (!t_is_pg())
        t_not_here("a commit does not say whom it concerns");
    producer = t_open(NULL);
    m.dedupe_key = "k";
    put(producer, &m);
    usleep(QUIET_MS * 1000);
    store = listener("");
    fd.fd = listen_to(store, "");
    CHECK(!put(producer, &m).is_new);
    usleep(QUIET_MS * 1000);
    put_into(producer, "other", 0);
    CHECK_INT(poll(&fd, 1, PATIENCE_MS), 1);
    CHECK(!store->backend->doorbell_taken(store, ""));
}
