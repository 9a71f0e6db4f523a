/* settle.c - which works go with a call that settles, while another one is under way. */
#include "core/id.h"
#include "harness.h"
#include "in_memory.h"

#include <stdlib.h>
#include <string.h>

#define BATCHES 3

static ph_dispatcher *dispatcher;
static struct ph__db *db;
static struct ph__batch *batches[BATCHES];
static struct ph__settle_call held_up, call;

static void put_into_slot(struct ph_work *work)
{
    struct ph_work **slot;
    int64_t number = 0;
    uint64_t salt;

    (void)ph__id_split(work->lease.work_id, &number, &salt);
    slot = &dispatcher->works.slots[(uint64_t)number % PH__SLOTS];
    work->slot_next = *slot;
    *slot = work;
}

/* Messages are told apart by a letter. */
static void make_batch(int at, const char *letters)
{
    size_t count = strlen(letters);
    struct ph__batch *batch = calloc(1, sizeof(*batch) + count * sizeof(batch->works[0]));

    CHECK(batch != NULL);
    batches[at] = batch;
    batch->dispatcher = dispatcher;
    batch->db = db;
    batch->count = batch->unsettled = batch->live = count;
    for (size_t i = 0; i < count; i++) {
        struct ph_work *work = &batch->works[i];

        work->batch = batch;
        work->refs = 1;
        memset(work->lease.work_id.b, letters[i], sizeof(work->lease.work_id.b));
        work->state = PH__DECIDED;
        work->decision.verb = PH_ACK;
        put_into_slot(work);
    }
}

static void decide(int at)
{
    struct ph__work_list *list = &db->settle.decided;

    for (size_t i = 0; i < batches[at]->count; i++) {
        struct ph_work *work = &batches[at]->works[i];

        work->next = NULL;
        if (list->first)
            *list->last = work;
        else
            list->first = work;
        list->last = &work->next;
        list->count++;
        dispatcher->works.decided++;
    }
}

/* Takes what may be settled, and says which. */
static void check_taken(struct ph__settle_call *by, const char *want)
{
    struct ph__work_batch batch = { 0 };
    char got[8] = "";

    ph__settle_begin(by, db, &batch);
    CHECK(by->count < sizeof(got));
    for (size_t i = 0; i < by->count; i++)
        got[i] = (char)by->works[i]->lease.work_id.b[0];
    CHECK_STR(got, want);
}

static void end(struct ph__settle_call *by)
{
    for (size_t i = 0; i < by->count; i++) {
        by->works[i]->settling = false;
        by->works[i]->state = PH__SETTLED;
        by->works[i]->batch->settled_by = NULL;
    }
    by->count = 0;
}

static void make(void)
{
    dispatcher = m_dispatcher();
    db = m_db(dispatcher);
}

static void unmake(void)
{
    for (int i = 0; i < BATCHES; i++)
        free(batches[i]);
}

/* x is in a call that hangs; its lease was lost, and it came again. */
TEST(a_message_that_another_call_is_about_holds_up_its_own_batch_only)
{
    make();
    make_batch(0, "x");
    make_batch(1, "xy");
    make_batch(2, "z");
    decide(0);
    check_taken(&held_up, "x");
    decide(1);
    decide(2);
    check_taken(&call, "z");
    end(&call);
    check_taken(&call, ""); /* y stands behind x in its batch, perhaps in its stream */
    CHECK(db->settle.blocked);
    end(&held_up);
    check_taken(&call, "xy");
    CHECK(!db->settle.blocked);
    end(&call);
    unmake();
}

TEST(works_of_a_batch_that_another_call_is_about_wait_for_its_end)
{
    make();
    make_batch(0, "a");
    make_batch(1, "b");
    make_batch(2, "c");
    decide(0);
    check_taken(&held_up, "a");
    batches[1]->settled_by = &held_up;
    decide(1);
    decide(2);
    check_taken(&call, "c");
    end(&held_up);
    batches[1]->settled_by = NULL;
    end(&call);
    check_taken(&call, "b");
    end(&call);
    unmake();
}
