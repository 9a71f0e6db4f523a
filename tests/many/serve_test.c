/* serve_test.c - every store of a set is served, by one dispatcher, under its own name. */
#include "fleet.h"

#include <posthorn/pg.h>
#include <posthorn/sqlite.h>

static struct tally tally = TALLY_INIT;

/* ------------------------------------------------------------------------ served */

/* Is this the id of one of the first so many? */
static bool is_one_of(const char *id, int stores)
{
    for (int n = 0; n < stores; n++) {
        if (strcmp(id, base_named(n)->id) == 0)
            return true;
    }
    return false;
}

TEST(every_store_is_served_under_its_own_name)
{
    struct fleet fleet;

    fleet_init(&fleet, 3);
    fleet_add(&fleet, 0, 6);
    for (int n = 0; n < 6; n++)
        base_put(base_at(n), "t", 10 + n);
    fleet_run(&fleet, count_up, &tally);
    fleet_drain(&fleet);
    for (int n = 0; n < 6; n++) {
        const char *id = base_at(n)->id;

        REQ_INT("OBX-066", counted(&tally, id), 10 + n);
        CHECK_INT(base_done(base_at(n)), 10 + n);
        CHECK_INT(standing(&fleet, id).serving, PH_SERVING_SERVED);
        CHECK_INT(standing(&fleet, id).claimed, 10 + n);
        CHECK_INT(standing(&fleet, id).done, 10 + n);
        CHECK_INT(standing(&fleet, id).in_flight, 0);
        CHECK_INT(standing(&fleet, id).error, 0);
        CHECK_INT(said(id, PH_LOG_INFO, "handle", "handler called"), 10 + n);
    }
    CHECK_INT(fleet_stats(&fleet).done, 75);
    CHECK(fleet_stats(&fleet).connected);
    fleet_end(&fleet);
    for (int n = 0; n < 6; n++)
        base_check(base_at(n));
}

static _Atomic int misnamed;

/* Everything that a handler sees belongs to the same database. */
static ph_verdict look_where(void *context, ph_work *work)
{
    const char *id = ph_work_store_id(work);

    misnamed += strcmp(ph_work_delivery(work)->topic, id) != 0;
    if (ph_work_store(work))
        misnamed += strcmp(ph_store_id(ph_work_store(work)), id) != 0;
    return count_up(context, work);
}

TEST(a_message_is_from_the_store_that_its_work_names)
{
    struct fleet fleet;

    fleet_init(&fleet, 6);
    fleet_add(&fleet, 0, 4);
    for (int n = 0; n < 4; n++)
        base_put(base_at(n), base_at(n)->id, 20);
    fleet_new(&fleet);
    fleet_handle(&fleet, NULL, look_where, &tally);
    fleet_handle_in_tx(&fleet, "s001", look_where, &tally);
    fleet_start(&fleet);
    fleet_drain(&fleet);
    fleet_end(&fleet);
    CHECK_INT(counted(&tally, NULL), 80);
    REQ_INT("OBX-071", misnamed, 0);
}

/* ---------------------------------------------------------------------------- log */

static ph_verdict go_wrong(void *context, ph_work *work)
{
    static _Atomic int turn;

    (void)context;
    ph_work_error(work, "no luck");
    switch (turn++ % 4) {
    case 0:
        return PH_VERDICT_FAIL;
    case 1:
        return PH_VERDICT_RETRY;
    case 2:
        return (ph_verdict)77;
    default:
        return PH_VERDICT_DONE;
    }
}

/* Those of the set itself, which are about several, are the only ones that name none. */
TEST(every_line_of_the_log_names_its_store)
{
    struct fleet fleet;
    int of_stores = 0;
    char text[40];

    fleet_init(&fleet, 5);
    fleet.opts.schedule = true;
    fleet.opts.retention_ms = 1;
    fleet_add(&fleet, 0, 4);
    (void)base_named(4); /* never made: it is set aside */
    fleet_join(&fleet, base_named(4));
    for (int n = 0; n < 4; n++)
        base_put(base_at(n), "t", 12);
    fleet_run(&fleet, go_wrong, NULL);
    AWAIT(fleet_stats(&fleet).started >= 48);
    AWAIT(standing(&fleet, "s004").serving == PH_SERVING_ASIDE);
    base_put(base_at(0), "t", 5);
    fleet_remove(&fleet, "s003");
    AWAIT(!standing(&fleet, "s003").there);
    fleet_end(&fleet);
    for (int n = 0; n < 5; n++) {
        of_stores += said(base_named(n)->id, 0, NULL, NULL);
        snprintf(text, sizeof(text), "store=%s", base_named(n)->id);
        REQ_INT("OBX-071 OBX-107", said(base_named(n)->id, 0, NULL, text),
                said(base_named(n)->id, 0, NULL, NULL));
        CHECK(said(base_named(n)->id, 0, "dispatcher", "joined") == 1);
    }
    REQ_INT("OBX-107", of_stores + said("(set)", 0, "set", NULL), log_length());
    CHECK(said("s000", PH_LOG_ERROR, "handle", "no luck") > 0);
    CHECK(is_one_of("s003", 5) && said("s003", PH_LOG_INFO, "dispatcher", "left") == 1);
}

static int name_rubbish(void *context, ph_found *found, ph_error *reterr)
{
    _Atomic int *asked = context;
    ph_database database = PH_DATABASE_INIT;
    char id[40];

    snprintf(id, sizeof(id), "rubbish-%d", ++*asked);
    database.id = id;
    database.url = "gopher:x";
    CHECK(ph_found_add(found, &database, reterr) < 0);
    return 0;
}

/* Also the thread that asks the sources: whoever writes the log needs no lock of his own. */
TEST(the_threads_of_a_dispatcher_log_one_at_a_time)
{
    static _Atomic int asked_count;
    struct fleet fleet;

    fleet_init(&fleet, 4);
    fleet.set_opts.refresh_ms = 1;
    fleet_add(&fleet, 0, 4);
    OK(ph_set_add_discovery(fleet.set, name_rubbish, &asked_count, &t_err));
    log_takes_ms = 1;
    for (int n = 0; n < 4; n++)
        base_put(base_at(n), "t", 40);
    fleet_run(&fleet, count_up, &tally);
    AWAIT(counted(&tally, NULL) == 160 && asked_count > 20);
    fleet_end(&fleet);
    CHECK(said("(set)", PH_LOG_WARN, NULL, "rubbish") > 10);
    CHECK_INT(log_overlaps(), 0);
}

/* --------------------------------------------------------------------- who it is */

TEST(it_has_an_owner_of_its_own_in_each_store)
{
    ph_owner none = { { 0 } }, owners[3];
    struct fleet fleet;
    char id[PH_ID_TEXT_SIZE], sql[200];

    fleet_init(&fleet, 2);
    fleet_add(&fleet, 0, 3);
    fleet_run(&fleet, count_up, &tally);
    AWAIT(fleet_stats(&fleet).connected && strlen(standings(&fleet)) > 30);
    CHECK(same_id(ph_dispatcher_owner(fleet.dispatcher).b, none.b));
    for (int n = 0; n < 3; n++) {
        owners[n] = standing(&fleet, base_at(n)->id).owner;
        CHECK_INT(base_instances(base_at(n)), 1);
        snprintf(sql, sizeof(sql), "SELECT count(*) FROM {t}instances WHERE %s = '%s'", "id",
                 ph_id_text(owners[n].b, id));
        CHECK_INT(base_number(base_at(n), sql), 1);
    }
    CHECK(!same_id(owners[0].b, owners[1].b) && !same_id(owners[1].b, owners[2].b));
    fleet_end(&fleet);
    for (int n = 0; n < 3; n++)
        base_check(base_at(n));
}

/* ---------------------------------------------------------------- kinds of places */

TEST(sqlite_and_postgresql_in_one_set)
{
    struct fleet fleet;

    if (!t_is_pg())
        t_not_here("the server is there in the other run");
    fleet_init(&fleet, 2);
    for (int n = 0; n < 3; n++)
        (void)base_lite(n);
    fleet_add(&fleet, 0, 6);
    for (int n = 0; n < 6; n++)
        base_put(base_at(n), "t", 30);
    fleet_run(&fleet, count_up, &tally);
    fleet_drain(&fleet);
    for (int n = 0; n < 6; n++)
        REQ_INT("OBX-066", counted(&tally, base_at(n)->id), 30);
    fleet_end(&fleet);
    for (int n = 0; n < 6; n++)
        base_check(base_at(n));
}

/* Two stores in one database: other tables, the same doorbell. */
TEST(two_stores_in_one_database)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *stores[2] = { NULL, NULL };
    ph_database database;
    struct fleet fleet;

    fleet_init(&fleet, t_is_pg() ? 2 : 1); /* PostgreSQL rings only where there is a connection */
    fleet_set(&fleet);
    for (int i = 0; i < 2; i++) {
        opts.deploy_schema = true;
        opts.schema = t_is_pg() ? base_named(0)->schema : NULL;
        opts.table_prefix = i ? "two_" : "one_";
        links_uncounted = true;
        OK(t_try_open(base_named(0)->url, &opts, &stores[i]));
        t_enqueue(stores[i], "t", "x");
        database = base_database(base_named(0));
        database.id = i ? "two" : "one";
        database.table_prefix = opts.table_prefix;
        OK(ph_set_add(fleet.set, &database, &t_err));
    }
    fleet.opts.lease_s = 3600;
    fleet.opts.poll_ms = 1000000;
    fleet_run(&fleet, count_up, &tally);
    fleet_drain(&fleet);
    for (int i = 0; i < 5; i++) {
        t_enqueue(stores[i % 2], "t", "x");
        AWAIT(counted(&tally, NULL) == 3 + i);
    }
    CHECK_INT(counted(&tally, "one"), 4);
    CHECK_INT(counted(&tally, "two"), 3);
    fleet_end(&fleet);
}

/* ------------------------------------------------------------------- it is noticed */

/* With one connection all but one store have none: each file's doorbell is heard nevertheless. */
TEST(a_message_in_a_file_without_a_connection_is_noticed_by_its_doorbell)
{
    struct fleet fleet;

    fleet_init(&fleet, 1);
    fleet.opts.lease_s = 3600;
    fleet.opts.poll_ms = 1000000;
    for (int n = 0; n < 8; n++)
        (void)base_lite(n);
    fleet_add(&fleet, 0, 8);
    fleet_run(&fleet, count_up, &tally);
    fleet_drain(&fleet);
    for (int i = 0; i < 24; i++) {
        base_put(base_at(i * 5 % 8), "t", 1);
        AWAIT(counted(&tally, NULL) == i + 1);
    }
    CHECK_INT(links_most(), 1);
    fleet_end(&fleet);
}

/* The doorbell rings when the log is written; the commit can be seen when that is on the disk. Somebody
 * who came in between found nothing, and has gone with the connection to another store. */
TEST(a_commit_that_takes_its_time_is_noticed_when_it_is_there)
{
    struct fleet fleet;
    double began;

    fleet_init(&fleet, 1);
    fleet.opts.lease_s = 3600;
    fleet.opts.poll_ms = 1000000;
    for (int n = 0; n < 3; n++)
        (void)base_lite(n);
    fleet_add(&fleet, 0, 3);
    fleet_run(&fleet, count_up, &tally);
    fleet_drain(&fleet);
    for (int i = 0; i < 6; i++) {
        sync_takes_ms = 40 * (i + 1);
        base_put(base_at(0), "t", 1);
        sync_takes_ms = 0;
        base_put(base_at(1), "t", 1);
        began = t_now_s();
        AWAIT(counted(&tally, "s000") == i + 1 && counted(&tally, "s001") == i + 1);
        CHECK(t_now_s() - began < AWAIT_LIMIT_S / 2); /* not by the look that comes each minute */
    }
    fleet_end(&fleet);
}

/* Without doorbells, and polled hardly ever: whoever knows better can say so. */
TEST(a_store_that_is_woken_is_looked_at_at_once)
{
    struct fleet fleet;

    fleet_init(&fleet, 1);
    fleet.opts.lease_s = 3600;
    fleet.opts.poll_ms = 1000000;
    fleet.opts.doorbell = PH_DOORBELL_OFF;
    fleet_add(&fleet, 0, 3);
    fleet_run(&fleet, count_up, &tally);
    fleet_drain(&fleet);
    for (int i = 0; i < 9; i++) {
        base_put(base_at(i % 3), "t", 1);
        OK(ph_dispatcher_wake(fleet.dispatcher, base_at(i % 3)->id, &t_err));
        AWAIT(counted(&tally, NULL) == i + 1);
    }
    CHECK_INT(ph_dispatcher_wake(fleet.dispatcher, "s003", &t_err), PH_ENOTFOUND);
    CHECK(strlen(t_err.message) > 10);
    CHECK_INT(ph_dispatcher_wake(fleet.dispatcher, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_dispatcher_wake(NULL, "s000", &t_err), PH_EINVAL);
    fleet_end(&fleet);
}

/* Found in each store ten seconds after the start, and said once for the dispatcher. */
TEST(a_topic_that_nobody_claims_is_said_once_for_all_stores)
{
    struct fleet fleet;

    fleet_init(&fleet, 2);
    fleet_add(&fleet, 0, 2);
    for (int n = 0; n < 2; n++) {
        t_clock_set(base_at(n)->side, T_EPOCH);
        base_put(base_at(n), "mail", 1);
        t_clock_advance(base_at(n)->side, 61 * T_SECOND);
        base_put(base_at(n), "other", 1); /* not yet a minute old */
    }
    fleet_new(&fleet);
    fleet_handle(&fleet, "t", count_up, &tally);
    fleet_start(&fleet);
    AWAIT(said(NULL, PH_LOG_WARN, "dispatcher", "mail") > 0);
    for (double end = t_now_s() + 2; t_now_s() < end;
         nap()) /* the other store's look is over by then */
        CHECK_INT(said(NULL, PH_LOG_WARN, NULL, NULL), 1);
    fleet_end(&fleet);
}
