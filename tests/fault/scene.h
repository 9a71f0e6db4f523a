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
    ph_work_id ids[SCENE_MESSAGES]; /* pending, leased or dead, as the verb needs them */
    ph_lease_ref leases[SCENE_MESSAGES];
};

enum start { WITH_PENDING, WITH_LEASED, WITH_EXPIRED, WITH_DEAD, WITH_DONE };

struct verb {
    const char *name;
    enum start start; /* what state the messages are in before */
    bool own_tx_only;
    int (*run)(struct scene *scene, ph_tx tx);
};
extern const struct verb verbs[];
extern const size_t verb_count;

/* A fresh store with SCENE_MESSAGES messages in that state, under the fake clock. */
struct scene scene_set(enum start start);
/* All that readers can see, as one text; valid for the next few calls. Checks the places, too. */
const char *scene_state(struct scene *scene);

#endif
