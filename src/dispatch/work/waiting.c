/* waiting.c - works that wait for a thread, and lists of works in general. */
#include "dispatch/dispatch.h"

void ph__work_push(struct ph__work_list *list, struct ph_work *work)
{
    work->next = NULL;
    *list->last = work;
    list->last = &work->next;
    list->count++;
}

struct ph_work *ph__work_pop(struct ph__work_list *list)
{
    struct ph_work *work = list->first;

    if (!work)
        return NULL;
    list->first = work->next;
    if (!list->first)
        list->last = &list->first;
    list->count--;
    return work;
}

/* Before all others. */
static void push_first(struct ph__work_list *list, struct ph_work *work)
{
    work->next = list->first;
    if (!work->next)
        list->last = &work->next;
    list->first = work;
    list->count++;
}

void ph__waiting_push(struct ph_work *work)
{
    struct ph__db *db = work->batch->db;

    PH__NEEDS_LOCK(work->batch->dispatcher);
    work->reserved = work->batch->last && db->last.reserved > 0;
    if (work->reserved) {
        db->last.reserved--; /* the thread is now kept for the work */
        push_first(&work->batch->dispatcher->works.waiting, work);
    } else {
        ph__work_push(&work->batch->dispatcher->works.waiting, work);
    }
    db->works.waiting++;
}

/* It waits no longer. */
static void waited(struct ph_work *work)
{
    work->batch->dispatcher->reserve.count -= work->reserved;
    work->reserved = false;
}

/* A database in which transactions do not begin or do not end must not occupy all threads, and
 * threads that are kept for last attempts serve nothing else. */
static bool must_wait(const struct ph_work *work)
{
    const ph_dispatcher *dispatcher = work->batch->dispatcher;

    if (work->reserved)
        return false;
    if (ph__threads_are_reserved(dispatcher) && !dispatcher->phase.stopping)
        return true;
    return dispatcher->set && !dispatcher->phase.stopping && work->handler->in_transaction &&
           work->batch->db->tx.waiting >= ph__tx_waiting_max(dispatcher);
}

struct ph_work *ph__waiting_pop(ph_dispatcher *dispatcher)
{
    struct ph__work_list *list = &dispatcher->works.waiting;
    struct ph_work **at = &list->first, *work;

    PH__NEEDS_LOCK(dispatcher);
    while (*at && must_wait(*at))
        at = &(*at)->next;
    work = *at;
    if (!work)
        return NULL;
    *at = work->next;
    if (list->last == &work->next)
        list->last = at;
    list->count--;
    work->batch->db->works.waiting--;
    dispatcher->reserve.others_turn = work->reserved;
    waited(work);
    return work;
}

void ph__waiting_take(struct ph__db *db, int64_t claimed_us, struct ph__work_list *taken)
{
    ph_dispatcher *dispatcher = db->dispatcher;
    struct ph__work_list all = dispatcher->works.waiting;

    PH__NEEDS_LOCK(dispatcher);
    *taken = (struct ph__work_list){ .last = &taken->first };
    if (db->works.waiting == 0)
        return;
    dispatcher->works.waiting = (struct ph__work_list){ .last = &dispatcher->works.waiting.first };
    while (all.count > 0) {
        struct ph_work *work = ph__work_pop(&all);
        bool take = work->batch->db == db && work->batch->claimed_us <= claimed_us;

        ph__work_push(take ? taken : &dispatcher->works.waiting, work);
        if (take)
            waited(work);
    }
    db->works.waiting -= taken->count;
}

void ph__waiting_release(struct ph__db *db, int64_t claimed_us)
{
    struct ph__work_list taken;

    PH__NEEDS_LOCK(db->dispatcher);
    ph__waiting_take(db, claimed_us, &taken);
    while (taken.count > 0)
        ph__work_release(ph__work_pop(&taken), 0);
    ph__runs_give_back(db, claimed_us);
}
