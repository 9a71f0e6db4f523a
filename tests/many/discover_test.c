/* discover_test.c - sources are asked again and again while the dispatcher runs: it follows what they
 * name, and survives what they do. */
#include "fleet.h"

static struct tally tally = TALLY_INIT;

/* What the source names now. */
static struct source {
    pthread_mutex_t mutex;
    bool named[BASES_MAX];
    int status;   /* what it returns */
    bool rubbish; /* names also what makes no sense */
    bool twice;   /* names everything twice */
    struct gate *gate;
    _Atomic int asked;
} source = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static void name_rubbish(ph_found *found, ph_error *reterr)
{
    static const ph_database rubbish[] = {
        { .size = sizeof(ph_database), .id = NULL, .url = "sqlite:x" },
        { .size = sizeof(ph_database), .id = "", .url = "sqlite:x" },
        { .size = sizeof(ph_database), .id = "no-url", .url = NULL },
        { .size = sizeof(ph_database), .id = "odd-url", .url = "gopher:x" },
        { .size = sizeof(ph_database), .id = "not\xfftext", .url = "sqlite:x" },
        { .size = sizeof(ph_database), .id = "s000", .url = "sqlite:/somewhere/else.db" },
    };

    for (size_t i = 0; i < sizeof(rubbish) / sizeof(*rubbish); i++)
        CHECK(ph_found_add(found, &rubbish[i], reterr) < 0);
}

static int discover(void *context, ph_found *found, ph_error *reterr)
{
    struct source *s = context;
    struct gate *gate;
    int status;

    pthread_mutex_lock(&s->mutex);
    gate = s->gate;
    pthread_mutex_unlock(&s->mutex);
    if (gate) {
        watch_thread();
        gate_pass(gate);
    }
    pthread_mutex_lock(&s->mutex);
    for (int n = 0; n < BASES_MAX; n++) {
        ph_database database = base_database(base_named(n));

        for (int i = 0; s->named[n] && i <= s->twice; i++)
            CHECK(ph_found_add(found, &database, reterr) == 0);
    }
    if (s->rubbish)
        name_rubbish(found, reterr);
    status = s->status;
    s->asked++;
    pthread_mutex_unlock(&s->mutex);
    if (status < 0)
        snprintf(reterr->message, sizeof(reterr->message), "no answer today");
    return status;
}

static void set_named(int first, int count, bool named)
{
    pthread_mutex_lock(&source.mutex);
    for (int n = first; n < first + count; n++)
        source.named[n] = named;
    pthread_mutex_unlock(&source.mutex);
}

static void set_status(int status)
{
    pthread_mutex_lock(&source.mutex);
    source.status = status;
    pthread_mutex_unlock(&source.mutex);
}

/* Until it was asked anew, and answered. */
static void await_asked(int times)
{
    int until = source.asked + times;

    AWAIT(source.asked >= until);
}

/* Databases 0 … count - 1 exist, and the source names them. */
static void start(struct fleet *fleet, int count, int refresh_ms)
{
    fleet_init(fleet, 4);
    fleet->set_opts.refresh_ms = refresh_ms;
    for (int n = 0; n < BASES_MAX; n++)
        (void)base_named(n);
    for (int n = 0; n < count; n++)
        (void)base_at(n);
    set_named(0, count, true);
    fleet_set(fleet);
    OK(ph_set_add_discovery(fleet->set, discover, &source, &t_err));
    fleet_run(fleet, count_up, &tally);
}

static void check_serves(struct fleet *fleet, int first, int count)
{
    for (int n = first; n < first + count; n++) {
        int before = counted(&tally, base_at(n)->id);

        fleet_put(fleet, n, "t", 2);
        AWAIT(counted(&tally, base_at(n)->id) == before + 2);
    }
}

/* ---------------------------------------------------------------------- follows */

TEST(what_the_source_names_is_served)
{
    struct fleet fleet;

    start(&fleet, 2, 5);
    AWAIT(standing(&fleet, "s001").there);
    check_serves(&fleet, 0, 2);
    base_put(base_at(2), "t", 4);
    set_named(2, 1, true);
    AWAIT(counted(&tally, "s002") == 4);
    REQ("OBX-075 OBX-077", source.asked >= 2);
    set_named(0, 1, false);
    AWAIT(!standing(&fleet, "s000").there);
    base_put(base_at(0), "t", 1);
    await_asked(3);
    REQ_INT("OBX-078", counted(&tally, "s000"), 2);
    check_serves(&fleet, 1, 2);
    set_named(0, 1, true);
    AWAIT(counted(&tally, "s000") == 3);
    fleet_end(&fleet);
    for (int n = 0; n < 3; n++)
        base_check(base_at(n));
}

/* Hundreds of looks at the sources are no reason to do anything. */
TEST(a_store_that_has_not_changed_is_left_alone)
{
    ph_owner owners[3];
    struct fleet fleet;
    int opened;

    start(&fleet, 3, 1);
    AWAIT(standing(&fleet, "s002").serving == PH_SERVING_SERVED);
    check_serves(&fleet, 0, 3);
    opened = links_opened("");
    for (int n = 0; n < 3; n++)
        owners[n] = standing(&fleet, base_at(n)->id).owner;
    for (int i = 0; i < 5; i++) {
        set_named(10 + i, 1, false);
        await_asked(60);
        check_serves(&fleet, 0, 3);
    }
    for (int n = 0; n < 3; n++) {
        REQ("OBX-079", same_id(standing(&fleet, base_at(n)->id).owner.b, owners[n].b));
        REQ_INT("OBX-079", said(base_at(n)->id, PH_LOG_INFO, "instance", "registered"), 1);
        CHECK_INT(said(base_at(n)->id, PH_LOG_INFO, "dispatcher", "joined"), 1);
        CHECK_INT(standing(&fleet, base_at(n)->id).outages, 0);
    }
    REQ_INT("OBX-079", links_opened(""), opened);
    fleet_end(&fleet);
}

TEST(duplicates_and_rubbish_do_no_harm)
{
    struct fleet fleet;

    source.rubbish = source.twice = true;
    start(&fleet, 3, 5);
    AWAIT(standing(&fleet, "s002").there);
    check_serves(&fleet, 0, 3);
    await_asked(5);
    CHECK_STR(standings(&fleet), "s000:served s001:served s002:served");
    CHECK_INT(said("s000", PH_LOG_INFO, "instance", "registered"), 1);
    CHECK(said("(set)", PH_LOG_WARN, NULL, "odd-url") == 1);
    fleet_end(&fleet);
}

/* ------------------------------------------------------------------------- fails */

TEST(a_source_that_fails_changes_nothing)
{
    ph_owner owner;
    struct fleet fleet;

    start(&fleet, 2, 5);
    AWAIT(standing(&fleet, "s001").there);
    check_serves(&fleet, 0, 2);
    owner = standing(&fleet, "s000").owner;
    set_named(0, 2, false); /* half an answer, and then */
    set_status(PH_EDATABASE);
    await_asked(10);
    check_serves(&fleet, 0, 2);
    CHECK(same_id(standing(&fleet, "s000").owner.b, owner.b));
    CHECK_INT(said("(set)", PH_LOG_WARN, NULL, "no answer today"), 1);
    set_named(1, 1, true);
    set_status(0);
    AWAIT(!standing(&fleet, "s000").there);
    check_serves(&fleet, 1, 1);
    CHECK_INT(said("(set)", PH_LOG_INFO, NULL, "works again"), 1);
    fleet_end(&fleet);
}

TEST(a_source_that_names_nothing_any_more_is_believed)
{
    struct fleet fleet;

    start(&fleet, 3, 5);
    AWAIT(standing(&fleet, "s002").there);
    check_serves(&fleet, 0, 3);
    set_named(0, 3, false);
    AWAIT(strcmp(standings(&fleet), "") == 0);
    AWAIT(links_now() == 0);
    CHECK_INT(said("(set)", PH_LOG_WARN, NULL, "names no database any more"), 1);
    for (int n = 0; n < 3; n++)
        base_check(base_at(n));
    set_named(1, 2, true);
    AWAIT(standing(&fleet, "s002").there);
    check_serves(&fleet, 1, 2);
    fleet_end(&fleet);
}

/* ------------------------------------------------------------------------- hangs */

static struct gate never = GATE_INIT;

/* The thread that asks is left behind; it ends when the source returns. */
static void end_hanging(struct fleet *fleet)
{
    int r = ph_dispatcher_stop(fleet->dispatcher, AWAIT_LIMIT_S * 1000, &t_err);

    CHECK_INT(r, PH_ETIMEOUT);
    CHECK(strstr(t_err.message, "source") != NULL);
    CHECK_INT(links_now(), 0);
    fleet_free(fleet);
    gate_open(&never);
    AWAIT(ended_threads() == 1);
}

TEST(a_source_that_hangs_from_the_start_holds_up_nobody_else)
{
    struct fleet fleet;

    source.gate = &never;
    fleet_init(&fleet, 2);
    fleet.set_opts.refresh_ms = 0;
    fleet_set(&fleet);
    OK(ph_set_add_discovery(fleet.set, discover, &source, &t_err));
    fleet_add(&fleet, 0, 2);
    base_put(base_at(0), "t", 2);
    fleet_run(&fleet, count_up, &tally);
    gate_await(&never, 1);
    AWAIT(counted(&tally, "s000") == 2);
    base_put(base_at(2), "t", 3);
    fleet_add(&fleet, 2, 1); /* also a database that is added now */
    AWAIT(counted(&tally, "s002") == 3);
    fleet_remove(&fleet, "s001");
    AWAIT(!standing(&fleet, "s001").there);
    end_hanging(&fleet);
    base_check(base_at(0));
    base_check(base_at(2));
}

TEST(a_source_that_hangs_later_leaves_the_list_as_it_was)
{
    struct fleet fleet;

    start(&fleet, 2, 5);
    AWAIT(standing(&fleet, "s001").there);
    check_serves(&fleet, 0, 2);
    pthread_mutex_lock(&source.mutex);
    source.gate = &never;
    pthread_mutex_unlock(&source.mutex);
    gate_await(&never, 1);
    set_named(0, 1, false);
    check_serves(&fleet, 0, 2);
    fleet_drain(&fleet);
    end_hanging(&fleet);
}
