/* memory_test.c - every allocation of every verb fails once. Each time the call
 * says PH_ENOMEM and has changed nothing (unless it says PH_UNKNOWN); when
 * enough memory is there it works. */
#include "scene.h"

#include "util/alloc.h"

#define ALLOCATIONS_MAX 2000

static int run_with(struct scene *scene, const struct verb *verb, ph_tx tx, long allocations)
{
    int r;

    ph__alloc_fail_after = allocations;
    r = verb->run(scene, tx);
    ph__alloc_fail_after = -1;
    if (r < 0 && r != PH_ENOMEM)
        printf("%s, allocation %ld: %s (%s)\n", verb->name, allocations, t_err.message,
               ph_status_text(r));
    CHECK(r == 0 || r == PH_ENOMEM);
    CHECK(r == 0 || (t_err.flags & PH_RETRY));
    return r;
}

static void fail_each(enum start start)
{
    for (size_t v = 0; v < verb_count; v++) {
        const struct verb *verb = verb_at(v);
        struct scene scene;
        char before[8000];
        long n = 0;

        if (verb->start != start)
            continue;
        scene = scene_set(start);
        snprintf(before, sizeof(before), "%s", scene_state(&scene));
        while (run_with(&scene, verb, PH_OWN_TX, n++) < 0) {
            if (t_err.flags & PH_UNKNOWN)
                snprintf(before, sizeof(before), "%s", scene_state(&scene));
            CHECK_STR(scene_state(&scene), before);
            CHECK(n < ALLOCATIONS_MAX);
        }
        scene_state(&scene);
    }
}

TEST(no_memory_with_pending_messages)
{
    fail_each(WITH_PENDING);
}

TEST(no_memory_with_leased_messages)
{
    fail_each(WITH_LEASED);
}

TEST(no_memory_with_expired_leases)
{
    fail_each(WITH_EXPIRED);
}

TEST(no_memory_with_dead_letters)
{
    fail_each(WITH_DEAD);
}

TEST(no_memory_with_settled_messages)
{
    fail_each(WITH_DONE);
}

TEST(no_memory_with_timers)
{
    fail_each(WITH_TIMERS);
}

TEST(no_memory_with_jobs)
{
    fail_each(WITH_JOBS);
}

TEST(no_memory_with_steps_of_joins)
{
    fail_each(WITH_STEPS);
}

TEST(no_memory_with_joins_past_their_deadline)
{
    fail_each(WITH_OVERDUE);
}

TEST(no_memory_with_steps_that_have_ended)
{
    fail_each(WITH_ENDED);
}

TEST(no_memory_with_streams)
{
    fail_each(WITH_STREAMS);
}

/* In the caller's transaction the call either left it usable, or says that it
 * must be rolled back; then nothing of it remains. */
static void fail_each_inside(enum start start)
{
    for (size_t v = 0; v < verb_count; v++) {
        const struct verb *verb = verb_at(v);
        struct scene scene;
        char before[8000];
        long n = 0;
        int r;

        if (verb->own_tx_only || verb->start != start)
            continue;
        scene = scene_set(start);
        snprintf(before, sizeof(before), "%s", scene_state(&scene));
        do {
            bool dead;

            t_begin(scene.conn);
            r = run_with(&scene, verb, t_tx(scene.conn), n++);
            dead = r < 0 && (t_err.flags & PH_TX_DEAD);
            CHECK(dead || t_try_sql(scene.conn, "SELECT 1"));
            if (r == 0 || dead) {
                t_rollback(scene.conn);
            } else {
                t_commit(scene.conn);
            }
            CHECK_STR(scene_state(&scene), before);
            CHECK(n < ALLOCATIONS_MAX);
        } while (r < 0);
    }
}

TEST(no_memory_inside_a_transaction_with_pending_messages)
{
    fail_each_inside(WITH_PENDING);
}

TEST(no_memory_inside_a_transaction_with_leased_messages)
{
    fail_each_inside(WITH_LEASED);
}

TEST(no_memory_inside_a_transaction_with_other_messages)
{
    fail_each_inside(WITH_EXPIRED);
    fail_each_inside(WITH_DEAD);
    fail_each_inside(WITH_DONE);
}

TEST(no_memory_inside_a_transaction_with_timers_and_jobs)
{
    fail_each_inside(WITH_TIMERS);
    fail_each_inside(WITH_JOBS);
}

TEST(no_memory_inside_a_transaction_with_steps_of_joins)
{
    fail_each_inside(WITH_STEPS);
    fail_each_inside(WITH_OVERDUE);
    fail_each_inside(WITH_ENDED);
}

TEST(no_memory_inside_a_transaction_with_streams)
{
    fail_each_inside(WITH_STREAMS);
}
