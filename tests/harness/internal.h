/* internal.h - what the harness's own files share. */
#ifndef T_INTERNAL_H
#define T_INTERNAL_H

#include "harness.h"

#include <stdatomic.h>

#define T_JOBS_MAX 32

#define T_EXIT_FAILED 1
#define T_EXIT_SKIPPED 77
#define T_EXIT_NOT_HERE 78

/* What the runner and the processes of one test share. */
struct t_shared {
    volatile int limit_s;
    atomic_int choice; /* enum t_choice */
};

/* One test's surroundings; in the test's process they are in t_env. */
struct t_env {
    const char *program;
    const char *backend; /* "" for programs without one */
    char dir[256];       /* the test's folder */
    char url[1024];
    char database[64]; /* PostgreSQL: that of this test and some others */
    char schema[64];   /* an empty one */
    char migrated[64]; /* PostgreSQL: one that is migrated already; "" if there is none */
    int number;        /* of the test in this run */
    int round;         /* how often the test started over */
    struct t_shared *shared;
};
extern struct t_env t_env;

/* Sets url and schema from the other members. */
void t_env_place(void);

/* PostgreSQL: which schema is the test's own; all its processes have the same, see schemas.c. */
enum t_choice { T_CHOICE_OPEN, T_CHOICE_EMPTY, T_CHOICE_MIGRATED };
/* Its name; the first wish decides. */
const char *t_schema_first(enum t_choice wish);
/* The test starts over: the next is an empty one, unless it has had none yet. */
void t_schema_leave(void);
/* Sets database and migrated for the next test, which runs in this slot. many_tests: it is worth
 * making schemas in advance. False on error, which was printed. */
bool t_schema_lend(int slot, bool many_tests);
void t_schema_return(int slot);

/* PostgreSQL: makes and removes the databases of this run; template NULL: an empty one. False on
 * error, which was printed. */
bool t_server_set_up(const char *database, const char *template);
void t_server_tear_down(const char *database);
/* The private server's URL with another database's name. */
void t_server_url(const char *database, char *ret_url, size_t size);

/* Closes what the test left open. */
void t_stores_close(void);
void t_conns_close(void);

#endif
