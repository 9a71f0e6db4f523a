/* reserve.c - threads that are kept for last attempts, with a second poller and without. */
#include "harness.h"
#include "in_memory.h"

#include <stdlib.h>

static struct ph__db *db;
static struct ph__batch *batch;

/* One handled last attempt, and so many other works, have a verdict that the database does not know. */
static void make(size_t others)
{
    ph_dispatcher *dispatcher = m_dispatcher();

    db = m_db(dispatcher);
    batch = calloc(1, sizeof(*batch) + sizeof(batch->works[0]));
    CHECK(batch != NULL);
    batch->dispatcher = dispatcher;
    batch->db = db;
    batch->last = true;
    batch->count = batch->unsettled = 1;
    batch->works[0].batch = batch;
    batch->works[0].state = PH__DECIDED;
    db->leases.batches = batch;
    m_decide(db, others + 1);
}

/* What the claim is told about last attempts. */
static int asked(void)
{
    struct ph__exchange_io io = { .settle = true };

    io.room[PH_OUTBOX] = 10;
    ph__reserve(db, &io);
    ph__reserve_leave(db);
    return io.last[PH_OUTBOX];
}

TEST(one_poller_settles_a_last_attempt_and_claims_the_next_in_one_call)
{
    make(0);
    CHECK_INT(asked(), PH__LAST_ALONE);
    free(batch);
}

TEST(a_last_attempt_is_not_claimed_while_the_second_poller_may_settle_another)
{
    make(0);
    db->dispatcher->second.running = true;
    CHECK_INT(asked(), PH__LAST_NOT);
    batch->works[0].state = PH__SETTLED;
    CHECK_INT(asked(), PH__LAST_ALONE);
    batch->works[0].state = PH__DECIDED;
    db->last.came = true; /* then it leaves all to the first */
    CHECK(!ph__second_is_on(db->dispatcher));
    CHECK_INT(asked(), PH__LAST_ALONE);
    free(batch);
}

TEST(nor_while_more_are_settled_before_another_than_go_into_one_call)
{
    make(PH__SETTLE_MAX - 1);
    CHECK_INT(asked(), PH__LAST_ALONE);
    m_decide(db, 1);
    CHECK_INT(asked(), PH__LAST_NOT);
    free(batch);
}
