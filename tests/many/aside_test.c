/* aside_test.c - each store has a schema of its own: one that cannot be used is set aside and
 * reported, and looked at again. */
#include "fleet.h"

#include <unistd.h>

static struct tally tally = TALLY_INIT;

static void check_aside(struct fleet *fleet, const char *id, int error)
{
    AWAIT(standing(fleet, id).serving == PH_SERVING_ASIDE);
    CHECK_INT(standing(fleet, id).error, error);
    AWAIT(said(id, PH_LOG_WARN, "dispatcher", "set aside") == 1);
    CHECK_INT(standing(fleet, id).exchanges, 0);
}

static void set_version(struct base *base, int version, int serves_from)
{
    char sql[100];

    snprintf(sql, sizeof(sql), "UPDATE {t}store SET version = %d, serves_from = %d", version,
             serves_from);
    base_sql(base, sql);
}

static struct base *with_version(int n, int version, int serves_from)
{
    set_version(base_at(n), version, serves_from);
    ph_close(base_at(n)->side);
    base_named(n)->side = NULL;
    return base_named(n);
}

/* Missing, too old, too new; and one that is newer, but serves this library. */
static void add_wrong_ones(struct fleet *fleet)
{
    fleet_join(fleet, base_named(0));
    fleet_join(fleet, with_version(1, 1, 1));
    fleet_join(fleet, with_version(2, 99, 99));
    base_put(base_at(3), "t", 2);
    fleet_join(fleet, with_version(3, 99, ph_schema_version()));
}

TEST(a_store_whose_schema_cannot_be_used_is_set_aside_and_not_waited_for)
{
    struct fleet fleet;

    fleet_init(&fleet, 2);
    fleet_set(&fleet);
    add_wrong_ones(&fleet);
    fleet_add(&fleet, 4, 2);
    base_put(base_at(4), "t", 3);
    base_put(base_at(5), "t", 3);
    fleet_run(&fleet, count_up, &tally);
    check_aside(&fleet, "s000", PH_ENOSCHEMA);
    check_aside(&fleet, "s001", PH_ETOOOLD);
    check_aside(&fleet, "s002", PH_ETOONEW);
    fleet_drain(&fleet); /* does not wait for them */
    CHECK_INT(counted(&tally, NULL), 8);
    CHECK_STR(standings(&fleet), "s000:set aside s001:set aside s002:set aside s003:served "
                                 "s004:served s005:served");
    for (int i = 0; i < 20; i++) {
        base_put(base_at(4 + i % 2), "t", 1);
        fleet_drain(&fleet);
    }
    for (int n = 0; n < 3; n++) { /* said once, and nothing was written there */
        CHECK_INT(said(base_named(n)->id, PH_LOG_WARN, NULL, NULL), 1);
        CHECK_INT(standing(&fleet, base_named(n)->id).outages, 1);
    }
    CHECK(links_most() <= 2);
    fleet_end(&fleet);
    CHECK(t_is_pg() || access(base_named(0)->url + strlen("sqlite:"), F_OK) != 0);
}

/* Waiting does not help there either. */
static void check_not_waited_for(const char *url, int error, const char *words)
{
    ph_database database = base_database(base_at(0));
    struct fleet fleet;

    fleet_init(&fleet, 2);
    fleet_set(&fleet);
    database.url = url;
    OK(ph_set_add(fleet.set, &database, &t_err));
    fleet_add(&fleet, 1, 1);
    base_put(base_at(0), "t", 3);
    base_put(base_at(1), "t", 3);
    fleet_run(&fleet, count_up, &tally);
    check_aside(&fleet, "s000", error);
    fleet_drain(&fleet);
    CHECK_INT(counted(&tally, NULL), 3);
    CHECK_INT(said("s000", PH_LOG_WARN, NULL, words), 1);
    fleet_end(&fleet);
}

TEST(a_store_where_the_role_lacks_a_right_is_set_aside_and_not_waited_for)
{
    char url[1300];

    if (!t_is_pg())
        t_not_here("a file has no roles");
    snprintf(url, sizeof(url), "%s&options=-crole%%3Dpg_monitor", base_at(0)->url);
    check_not_waited_for(url, PH_EPERM, "the role lacks a right");
}

TEST(a_store_whose_password_is_wrong_is_set_aside_and_not_waited_for)
{
    static const char key[] = "password=";
    const char *right = t_tcp_url(), *at = right ? strstr(right, key) : NULL;
    char url[1300];

    if (!t_is_pg())
        t_not_here("a file has no password");
    if (!at)
        t_skip("no server that wants a password: PH_TEST_PG_TCP");
    at += strlen(key);
    snprintf(url, sizeof(url), "%.*swrong%s", (int)(at - right), right, at);
    check_not_waited_for(url, PH_EAUTH, "the credentials were refused");
}

/* The time limit of a drain is over for another reason than the store that was set aside. */
TEST(a_store_that_was_set_aside_is_not_why_a_drain_takes_long)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    struct fleet fleet;

    fleet_init(&fleet, 2);
    fleet_set(&fleet);
    fleet_join(&fleet, base_named(0));
    fleet_add(&fleet, 1, 1);
    base_put(base_at(1), "t", 1);
    fleet_run(&fleet, play, &part);
    gate_await(&gate, 1);
    check_aside(&fleet, "s000", PH_ENOSCHEMA);
    CHECK_INT(ph_dispatcher_drain(fleet.dispatcher, 50, &t_err), PH_ETIMEOUT);
    CHECK(strstr(t_err.message, "1 ") != NULL);
    gate_open(&gate);
    fleet_drain(&fleet);
    fleet_end(&fleet);
}

/* It may just be made: it takes much less than half a minute until somebody looks. */
TEST(a_store_that_was_set_aside_is_served_when_its_schema_is_right)
{
    struct fleet fleet;

    fleet_init(&fleet, 2);
    fleet_set(&fleet);
    add_wrong_ones(&fleet);
    fleet_run(&fleet, count_up, &tally);
    check_aside(&fleet, "s000", PH_ENOSCHEMA);
    check_aside(&fleet, "s001", PH_ETOOOLD);
    check_aside(&fleet, "s002", PH_ETOONEW);
    base_put(base_at(0), "t", 2);
    set_version(base_named(1), ph_schema_version(), ph_schema_version());
    set_version(base_named(2), ph_schema_version(), ph_schema_version());
    base_put(base_at(1), "t", 2);
    base_put(base_at(2), "t", 2);
    for (int n = 0; n < 3; n++) {
        AWAIT(counted(&tally, base_at(n)->id) == 2);
        CHECK_INT(standing(&fleet, base_at(n)->id).serving, PH_SERVING_SERVED);
        CHECK_INT(standing(&fleet, base_at(n)->id).error, 0);
        CHECK_INT(said(base_at(n)->id, PH_LOG_WARN, "dispatcher", "cannot be used"), 1);
        CHECK_INT(said(base_at(n)->id, PH_LOG_WARN, "dispatcher", "back"), 1);
    }
    fleet_end(&fleet);
    for (int n = 0; n < 3; n++)
        base_check(base_at(n));
}

/* --------------------------------------------------------------------- deployment */

TEST(each_store_is_deployed_when_it_is_first_used)
{
    struct fleet fleet;

    fleet_init(&fleet, 2);
    fleet.stores.deploy_schema = true;
    fleet_set(&fleet);
    for (int n = 0; n < 4; n++)
        fleet_join(&fleet, base_named(n));
    fleet_join(&fleet, with_version(4, 99, 99));
    fleet_run(&fleet, count_up, &tally);
    for (int n = 0; n < 4; n++)
        AWAIT(standing(&fleet, base_named(n)->id).serving == PH_SERVING_SERVED);
    check_aside(&fleet, "s004", PH_ETOONEW); /* never back */
    fleet_drain(&fleet);
    for (int n = 0; n < 4; n++) {
        CHECK(said(base_named(n)->id, PH_LOG_INFO, "migrate", NULL) > 0);
        fleet_put(&fleet, n, "t", 1);
    }
    AWAIT(counted(&tally, NULL) == 4);
    CHECK(links_most() <= 2);
    fleet_end(&fleet);
    for (int n = 0; n < 4; n++)
        base_check(base_at(n));
}

/* Each table takes a while, and all of them more than any call may. */
TEST(a_deployment_has_the_time_that_it_needs)
{
    struct t_conn *conn;
    struct fleet fleet;

    if (!t_is_pg())
        t_not_here("nothing can be put in the way of a migration");
    base_on(0, t_fresh_database());
    conn = t_connect_to(base_named(0)->url);
    t_sql(conn, "CREATE FUNCTION public.tarry() RETURNS event_trigger LANGUAGE plpgsql AS "
                "$$BEGIN PERFORM pg_sleep(0.2); END$$;"
                "CREATE EVENT TRIGGER tarry ON ddl_command_start WHEN TAG IN ('CREATE TABLE') "
                "EXECUTE FUNCTION public.tarry()");
    fleet_init(&fleet, 2);
    fleet.opts.lease_s = 6; /* so that a call has two seconds */
    fleet.stores.deploy_schema = true;
    fleet_set(&fleet);
    fleet_join(&fleet, base_named(0));
    fleet_run(&fleet, count_up, &tally);
    AWAIT(standing(&fleet, "s000").serving == PH_SERVING_SERVED);
    CHECK_INT(standing(&fleet, "s000").outages, 0);
    t_sql(conn, "DROP EVENT TRIGGER tarry");
    t_disconnect(conn);
    fleet_put(&fleet, 0, "t", 1);
    AWAIT(counted(&tally, "s000") == 1);
    fleet_end(&fleet);
}
