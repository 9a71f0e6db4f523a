/* dispatcher_test.c - dispatchers that run, with options at random, used in any order; and their
 * handlers, which call everything that a handler may call with whatever comes, at once and after they
 * have kept a work. Nothing crashes or hangs, and what is stored stays whole.
 *
 * PH_FUZZ_SEED repeats a run as far as threads can be repeated: what a handler does follows from the
 * seed and from its message. PH_FUZZ_SECONDS makes it longer. */
#include "arguments.h"

#include <limits.h>
#include <pthread.h>

#define ROUNDS 6
#define ROUNDS_MAX 60 /* where threads are so slow that the usual ones do not show everything */
#define STEPS 30
#define KEPT_MAX 64
#define STORES 2

/* Numbers of its own for each round and each handler. */
struct dice {
    uint64_t state;
};

static unsigned roll(struct dice *dice, unsigned below)
{
    dice->state ^= dice->state << 13;
    dice->state ^= dice->state >> 7;
    dice->state ^= dice->state << 17;
    return (unsigned)(dice->state >> 20) % below;
}

static struct dice dice_of(uint64_t seed)
{
    struct dice dice = { (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) };

    (void)roll(&dice, 2);
    return dice;
}

/* ------------------------------------------------------------------------ the round */

static struct {
    struct dice dice;
    uint64_t seed;
    ph_store *store; /* the dispatcher's; NULL: it is of a set */
    ph_set *set;
    ph_store *side[STORES]; /* the test's */
    ph_dispatcher *dispatcher;
    pthread_mutex_t lock; /* of what follows */
    ph_work *kept[KEPT_MAX];
    size_t kept_count;
} scene = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool keep_work(ph_work *work)
{
    bool room;

    pthread_mutex_lock(&scene.lock);
    room = scene.kept_count < KEPT_MAX;
    if (room)
        scene.kept[scene.kept_count++] = work;
    pthread_mutex_unlock(&scene.lock);
    return room;
}

static ph_work *take_kept(struct dice *dice)
{
    ph_work *work = NULL;

    pthread_mutex_lock(&scene.lock);
    if (scene.kept_count > 0) {
        size_t at = roll(dice, (unsigned)scene.kept_count);

        work = scene.kept[at];
        scene.kept[at] = scene.kept[--scene.kept_count];
    }
    pthread_mutex_unlock(&scene.lock);
    return work;
}

/* ------------------------------------------------------------------ calls on a work */

static char endless[20000];

static const char *some_text(struct dice *dice)
{
    static const char *const texts[] = { NULL,           "",     "an error", "\xff\xfe",
                                         "\xed\xa0\x80", "%s%n", endless };

    return texts[roll(dice, sizeof(texts) / sizeof(*texts))];
}

static int64_t some_delay(struct dice *dice)
{
    static const int64_t delays[] = { 0, 1, 50, -1, INT64_MIN, INT64_MAX, INT64_C(31536000000) };

    return delays[roll(dice, sizeof(delays) / sizeof(*delays))];
}

static ph_verdict some_verdict(struct dice *dice)
{
    static const int strange[] = { 0, -1, 6, INT_MAX, INT_MIN };

    return (ph_verdict)(roll(dice, 8) ? (int)(1 + roll(dice, 5)) : strange[roll(dice, 5)]);
}

/* In a transaction of the handler's, and also without it, which is refused. */
static void use_store(ph_work *work, struct dice *dice)
{
    ph_message m = PH_MESSAGE_INIT;
    ph_store *store = ph_work_store(work);
    ph_error err;
    int r;

    m.topic = "later"; /* nobody handles it, or it would never end */
    m.payload = "x";
    if (!store)
        return;
    r = ph_enqueue(store, ph_work_tx(work), &m, 0, NULL, &err);
    check_status("ph_enqueue in a handler", r, &err);
    if (roll(dice, 3) == 0)
        CHECK_INT(ph_enqueue(store, PH_OWN_TX, &m, 0, NULL, &err), PH_ESTATE);
}

static void look_at(ph_work *work)
{
    const ph_delivery *delivery = ph_work_delivery(work);

    CHECK(delivery && delivery->topic && strlen(delivery->payload) == delivery->payload_length);
    CHECK(*ph_work_store_id(work));
    (void)ph_work_cancelled(work);
}

static void call_on(ph_work *work, struct dice *dice)
{
    static const int waits[] = { -1, 0, 1, 5, INT_MIN, 20 };

    switch (roll(dice, 6)) {
    case 0:
        look_at(work);
        break;
    case 1:
        (void)ph_work_wait(work, waits[roll(dice, 6)]);
        break;
    case 2:
        ph_work_error(work, some_text(dice));
        break;
    case 3:
        ph_work_delay(work, some_delay(dice));
        break;
    case 4:
        CHECK(!ph_work_cancelled(NULL) && !ph_work_wait(NULL, 5) && !ph_work_delivery(NULL));
        CHECK(!ph_work_store(NULL) && !*ph_work_store_id(NULL));
        ph_work_error(NULL, some_text(dice));
        ph_work_delay(NULL, some_delay(dice));
        break;
    default:
        break;
    }
}

/* True: it is settled, and gone. */
static bool settle(ph_work *work, struct dice *dice)
{
    ph_verdict verdict = some_verdict(dice);
    bool fits = verdict >= PH_VERDICT_DONE && verdict <= PH_VERDICT_DEFER;
    ph_error err;
    int r = ph_work_settle(work, verdict, roll(dice, 4) ? &err : NULL);

    CHECK_INT(r, fits ? 0 : PH_EINVAL);
    return r == 0;
}

/* ------------------------------------------------------------------------- handlers */

struct role {
    bool in_transaction;
};

/* What only another thread may do is refused. */
static void call_dispatcher(struct dice *dice)
{
    ph_dispatcher_stats stats = PH_DISPATCHER_STATS_INIT;
    ph_error err;

    switch (roll(dice, 4)) {
    case 0:
        CHECK_INT(ph_dispatcher_drain(scene.dispatcher, 100, &err), PH_EINVAL);
        break;
    case 1:
        CHECK_INT(ph_dispatcher_stop(scene.dispatcher, 0, &err), PH_EINVAL);
        break;
    case 2:
        CHECK_INT(ph_dispatcher_start(scene.dispatcher, &err), PH_EINVAL);
        break;
    default:
        CHECK_INT(ph_dispatcher_stats_get(scene.dispatcher, &stats, &err), 0);
        break;
    }
}

static _Atomic int handled, kept, in_transactions;

static ph_verdict handle(void *context, ph_work *work)
{
    const struct role *role = context;
    const ph_delivery *delivery = ph_work_delivery(work);
    struct dice dice =
        dice_of(scene.seed * 1000 + (unsigned)atoi(delivery->payload) * 16 + delivery->attempts);
    ph_verdict verdict;

    handled++;
    for (unsigned i = roll(&dice, 5); i > 0; i--)
        call_on(work, &dice);
    if (roll(&dice, 4) == 0)
        call_dispatcher(&dice);
    if (role->in_transaction) {
        in_transactions++;
        use_store(work, &dice);
        CHECK_INT(ph_work_settle(work, PH_VERDICT_DONE, NULL), PH_EINVAL);
        return some_verdict(&dice);
    }
    CHECK(!ph_work_store(work));
    if (roll(&dice, 40) == 0)
        pthread_exit(NULL);
    if (roll(&dice, 6) == 0 && settle(work, &dice))
        return PH_VERDICT_KEEP;
    verdict = some_verdict(&dice);
    if (verdict != PH_VERDICT_KEEP)
        return verdict;
    kept++;
    return keep_work(work) ? PH_VERDICT_KEEP : PH_VERDICT_DONE;
}

/* ---------------------------------------------------------------------- its options */

static int small_or_odd(unsigned below)
{
    static const int strange[] = { -1, -2, INT_MIN, INT_MAX, 100000 };

    return roll(&scene.dice, 12) ? (int)roll(&scene.dice, below) : strange[roll(&scene.dice, 5)];
}

/* Not so many threads that only starting them takes the time. */
static ph_dispatcher_opts some_options(void)
{
    ph_dispatcher_opts opts = PH_DISPATCHER_OPTS_INIT;
    struct dice *dice = &scene.dice;

    opts.threads = (int)roll(dice, 5);
    opts.batch_size = small_or_odd(20);
    opts.prefetch = small_or_odd(30);
    opts.in_flight_max = small_or_odd(40);
    opts.lease_s = roll(dice, 3) ? 0 : 1 + (int)roll(dice, 2);
    opts.poll_ms = small_or_odd(100);
    opts.defer_ms = small_or_odd(50);
    opts.message_limit = roll(dice, 4) ? 0 : small_or_odd(20);
    opts.any_topic = roll(dice, 3) == 0;
    opts.doorbell = (ph_doorbell)roll(dice, 3);
    opts.retention_ms = small_or_odd(50);
    opts.schedule = roll(dice, 3) == 0;
    opts.service = roll(dice, 4) ? "fuzz" : some_text(dice);
    opts.partition_count = small_or_odd(10);
    opts.max_partitions = small_or_odd(5);
    opts.selection = (ph_selection)roll(dice, 3);
    return opts;
}

static void new_dispatcher(void)
{
    ph_dispatcher_opts opts = some_options(), sane = PH_DISPATCHER_OPTS_INIT;
    ph_error err;
    int r = PH_EINVAL;

    for (int try = 0; try < 3 && r < 0; try++) {
        const ph_dispatcher_opts *o = try == 0 ? &opts : try == 1 ? &sane : NULL;

        r = scene.set ? ph_dispatcher_new_set(scene.set, o, &scene.dispatcher, &err)
                      : ph_dispatcher_new(scene.store, o, &scene.dispatcher, &err);
        check_status("ph_dispatcher_new", r, &err);
    }
    CHECK_INT(r, 0);
}

static void add_handler(void)
{
    static const char *const topics[] = { "a", "b", "c", NULL, "a", "b", "c", "" };
    static struct role roles[2] = { { false }, { true } };
    ph_handler handler = PH_HANDLER_INIT;
    struct dice *dice = &scene.dice;
    ph_error err;

    handler.topic = topics[roll(dice, 8)];
    handler.handle = roll(dice, 10) ? handle : NULL;
    handler.in_transaction = roll(dice, 3) == 0;
    handler.context = &roles[handler.in_transaction];
    handler.time_limit_ms = roll(dice, 3) ? 0 : small_or_odd(30);
    handler.inbox = roll(dice, 3) == 0;
    check_status("ph_dispatcher_handle", ph_dispatcher_handle(scene.dispatcher, &handler, &err),
                 &err);
}

/* ------------------------------------------------------------------------ its steps */

static void put_some(void)
{
    static const char *const topics[] = { "a", "b", "c", "d" };
    ph_store *side = scene.side[roll(&scene.dice, STORES)];
    static int number;

    for (unsigned i = roll(&scene.dice, 12); i > 0; i--) {
        ph_message m = PH_MESSAGE_INIT;
        char payload[16];

        snprintf(payload, sizeof(payload), "%d", ++number);
        m.topic = topics[roll(&scene.dice, 4)];
        m.payload = payload;
        m.stream = roll(&scene.dice, 3) ? NULL : "s";
        m.max_attempts = roll(&scene.dice, 4) ? 3 : 1;
        OK(ph_enqueue(side, PH_OWN_TX, &m, 0, NULL, &t_err));
    }
}

static void receive_some(void)
{
    ph_inbox_message m = PH_INBOX_MESSAGE_INIT;
    static int number;
    char id[16];

    snprintf(id, sizeof(id), "%d", ++number);
    m.source = "there";
    m.source_id = id;
    m.topic = roll(&scene.dice, 2) ? "a" : "b";
    m.payload = id;
    OK(ph_inbox_receive(scene.side[0], PH_OWN_TX, &m, 0, NULL, &t_err));
}

static void look_round(void)
{
    ph_dispatcher_stats stats = PH_DISPATCHER_STATS_INIT;
    ph_served_stores *list = NULL;
    ph_error err;

    OK(ph_dispatcher_stats_get(scene.dispatcher, &stats, &t_err));
    OK(ph_served_store_list(scene.dispatcher, NULL, &list, &t_err));
    for (size_t i = 0; i < ph_served_stores_count(list); i++)
        check_status("ph_dispatcher_wake",
                     ph_dispatcher_wake(scene.dispatcher, ph_served_stores_at(list, i)->id, &err),
                     &err);
    ph_served_stores_free(list);
    (void)ph_dispatcher_owner(scene.dispatcher);
}

static void use_kept(void)
{
    ph_work *work = take_kept(&scene.dice);

    if (!work)
        return;
    for (unsigned i = roll(&scene.dice, 4); i > 0; i--)
        call_on(work, &scene.dice);
    if (!settle(work, &scene.dice) && !keep_work(work))
        OK(ph_work_settle(work, PH_VERDICT_DONE, &t_err));
}

static void drain_or_stop(bool stop)
{
    static const int limits[] = { 1, 20, 100, -1, INT_MIN };
    int limit_ms = limits[roll(&scene.dice, 5)];
    ph_error err;

    check_status(stop ? "ph_dispatcher_stop" : "ph_dispatcher_drain",
                 stop ? ph_dispatcher_stop(scene.dispatcher, limit_ms == 1 ? 0 : limit_ms, &err)
                      : ph_dispatcher_drain(scene.dispatcher, limit_ms, &err),
                 &err);
}

static void start(void)
{
    ph_error err;

    check_status("ph_dispatcher_start", ph_dispatcher_start(scene.dispatcher, &err), &err);
}

static void step(void)
{
    switch (roll(&scene.dice, 14)) {
    case 0:
        start();
        break;
    case 1:
    case 2:
    case 3:
    case 4:
        put_some();
        break;
    case 5:
        receive_some();
        break;
    case 6:
        look_round();
        break;
    case 7:
        add_handler();
        break;
    case 8:
    case 9:
    case 10:
        drain_or_stop(roll(&scene.dice, 15) == 0);
        break;
    case 11:
        t_nap_ms(roll(&scene.dice, 20));
        break;
    default:
        use_kept();
        break;
    }
}

/* --------------------------------------------------------------------------- rounds */

static void open_all(const char *const urls[STORES])
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_set_opts of_set = PH_SET_OPTS_INIT;

    opts.timeout_ms = 5000;
    for (int i = 0; i < STORES; i++)
        OK(ph_open(urls[i], &opts, &scene.side[i], &t_err));
    if (roll(&scene.dice, 2)) {
        OK(ph_open(urls[0], &opts, &scene.store, &t_err));
        return;
    }
    of_set.stores = &opts;
    of_set.connections = 1 + (int)roll(&scene.dice, 8); /* too few for some */
    OK(ph_set_new(&of_set, &scene.set, &t_err));
    for (int i = 0; i < STORES; i++) {
        ph_database database = PH_DATABASE_INIT;

        database.id = i ? "two" : "one";
        database.url = urls[i];
        OK(ph_set_add(scene.set, &database, &t_err));
    }
}

/* Kept works live until they are settled, also without their dispatcher. */
static void close_all(void)
{
    for (size_t some = roll(&scene.dice, KEPT_MAX); some > 0; some--)
        use_kept();
    ph_dispatcher_free(scene.dispatcher);
    while (scene.kept_count > 0)
        use_kept();
    ph_close(scene.store);
    ph_set_free(scene.set);
    scene.dispatcher = NULL;
    scene.store = NULL;
    scene.set = NULL;
    for (int i = 0; i < STORES; i++)
        ph_close(scene.side[i]);
}

static void one_round(const char *const urls[STORES], uint64_t seed)
{
    scene.seed = seed;
    scene.dice = dice_of(seed);
    open_all(urls);
    new_dispatcher();
    for (unsigned i = roll(&scene.dice, 10); i > 0; i--)
        add_handler();
    put_some();
    if (roll(&scene.dice, 4)) /* otherwise later, or not at all */
        start();
    for (int i = 0; i < STEPS; i++)
        step();
    close_all();
}

/* Has everything happened that a run is to try? */
static bool has_seen_all(void)
{
    return handled > 0 && in_transactions > 0 && kept > 0;
}

static void check_stored(const char *url)
{
    struct t_conn *conn = t_connect_to(url);

    t_conn_schema(conn, "posthorn");
    t_check_places(conn);
    t_check_joins(conn);
    t_disconnect(conn);
}

TEST(dispatchers_and_handlers_take_any_calls_in_any_order)
{
    const char *seconds = getenv("PH_FUZZ_SECONDS"), *seed = getenv("PH_FUZZ_SEED");
    double end = t_now_s() + (seconds ? atof(seconds) : 0);
    uint64_t next = seconds ? t_seed("PH_FUZZ_SEED") : seed ? strtoull(seed, NULL, 0) : 1;
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    const char *urls[STORES];

    t_limit(seconds ? (int)atof(seconds) + 120 : 120);
    memset(endless, 'e', sizeof(endless) - 1);
    opts.deploy_schema = true;
    for (int i = 0; i < STORES; i++) {
        ph_store *store = NULL;

        urls[i] = t_fresh_database();
        OK(ph_open(urls[i], &opts, &store, &t_err));
        ph_close(store);
    }
    for (int i = 0; i < ROUNDS || t_now_s() < end || (i < ROUNDS_MAX && !has_seen_all()); i++) {
        fprintf(stderr, "PH_FUZZ_SEED=%llu\n", (unsigned long long)next);
        one_round(urls, next++);
    }
    for (int i = 0; i < STORES; i++)
        check_stored(urls[i]);
    printf("%d handled, %d in transactions, %d kept\n", handled, in_transactions, kept);
    CHECK(has_seen_all());
}
