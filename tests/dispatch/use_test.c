/* use_test.c - whose the dispatcher's store is, and what becomes of those who use it anyway. */
#include "rig.h"

/* ------------------------------------------------------- the dispatcher's own store */

struct follower {
    struct rig *rig;
    _Atomic int answer, calls;
    char text[300]; /* of the first */
};

/* The natural mistake. */
static ph_verdict enqueue_through_the_dispatchers_store(void *context, ph_work *work)
{
    struct follower *follower = context;
    ph_message message = a_message("next", "x");
    ph_error err;

    (void)work;
    follower->answer = ph_enqueue(follower->rig->store, PH_OWN_TX, &message, 0, NULL, &err);
    if (atomic_fetch_add(&follower->calls, 1) == 0)
        snprintf(follower->text, sizeof(follower->text), "%s", err.message);
    return PH_VERDICT_DONE;
}

TEST(a_handler_that_enqueues_through_its_dispatchers_store_is_refused_with_the_cure)
{
    static struct follower follower;
    struct rig rig;

    rig_open(&rig);
    follower.rig = &rig;
    put_many(rig.side, "t", 200, NULL);
    rig_run(&rig, "t", enqueue_through_the_dispatchers_store, &follower);
    rig_drain(&rig);
    CHECK_INT(follower.answer, PH_ESTATE);
    CHECK(strstr(follower.text, "open another one") != NULL);
    CHECK(strstr(follower.text, "ph_work_store() with ph_work_tx()") != NULL);
    CHECK_INT(rig_stats(&rig).done, 200);
    CHECK_INT(t_number(rig.conn, "SELECT count(*) FROM {t}outbox WHERE topic = 'next'"), 0);
    rig_end(&rig);
}

TEST(a_dispatchers_store_is_its_own_from_new_to_free)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    struct rig rig;
    ph_dispatcher *second = NULL;
    ph_message message = a_message("t", "x");
    int64_t time;

    rig_open(&rig);
    OK(ph_clock(rig.store, PH_OWN_TX, 0, &time, &t_err));
    rig_new(&rig);
    CHECK_INT(ph_clock(rig.store, PH_OWN_TX, 0, &time, &t_err), PH_ESTATE);
    CHECK_INT(ph_dispatcher_new(rig.store, NULL, &second, &t_err), PH_ESTATE);
    CHECK(strstr(t_err.message, "ph_dispatcher_free()") != NULL);
    rig_handle(&rig, "t", play, &part);
    rig_start(&rig);
    t_begin(rig.conn); /* which the header allows */
    OK(ph_enqueue(rig.store, t_tx(rig.conn), &message, 0, NULL, &t_err));
    t_commit(rig.conn);
    AWAIT(part.calls == 1);
    CHECK_INT(ph_clock(rig.store, PH_OWN_TX, 0, &time, &t_err), PH_ESTATE);
    rig_stop(&rig);
    CHECK_INT(ph_clock(rig.store, PH_OWN_TX, 0, &time, &t_err), PH_ESTATE);
    ph_dispatcher_free(rig.dispatcher);
    rig.dispatcher = NULL;
    OK(ph_clock(rig.store, PH_OWN_TX, 0, &time, &t_err));
    OK(ph_dispatcher_new(rig.store, NULL, &second, &t_err));
    ph_dispatcher_free(second);
}

/* --------------------------------------------------- the store of a transaction */

static ph_verdict enqueue_with_and_without_the_transaction(void *context, ph_work *work)
{
    struct follower *follower = context;
    ph_message message = a_message("next", "x");
    ph_error err;

    follower->answer = ph_enqueue(ph_work_store(work), PH_OWN_TX, &message, 0, NULL, &err);
    snprintf(follower->text, sizeof(follower->text), "%s", err.message);
    OK(ph_enqueue(ph_work_store(work), ph_work_tx(work), &message, 0, NULL, &t_err));
    return PH_VERDICT_DONE;
}

TEST(the_store_of_a_handlers_transaction_is_for_that_transaction)
{
    static struct follower follower;
    struct rig rig;

    rig_open(&rig);
    rig.opts.threads = 1; /* they write to the same place */
    put_many(rig.side, "t", 5, NULL);
    rig_new(&rig);
    rig_handle_in_tx(&rig, "t", enqueue_with_and_without_the_transaction, &follower);
    rig_start(&rig);
    rig_drain(&rig);
    CHECK_INT(follower.answer, PH_ESTATE);
    CHECK(strstr(follower.text, "pass ph_work_tx() with it") != NULL);
    CHECK_INT(t_number(rig.conn, "SELECT count(*) FROM {t}outbox WHERE topic = 'next'"), 5);
    rig_end(&rig);
}
