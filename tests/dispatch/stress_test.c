/* stress_test.c - everything at once: short leases, handlers that do anything a handler may do,
 * works that are settled by others, dispatchers that come and go. Whatever happens, nothing is lost,
 * no message is in two hands unless the first was told to let go, and none of a stream comes before
 * those ahead of it were done. */
#include "rig.h"

#include "util/random.h"

#include <stdlib.h>

#define MESSAGES 400
#define DISPATCHERS 2
#define HANDS_MAX 8
#define STREAMS 5 /* every third message is in one of them */

static unsigned dice(unsigned sides)
{
    return (unsigned)(ph__random_u64() % sides);
}

static void rest(unsigned ms)
{
    struct timespec t = { ms / 1000, (long)(ms % 1000) * 1000000 };

    nanosleep(&t, NULL);
}

/* ------------------------------------------------------------------ who has what */

/* The hands in which a message is. */
static struct message {
    pthread_mutex_t mutex;
    struct hand {
        const void *dispatcher;
        ph_work *work;
        bool settled; /* by the handler itself, before it returned */
    } hands[HANDS_MAX];
    int count;
    _Atomic bool done; /* a handler has said so, at least once */
} messages[MESSAGES];

static _Atomic bool calm;
static _Atomic int kept_count, wrong, early;

static struct message *message_of(ph_work *work)
{
    return &messages[atoi(ph_work_delivery(work)->payload)];
}

static void check_turn(ph_work *work)
{
    int index = (int)(message_of(work) - messages);

    if (!ph_work_delivery(work)->stream)
        return;
    for (int i = index % (3 * STREAMS); i < index; i += 3 * STREAMS)
        early += !messages[i].done;
}

static ph_verdict say(ph_work *work, ph_verdict verdict)
{
    if (verdict == PH_VERDICT_DONE)
        message_of(work)->done = true;
    return verdict;
}

static void take_up(const void *dispatcher, ph_work *work)
{
    struct message *m = message_of(work);

    pthread_mutex_lock(&m->mutex);
    for (int i = 0; i < m->count; i++) {
        bool same = m->hands[i].dispatcher == dispatcher;

        if (same || (!m->hands[i].settled && !ph_work_cancelled(m->hands[i].work)))
            wrong++;
    }
    CHECK(m->count < HANDS_MAX);
    m->hands[m->count++] = (struct hand){ dispatcher, work, false };
    pthread_mutex_unlock(&m->mutex);
}

static void let_go(ph_work *work, bool only_settled)
{
    struct message *m = message_of(work);
    int i = 0;

    pthread_mutex_lock(&m->mutex);
    while (m->hands[i].work != work)
        i++;
    if (only_settled)
        m->hands[i].settled = true;
    else
        m->hands[i] = m->hands[--m->count];
    pthread_mutex_unlock(&m->mutex);
}

/* ---------------------------------------------------------------------- keepers */

static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static ph_work *kept[MESSAGES * HANDS_MAX];

static void keep(ph_work *work)
{
    pthread_mutex_lock(&kept_lock);
    kept[kept_count++] = work;
    pthread_mutex_unlock(&kept_lock);
}

static void *settle_kept(void *unused)
{
    static const ph_verdict verdicts[] = { PH_VERDICT_DONE, PH_VERDICT_DONE, PH_VERDICT_RETRY,
                                           PH_VERDICT_DEFER };

    while (!calm || kept_count > 0) {
        ph_work *work = NULL;

        rest(dice(20));
        pthread_mutex_lock(&kept_lock);
        if (kept_count > 0) {
            unsigned i = dice((unsigned)kept_count);

            work = kept[i];
            kept[i] = kept[--kept_count];
        }
        pthread_mutex_unlock(&kept_lock);
        if (!work)
            continue;
        ph_work_error(work, "kept for nothing");
        ph_work_delay(work, dice(200));
        let_go(work, false);
        OK(ph_work_settle(work, say(work, verdicts[dice(4)]), NULL));
    }
    return unused;
}

/* --------------------------------------------------------------------- handlers */

static ph_verdict anything(void *context, ph_work *work)
{
    ph_verdict verdict = PH_VERDICT_DONE;
    unsigned what = dice(100);

    check_turn(work);
    if (calm)
        return say(work, PH_VERDICT_DONE);
    take_up(context, work);
    ph_work_delay(work, dice(200));
    if (what < 40)
        rest(dice(5));
    else if (what < 43)
        rest(1200 + dice(500)); /* longer than the lease */
    else if (what < 46)
        (void)ph_work_wait(work, (int)dice(1500));
    else if (what < 52)
        verdict = PH_VERDICT_RETRY;
    else if (what < 60)
        verdict = PH_VERDICT_DEFER;
    else if (what < 62)
        verdict = (ph_verdict)77;
    else if (what < 72) {
        keep(work);
        return PH_VERDICT_KEEP;
    } else if (what < 75) {
        let_go(work, true);
        OK(ph_work_settle(work, say(work, dice(2) ? PH_VERDICT_DONE : PH_VERDICT_DEFER), NULL));
        rest(dice(50));
        verdict = PH_VERDICT_KEEP;
    }
    let_go(work, false);
    if (what == 99)
        pthread_exit(NULL);
    return say(work, verdict);
}

static ph_verdict anything_in_tx(void *context, ph_work *work)
{
    ph_verdict verdict = PH_VERDICT_DONE;
    unsigned what = dice(100);

    check_turn(work);
    CHECK(effect_write(work));
    if (calm)
        return say(work, PH_VERDICT_DONE);
    take_up(context, work);
    ph_work_delay(work, dice(200));
    if (what < 10)
        rest(t_is_pg() ? 1200 : dice(100));
    else if (what < 20)
        (void)work_sql(work, "SELECT nothing FROM nowhere");
    else if (what < 30)
        verdict = PH_VERDICT_RETRY;
    else if (what < 35)
        verdict = PH_VERDICT_KEEP;
    let_go(work, false);
    if (what == 99)
        pthread_exit(NULL);
    return say(work, verdict);
}

/* ------------------------------------------------------------------- dispatchers */

static void check_numbers(ph_dispatcher *dispatcher)
{
    ph_dispatcher_stats s = PH_DISPATCHER_STATS_INIT;

    OK(ph_dispatcher_stats_get(dispatcher, &s, &t_err));
    CHECK_INT(s.done + s.retried + s.failed + s.deferred + s.released + s.stale, s.claimed);
    CHECK_INT(s.waiting + s.running, 0);
}

static ph_dispatcher *start(ph_store *store)
{
    static _Atomic intptr_t serial; /* an address may be used again */
    ph_dispatcher_opts opts = PH_DISPATCHER_OPTS_INIT;
    ph_handler handler = PH_HANDLER_INIT;
    ph_dispatcher *dispatcher;

    opts.lease_s = calm ? 30 : 1;
    opts.threads = 1 + (int)dice(6);
    opts.batch_size = 1 + (int)dice(40);
    opts.prefetch = (int)dice(50) - 1;
    opts.in_flight_max = dice(3) ? 0 : 1 + (int)dice(5);
    opts.doorbell = dice(2) ? PH_DOORBELL_AUTO : PH_DOORBELL_OFF;
    opts.defer_ms = 200;
    OK(ph_dispatcher_new(store, &opts, &dispatcher, NULL));
    handler.context = (void *)++serial;
    handler.topic = "tx";
    handler.handle = anything_in_tx;
    handler.in_transaction = true;
    OK(ph_dispatcher_handle(dispatcher, &handler, NULL));
    handler.topic = "plain";
    handler.handle = anything;
    handler.in_transaction = false;
    OK(ph_dispatcher_handle(dispatcher, &handler, NULL));
    OK(ph_dispatcher_start(dispatcher, NULL));
    return dispatcher;
}

static void *come_and_go(void *store)
{
    while (!calm) {
        ph_dispatcher *dispatcher = start(store);

        rest(100 + dice(1500));
        if (ph_dispatcher_stop(dispatcher, (int)dice(1000), NULL) == 0) /* not always in time */
            check_numbers(dispatcher);
        ph_dispatcher_free(dispatcher);
    }
    return NULL;
}

static void put_all(ph_store *store)
{
    for (int i = 0; i < MESSAGES; i++) {
        char payload[16], stream[16];
        ph_message message = a_message(i % 4 ? "plain" : "tx", payload);

        snprintf(payload, sizeof(payload), "%d", i);
        snprintf(stream, sizeof(stream), "s%d", i / 3 % STREAMS);
        if (i % 3 == 0)
            message.stream = stream;
        message.max_attempts = 1000; /* many leases are lost on a slow machine */
        pthread_mutex_init(&messages[i].mutex, NULL);
        (void)put(store, &message);
    }
}

TEST(whatever_handlers_and_dispatchers_do_nothing_is_lost)
{
    pthread_t lives[DISPATCHERS], keeper;
    ph_store *stores[DISPATCHERS];
    const char *open = "SELECT count(*) FROM {t}outbox WHERE status_code <> 2";
    struct rig rig;

    t_limit(t_soak() ? 300 : 120);
    rig_open(&rig);
    effects_make(rig.conn);
    put_all(rig.side);
    CHECK_INT(pthread_create(&keeper, NULL, settle_kept, NULL), 0);
    for (int i = 0; i < DISPATCHERS; i++)
        stores[i] = t_open(NULL);
    for (int i = 0; i < DISPATCHERS; i++)
        CHECK_INT(pthread_create(&lives[i], NULL, come_and_go, stores[i]), 0);
    rest(t_soak() ? 120000 : 5000);
    calm = true;
    for (int i = 0; i < DISPATCHERS; i++)
        pthread_join(lives[i], NULL);
    pthread_join(keeper, NULL);
    rig.dispatcher = start(rig.store);
    AWAIT(t_number(rig.conn, open) == 0);
    rig_end(&rig);
    REQ_INT("OBX-059", wrong, 0);
    CHECK_INT(early, 0);
    CHECK_INT(effects(rig.conn), MESSAGES / 4);
    CHECK_INT(effects_distinct(rig.conn), MESSAGES / 4);
}
