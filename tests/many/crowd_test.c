/* crowd_test.c - many tenants in SQLite files and, where there is a server, 8 PostgreSQL databases under
 * one dispatcher with few connections, while databases come, go, are locked, dropped and stopped: what
 * was committed is handled, and nobody waits for ever. */
#include "fleet.h"

#include "server.h"

#include <sqlite3.h>
#include <unistd.h>

#define FILES 200 /* in a long run */
#define FILES_SHORT 60
#define SERVED_BASES 8 /* on the server */
#define LATER 24       /* files that are made under way */
#define CONNECTIONS 9
#define LOCKED_MAX 6
#define STEPS 32
#define STEPS_SOAK 1500
#define ROUND_EVERY 16 /* steps */

enum place { ABSENT, IN_SET, LEFT, GONE };

static struct tally tally = TALLY_INIT;

static struct crowd {
    struct fleet fleet;
    enum place places[FILES + SERVED_BASES + LATER];
    int locked[LOCKED_MAX]; /* -1: none */
    int files;              /* at the start */
    int served;             /* bases on the server: 8, or none */
    int made;               /* of the later ones */
    bool down;              /* the server */
    long long stored;
} crowd;

static bool is_on_server(int n)
{
    return n >= FILES && n < FILES + SERVED_BASES;
}

static bool is_locked(int n)
{
    for (int i = 0; i < LOCKED_MAX; i++) {
        if (crowd.locked[i] == n)
            return true;
    }
    return false;
}

/* May the test write there now? */
static bool is_open(int n)
{
    return crowd.places[n] == IN_SET && !is_locked(n) && !(is_on_server(n) && crowd.down);
}

/* ------------------------------------------------------------------------ making */

static void make_file(int n)
{
    (void)base_lite(n);
    base_leave(base_at(n));
    crowd.places[n] = ABSENT;
}

static void make_on_server(int n)
{
    struct t_conn *conn = t_connect_to(server_url());
    char sql[100], url[1200];
    const char *slash = strstr(server_url(), ":///"), *query = strchr(server_url(), '?');

    CHECK(slash && query);
    snprintf(sql, sizeof(sql), "CREATE DATABASE crowd_%d", n);
    t_sql(conn, sql);
    t_disconnect(conn);
    snprintf(url, sizeof(url), "postgresql:///crowd_%d%s", n, query);
    base_leave((base_on(n, url), base_at(n)));
}

static void join(int n)
{
    fleet_join(&crowd.fleet, base_named(n));
    crowd.places[n] = IN_SET;
}

static void start(void)
{
    fleet_init(&crowd.fleet, CONNECTIONS);
    crowd.fleet.opts.threads = 3;
    crowd.fleet.opts.lease_s = 6;
    crowd.fleet.opts.stale_threshold_s = 600;
    crowd.fleet.stores.log_level = PH_LOG_WARN;
    fleet_set(&crowd.fleet);
    for (int i = 0; i < LOCKED_MAX; i++)
        crowd.locked[i] = -1;
    crowd.files = t_soak() ? FILES : FILES_SHORT;
    for (int n = 0; n < crowd.files; n++) {
        make_file(n);
        join(n);
    }
    crowd.served = t_is_pg() ? SERVED_BASES : 0;
    if (crowd.served > 0)
        server_start_new();
    for (int n = FILES; n < FILES + crowd.served; n++) {
        make_on_server(n);
        join(n);
    }
    links_reset();
    fleet_run(&crowd.fleet, count_up, &tally);
}

/* --------------------------------------------------------------------- producing */

static void put_one(int n)
{
    ph_error ignored;

    base_put(base_at(n), "t", 1);
    crowd.stored++;
    if (n % 8 == 0)
        base_leave(base_at(n)); /* then nobody but the dispatcher has the file open */
    if (is_on_server(n))
        (void)!ph_dispatcher_wake(crowd.fleet.dispatcher, base_at(n)->id, &ignored);
}

static void put_some(void)
{
    for (int i = 0; i < 8; i++) {
        int n = (int)t_dice(FILES + SERVED_BASES + LATER);

        if (is_open(n))
            put_one(n);
    }
}

/* Everybody who can be reached gets one, and is served in time. */
static void check_round(void)
{
    static int before[FILES + SERVED_BASES + LATER];

    for (int n = 0; n < FILES + SERVED_BASES + LATER; n++) {
        before[n] = is_open(n) ? counted(&tally, base_named(n)->id) : -1;
        if (before[n] >= 0)
            put_one(n);
    }
    for (int n = 0; n < FILES + SERVED_BASES + LATER; n++) {
        if (before[n] >= 0)
            AWAIT(counted(&tally, base_named(n)->id) > before[n]);
    }
}

/* ----------------------------------------------------------------------- trouble */

static void lock_or_unlock(void)
{
    int i = (int)t_dice(LOCKED_MAX), n = (int)t_dice((unsigned)crowd.files);

    if (crowd.locked[i] >= 0) {
        base_unlock(base_named(crowd.locked[i]));
        base_leave(base_named(crowd.locked[i]));
        crowd.locked[i] = -1;
    } else if (is_open(n)) {
        base_lock(base_at(n));
        crowd.locked[i] = n;
    }
}

static void leave_or_return(void)
{
    int n = (int)t_dice((unsigned)(FILES + crowd.served));

    if (is_locked(n))
        return;
    if (crowd.places[n] == IN_SET) {
        fleet_remove(&crowd.fleet, base_named(n)->id);
        crowd.places[n] = LEFT;
    } else if (crowd.places[n] == LEFT) {
        join(n);
    }
}

static void make_another(void)
{
    int n = FILES + SERVED_BASES + crowd.made;

    if (crowd.made == LATER)
        return;
    crowd.made++;
    make_file(n);
    join(n);
}

/* Nobody asked the dispatcher, and the database leaves the set only afterwards. */
static void drop(void)
{
    int n = (int)t_dice((unsigned)crowd.files);

    if (!is_open(n) || n == 0)
        return;
    base_leave(base_named(n));
    CHECK_INT(unlink(base_named(n)->url + strlen("sqlite:")), 0);
    fleet_remove(&crowd.fleet, base_named(n)->id);
    crowd.places[n] = GONE;
}

static void crash_or_start(void)
{
    if (crowd.served == 0)
        return;
    if (crowd.down) {
        server_start();
        server_wait();
    } else {
        for (int n = FILES; n < FILES + crowd.served; n++)
            base_leave(base_named(n));
        server_crash();
    }
    crowd.down = !crowd.down;
}

static void make_trouble(int step)
{
    switch (t_dice(8)) {
    case 0:
        make_another();
        break;
    case 1:
        drop();
        break;
    case 2:
    case 3:
        leave_or_return();
        break;
    default:
        lock_or_unlock();
        break;
    }
    if (step % 10 == 5)
        crash_or_start();
}

/* --------------------------------------------------------------------- the end */

static void calm_down(void)
{
    for (int i = 0; i < LOCKED_MAX; i++) {
        if (crowd.locked[i] >= 0)
            base_unlock(base_named(crowd.locked[i]));
        crowd.locked[i] = -1;
    }
    if (crowd.down)
        crash_or_start();
    for (int n = 0; n < FILES + SERVED_BASES + LATER; n++) {
        if (crowd.places[n] == LEFT)
            join(n);
    }
}

/* What was committed is done, and nothing is left over. */
static void check_all(void)
{
    for (int n = 0; n < FILES + SERVED_BASES + LATER; n++) {
        if (crowd.places[n] != IN_SET)
            continue;
        AWAIT(base_open(base_named(n)) == 0);
    }
    fleet_end(&crowd.fleet);
    for (int n = 0; n < FILES + SERVED_BASES + LATER; n++) {
        if (crowd.places[n] != IN_SET)
            continue;
        CHECK_INT(base_leases(base_named(n)), 0);
        t_check_places(base_conn(base_named(n)));
        base_leave(base_named(n));
    }
    REQ("OBX-066", counted(&tally, NULL) > 0);
    CHECK(links_most() <= CONNECTIONS);
}

TEST(a_crowd_of_databases_that_come_and_go_loses_nothing_and_starves_nobody)
{
    int steps = t_soak() ? STEPS_SOAK : STEPS;

    if (UNDER_TSAN)
        t_not_here("its threads are those of the other tests");
    if (!t_is_pg() && !t_soak())
        t_not_here("the crowd has databases of both kinds");
    t_limit(t_soak() ? 3600 : 300);
    t_dice_seed(t_seed("PH_MANY_SEED"));
    /* Under AddressSanitizer half the time would go into the lock of SQLite's memory statistics. */
    CHECK_INT(sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0), SQLITE_OK);
    links_uncounted = true; /* those of this thread */
    start();
    for (int step = 0; step < steps; step++) {
        put_some();
        make_trouble(step);
        if (step % ROUND_EVERY == ROUND_EVERY - 1)
            check_round();
    }
    calm_down();
    check_all();
}
