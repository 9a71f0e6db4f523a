/* drop_test.c - databases that are dropped or deleted while they are served, and made anew. */
#include "fleet.h"

#include <stdlib.h>
#include <unistd.h>

static struct tally tally = TALLY_INIT;
static struct gate gate = GATE_INIT;
static struct part at_gate = { .verdict = PH_VERDICT_DONE, .gate = &gate };

static void on_server(const char *verb, const struct base *base, const char *options)
{
    struct t_conn *conn = t_connect();
    char sql[300], name[100];

    snprintf(name, sizeof(name), "%s", strstr(base->url, ":///") + 4);
    *strchr(name, '?') = '\0';
    snprintf(sql, sizeof(sql), "%s DATABASE %s %s", verb, name, options);
    t_sql(conn, sql);
    t_disconnect(conn);
}

static void drop(struct base *base)
{
    static const char *const endings[] = { "", "-wal", "-shm" };
    char path[400];

    base_leave(base);
    if (base->is_pg)
        on_server("DROP", base, "WITH (FORCE)");
    for (int i = 0; i < 3 && !base->is_pg; i++) {
        snprintf(path, sizeof(path), "%s%s", base->url + strlen("sqlite:"), endings[i]);
        (void)!unlink(path);
    }
}

static void make_anew(int n)
{
    if (base_named(n)->is_pg)
        on_server("CREATE", base_named(n), "TEMPLATE template0 ENCODING 'UTF8'");
    (void)base_at(n);
}

/* Two run, one is kept for later and ten wait in the first store, which is then dropped. */
static void start(struct fleet *fleet)
{
    fleet_init(fleet, 3);
    fleet->opts.threads = 3;
    fleet->opts.lease_s = 2;
    fleet->opts.stale_threshold_s = 600;
    fleet->stores.timeout_ms = 1000;
    if (t_is_pg())
        base_on(0, t_fresh_database());
    fleet_add(fleet, 0, 3);
    base_put(base_at(0), "gate", 2);
    fleet_new(fleet);
    fleet_handle(fleet, "gate", play, &at_gate);
    fleet_handle(fleet, "t", count_up, &tally);
    fleet_start(fleet);
    gate_await(&gate, 2);
    drop(base_at(0));
}

static void carry_on(struct fleet *fleet)
{
    int before = counted(&tally, NULL);

    for (int i = 0; i < 10; i++) {
        fleet_put(fleet, 1 + i % 2, "t", 1);
        AWAIT(counted(&tally, NULL) == before + i + 1);
    }
}

TEST(a_database_that_is_dropped_under_way_does_no_harm)
{
    struct fleet fleet;

    start(&fleet);
    carry_on(&fleet);
    gate_open(&gate);
    carry_on(&fleet);
    AWAIT(standing(&fleet, "s000").error != 0);
    CHECK(standing(&fleet, "s000").serving == PH_SERVING_TRYING ||
          standing(&fleet, "s000").serving == PH_SERVING_ASIDE);
    fleet_remove(&fleet, "s000"); /* what cannot be settled is forgotten when its lease is over */
    AWAIT(!standing(&fleet, "s000").there);
    carry_on(&fleet);
    fleet_end(&fleet);
    for (int n = 1; n < 3; n++)
        base_check(base_at(n));
    CHECK(t_is_pg() || access(base_named(0)->url + strlen("sqlite:"), F_OK) != 0);
}

/* At the same place, while it is still in the set. */
TEST(a_database_that_is_made_anew_is_served_again)
{
    struct fleet fleet;

    start(&fleet);
    carry_on(&fleet);
    make_anew(0);
    base_put(base_at(0), "t", 4);
    gate_open(&gate);
    AWAIT(counted(&tally, "s000") == 4); /* up to 30 s, if it was set aside before */
    carry_on(&fleet);
    fleet_drain(&fleet);
    CHECK_INT(standing(&fleet, "s000").serving, PH_SERVING_SERVED);
    fleet_end(&fleet);
    for (int n = 0; n < 3; n++)
        base_check(base_at(n));
}

/* All of them at once, and the dispatcher stops. */
TEST(a_stop_when_there_is_no_database_any_more)
{
    struct fleet fleet;
    int r;

    start(&fleet);
    gate_open(&gate);
    AWAIT(at_gate.calls == 2);
    AWAIT(standing(&fleet, "s000").error != 0);
    r = ph_dispatcher_stop(fleet.dispatcher, 100, &t_err);
    CHECK(r < 0 && r != PH_ENOMEM && strlen(t_err.message) > 5);
    fleet_free(&fleet);
    for (int n = 1; n < 3; n++)
        base_check(base_at(n));
}
