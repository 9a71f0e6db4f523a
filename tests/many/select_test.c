/* select_test.c - a callback chooses the store to claim from: what it is told, and that it counts. */
#include "fleet.h"

#include <limits.h>

#define ASKED_MAX 3000

/* What the callback was told, and what it shall answer. */
struct chooser {
    pthread_mutex_t mutex;
    int (*_Atomic answer)(const ph_candidate *stores, size_t count, size_t last);
    int asked, answered[ASKED_MAX];
    char told[ASKED_MAX][4][20]; /* the ids */
    bool ready[ASKED_MAX][4];
    int claimed[ASKED_MAX][4], in_flight[ASKED_MAX][4];
    int64_t ago_us[ASKED_MAX][4];
    size_t count[ASKED_MAX], last[ASKED_MAX];
    _Atomic int inside, overlaps;
};

static int choose(void *context, const ph_candidate *stores, size_t count, size_t last)
{
    struct chooser *chooser = context;
    int at, answer = atomic_load(&chooser->answer)(stores, count, last);

    chooser->overlaps += atomic_fetch_add(&chooser->inside, 1) > 0;
    pthread_mutex_lock(&chooser->mutex);
    at = chooser->asked < ASKED_MAX ? chooser->asked++ : ASKED_MAX - 1;
    chooser->answered[at] = answer;
    chooser->count[at] = count;
    chooser->last[at] = last;
    for (size_t i = 0; i < count && i < 4; i++) {
        snprintf(chooser->told[at][i], sizeof(chooser->told[at][i]), "%s", stores[i].store);
        chooser->ready[at][i] = stores[i].ready;
        chooser->claimed[at][i] = stores[i].last_claimed;
        chooser->ago_us[at][i] = stores[i].last_claim_us;
        chooser->in_flight[at][i] = stores[i].in_flight;
    }
    pthread_mutex_unlock(&chooser->mutex);
    chooser->inside--;
    return answer;
}

static int asked(struct chooser *chooser)
{
    int count;

    pthread_mutex_lock(&chooser->mutex);
    count = chooser->asked;
    pthread_mutex_unlock(&chooser->mutex);
    return count;
}

static struct chooser the_chooser = { .mutex = PTHREAD_MUTEX_INITIALIZER };
static struct tally tally = TALLY_INIT;

/* Stores with so many messages each, and a dispatcher that asks. */
static void start_asking(struct fleet *fleet, int connections, int stores, const int *messages,
                         int (*answer)(const ph_candidate *, size_t, size_t))
{
    fleet_init(fleet, connections);
    fleet->opts.select = choose;
    fleet->opts.select_context = &the_chooser;
    fleet->opts.batch_size = fleet->opts.prefetch = 2;
    fleet->opts.threads = 1;
    the_chooser.answer = answer;
    fleet_add(fleet, 0, stores);
    for (int n = 0; n < stores; n++)
        base_put(base_at(n), "t", messages[n]);
    fleet_run(fleet, count_up, &tally);
}

static int last_ready(const ph_candidate *stores, size_t count, size_t last)
{
    int found = -1;

    (void)last;
    for (size_t i = 0; i < count; i++) {
        if (stores[i].ready)
            found = (int)i;
    }
    return found;
}

/* ------------------------------------------------------------------ it is followed */

/* Backwards, each until it has nothing. */
TEST(the_choice_of_the_callback_is_followed)
{
    static const int messages[] = { 3, 5, 2 };
    struct claimed claims[20];
    struct fleet fleet;
    char order[100] = "";
    size_t count;

    start_asking(&fleet, 1, 3, messages, last_ready);
    fleet_drain(&fleet);
    fleet_end(&fleet);
    count = claims_said(claims, 20);
    for (size_t i = 0; i < count; i++)
        snprintf(order + strlen(order), sizeof(order) - strlen(order), "%s*%d ", claims[i].store,
                 claims[i].count);
    REQ_STR("OBX-067", order, "s002*2 s001*2 s001*2 s001*1 s000*2 s000*1 ");
    CHECK_INT(the_chooser.overlaps, 0);
}

TEST(the_callback_is_asked_by_one_thread_at_a_time)
{
    static const int messages[] = { 60, 60, 60, 60 };
    struct fleet fleet;

    start_asking(&fleet, 4, 4, messages, last_ready);
    fleet_drain(&fleet);
    fleet_end(&fleet);
    CHECK_INT(the_chooser.overlaps, 0);
    CHECK_INT(counted(&tally, NULL), 240);
}

/* ------------------------------------------------------------------ what it is told */

TEST(the_callback_is_told_how_things_are)
{
    static const int messages[] = { 3, 5, 2 };
    struct chooser *c = &the_chooser;
    int last_claimed[3] = { -1, -1, -1 };
    size_t last = 3;
    struct fleet fleet;

    start_asking(&fleet, 1, 3, messages, last_ready);
    fleet_drain(&fleet);
    fleet_end(&fleet);
    CHECK(c->asked >= 6 && c->asked < ASKED_MAX);
    for (int at = 0; at < c->asked; at++) {
        CHECK_INT(c->count[at], 3);
        CHECK_INT(c->last[at], last);
        for (int i = 0; i < 3; i++) {
            CHECK_STR(c->told[at][i], base_at(i)->id);
            CHECK(c->in_flight[at][i] >= 0 && c->in_flight[at][i] <= messages[i]);
            CHECK_INT(c->ago_us[at][i] == 0, c->claimed[at][i] == -1);
            CHECK(c->ago_us[at][i] >= 0 && c->ago_us[at][i] < INT64_C(120000000));
            /* What the last claim brought changes only by a claim, which is the one it chose. */
            if ((size_t)i != last)
                CHECK_INT(c->claimed[at][i], last_claimed[i]);
            last_claimed[i] = c->claimed[at][i];
        }
        if (c->answered[at] >= 0)
            last = (size_t)c->answered[at];
    }
}

/* ------------------------------------------------------------------------ none now */

static _Atomic int wanted;

static int as_wanted(const ph_candidate *stores, size_t count, size_t last)
{
    (void)stores;
    (void)count;
    (void)last;
    return wanted;
}

static void refuse(int answer)
{
    static const int messages[] = { 2, 2 };
    struct fleet fleet;
    int before;

    wanted = answer;
    start_asking(&fleet, 2, 2, messages, as_wanted);
    AWAIT(asked(&the_chooser) > 2);
    before = asked(&the_chooser);
    AWAIT(asked(&the_chooser) > before + 2); /* after poll_ms each time */
    CHECK_INT(fleet_stats(&fleet).claimed, 0);
    wanted = 1;
    AWAIT(counted(&tally, "s001") == 2);
    CHECK_INT(counted(&tally, "s000"), 0);
    wanted = 0;
    AWAIT(counted(&tally, "s000") == 2);
    fleet_end(&fleet);
}

TEST(minus_one_is_none_now)
{
    refuse(-1);
}

TEST(an_index_out_of_range_is_none_now)
{
    refuse(2);
}

TEST(nonsense_from_the_callback_is_none_now)
{
    refuse(INT_MAX);
}

TEST(a_negative_answer_is_none_now)
{
    refuse(INT_MIN);
}

static int not_ready(const ph_candidate *stores, size_t count, size_t last)
{
    (void)last;
    for (size_t i = 0; i < count; i++) {
        if (!stores[i].ready)
            return (int)i;
    }
    return wanted < (int)count ? wanted : -1;
}

/* The first is asked for when it has nothing more, and so is not ready. */
TEST(a_store_that_is_not_ready_is_none_now)
{
    static const int messages[] = { 1, 2 };
    struct fleet fleet;

    wanted = 0;
    start_asking(&fleet, 1, 2, messages, not_ready);
    AWAIT(counted(&tally, "s000") == 1);
    /* While it rests it is chosen and does not count; in between it is ready again. */
    AWAIT(fleet_stats(&fleet).empty_claims > 3);
    CHECK_INT(counted(&tally, "s001"), 0);
    the_chooser.answer = last_ready;
    AWAIT(counted(&tally, "s001") == 2);
    fleet_end(&fleet);
}

/* It is asked again at once when a store gets something, not only after poll_ms. */
static int second_or_none(const ph_candidate *stores, size_t count, size_t last)
{
    (void)last;
    return count > 1 && stores[1].ready ? 1 : -1;
}

static void start_patient(struct fleet *fleet)
{
    fleet_init(fleet, 2);
    fleet->opts.select = choose;
    fleet->opts.select_context = &the_chooser;
    fleet->opts.lease_s = 3600;
    fleet->opts.poll_ms = 1000000;
    the_chooser.answer = second_or_none;
    fleet_add(fleet, 0, 2);
    base_put(base_at(0), "t", 1); /* so there is always something to ask for */
    fleet_run(fleet, count_up, &tally);
    /* The second one has nothing, and is left alone until its doorbell rings. */
    AWAIT(fleet_stats(fleet).empty_claims >= 1);
}

TEST(the_callback_is_asked_again_when_a_message_comes)
{
    struct fleet fleet;

    start_patient(&fleet);
    for (int i = 1; i <= 3; i++) {
        base_put(base_at(1), "t", 1);
        AWAIT(counted(&tally, "s001") == i);
    }
    CHECK_INT(counted(&tally, "s000"), 0);
    fleet_end(&fleet);
}
