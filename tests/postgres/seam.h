/* seam.h - what a dispatcher does with a store, for tests: through the seam, not the header. */
#ifndef POSTGRES_SEAM_H
#define POSTGRES_SEAM_H

#include "common.h"

#include <libpq-fe.h>

#define PATIENCE_MS 20000 /* only to notice that nothing comes at all */

/* The socket of the doorbell, -1: there is none here; must succeed. */
int seam_listen(ph_store *store);
bool seam_taken(ph_store *store, const char *ns);
/* Listens, sleeps until something comes, and asks, until it was rung. */
bool seam_hears(ph_store *store, const char *ns);

/* A transaction for a handler; must begin. */
PGconn *seam_begin(ph_store *store);
/* What its end returns; t_err has the error. */
int seam_end(ph_store *store, bool commit);

#endif
