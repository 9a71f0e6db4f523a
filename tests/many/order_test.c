/* order_test.c - from which store is claimed next: round-robin and drain-first, claim by claim. */
#include "fleet.h"

#include <limits.h>

#define STORES_MAX 12
#define CLAIMS_MAX 400

/* ------------------------------------------------------------------- the model */

/* What the header says of the two strategies, for stores whose messages are known. */
struct model {
    ph_selection selection;
    int batch; /* INT_MAX: any number at once */
    int stores, left[STORES_MAX];
    bool there[STORES_MAX];
    int last; /* -1: none */
};

static struct model model_of(ph_selection selection, int batch, int stores, const int *messages)
{
    struct model model = { selection, batch, stores, { 0 }, { false }, -1 };

    for (int i = 0; i < stores; i++) {
        model.left[i] = messages[i];
        model.there[i] = true;
    }
    return model;
}

static bool has_some(const struct model *model, int store)
{
    return model->there[store] && model->left[store] > 0;
}

/* -1: none has anything. */
static int expected(const struct model *model)
{
    if (model->selection == PH_SELECT_DRAIN_FIRST && model->last >= 0 &&
        has_some(model, model->last))
        return model->last;
    for (int i = 1; i <= model->stores; i++) {
        int store = (model->last + i) % model->stores;

        if (has_some(model, store))
            return store;
    }
    return -1;
}

static void take_next(struct model *model, const struct claimed *claim)
{
    int store = expected(model), most;
    const char *id = store < 0 ? "(nothing is left)" : base_named(store)->id;

    if (strcmp(claim->store, id) != 0)
        log_print();
    REQ_STR(model->selection == PH_SELECT_DRAIN_FIRST ? "OBX-067 OBX-069" : "OBX-067 OBX-068",
            claim->store, id);
    most = model->left[store] < model->batch ? model->left[store] : model->batch;
    CHECK(claim->count == most || (model->batch == INT_MAX && claim->count < most));
    model->left[store] -= claim->count;
    model->last = store;
}

/* Every claim of the log from this line on is the one that the model expects; up to the line to. */
static void follow(struct model *model, size_t from, size_t to)
{
    static struct claimed claims[CLAIMS_MAX];
    size_t count = claims_said(claims, CLAIMS_MAX);

    for (size_t i = 0; i < count; i++) {
        if (claims[i].line >= from && claims[i].line < to)
            take_next(model, &claims[i]);
    }
}

static void check_all_claimed(const struct model *model)
{
    CHECK_INT(expected(model), -1);
}

/* ---------------------------------------------------- one connection, one thread */

/* All messages are there before the start, so that nothing has to be noticed. */
static void run_through(ph_selection selection, int connections, int batch, int stores,
                        const int *messages)
{
    static struct tally tally;
    struct model model = model_of(selection, batch, stores, messages);
    struct fleet fleet;
    char calls[20000] = "";

    tally = (struct tally)TALLY_INIT;
    log_clear();
    fleet_init(&fleet, connections);
    fleet.opts.selection = selection;
    fleet.opts.batch_size = fleet.opts.prefetch = batch;
    fleet.opts.threads = 1;
    fleet_add(&fleet, 0, stores);
    for (int n = 0; n < stores; n++)
        base_put(base_at(n), "t", messages[n]);
    fleet_run(&fleet, count_up, &tally);
    fleet_drain(&fleet);
    fleet_end(&fleet);
    follow(&model, 0, SIZE_MAX);
    check_all_claimed(&model);
    /* One thread calls the handlers in the order of the claims. */
    model = model_of(selection, batch, stores, messages);
    for (int store; (store = expected(&model)) >= 0; model.last = store) {
        for (int i = 0; i < batch && model.left[store] > 0; i++, model.left[store]--)
            strcat(strcat(calls, base_named(store)->id), " ");
    }
    CHECK_STR(calls_said(), calls);
    for (int n = 0; n < stores; n++)
        CHECK_INT(counted(&tally, base_at(n)->id), messages[n]);
    bases_leave();
}

TEST(round_robin_takes_one_batch_from_each_in_turn)
{
    static const int messages[] = { 6, 6, 6 };

    run_through(PH_SELECT_ROUND_ROBIN, 1, 2, 3, messages);
}

static int batches_of(const char *id, const struct claimed *claims, size_t count)
{
    int batches = 0;

    for (size_t i = 0; i < count; i++)
        batches += strcmp(claims[i].store, id) == 0;
    return batches;
}

/* Of the first so many claims, did no store give two before each gave one? */
static void check_first_batches(int stores, const struct claimed *claims)
{
    for (int i = 1; i <= stores; i++) {
        int most = 0;

        for (int n = 0; n < stores; n++) {
            int batches = batches_of(base_at(n)->id, claims, (size_t)i);

            most = batches > most ? batches : most;
        }
        if (most > 1)
            log_print();
        REQ("OBX-068", most == 1);
    }
}

static bool all_are_served(struct fleet *fleet, int stores)
{
    for (int n = 0; n < stores; n++) {
        if (standing(fleet, base_at(n)->id).serving != PH_SERVING_SERVED)
            return false;
    }
    return true;
}

/* With a connection for each, all of them are reached at the same time, and there is room for one
 * batch: those that come too late must not lose their turn. Those that had it wait for a second at
 * most, so a machine that is slower tells nothing. */
TEST(at_the_start_too_each_store_gives_one_batch_before_any_gives_a_second)
{
    enum { STORES = 6, BATCH = 2, ROUNDS = 4, TRIES_MAX = 10 };
    static struct claimed claims[CLAIMS_MAX];
    static struct tally tally;
    int wanted = t_soak() ? 20 : 2;
    struct fleet fleet;

    for (int tries = 0, judged = 0; judged < wanted && tries < wanted * TRIES_MAX; tries++) {
        double began;
        bool fast;

        tally = (struct tally)TALLY_INIT;
        log_clear();
        fleet_init(&fleet, STORES);
        fleet.opts.batch_size = fleet.opts.prefetch = BATCH;
        fleet.opts.threads = 1;
        fleet_add(&fleet, 0, STORES);
        for (int n = 0; n < STORES; n++)
            base_put(base_at(n), "t", BATCH * ROUNDS);
        began = t_now_s();
        fleet_run(&fleet, count_up, &tally);
        AWAIT(all_are_served(&fleet, STORES));
        fast = t_now_s() - began < 0.8;
        fleet_drain(&fleet);
        fleet_end(&fleet);
        REQ_INT("OBX-068", claims_said(claims, CLAIMS_MAX), STORES * ROUNDS);
        if (fast) /* later, one that is just settling when its turn comes may miss it */
            check_first_batches(STORES, claims);
        judged += fast;
        bases_leave();
    }
}

TEST(round_robin_passes_over_those_that_have_nothing)
{
    static const int messages[] = { 2, 0, 7, 4, 0 };

    run_through(PH_SELECT_ROUND_ROBIN, 1, 2, 5, messages);
}

TEST(drain_first_stays_with_a_store_until_it_has_nothing)
{
    static const int messages[] = { 6, 6, 6 };

    run_through(PH_SELECT_DRAIN_FIRST, 1, 2, 3, messages);
}

TEST(drain_first_passes_over_those_that_have_nothing)
{
    static const int messages[] = { 0, 5, 0, 2, 9 };

    run_through(PH_SELECT_DRAIN_FIRST, 1, 2, 5, messages);
}

TEST(the_order_is_that_of_the_strategy_whatever_the_stores_have)
{
    int messages[6], rounds = t_soak() ? 40 : 3;

    t_dice_seed(t_seed("PH_MANY_SEED"));
    for (int round = 0; round < rounds; round++) {
        for (int n = 0; n < 6; n++)
            messages[n] = t_dice(3) ? (int)t_dice(9) : 0;
        run_through(t_dice(2) ? PH_SELECT_DRAIN_FIRST : PH_SELECT_ROUND_ROBIN, 1,
                    1 + (int)t_dice(4), 6, messages);
        t_start_over();
        memset(messages, 0, sizeof(messages));
    }
}

/* ------------------------------------------------------------ several connections */

/* The only thread is held up by a message of the first store, until the test lets it go. Meanwhile
 * there is no room: nothing is claimed, whatever comes. */
static struct gate held = GATE_INIT;

static ph_verdict hold_up(void *context, ph_work *work)
{
    (void)work;
    gate_pass(context);
    return PH_VERDICT_DONE;
}

static void hold(struct fleet *fleet, int messages)
{
    static struct tally tally = TALLY_INIT;

    fleet->opts.threads = 1;
    fleet_new(fleet);
    fleet_handle(fleet, "hold", hold_up, &held);
    fleet_handle(fleet, "t", count_up, &tally);
    fleet_start(fleet);
    gate_await(&held, 1);
    AWAIT(fleet_stats(fleet).waiting == messages - 1);
    AWAIT(fleet_stats(fleet).connected);
}

static void start_held(struct fleet *fleet, ph_selection selection, int connections, int stores)
{
    fleet_init(fleet, connections);
    fleet->opts.selection = selection;
    fleet->opts.batch_size = fleet->opts.prefetch = 2;
    fleet_add(fleet, 0, stores);
    base_put(base_at(0), "hold", 2);
    hold(fleet, 2);
}

static void let_go(struct fleet *fleet, struct model *model, size_t from)
{
    model->last = 0;
    gate_open(&held);
    fleet_drain(fleet);
    fleet_end(fleet);
    follow(model, from, SIZE_MAX);
    check_all_claimed(model);
    bases_leave();
}

static void run_held(ph_selection selection, int connections)
{
    static const int messages[] = { 4, 3, 6, 2 };
    struct model model = model_of(selection, 2, 4, messages);
    struct fleet fleet;
    size_t from;

    start_held(&fleet, selection, connections, 4);
    for (int n = 0; n < 4; n++)
        base_put(base_at(n), "t", messages[n]);
    from = log_length();
    let_go(&fleet, &model, from);
}

/* With room for one batch there is one claim at a time. */
TEST(several_connections_do_not_change_the_order_of_drain_first)
{
    run_held(PH_SELECT_DRAIN_FIRST, 4);
}

/* There is room for several claims at once: still none of another store comes before the first has
 * nothing. */
TEST(drain_first_leaves_others_alone_even_if_there_is_room)
{
    static const int messages[] = { 9, 7, 5 };
    struct model model = model_of(PH_SELECT_DRAIN_FIRST, INT_MAX, 3, messages);
    struct fleet fleet;
    size_t from;

    fleet_init(&fleet, 3);
    fleet.opts.selection = PH_SELECT_DRAIN_FIRST;
    fleet.opts.batch_size = 2;
    fleet.opts.prefetch = 100;
    fleet.opts.in_flight_max = 6;
    fleet_add(&fleet, 0, 3);
    base_put(base_at(0), "hold", 6);
    hold(&fleet, 6);
    for (int n = 0; n < 3; n++)
        base_put(base_at(n), "t", messages[n]);
    from = log_length();
    let_go(&fleet, &model, from);
}

/* ------------------------------------------------------------- stores come and go */

TEST(a_store_that_is_added_takes_its_place_in_the_order)
{
    static const int messages[] = { 5, 4, 5, 3 };
    struct model model = model_of(PH_SELECT_ROUND_ROBIN, 2, 4, messages);
    struct fleet fleet;
    size_t from;

    (void)base_at(3);
    start_held(&fleet, PH_SELECT_ROUND_ROBIN, 1, 1);
    fleet_add(&fleet, 3, 1);
    fleet_add(&fleet, 1, 2);
    AWAIT(strcmp(standings(&fleet), "s000:served s001:served s002:served s003:served") == 0);
    for (int n = 0; n < 4; n++)
        base_put(base_at(n), "t", messages[n]);
    from = log_length();
    let_go(&fleet, &model, from);
}

TEST(a_store_that_has_left_is_passed_over)
{
    static const int messages[] = { 5, 4, 5, 3 };
    struct model model = model_of(PH_SELECT_ROUND_ROBIN, 2, 4, messages);
    struct fleet fleet;
    size_t from;

    start_held(&fleet, PH_SELECT_ROUND_ROBIN, 1, 4);
    for (int n = 0; n < 4; n++)
        base_put(base_at(n), "t", messages[n]);
    fleet_remove(&fleet, "s001");
    AWAIT(!standing(&fleet, "s001").there);
    model.there[1] = false;
    from = log_length();
    let_go(&fleet, &model, from);
    CHECK_INT(base_open(base_at(1)), 4);
    bases_leave();
}
