/* sets.h - several databases for the tests of sets and routers. */
#ifndef CONFORM_SETS_H
#define CONFORM_SETS_H

#include "common.h"

/* A set whose stores make their schema and write into the journal. */
ph_set *make_set(int connections, int refresh_ms);
ph_router *make_router(ph_set *set, int connections);

/* The nth database of this test: another file, or another schema. Its id is "d<n>". Valid until
 * the end of the test. */
ph_database database(int n);
/* The same under another id. */
ph_database database_as(const char *id, int n);
void add(ph_set *set, const ph_database *database);

/* Asks every source now; none may fail. */
void refresh(ph_set *set);
/* How many lines of the journal hold this text. */
size_t lines_with(const char *text);

/* The ids in the set, joined by blanks; valid until the next call. */
const char *ids(ph_set *set);
/* The same as "id=key" each. */
const char *ids_and_keys(ph_set *set);
/* The store of a key; there must be one. */
ph_store *route(ph_router *router, const char *key);
/* How many of the databases have a connection now; waits for servers that close them. */
int connected(int wanted);

/* A callback that names what a test puts in here. */
struct discovery {
    ph_database databases[16];
    size_t count;
    int status;  /* what it returns */
    int asked;   /* how often */
    int refused; /* of its databases, in all */
};
int discover(void *context, ph_found *found, ph_error *reterr);

#endif
