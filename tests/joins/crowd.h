/* crowd.h - a crowd of processes on one database: producers start joins and attach steps before,
 * while and after they are worked on; workers settle steps in every way there is, and are killed. */
#ifndef JOINS_CROWD_H
#define JOINS_CROWD_H

#include "common.h"

#include <stdatomic.h>

#define PRODUCERS 2
#define WORKERS 3
#define JOINS_MAX 10000
#define STEPS_MAX 50
#define LEASE_S 10

#define STEP "step"
#define GOOD "good"
#define BAD "bad"

/* What the processes share. */
struct crowd {
    int joins; /* how many are to be made */
    atomic_bool produced, over;
    struct {
        ph_join_id id;
        bool mortal; /* it may end before its time: cancelled, or with a deadline */
        int waits;   /* made on it */
    } made[JOINS_MAX];
};

/* Makes every PRODUCERS-th join, beginning with number. */
void produce(struct crowd *crowd, int number);
/* Works until there is nothing left and nothing more comes. */
void work(struct crowd *crowd);
/* Works what was left behind, and ends joins that only time can end. */
void drain(ph_store *store);

/* Everything has ended: all numbers must be exact. */
void check_all(ph_store *store, struct t_conn *conn, const struct crowd *crowd);

#endif
