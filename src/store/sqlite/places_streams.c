/* places_streams.c - the deep examination of streams: has every busy one exactly one token (its
 * head in pending, a run in a lease, or a dead head that blocks it), and every other none? */
#include "core/error.h"
#include "store/sqlite/doctor.h"
#include "store/sqlite/tokens.h"
#include "util/alloc.h"
#include "util/order.h"

#include <inttypes.h>

struct tokens {
    struct ph__sqlite_tx *tx;
    int64_t *streams;
    size_t count, room;
};

struct verdict {
    int64_t streams, busy, wrong, example;
};

static void note(struct verdict *verdict, int64_t stream)
{
    if (verdict->wrong++ == 0)
        verdict->example = stream;
}

static int add(void *context, const struct ph__token *token)
{
    struct tokens *tokens = context;

    int64_t *streams =
        ph__grow(tokens->streams, tokens->count + 1, &tokens->room, sizeof(*streams));

    if (!streams)
        return ph__fail_memory(tokens->tx->call->err);
    tokens->streams = streams;
    tokens->streams[tokens->count++] = token->stream;
    return 0;
}

/* Busy streams and tokens go up side by side. */
static int match(const struct tokens *tokens, struct verdict *verdict)
{
    struct ph__query query = ph__query(tokens->tx, PH__SQL_places_busy);
    size_t at = 0;
    int r;

    while ((r = ph__query_row(&query)) > 0) {
        int64_t stream = ph__column_int(&query, 0);
        size_t found = 0;

        for (; at < tokens->count && tokens->streams[at] < stream; at++)
            note(verdict, tokens->streams[at]);
        for (; at < tokens->count && tokens->streams[at] == stream; at++)
            found++;
        if (found != 1)
            note(verdict, stream);
        verdict->busy++;
    }
    for (; at < tokens->count; at++)
        note(verdict, tokens->streams[at]);
    return r;
}

static int look_at_heads(struct ph__sqlite_tx *tx, struct verdict *verdict)
{
    struct ph__query query = ph__query(tx, PH__SQL_places_tokens);
    int r;

    while ((r = ph__query_row(&query)) > 0)
        note(verdict, ph__column_int(&query, 0));
    return r;
}

static int examine(struct tokens *tokens, struct verdict *verdict)
{
    struct ph__query query = ph__query(tokens->tx, PH__SQL_places_streams);
    int r = ph__query_one(&query, &verdict->streams, 0);

    if (r == 0)
        r = ph__tokens_each(tokens->tx, PH_OUTBOX, NULL, add, tokens);
    if (r == 0)
        r = ph__tokens_each(tokens->tx, PH_INBOX, NULL, add, tokens);
    if (r < 0)
        return r;
    if (tokens->count)
        ph__sort_int64(tokens->streams, tokens->count);
    r = match(tokens, verdict);
    return r < 0 ? r : look_at_heads(tokens->tx, verdict);
}

int ph__sqlite_examine_streams(struct ph__sqlite_tx *tx, struct ph__examination *examination)
{
    struct tokens tokens = { .tx = tx };
    struct verdict verdict = { 0 };
    int r = examine(&tokens, &verdict);

    ph__dealloc(tokens.streams);
    if (r < 0)
        return r;
    if (verdict.wrong)
        ph__finding(
            examination, "streams", PH_FINDING_ERROR,
            PH__ADVISE(MEND,
                       "find out who writes Posthorn's tables by hand: a stream without a token "
                       "stands still, one with two loses its order"),
            "of %" PRId64 " streams %" PRId64 " have not exactly one token; the first has "
            "number %" PRId64,
            verdict.streams, verdict.wrong, verdict.example);
    else
        ph__finding(examination, "streams", PH_FINDING_OK, PH__FINE,
                    "of %" PRId64 " streams %" PRId64 " are busy, and each has exactly one token",
                    verdict.streams, verdict.busy);
    return 0;
}
