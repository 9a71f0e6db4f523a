/* scene.h - every verb of the library as an entry of a table, so that one loop
 * can make each of them fail in every way. */
#ifndef FAULT_SCENE_H
#define FAULT_SCENE_H

#include "harness.h"

#define SCENE_MESSAGES 3

struct scene {
    ph_store *store;
    struct t_conn *conn;
    ph_owner owner;
    ph_work_id ids[SCENE_MESSAGES]; /* of messages, timers or runs, as the verb needs them */
    ph_lease_ref leases[SCENE_MESSAGES];
    ph_message_id messages[SCENE_MESSAGES];
    ph_join_id join; /* with steps: open, has the first two messages and expects four */
    ph_join_id last; /* with steps: has them and expects no more; each has a wait */
};

/* WITH_STEPS: leased. WITH_OVERDUE: the joins are past their deadline. WITH_ENDED: of the steps one
 * is done, one dead, and their retention is over. WITH_TIMERS, WITH_JOBS: due ones, runs that wait,
 * and no message. */
enum start {
    WITH_PENDING,
    WITH_LEASED,
    WITH_EXPIRED,
    WITH_DEAD,
    WITH_DONE,
    WITH_STEPS,
    WITH_OVERDUE,
    WITH_ENDED,
    WITH_TIMERS,
    WITH_JOBS,
    WITH_STREAMS /* see scene_add_streams() */
};

struct verb {
    const char *name;
    enum start start; /* what state the messages are in before */
    bool own_tx_only;
    int (*run)(struct scene *scene, ph_tx tx);
};
const struct verb *verb_at(size_t index);
extern const size_t verb_count;

/* A fresh store with SCENE_MESSAGES messages in that state, under the fake clock. */
struct scene scene_set(enum start start);
/* All that readers can see, as one text; valid for the next few calls. Checks the places, too. */
const char *scene_state(struct scene *scene);

/* schedule_scene.c */
#define SCHEDULE_VERBS 16
extern const struct verb schedule_verbs[SCHEDULE_VERBS];
void scene_add_timers(struct scene *scene);
void scene_add_jobs(struct scene *scene);

/* stream_scene.c */
#define STREAM_VERBS 15
extern const struct verb stream_verbs[STREAM_VERBS];
void scene_add_streams(struct scene *scene);

#endif
