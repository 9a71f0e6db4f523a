#include "store/sqlite/tokens.h"

#include "store/sqlite/lease_row.h"
#include "store/sqlite/stream_row.h"

struct visiting {
    struct ph__sqlite_tx *tx;
    ph_door door;
    const char *ns;
    int (*visit)(void *context, const struct ph__token *token);
    void *context;
};

static struct ph__query query_of(const struct visiting *v, enum ph__sqlite_statement which)
{
    struct ph__query query = ph__query(v->tx, which);

    ph__query_int(&query, v->door);
    ph__query_text(&query, v->ns);
    return query;
}

static int visit_pending(const struct visiting *v)
{
    struct ph__query query = query_of(v, PH__SQL_stream_tokens);
    int r;

    while ((r = ph__query_row(&query)) > 0) {
        struct ph__token token = { .stream = ph__column_int(&query, 0),
                                   .seq = ph__column_int(&query, 1),
                                   .last_seq = ph__column_int(&query, 2) };

        r = v->visit(v->context, &token);
        if (r < 0)
            break;
    }
    ph__query_end(&query);
    return r;
}

static int visit_run(const struct visiting *v, const struct ph__lease_row *lease,
                     const struct ph__lease_run *run)
{
    size_t end = ph__lease_run_end(lease, run);
    struct ph__token token = { .stream = run->stream, .seq = run->first_seq + (int64_t)end - 1 };
    struct ph__stream_row stream;
    int r;

    if (end == 0)
        return 0;
    r = ph__stream_by_id(v->tx, run->stream, &stream);
    if (r <= 0)
        return r;
    token.last_seq = stream.last_seq;
    return v->visit(v->context, &token);
}

static int visit_lease(const struct visiting *v, const struct ph__query *query)
{
    struct ph__arena arena = { 0 };
    struct ph__lease_row lease = { 0 };
    int r = ph__lease_load(query, &arena, &lease);

    for (size_t i = 0; r == 0 && i < lease.run_count; i++)
        r = visit_run(v, &lease, &lease.runs[i]);
    ph__arena_free(&arena);
    return r;
}

static int visit_leases(const struct visiting *v)
{
    struct ph__query query = query_of(v, PH__SQL_lease_with_runs);
    int r;

    while ((r = ph__query_row(&query)) > 0) {
        r = visit_lease(v, &query);
        if (r < 0)
            break;
    }
    ph__query_end(&query);
    return r;
}

int ph__tokens_each(struct ph__sqlite_tx *tx, ph_door door, const char *ns,
                    int (*visit)(void *context, const struct ph__token *token), void *context)
{
    struct visiting v = { tx, door, ns, visit, context };
    int r = visit_pending(&v);

    return r < 0 ? r : visit_leases(&v);
}
