/* internal.h - what the harness's own files share. */
#ifndef T_INTERNAL_H
#define T_INTERNAL_H

#include "harness.h"

#define T_EXIT_FAILED 1
#define T_EXIT_SKIPPED 77
#define T_EXIT_NOT_HERE 78

/* One test's surroundings; in the test's process they are in t_env. */
struct t_env {
    const char *program;
    const char *backend; /* "" for programs without one */
    char dir[256];       /* the test's folder */
    char url[1024];
    char database[64]; /* PostgreSQL: that of this test and some others */
    char schema[64];
    int number;            /* of the test in this run */
    int round;             /* how often the test started over */
    volatile int *limit_s; /* shared with the runner */
};
extern struct t_env t_env;

/* Sets url and schema from the other members. */
void t_env_place(void);

/* PostgreSQL: makes and removes the databases of this run. False on error, which was printed. */
bool t_server_set_up(const char *database);
void t_server_tear_down(const char *database);
/* The private server's URL with another database's name. */
void t_server_url(const char *database, char *ret_url, size_t size);

/* Closes what the test left open. */
void t_stores_close(void);
void t_conns_close(void);

#endif
