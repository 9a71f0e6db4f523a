/* sick_test.c - stores that are down, locked or do not answer: the others go on meanwhile, and they
 * themselves are served when they are well again. */
#include "fleet.h"
#include "proxy.h"
#include "server.h"

#include <libpq-fe.h>
#include <sys/stat.h>
#include <unistd.h>

static struct tally tally = TALLY_INIT;

/* --------------------------------------------------------------------- the others */

/* Those of PostgreSQL share a database, so a sick one has a mark in its URL. */
static const char *place_of(const struct base *base)
{
    return strrchr(base->url, base->is_pg ? '=' : '/') + 1;
}

static void mark(struct base *base)
{
    size_t length = strlen(base->url);

    if (base->is_pg)
        snprintf(base->url + length, sizeof(base->url) - length, "&application_name=sick_%s",
                 base->id);
}

static int tries(const struct base *base)
{
    return links_opened(place_of(base));
}

/* A message for a healthy one, and until it was handled. */
static void carry_on(struct fleet *fleet, int n)
{
    int before = counted(&tally, base_at(n)->id);

    fleet_put(fleet, n, "t", 1);
    AWAIT(counted(&tally, base_at(n)->id) == before + 1);
}

/* A message that comes while the sick one is tried, in vain, is handled before that try is over: again
 * and again. */
static void check_not_held_up(struct fleet *fleet, const struct base *sick, int first, int count)
{
    int until = tries(sick) + 12, during = 0, n = 0;

    while (during < 3 * count && tries(sick) < until) {
        int try = tries(sick);
        bool under_way = links_open(place_of(sick));

        carry_on(fleet, first + n++ % count);
        during += under_way && links_open(place_of(sick)) && tries(sick) == try;
    }
    CHECK(during >= 3 * count);
}

static void init(struct fleet *fleet, int connections)
{
    fleet_init(fleet, connections);
    fleet->stores.timeout_ms = 2000;
}

static void check_said(const char *id, int warnings)
{
    if (said(id, PH_LOG_WARN, "dispatcher", "cannot be used") != warnings)
        log_print();
    CHECK_INT(said(id, PH_LOG_WARN, "dispatcher", "cannot be used"), warnings);
    AWAIT(said(id, PH_LOG_WARN, "dispatcher", "back") == warnings); /* a moment after the handler */
}

/* ------------------------------------------------------------------------- locked */

/* A handler: the store whose message it has counts as served, whatever was before. */
static ph_verdict count_served(void *context, ph_work *work)
{
    CHECK_INT(standing(context, ph_work_store_id(work)).serving, PH_SERVING_SERVED);
    return count_up(&tally, work);
}

static void lock_some(int connections, int locked, int others)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    struct fleet fleet;

    init(&fleet, connections);
    for (int n = 0; n < locked; n++)
        mark(base_named(n));
    fleet_add(&fleet, 0, locked + others);
    for (int n = 0; n < locked; n++)
        base_put(base_at(n), "gate", 1);
    fleet_new(&fleet);
    fleet_handle(&fleet, "gate", play, &part);
    fleet_handle(&fleet, "t", count_served, &fleet);
    fleet_start(&fleet);
    gate_await(&gate, locked);
    for (int n = 0; n < locked; n++)
        base_lock(base_at(n));
    gate_open(&gate); /* so there is something to write */
    for (int n = 0; n < locked; n++) {
        AWAIT(standing(&fleet, base_at(n)->id).serving == PH_SERVING_TRYING);
        CHECK(standing(&fleet, base_at(n)->id).error == PH_EBUSY ||
              standing(&fleet, base_at(n)->id).error == PH_ETIMEOUT);
    }
    check_not_held_up(&fleet, base_at(0), locked, others);
    for (int n = 0; n < locked; n++) {
        CHECK_INT(standing(&fleet, base_at(n)->id).serving, PH_SERVING_TRYING);
        base_unlock(base_at(n));
        fleet_put(&fleet, n, "t", 4);
    }
    for (int n = 0; n < locked; n++) {
        AWAIT(counted(&tally, base_at(n)->id) == 4);
        CHECK_INT(standing(&fleet, base_at(n)->id).serving, PH_SERVING_SERVED);
        CHECK_INT(standing(&fleet, base_at(n)->id).error, 0);
        CHECK_INT(standing(&fleet, base_at(n)->id).outages, 1);
        check_said(base_at(n)->id, 1);
    }
    for (int n = locked; n < locked + others; n++)
        check_said(base_at(n)->id, 0);
    CHECK(links_most() <= connections);
    fleet_end(&fleet);
    for (int n = 0; n < locked + others; n++)
        base_check(base_at(n));
}

TEST(a_locked_store_does_not_hold_up_the_others)
{
    lock_some(2, 1, 3);
}

TEST(three_locked_stores_do_not_hold_up_the_others)
{
    lock_some(3, 3, 3);
}

/* Its messages are in hand when it is locked. They wait for their transactions, but not on every
 * thread. */
TEST(a_locked_store_does_not_hold_up_handlers_of_others)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    int rounds = 0, want = 0;
    struct fleet fleet;

    init(&fleet, 5);
    fleet.opts.threads = 2;
    mark(base_named(0));
    fleet_add(&fleet, 0, 2);
    base_put(base_at(0), "gate", 2);
    base_put(base_at(0), "t", 40);
    fleet_new(&fleet);
    fleet_handle(&fleet, "gate", play, &part);
    fleet_handle_in_tx(&fleet, NULL, count_up, &tally);
    fleet_start(&fleet);
    gate_await(&gate, 2); /* both threads, so that the others wait */
    AWAIT(fleet_stats(&fleet).waiting == 40);
    base_lock(base_at(0));
    gate_open(&gate);
    for (double end = t_now_s() + 6; t_now_s() < end; rounds++) {
        base_put(base_at(1), "t", 1);
        OK(ph_dispatcher_wake(fleet.dispatcher, "s001", &t_err));
        want++;
        AWAIT(counted(&tally, "s001") == want);
    }
    CHECK(t_is_pg() || counted(&tally, "s000") == 0); /* there it is the ack that waits */
    base_unlock(base_at(0));
    printf("%d rounds of the other\n", rounds);
    CHECK(rounds >= 5); /* with all threads at the locked one there was a single round */
    AWAIT(base_done(base_at(0)) == 42);
    fleet_end(&fleet);
    for (int n = 0; n < 2; n++)
        base_check(base_at(n));
}

static _Atomic bool locks;
static _Atomic int held; /* rises when it is locked, and when it is unlocked: odd while it is */

static void *lock_again_and_again(void *context)
{
    while (locks) {
        base_lock(context);
        held++;
        t_nap_ms(700);
        held++;
        base_unlock(context);
        t_nap_ms(30);
    }
    return NULL;
}

/* Transactions do begin there, but few at a time: what waits for them is not in the way of others, whose
 * messages do not wait until it is unlocked twice. */
TEST(a_store_that_is_locked_nearly_always_does_not_take_the_room_of_others)
{
    struct fleet fleet;
    pthread_t locker;
    int late = 0;

    init(&fleet, 8);
    (void)base_lite(0);
    (void)base_lite(1);
    fleet_add(&fleet, 0, 2);
    base_put(base_at(0), "t", 3000);
    locks = true;
    CHECK_INT(pthread_create(&locker, NULL, lock_again_and_again, base_at(0)), 0);
    fleet_new(&fleet);
    fleet_handle_in_tx(&fleet, NULL, count_up, &tally);
    fleet_start(&fleet);
    AWAIT(fleet_stats(&fleet).waiting >= 150);
    for (int round = 1; round <= 30; round++) {
        int before = held;

        base_put(base_at(1), "t", 1);
        AWAIT(counted(&tally, "s001") == round);
        late += held - before >= 4;
        t_nap_ms(50);
    }
    printf("%d of 30 messages of the other were late\n", late);
    locks = false;
    CHECK_INT(pthread_join(locker, NULL), 0);
    CHECK(late <= 3);
    fleet_end(&fleet);
}

/* A handler: the first holds the only write lock of a file, and with it all others up. */
static ph_verdict hold_up(void *context, ph_work *work)
{
    static _Atomic int first = 1;

    if (atomic_exchange(&first, 0))
        gate_pass(context);
    return count_up(&tally, work);
}

/* Nothing rings, and nothing is polled: that it goes on is noticed all the same. */
TEST(a_store_that_was_held_up_is_claimed_from_again)
{
    static struct gate gate = GATE_INIT;
    struct fleet fleet;

    init(&fleet, 6);
    fleet.opts.lease_s = 3600;
    fleet.opts.stale_threshold_s = 36000;
    fleet.opts.poll_ms = 1000000;
    fleet.opts.retention_ms = -1;
    fleet.opts.doorbell = PH_DOORBELL_OFF;
    fleet.opts.batch_size = 10;
    fleet.opts.prefetch = 20;
    (void)base_lite(0);
    fleet_add(&fleet, 0, 1);
    base_put(base_at(0), "t", 300);
    fleet_new(&fleet);
    fleet_handle_in_tx(&fleet, NULL, hold_up, &gate);
    fleet_start(&fleet);
    gate_await(&gate, 1);
    t_nap_ms(500);
    gate_open(&gate);
    AWAIT(counted(&tally, "s000") >= 300);
    fleet_end(&fleet);
}

/* --------------------------------------------------------------------------- down */

/* A place where there is nothing now, and for SQLite not even a folder. */
static struct base *nowhere(int n)
{
    struct base *base;
    char url[300], file[300];
    FILE *stone;

    if (t_is_pg()) {
        snprintf(url, sizeof(url), "postgresql:///postgres?host=%s&application_name=sick_n%d",
                 t_dir(), n);
        return base_on(n, url);
    }
    base = base_lite(n);
    snprintf(file, sizeof(file), "%s/stone%d", t_dir(), n);
    stone = fopen(file, "w");
    CHECK(stone && fclose(stone) == 0);
    snprintf(base->url, sizeof(base->url), "sqlite:%s/stone%d/x%d.db", t_dir(), n, n);
    return base;
}

/* Ever longer from one try to the next. A pause may be too long on a slow machine, but never too
 * short. */
static void check_ever_rarer(const struct base *base, int count)
{
    const char *place = place_of(base);
    double least_s = 0.025;

    for (int i = 1; i < count; i++, least_s *= 2) {
        if (links_gap_s(place, i) < least_s * 0.9)
            printf("try %d came after %.3f s\n", i, links_gap_s(place, i));
        CHECK(links_gap_s(place, i) >= least_s * 0.9);
    }
}

TEST(a_store_that_is_down_from_the_start_is_tried_ever_more_rarely)
{
    struct base *down = nowhere(0);
    struct fleet fleet;
    char stone[300];

    init(&fleet, 2);
    fleet_set(&fleet);
    fleet_join(&fleet, down);
    fleet_add(&fleet, 1, 3);
    fleet_run(&fleet, count_up, &tally);
    AWAIT(standing(&fleet, "s000").serving == PH_SERVING_TRYING);
    CHECK_INT(standing(&fleet, "s000").error, PH_ECONNECT);
    CHECK(!fleet_stats(&fleet).connected);
    for (int i = 0; tries(down) < 7; i++)
        carry_on(&fleet, 1 + i % 3);
    check_ever_rarer(down, 7);
    CHECK_INT(said("s000", PH_LOG_WARN, "dispatcher", "cannot be used"), 1);
    CHECK_INT(standing(&fleet, "s000").outages, 1);
    if (t_is_pg()) {
        fleet_end(&fleet);
        return;
    }
    snprintf(stone, sizeof(stone), "%s/stone0", t_dir());
    CHECK(unlink(stone) == 0 && mkdir(stone, 0700) == 0);
    fleet_put(&fleet, 0, "t", 3);
    AWAIT(counted(&tally, "s000") == 3);
    check_said("s000", 1);
    fleet_end(&fleet);
}

/* ------------------------------------------------------------------ a server stops */

static ph_verdict count_at_gate(void *context, ph_work *work)
{
    static _Atomic int first = 1;

    if (atomic_exchange(&first, 0))
        gate_pass(context);
    return count_up(&tally, work);
}

/* Two databases on a server of their own, which crashes, with a message in hand. */
TEST(a_server_that_crashes_takes_only_its_own_databases_with_it)
{
    static struct gate gate = GATE_INIT;
    struct fleet fleet;

    if (!t_is_pg())
        t_not_here("there is no server");
    server_start_new();
    init(&fleet, 3);
    mark(base_on(0, server_url()));
    mark(base_on(1, server_url()));
    fleet_add(&fleet, 0, 5);
    base_put(base_at(0), "t", 20);
    base_put(base_at(1), "t", 20);
    fleet_run(&fleet, count_at_gate, &gate);
    gate_await(&gate, 1);
    base_leave(base_at(0));
    base_leave(base_at(1));
    server_crash();
    gate_open(&gate);
    for (int try = tries(base_named(0)), i = 0; tries(base_named(0)) < try + 5; i++)
        carry_on(&fleet, 2 + i % 3);
    AWAIT(standing(&fleet, "s000").serving == PH_SERVING_TRYING);
    AWAIT(standing(&fleet, "s001").serving == PH_SERVING_TRYING);
    server_start();
    server_wait();
    fleet_drain(&fleet);
    for (int n = 0; n < 2; n++) {
        CHECK(counted(&tally, base_at(n)->id) >= 20);
        CHECK_INT(base_done(base_at(n)), 20);
        CHECK_INT(standing(&fleet, base_at(n)->id).serving, PH_SERVING_SERVED);
    }
    fleet_end(&fleet);
    for (int n = 0; n < 5; n++)
        base_check(base_at(n));
    bases_leave();
}

/* ---------------------------------------------------------------------- no answer */

/* The nth through a proxy, which can fall silent. */
static struct base *through_proxy(int n)
{
    static char socket_path[300]; /* the proxy keeps it */
    struct t_conn *conn = t_connect();
    const PGconn *pg = t_native(conn);
    char url[600];

    snprintf(socket_path, sizeof(socket_path), "%s/.s.PGSQL.%s", PQhost(pg), PQport(pg));
    snprintf(url, sizeof(url),
             "postgresql:///%s?host=127.0.0.1&port=%d&user=postgres&sslmode=disable"
             "&gssencmode=disable&application_name=sick_silent",
             PQdb(pg), proxy_start(socket_path));
    t_disconnect(conn);
    return base_on(n, url);
}

TEST(a_store_that_does_not_answer_does_not_hold_up_the_others)
{
    struct fleet fleet;

    if (!t_is_pg())
        t_not_here("there is no connection that could fall silent");
    init(&fleet, 2);
    (void)through_proxy(0);
    fleet_add(&fleet, 0, 4);
    base_leave(base_at(0));
    fleet_run(&fleet, count_up, &tally);
    fleet_drain(&fleet);
    proxy_set(PROXY_STALL);
    AWAIT(standing(&fleet, "s000").serving == PH_SERVING_TRYING);
    check_not_held_up(&fleet, base_named(0), 1, 3);
    CHECK_INT(standing(&fleet, "s000").serving, PH_SERVING_TRYING);
    proxy_set(PROXY_PASS);
    fleet_put(&fleet, 0, "t", 5);
    AWAIT(counted(&tally, "s000") == 5);
    check_said("s000", 1);
    fleet_end(&fleet);
    for (int n = 0; n < 4; n++)
        base_check(base_at(n));
}

/* They have never answered: a claim that waits for them takes no room from others. */
TEST(stores_that_never_answer_do_not_take_the_room_of_others)
{
    struct fleet fleet;
    char url[1200];

    if (!t_is_pg())
        t_not_here("there is no connection that could fall silent");
    init(&fleet, 4);
    fleet.opts.threads = 1;
    fleet.opts.prefetch = -1;
    fleet_set(&fleet);
    snprintf(url, sizeof(url), "%s", through_proxy(0)->url);
    proxy_set(PROXY_STALL);
    for (int n = 0; n < 3; n++)
        fleet_join(&fleet, base_on(n, url));
    fleet_join(&fleet, base_at(3));
    base_put(base_at(3), "t", 1);
    fleet_run(&fleet, count_up, &tally);
    AWAIT(counted(&tally, "s003") == 1);
    for (int n = 0; n < 3; n++)
        CHECK_INT(standing(&fleet, base_named(n)->id).serving, PH_SERVING_NEW);
    fleet_stop(&fleet);
    fleet_free(&fleet);
}

/* ------------------------------------------------------------------- all together */

TEST(sick_stores_of_every_kind_at_once)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    struct base *down = nowhere(0);
    struct fleet fleet;

    init(&fleet, 3);
    fleet_set(&fleet);
    fleet_join(&fleet, down);
    mark(base_named(1));
    if (t_is_pg())
        (void)through_proxy(2);
    fleet_add(&fleet, 1, 6);
    base_put(base_at(1), "gate", 1);
    base_put(base_at(2), "gate", 1);
    fleet_new(&fleet);
    fleet_handle(&fleet, "gate", play, &part);
    fleet_handle(&fleet, "t", count_up, &tally);
    fleet_start(&fleet);
    gate_await(&gate, 2);
    base_lock(base_at(1));
    if (t_is_pg())
        proxy_set(PROXY_STALL);
    else
        base_lock(base_at(2));
    gate_open(&gate); /* so there is something to write */
    for (int n = 0; n < 3; n++)
        AWAIT(standing(&fleet, base_named(n)->id).serving == PH_SERVING_TRYING);
    check_not_held_up(&fleet, base_at(1), 3, 4);
    base_unlock(base_at(1));
    if (t_is_pg())
        proxy_set(PROXY_PASS);
    else
        base_unlock(base_at(2));
    for (int n = 1; n < 3; n++)
        fleet_put(&fleet, n, "t", 3);
    AWAIT(counted(&tally, "s001") == 3 && counted(&tally, "s002") == 3);
    CHECK(links_most() <= 3);
    fleet_end(&fleet);
    for (int n = 1; n < 7; n++)
        base_check(base_at(n));
}

/* --------------------------------------------------------------------- malicious */

#define ENDLESS                                                                                    \
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

/* As many files that never end as there are connections: a trigger, and a view instead of a table. */
static void serve_beside(const char *sql)
{
    struct fleet fleet;
    double began;

    init(&fleet, 4);
    for (int n = 0; n < 4; n++) {
        base_lite(n);
        base_put(base_at(n), "t", 1);
        base_sql(base_at(n), sql);
    }
    base_lite(4);
    fleet_set(&fleet);
    fleet_add(&fleet, 0, 5);
    fleet_new(&fleet);
    fleet_handle(&fleet, "t", count_up, &tally);
    fleet_start(&fleet);
    for (int i = 0; i < 5; i++)
        carry_on(&fleet, 4);
    began = t_now_s();
    (void)!ph_dispatcher_stop(fleet.dispatcher, 1000, &t_err);
    CHECK(t_now_s() - began < 30);
    ph_dispatcher_free(fleet.dispatcher);
    ph_set_free(fleet.set);
    CHECK_INT(base_done(base_at(4)), 5);
    for (int n = 0; n < 4; n++)
        CHECK_INT(counted(&tally, base_named(n)->id), 0);
}

TEST(files_with_an_endless_trigger_do_not_hold_up_the_others)
{
    if (t_is_pg())
        t_not_here("it is about SQLite files");
    serve_beside("CREATE TRIGGER stall AFTER INSERT ON posthorn_lease BEGIN " ENDLESS "; END");
}

TEST(files_with_an_endless_view_do_not_hold_up_the_others)
{
    if (t_is_pg())
        t_not_here("it is about SQLite files");
    serve_beside("ALTER TABLE posthorn_pending RENAME TO hidden; CREATE VIEW posthorn_pending AS "
                 "SELECT * FROM hidden WHERE (" ENDLESS ") > 0");
}
