/* lease_row.h - a lease, and the packed lists in its row.
 *
 * ids:      ",%012x" per message, ascending: fixed width, so that plain SQL finds
 *           a message and its place with instr(), exactly
 * attempts: "%05d" per message in that order; NULL: all 1
 * settled:  '0' or '1' per message in that order; NULL: all '0'
 * runs:     ",stream:seq:places" per run of a stream, "%04x" per place: where the run's messages
 *           are in ids, in the order of the stream; NULL: there is none */
#ifndef PH_STORE_SQLITE_LEASE_ROW_H
#define PH_STORE_SQLITE_LEASE_ROW_H

#include "store/sqlite/transaction.h"
#include "util/buffer.h"

#define PH__ID_WIDTH 13
#define PH__ATTEMPTS_WIDTH 5
#define PH__DONE_SPREAD_MAX 1000 /* hi - lo of a row of done: lookups by id rely on it */

/* A run: messages of a stream that follow one another, without a gap in their numbers. Over when
 * all of them are settled: then the stream's token is elsewhere. */
struct ph__lease_run {
    int64_t stream, first_seq;
    size_t count;
    const uint16_t *places; /* in ids, in the order of the stream */
};

struct ph__lease_row {
    int64_t fence, queue, claimed_at, until;
    ph_owner owner;
    int lost;
    size_t count, open;
    const int64_t *ids;  /* ascending */
    const int *attempts; /* NULL: all 1 */
    char *settled;       /* '0' or '1' each; ends with NUL */
    const struct ph__lease_run *runs;
    size_t run_count;
    const bool *in_run; /* per message; NULL: none is in a run */
};

/* Loads the query's present row (columns as in lease_by_fence); memory from the arena. */
int ph__lease_load(const struct ph__query *query, struct ph__arena *arena,
                   struct ph__lease_row *ret_lease);

/* How many of its messages are not settled: open, as it must be. */
size_t ph__lease_unsettled(const struct ph__lease_row *lease);
/* Before it is changed: PH_ECORRUPT if that is not so. */
int ph__lease_check(const struct ph__query *query, const struct ph__lease_row *lease);
/* The place of a message in the lease, or -1. */
long ph__lease_position(const struct ph__lease_row *lease, int64_t id);
int ph__lease_attempts(const struct ph__lease_row *lease, size_t position);

/* The first message of a run that is not settled, by its place in the run; count: it is over. */
size_t ph__run_first(const struct ph__lease_row *lease, const struct ph__lease_run *run);
/* Behind the last such: the messages from there on are settled, or were never claimed. */
size_t ph__lease_run_end(const struct ph__lease_row *lease, const struct ph__lease_run *run);

/* Writes count ids (ascending) or attempts in packed form. */
void ph__pack_ids(struct ph__buffer *to, const int64_t *ids, size_t count);
void ph__pack_attempts(struct ph__buffer *to, const int *attempts, size_t count);
/* Writes one more run. */
void ph__pack_run(struct ph__buffer *to, const struct ph__lease_run *run);
/* Reads packed ids from a column; PH_ECORRUPT if they are not in that form. */
int ph__unpack_ids(const struct ph__query *query, int column, struct ph__arena *arena,
                   const int64_t **ret_ids, size_t *ret_count);

#endif
