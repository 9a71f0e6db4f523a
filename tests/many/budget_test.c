/* budget_test.c - one budget of connections for a whole set: never more, and enough for all. Every
 * connection that the library opens is counted while it does so. */
#include "fleet.h"

#include <posthorn/pg.h>
#include <posthorn/sqlite.h>
#include <stdlib.h>

static struct tally tally = TALLY_INIT;

static bool is_within(int budget)
{
    if (links_most() > budget)
        printf("there were %d connections\n", links_most());
    return links_most() <= budget;
}

/* ------------------------------------------------------------------------- enough */

static void work_through(int connections, int stores, int messages)
{
    struct fleet fleet;

    fleet_init(&fleet, connections);
    fleet.opts.batch_size = 5;
    fleet_add(&fleet, 0, stores);
    for (int n = 0; n < stores; n++)
        base_put(base_at(n), "t", messages);
    fleet_run(&fleet, count_up, &tally);
    for (int round = 0; round < 3; round++) {
        fleet_drain(&fleet);
        for (int n = round % 2; n < stores; n += 2)
            base_put(base_at(n), "t", 1);
    }
    fleet_drain(&fleet);
    for (int n = 0; n < stores; n++) {
        CHECK(counted(&tally, base_at(n)->id) > messages);
        CHECK_INT(base_open(base_at(n)), 0);
    }
    CHECK(is_within(connections));
    fleet_stop(&fleet);
    /* Also while it said good-bye everywhere. */
    CHECK_INT(links_most(), connections < stores ? connections : stores);
    CHECK_INT(links_now(), 0);
    fleet_free(&fleet);
    for (int n = 0; n < stores; n++)
        base_check(base_at(n));
}

TEST(twenty_busy_stores_need_no_more_than_three_connections)
{
    work_through(3, 20, 15);
}

TEST(ten_stores_and_one_connection)
{
    work_through(1, 10, 7);
}

TEST(more_connections_than_stores_are_not_used)
{
    work_through(50, 4, 9);
}

/* ------------------------------------------------------------------- transactions */

/* An effect in the handler's own database, with the name that the work has for that. */
static ph_verdict write_effect(void *context, ph_work *work)
{
    char id[PH_ID_TEXT_SIZE], sql[300];
    ph_tx tx = ph_work_tx(work);
    sqlite3 *lite = ph_tx_sqlite_connection(tx);
    PGconn *pg = ph_tx_pg_connection(tx);
    const struct base *base = base_named(atoi(ph_work_store_id(work) + 1));
    PGresult *result;
    bool ok;

    snprintf(sql, sizeof(sql), "INSERT INTO \"%s\".effect VALUES ('%s %s')",
             pg ? base->schema : "main", ph_work_store_id(work),
             ph_id_text(ph_work_delivery(work)->message_id.b, id));
    if (lite)
        return sqlite3_exec(lite, sql, NULL, NULL, NULL) == SQLITE_OK ? count_up(context, work)
                                                                      : PH_VERDICT_RETRY;
    result = PQexec(pg, sql);
    ok = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    return ok ? count_up(context, work) : PH_VERDICT_RETRY;
}

static void check_effects(struct base *base, int messages)
{
    char sql[200];

    CHECK_INT(base_number(base, "SELECT count(*) FROM {schema}.effect"), messages);
    CHECK_INT(base_number(base, "SELECT count(DISTINCT of) FROM {schema}.effect"), messages);
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM {schema}.effect WHERE of LIKE '%s %%'",
             base->id);
    CHECK_INT(base_number(base, sql), messages);
}

/* Each thread has a connection for its transactions, to one database after the other. */
TEST(handlers_in_transactions_have_their_effects_in_the_right_database)
{
    struct fleet fleet;

    fleet_init(&fleet, 5);
    fleet.opts.threads = 3;
    fleet.opts.batch_size = 4;
    fleet_add(&fleet, 0, 8);
    for (int n = 0; n < 8; n++) {
        base_sql(base_at(n), "CREATE TABLE {schema}.effect (of text NOT NULL)");
        base_put(base_at(n), n % 2 ? "t" : "plain", 12);
        base_put(base_at(n), "t", 6);
    }
    fleet_new(&fleet);
    fleet_handle_in_tx(&fleet, "t", write_effect, &tally);
    fleet_handle(&fleet, "plain", count_up, &tally);
    fleet_start(&fleet);
    fleet_drain(&fleet);
    CHECK(is_within(5));
    fleet_stop(&fleet);
    CHECK(is_within(5));
    CHECK_INT(links_now(), 0);
    CHECK_INT(counted(&tally, NULL), 144);
    fleet_free(&fleet);
    for (int n = 0; n < 8; n++) {
        check_effects(base_at(n), n % 2 ? 18 : 6);
        base_check(base_at(n));
    }
}

/* --------------------------------------------------------------- what is too small */

static void check_refused(struct fleet *fleet, const char *number)
{
    CHECK_INT(ph_dispatcher_start(fleet->dispatcher, &t_err), PH_ESTATE);
    CHECK_INT(t_err.code, PH_ESTATE);
    CHECK(strstr(t_err.message, number) != NULL);
    CHECK(strstr(t_err.message, "connections") != NULL);
    CHECK(strstr(t_err.message, "threads") != NULL);
    CHECK_INT(links_now(), 0);
}

TEST(a_budget_without_one_for_the_stores_is_refused)
{
    struct fleet fleet;

    fleet_init(&fleet, 4);
    fleet.opts.threads = 4;
    fleet_add(&fleet, 0, 1);
    fleet_new(&fleet);
    fleet_handle_in_tx(&fleet, "t", count_up, &tally);
    check_refused(&fleet, "5");
    fleet_free(&fleet);
    fleet_init(&fleet, 3); /* fewer than handlers alone need */
    fleet.opts.threads = 4;
    fleet_add(&fleet, 0, 1);
    fleet_new(&fleet);
    fleet_handle_in_tx(&fleet, "t", count_up, &tally);
    check_refused(&fleet, "5");
    fleet_free(&fleet);
    fleet_init(&fleet, 5);
    fleet.opts.threads = 4;
    fleet_add(&fleet, 0, 1);
    fleet_new(&fleet);
    fleet_handle_in_tx(&fleet, "t", count_up, &tally);
    fleet_start(&fleet);
    base_put(base_at(0), "t", 1);
    AWAIT(counted(&tally, NULL) == 1);
    fleet_end(&fleet);
}

/* ------------------------------------------------------------------------ sharing */

static ph_router *a_router(struct fleet *fleet, int connections)
{
    ph_router_opts opts = PH_ROUTER_OPTS_INIT;
    ph_router *router = NULL;

    opts.connections = connections;
    if (ph_router_new(fleet->set, &opts, &router, &t_err) < 0)
        CHECK_INT(t_err.code, PH_ESTATE);
    return router;
}

static void route(ph_router *router, const char *key)
{
    ph_store *store = NULL;
    ph_message m = a_message("t", "x");

    OK(ph_router_get(router, key, 0, &store, &t_err));
    OK(ph_enqueue(store, PH_OWN_TX, &m, 0, NULL, &t_err));
}

TEST(routers_and_dispatcher_share_the_budget)
{
    ph_router *first, *second;
    struct fleet fleet;

    fleet_init(&fleet, 5);
    fleet_add(&fleet, 0, 7);
    first = a_router(&fleet, 2);
    second = a_router(&fleet, 1);
    CHECK(first && second);
    CHECK(a_router(&fleet, 3) == NULL);
    fleet_run(&fleet, count_up, &tally);
    CHECK(a_router(&fleet, 1) == NULL); /* the dispatcher has the rest */
    for (int i = 0; i < 70; i++)
        route(i % 3 ? first : second, base_at(i % 7)->id);
    AWAIT(counted(&tally, NULL) == 70);
    CHECK(is_within(5));
    fleet_stop(&fleet);
    CHECK(is_within(5) && links_now() <= 3);
    ph_router_free(first);
    ph_router_free(second);
    first = a_router(&fleet, 5); /* all was given back */
    CHECK(first != NULL);
    ph_router_free(first);
    fleet_free(&fleet);
}

/* Nothing is left for it; once there is, another can start. */
TEST(a_dispatcher_for_which_nothing_is_left_is_refused)
{
    ph_router *router;
    struct fleet fleet;

    fleet_init(&fleet, 2);
    fleet_add(&fleet, 0, 1);
    router = a_router(&fleet, 2);
    fleet_new(&fleet);
    fleet_handle(&fleet, NULL, count_up, &tally);
    check_refused(&fleet, "0");
    ph_router_free(router);
    fleet_start(&fleet); /* it has not been started before */
    base_put(base_at(0), "t", 1);
    AWAIT(counted(&tally, NULL) == 1);
    fleet_end(&fleet);
}

/* ------------------------------------------------------------------------ the end */

static int take_router(struct fleet *fleet, int connections)
{
    ph_router_opts opts = PH_ROUTER_OPTS_INIT;
    ph_router *router = NULL;
    int r;

    opts.connections = connections;
    r = ph_router_new(fleet->set, &opts, &router, &t_err);
    ph_router_free(router);
    return r;
}

/* It was given up, but its connection is still there. */
TEST(a_handler_that_hangs_keeps_its_connection_from_others)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    struct fleet fleet;

    fleet_init(&fleet, 3);
    fleet.opts.threads = 1;
    fleet.opts.lease_s = 3; /* SQLite: the last words wait for the handler's lock, but not long */
    fleet_add(&fleet, 0, 2);
    base_put(base_at(0), "t", 1);
    fleet_new(&fleet);
    fleet_handle_in_tx(&fleet, NULL, play, &part);
    fleet_start(&fleet);
    gate_await(&gate, 1);
    CHECK(ph_dispatcher_stop(fleet.dispatcher, 0, &t_err) < 0);
    CHECK_INT(take_router(&fleet, 3), PH_ESTATE);
    OK(take_router(&fleet, 2));
    gate_open(&gate);
    AWAIT(take_router(&fleet, 3) == 0);
    fleet_free(&fleet);
}
