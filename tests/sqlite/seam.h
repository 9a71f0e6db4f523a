/* seam.h - the members of the seam that no public function shows directly. */
#ifndef SQLITE_TEST_SEAM_H
#define SQLITE_TEST_SEAM_H

#include "core/call.h"
#include "harness.h"

#include <sqlite3.h>

/* A handler's transaction; must succeed. */
ph_tx begin_lent(ph_store *store);
/* Ends it; returns the status, and t_err tells. */
int end_lent(ph_store *store, bool commit);
/* Runs statements on the lent connection; must succeed. */
void run_on(ph_tx tx, const char *sql);

/* Turns the doorbell on; the descriptor, or -1. */
int listen_to(ph_store *store);
bool taken(ph_store *store);

#endif
