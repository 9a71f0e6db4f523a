/* places.c - the deep examination: are the file's pages sound, and is every
 * message in exactly one of pending, lease, done, dead and join_wait, or parked behind the head of
 * its stream?
 *
 * One snapshot is read. The numbers of messages are gone through in windows, one
 * byte each, so that memory stays bounded whatever the size of the store. */
#include "core/error.h"
#include "core/id.h"
#include "store/sqlite/doctor.h"
#include "store/sqlite/lease_row.h"
#include "store/sqlite/long_read.h"
#include "store/sqlite/moves.h"
#include "store/sqlite/tokens.h"
#include "util/alloc.h"
#include "util/buffer.h"

#include <inttypes.h>
#include <string.h>

#define WINDOW (16 * 1024 * 1024)
#define EXAMPLES 3

/* The places of a number: bits of a byte. */
enum {
    DEAD = 1,
    DONE = 2,
    LEASE = 4,
    PENDING = 8,
    WAIT = 16,
    PARKED = 32,
    TWICE = 64,
    EXISTS = 128
};
#define ANYWHERE (DEAD | DONE | LEASE | PENDING | WAIT | PARKED)

struct example {
    int64_t number;
    unsigned char seen;
};

/* Things that are wrong, and the first few of them. */
struct trouble {
    int64_t count;
    struct example examples[EXAMPLES];
};

struct places {
    struct ph__long_read read;
    struct ph__examination *examination;
    int64_t done, total;       /* messages that were looked at, and all */
    int64_t first, last;       /* the numbers of messages; last < first: there are none */
    int64_t from, to;          /* the present window, to not included */
    unsigned char *seen;       /* of the window */
    struct trouble misplaced;  /* messages in no place or several, places without a message */
    struct trouble miscounted; /* leases, by fence, that count their open messages wrongly */
    struct trouble damaged;    /* rows, by number, with a list that cannot be read */
};

static void on_tick(void *context)
{
    const struct places *p = context;

    p->examination->progress(p->examination->progress_context, p->done, p->total);
}

static void note(struct trouble *trouble, int64_t number, unsigned char seen)
{
    if (trouble->count < EXAMPLES)
        trouble->examples[trouble->count] = (struct example){ number, seen };
    trouble->count++;
}

/* The number was met in a place. A number outside of all windows is noted once. */
static void meet(struct places *p, int64_t number, unsigned char place)
{
    if (number >= p->from && number < p->to) {
        unsigned char *seen = &p->seen[number - p->from];

        *seen |= *seen & place ? TWICE : place;
    } else if (p->from == p->first && (number < p->first || number > p->last)) {
        note(&p->misplaced, number, place);
    }
}

/* -------------------------------------------------------------- one window */

static int read_messages(struct places *p)
{
    struct ph__query query = ph__query(&p->read.tx, PH__SQL_places_message);
    int r;

    ph__query_int(&query, p->from);
    ph__query_int(&query, p->to);
    while ((r = ph__query_row(&query)) > 0) {
        p->seen[ph__column_int(&query, 0) - p->from] |= EXISTS;
        p->done++;
    }
    return r;
}

static int read_single(struct places *p, enum ph__sqlite_statement which, unsigned char place)
{
    struct ph__query query = ph__query(&p->read.tx, which);
    int r;

    while ((r = ph__query_row(&query)) > 0)
        meet(p, ph__column_int(&query, 0), place);
    return r;
}

static int read_lease(struct places *p, const struct ph__query *query, struct ph__arena *arena)
{
    struct ph__lease_row lease;
    size_t open = 0;
    int r = ph__lease_load(query, arena, &lease);

    for (size_t i = 0; r == 0 && i < lease.count; i++) {
        if (lease.settled[i] == '0') {
            meet(p, lease.ids[i], LEASE);
            open++;
        }
    }
    if (r == 0 && (open != lease.open || open == 0) && p->from == p->first)
        note(&p->miscounted, lease.fence, 0);
    return r;
}

static int read_done(struct places *p, const struct ph__query *query, struct ph__arena *arena)
{
    const int64_t *ids = NULL;
    size_t count = 0;
    int r = ph__unpack_ids(query, 1, arena, &ids, &count);

    for (size_t i = 0; r == 0 && i < count; i++)
        meet(p, ids[i], DONE);
    return r;
}

/* Rows that hold lists; one that cannot be read is noted. */
static int read_lists(struct places *p, enum ph__sqlite_statement which,
                      int (*read_row)(struct places *p, const struct ph__query *query,
                                      struct ph__arena *arena))
{
    struct ph__query query = ph__query(&p->read.tx, which);
    int r;

    while ((r = ph__query_row(&query)) > 0) {
        struct ph__arena arena = { 0 };

        r = read_row(p, &query, &arena);
        ph__arena_free(&arena);
        if (r == PH_ECORRUPT) {
            r = ph__ok(p->read.tx.call->err);
            if (p->from == p->first)
                note(&p->damaged, ph__column_int(&query, 0), 0);
        }
        if (r < 0)
            break;
    }
    ph__query_end(&query);
    return r;
}

/* The messages behind a stream's token. */
static int read_behind(void *context, const struct ph__token *token)
{
    struct places *p = context;
    struct ph__query query = ph__query(&p->read.tx, PH__SQL_stream_behind);
    int r;

    ph__query_int(&query, token->stream);
    ph__query_int(&query, token->seq);
    while ((r = ph__query_row(&query)) > 0)
        meet(p, ph__column_int(&query, 0), PARKED);
    return r;
}

static int read_parked(struct places *p)
{
    int r = ph__tokens_each(&p->read.tx, PH_OUTBOX, NULL, read_behind, p);

    if (r == 0)
        r = ph__tokens_each(&p->read.tx, PH_INBOX, NULL, read_behind, p);
    return r == PH_ECORRUPT ? ph__ok(p->read.tx.call->err) : r; /* read_lists() says it better */
}

static bool in_one_place(unsigned char seen)
{
    unsigned char places = seen & ANYWHERE;

    return (seen & EXISTS) && !(seen & TWICE) && places && (places & (places - 1)) == 0;
}

static void judge(struct places *p)
{
    for (int64_t number = p->from; number < p->to; number++) {
        unsigned char seen = p->seen[number - p->from];

        if (seen && !in_one_place(seen))
            note(&p->misplaced, number, seen);
    }
}

static int examine_window(struct places *p)
{
    int r = read_messages(p);

    if (r == 0)
        r = read_single(p, PH__SQL_places_pending, PENDING);
    if (r == 0)
        r = read_single(p, PH__SQL_places_dead, DEAD);
    if (r == 0)
        r = read_single(p, PH__SQL_places_wait, WAIT);
    if (r == 0)
        r = read_lists(p, PH__SQL_places_lease, read_lease);
    if (r == 0)
        r = read_lists(p, PH__SQL_places_done, read_done);
    if (r == 0)
        r = read_parked(p);
    if (r == 0)
        judge(p);
    return r;
}

static int read_range(struct places *p)
{
    struct ph__query query = ph__query(&p->read.tx, PH__SQL_places_range);
    int r = ph__query_row(&query);

    if (r <= 0)
        return r;
    p->total = ph__column_int(&query, 2);
    p->first = p->total ? ph__column_int(&query, 0) : 1;
    p->last = p->total ? ph__column_int(&query, 1) : 0;
    ph__query_end(&query);
    return 0;
}

static int examine_places(struct places *p)
{
    int64_t width;
    int r = read_range(p);

    if (r < 0)
        return r;
    width = p->last - p->first + 1;
    if (width > WINDOW)
        width = WINDOW;
    p->seen = ph__alloc((size_t)width);
    if (!p->seen)
        return ph__fail_memory(p->read.tx.call->err);
    p->from = p->first;
    do { /* once also without messages: nothing may mention one */
        p->to = p->from + width <= p->last + 1 ? p->from + width : p->last + 1;
        memset(p->seen, 0, (size_t)width);
        r = examine_window(p);
        p->from = p->to;
    } while (r == 0 && p->from <= p->last);
    ph__dealloc(p->seen);
    return r;
}

/* ------------------------------------------------------------- the findings */

/* "in dead and in pending" */
static void describe_places(struct ph__buffer *text, unsigned char seen)
{
    static const char *const names[] = { "dead",    "done",      "lease",
                                         "pending", "join_wait", "the stream behind its head" };
    const char *before = "";

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (seen & 1U << i) {
            ph__buffer_printf(text, "%s in %s", before, names[i]);
            before = " and";
        }
    }
    if (seen & TWICE)
        ph__buffer_text(text, " twice");
    if (!(seen & ANYWHERE))
        ph__buffer_text(text, " in no place");
    if (!(seen & EXISTS))
        ph__buffer_text(text, ", but there is no such message");
}

/* By its work id; by number if there is no message to make one of. */
static int describe_message(struct places *p, const struct example *example,
                            struct ph__buffer *text)
{
    struct ph__message_facts facts;
    char id[PH_ID_TEXT_SIZE];
    int r = ph__message_facts(&p->read.tx, example->number, &facts);

    if (r < 0)
        return r;
    if (facts.exists)
        ph__buffer_text(text, ph_id_text(ph__id_make(example->number, facts.salt).b, id));
    else
        ph__buffer_printf(text, "number %" PRId64, example->number);
    describe_places(text, example->seen);
    return 0;
}

static int report_misplaced(struct places *p)
{
    struct ph__buffer text = { 0 };
    int r = 0;

    for (int64_t i = 0; r == 0 && i < p->misplaced.count && i < EXAMPLES; i++) {
        ph__buffer_text(&text, i ? "; " : "");
        r = describe_message(p, &p->misplaced.examples[i], &text);
    }
    if (r == 0 && text.failed)
        r = ph__fail_memory(p->read.tx.call->err);
    if (r == 0)
        ph__finding(
            p->examination, "places", PH_FINDING_ERROR,
            PH__ADVISE(MEND,
                       "stop the workers and look at these rows: a message in no place is never "
                       "handed out (enqueue it anew), one in two places may be handled twice"),
            "of %" PRId64 " messages %" PRId64 " are wrong: %s%s", p->total, p->misplaced.count,
            text.data, p->misplaced.count > EXAMPLES ? "; …" : "");
    ph__buffer_free(&text);
    return r;
}

static int report_places(struct places *p)
{
    if (p->miscounted.count)
        ph__finding(p->examination, "places", PH_FINDING_ERROR,
                    PH__ADVISE(MEND, "find out who writes Posthorn's tables by hand"),
                    "%" PRId64 " leases count their open messages wrongly; the first has fence "
                    "%" PRId64,
                    p->miscounted.count, p->miscounted.examples[0].number);
    if (p->damaged.count)
        ph__finding(p->examination, "places", PH_FINDING_ERROR,
                    PH__ADVISE(RESTORE, "keep a copy of the file, and restore a backup"),
                    "%" PRId64 " rows of lease or done have a list that cannot be read; the first "
                    "is row %" PRId64,
                    p->damaged.count, p->damaged.examples[0].number);
    if (p->misplaced.count)
        return report_misplaced(p);
    if (!p->miscounted.count && !p->damaged.count)
        ph__finding(p->examination, "places", PH_FINDING_OK, PH__FINE,
                    "each of %" PRId64 " messages is in exactly one place", p->total);
    return 0;
}

static int examine_pages(struct places *p)
{
    struct ph__query query = ph__query(&p->read.tx, PH__SQL_quick_check);
    struct ph__buffer text = { 0 };
    int r;

    while ((r = ph__query_row(&query)) > 0)
        ph__buffer_printf(&text, "%s%s", text.length ? "; " : "",
                          (const char *)sqlite3_column_text(query.stmt, 0));
    if (r == 0 && (text.failed || !text.data))
        r = ph__fail_memory(p->read.tx.call->err);
    if (r == 0 && strcmp(text.data, "ok") == 0)
        ph__finding(p->examination, "integrity", PH_FINDING_OK, PH__FINE,
                    "PRAGMA quick_check says ok");
    else if (r == 0)
        ph__finding(
            p->examination, "integrity", PH_FINDING_ERROR,
            PH__ADVISE(
                RESTORE,
                "keep a copy of the file, and restore a backup; the shell's .recover may help"),
            "the file is damaged: %s", text.data);
    ph__buffer_free(&text);
    return r;
}

static int examine_joins(struct places *p)
{
    struct ph__query query = ph__query(&p->read.tx, PH__SQL_places_joins);
    ph_join_id example = { { 0 } };
    ph_work_id id;
    int r = ph__query_row(&query);

    if (r <= 0)
        return r;
    id = ph__id_make(ph__column_int(&query, 2), (uint64_t)ph__column_int(&query, 3));
    memcpy(example.b, id.b, sizeof(example.b));
    ph__finding_joins(p->examination, ph__column_int(&query, 0), ph__column_int(&query, 1),
                      example);
    ph__query_end(&query);
    return 0;
}

int ph__sqlite_examine_deep(struct ph__call *call, struct ph__examination *examination)
{
    struct places p = { .examination = examination };
    int r;

    p.read.tick = on_tick;
    p.read.tick_context = &p;
    r = ph__long_read_begin(&p.read, call);
    if (r < 0)
        return r;
    r = examine_pages(&p);
    if (r == 0)
        r = examine_places(&p);
    if (r == 0)
        r = report_places(&p);
    if (r == 0)
        r = ph__sqlite_examine_topics(&p.read.tx, examination);
    if (r == 0)
        r = examine_joins(&p);
    if (r == 0)
        r = ph__sqlite_examine_streams(&p.read.tx, examination);
    if (r == PH_ECORRUPT) {
        ph__finding(examination, "integrity", PH_FINDING_ERROR,
                    PH__ADVISE(RESTORE, "restore a backup"),
                    "the file cannot be read to its end: %s", call->err->message);
        r = ph__ok(call->err);
    }
    on_tick(&p);
    return ph__long_read_end(&p.read, r);
}
