/* end_test.c - a dispatcher of many stores stops: in every phase, whatever its stores do. */
#include "fleet.h"

static struct tally tally = TALLY_INIT;
static struct gate gate = GATE_INIT;

/* --------------------------------------------------------------------------- phases */

TEST(it_can_be_stopped_and_freed_before_it_is_started)
{
    struct fleet fleet;

    fleet_init(&fleet, 2);
    fleet_add(&fleet, 0, 2);
    fleet_new(&fleet);
    fleet_handle(&fleet, NULL, count_up, &tally);
    ph_dispatcher_free(fleet.dispatcher);
    fleet_new(&fleet);
    OK(ph_dispatcher_stop(fleet.dispatcher, 0, &t_err));
    CHECK_INT(ph_dispatcher_start(fleet.dispatcher, &t_err), PH_EINVAL);
    CHECK_STR(standings(&fleet), "");
    fleet_free(&fleet);
}

static int name_some(void *context, ph_found *found, ph_error *reterr)
{
    t_nap_ms((unsigned)(atomic_fetch_add((_Atomic int *)context, 1) % 5));
    for (int n = 4; n < 6; n++) {
        ph_database database = base_database(base_named(n));

        CHECK(ph_found_add(found, &database, reterr) == 0);
    }
    return 0;
}

/* One that is not there, one whose schema is missing, and some that are well. */
static void add_all_kinds(struct fleet *fleet, _Atomic int *asked)
{
    struct base *nowhere;
    char url[300];

    fleet_set(fleet);
    snprintf(url, sizeof(url), "sqlite:/dev/null/x.db");
    nowhere = base_named(6);
    snprintf(nowhere->url, sizeof(nowhere->url), "%s", url);
    nowhere->is_pg = false;
    fleet_join(fleet, nowhere);
    fleet_join(fleet, base_named(7));
    fleet_add(fleet, 0, 4);
    OK(ph_set_add_discovery(fleet->set, name_some, asked, &t_err));
}

TEST(it_can_be_stopped_at_any_moment)
{
    static _Atomic int asked_count;
    int rounds = t_soak() ? 200 : 25, handled = 0, stored = 0;
    struct fleet fleet;

    for (int n = 4; n < 6; n++)
        (void)base_at(n);
    for (int round = 0; round < rounds; round++) {
        fleet_init(&fleet, 1 + round % 4);
        fleet.set_opts.refresh_ms = 3;
        fleet.opts.schedule = round % 3 == 0;
        add_all_kinds(&fleet, &asked_count);
        base_put(base_at(round % 6), "t", 3);
        stored += 3;
        fleet_run(&fleet, count_up, &tally);
        t_nap_ms((unsigned)(round % 9) * 3);
        if (round % 2)
            OK(ph_dispatcher_stop(fleet.dispatcher, AWAIT_LIMIT_S * 1000, &t_err));
        fleet_free(&fleet);
        for (int n = 0; n < 6; n++) {
            CHECK_INT(base_leases(base_at(n)), 0);
            CHECK_INT(base_instances(base_at(n)), 0);
        }
    }
    for (int n = 0; n < 6; n++) {
        handled += (int)base_done(base_at(n));
        stored -= (int)base_open(base_at(n)) + (int)base_done(base_at(n));
        base_check(base_at(n));
    }
    CHECK_INT(stored, 0); /* nothing was lost */
    CHECK(counted(&tally, NULL) >= handled);
}

/* ----------------------------------------------------------------------------- many */

/* Far more than connections, with messages in hand from many of them. */
TEST(fifty_stores_are_settled_and_left_within_the_budget)
{
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    struct fleet fleet;
    int done = 0;

    fleet_init(&fleet, 4);
    fleet.opts.batch_size = 2;
    fleet.opts.prefetch = 80;
    fleet.opts.threads = 6;
    for (int n = 0; n < 50; n++)
        (void)base_lite(n);
    fleet_add(&fleet, 0, 50);
    for (int n = 0; n < 50; n++) {
        base_put(base_at(n), "t", 2);
        base_leave(base_at(n));
    }
    fleet_run(&fleet, play, &part);
    gate_await(&gate, 6);
    AWAIT(fleet_stats(&fleet).waiting >= 74);
    gate_open(&gate);
    fleet_stop(&fleet);
    CHECK(links_most() <= 4);
    fleet_free(&fleet);
    for (int n = 0; n < 50; n++) {
        base_check(base_named(n));
        done += (int)base_done(base_named(n));
        CHECK_INT(base_done(base_named(n)) + base_open(base_named(n)), 2);
        base_leave(base_named(n));
    }
    CHECK_INT(done, part.calls);
}

/* ------------------------------------------------------------------------------ sick */

/* Handled, and not settled, in a store that is locked and in one that is well. */
TEST(a_locked_store_does_not_keep_the_others_from_being_settled)
{
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    struct fleet fleet;
    int r;

    fleet_init(&fleet, 3);
    fleet.stores.timeout_ms = 1000;
    fleet_add(&fleet, 0, 4);
    for (int n = 0; n < 4; n++)
        base_put(base_at(n), "t", 1);
    fleet_run(&fleet, play, &part);
    gate_await(&gate, 4);
    base_lock(base_at(1));
    base_lock(base_at(2));
    gate_open(&gate);
    r = ph_dispatcher_stop(fleet.dispatcher, AWAIT_LIMIT_S * 1000, &t_err);
    CHECK(r == PH_EBUSY || r == PH_ETIMEOUT);
    CHECK(strlen(t_err.message) > 5);
    CHECK_INT(links_now(), 0);
    fleet_free(&fleet);
    base_unlock(base_at(1));
    base_unlock(base_at(2));
    for (int n = 0; n < 4; n += 3) {
        CHECK_INT(base_done(base_at(n)), 1);
        base_check(base_at(n));
    }
    CHECK_INT(base_leases(base_at(1)), 1); /* it runs out */
    t_check_places(base_conn(base_at(1)));
}

/* It was tried in vain, and nothing of it is in hand: that is no error. */
TEST(stores_that_are_down_are_no_obstacle)
{
    static _Atomic int asked_count;
    struct fleet fleet;

    fleet_init(&fleet, 2);
    for (int n = 4; n < 6; n++)
        (void)base_at(n);
    add_all_kinds(&fleet, &asked_count);
    base_put(base_at(0), "t", 3);
    fleet_run(&fleet, count_up, &tally);
    AWAIT(counted(&tally, NULL) == 3);
    AWAIT(standing(&fleet, "s006").serving == PH_SERVING_TRYING);
    AWAIT(standing(&fleet, "s007").serving == PH_SERVING_ASIDE);
    fleet_end(&fleet);
    for (int n = 0; n < 4; n++)
        base_check(base_at(n));
}

/* ----------------------------------------------------------------------------- hung */

static ph_verdict hang(void *context, ph_work *work)
{
    watch_thread();
    (void)work;
    gate_pass(context);
    return PH_VERDICT_DONE;
}

static void leave_hanging(bool in_transaction)
{
    struct fleet fleet;

    /* A transaction of SQLite keeps everybody from the file, also from giving the message back. */
    bool locked = in_transaction && !t_is_pg();
    int r;

    fleet_init(&fleet, 5);
    fleet.stores.timeout_ms = 1000;
    fleet.opts.threads = 3;
    fleet_add(&fleet, 0, 3);
    for (int n = 0; n < 3; n++)
        base_put(base_at(n), n < 2 ? "hang" : "t", 1);
    fleet_new(&fleet);
    fleet_handle(&fleet, "t", count_up, &tally);
    if (in_transaction)
        fleet_handle_in_tx(&fleet, "hang", hang, &gate);
    else
        fleet_handle(&fleet, "hang", hang, &gate);
    fleet_start(&fleet);
    gate_await(&gate, 2);
    AWAIT(counted(&tally, NULL) == 1);
    r = ph_dispatcher_stop(fleet.dispatcher, 10, &t_err);
    CHECK_INT(r, locked ? PH_EBUSY : PH_ETIMEOUT);
    CHECK(locked || strstr(t_err.message, "2 handlers") != NULL);
    for (int n = 0; n < 3; n++) {
        if (!locked || n == 2)
            base_check(base_at(n));
    }
    ph_dispatcher_free(fleet.dispatcher);
    ph_set_free(fleet.set); /* both are still in their handlers */
    gate_open(&gate);
    AWAIT(ended_threads() == 2);
    AWAIT(links_now() == 0);
    for (int n = 0; n < 3; n++) {
        CHECK_INT(base_open(base_at(n)), n < 2);
        t_check_places(base_conn(base_at(n)));
    }
}

TEST(handlers_that_hang_are_left_behind)
{
    leave_hanging(false);
}

TEST(handlers_that_hang_in_transactions_are_left_behind)
{
    leave_hanging(true);
}
