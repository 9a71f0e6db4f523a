/* view.c - the view outbox, and the tables beneath it, against the model: one
 * query, one row per message, each with the same counts of what is in the tables.
 *
 * "In exactly one place" follows from them: the view finds each message in one
 * place, and all places together name as many messages as there are. */
#include "run.h"

#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <time.h>

enum column {
    ID,
    STATUS_CODE,
    ATTEMPTS,
    RETRY_COUNT,
    LAST_ERROR,
    NEXT_ATTEMPT_AT,
    LOCKED_UNTIL,
    OWNER_TOKEN,
    FENCE,
    IS_PROCESSED,
    PROCESSED_AT,
    UPDATED_AT,
    EXPIRES_AT,
    DUE_TIME,
    PRIORITY,
    TOPIC,
    NAMESPACE,
    MESSAGES, /* rows of the table message */
    NAMED,    /* messages that pending, lease, done and dead name, all together */
    OPEN,     /* of these, those that lease rows say are open */
    COLUMNS
};

/* Times are numbers, in microseconds; ids are text. */
struct row {
    int64_t number[COLUMNS];
    const char *text[COLUMNS];
    char ids[2][PH_ID_TEXT_SIZE];
};

/* ----------------------------------------------------------------- the query */

#define VIEW_COLUMNS                                                                               \
    "v.id, v.status_code, v.attempts, v.retry_count, v.last_error, v.next_attempt_at,"             \
    "v.locked_until, v.owner_token, v.fence, v.is_processed, v.processed_at, v.updated_at,"        \
    "v.expires_at, v.due_time_utc, v.priority, v.topic, v.namespace,"                              \
    "(SELECT count(*) FROM {t}message),"

/* Also without a message there is a row: its id is null. */
static const char view_pg[] =
    "PREPARE model_view AS SELECT " VIEW_COLUMNS
    "(SELECT count(*) FROM {t}pending WHERE due < 'infinity'"
    "        AND id < '80000000-0000-0000-0000-000000000000') + (SELECT count(*) FROM {t}dead)"
    " + (SELECT coalesce(sum(cardinality(ids)), 0) FROM {t}done)"
    " + (SELECT coalesce(sum(cardinality(ids) - coalesce(length(replace(settled::text, '0', '')),"
    "                                                    0)), 0) FROM {t}lease),"
    "(SELECT coalesce(sum(open), 0) FROM {t}lease) "
    "FROM (VALUES (1)) one(one) LEFT JOIN {t}outbox v ON true";

static const char view_lite[] =
    "CREATE TEMP VIEW model_view AS SELECT " VIEW_COLUMNS
    "(SELECT count(*) FROM {t}pending WHERE due < 9223372036854775807)"
    " + (SELECT count(*) FROM {t}dead)"
    " + (SELECT coalesce(sum(length(ids) / 13), 0) FROM {t}done)"
    " + (SELECT coalesce(sum(length(ids) / 13 - coalesce(length(replace(settled, '0', '')), 0)),"
    "                    0) FROM {t}lease),"
    "(SELECT coalesce(sum(open), 0) FROM {t}lease) "
    "FROM (SELECT 1) LEFT JOIN {t}outbox v ON true";

static sqlite3_stmt *statement;

/* Hints make a claim depend on how fast the machine was; the model knows no such thing. */
static const char no_hints[] =
    "CREATE FUNCTION {t}no_hint() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
    "CREATE TRIGGER no_hint BEFORE INSERT ON {t}hint FOR EACH ROW EXECUTE FUNCTION {t}no_hint()";

void view_prepare(struct t_conn *raw)
{
    t_sql(raw, t_is_pg() ? view_pg : view_lite);
    if (t_is_pg())
        t_sql(raw, no_hints);
    else
        CHECK_INT(sqlite3_prepare_v3(t_native(raw), "SELECT * FROM model_view", -1,
                                     SQLITE_PREPARE_PERSISTENT, &statement, NULL),
                  SQLITE_OK);
}

void view_end(void)
{
    sqlite3_finalize(statement);
    statement = NULL;
}

/* Dead rows slow every query down until vacuum comes, which is too late here. */
static void vacuum(struct t_conn *raw)
{
    static int clears;

    if (t_is_pg() && ++clears % 8 == 0)
        t_sql(raw, "VACUUM {t}message, {t}pending, {t}lease, {t}done, {t}dead, {t}attempt_log, "
                   "{t}dedupe, {t}queue, {t}store, {t}stream");
}

void view_clear(struct t_conn *raw)
{
    vacuum(raw);
    t_sql(raw, "BEGIN; DELETE FROM {t}message; DELETE FROM {t}pending; DELETE FROM {t}lease;"
               "DELETE FROM {t}done; DELETE FROM {t}dead; DELETE FROM {t}attempt_log;"
               "DELETE FROM {t}dedupe; DELETE FROM {t}queue; DELETE FROM {t}stream; COMMIT");
}

/* ---------------------------------------------------------------- comparison */

/* The one thing that chance decides: within its bounds the store is right. */
static bool adopt_due(struct run *run, int index, int64_t due)
{
    struct m_message *message = &run->model.messages[index];

    if (!message->due_low)
        return true;
    if (due < message->due_low || due > message->due)
        return differ(run, "message %d: due at %lld, should lie in %lld … %lld", index,
                      (long long)due, (long long)message->due_low, (long long)message->due);
    message->due = message->history[message->history_count - 1].next_due = due;
    message->due_low = 0;
    return true;
}

static bool same_times(struct run *run, int index, const struct row *row)
{
    const struct m_message *want = &run->model.messages[index];
    const struct m_lease *lease = m_lease_of(&run->model, want);

    if (want->place == M_PENDING && !adopt_due(run, index, row->number[NEXT_ATTEMPT_AT]))
        return false;
    return same_int(run, "next_attempt_at", index, row->number[NEXT_ATTEMPT_AT],
                    want->place == M_PENDING ? want->due : 0) &&
           same_int(run, "locked_until", index, row->number[LOCKED_UNTIL],
                    lease ? lease->until : 0) &&
           same_int(run, "processed_at", index, row->number[PROCESSED_AT],
                    want->place == M_DONE ? want->ended_at : 0) &&
           same_int(run, "updated_at", index, row->number[UPDATED_AT], m_updated_at(want)) &&
           same_int(run, "expires_at", index, row->number[EXPIRES_AT], want->draft.expires_at) &&
           same_int(run, "due_time_utc", index, row->number[DUE_TIME], want->draft.due_at);
}

static bool same_row(struct run *run, int index, const struct row *row)
{
    const struct m_message *want = &run->model.messages[index];
    char owner[PH_ID_TEXT_SIZE];

    ph_id_text(owner_of(want->owner).b, owner);
    return same_int(run, "status_code", index, row->number[STATUS_CODE], want->place) &&
           same_int(run, "attempts", index, row->number[ATTEMPTS], m_attempts_shown(want)) &&
           same_int(run, "retry_count", index, row->number[RETRY_COUNT], m_retry_count(want)) &&
           same_text(run, "last_error", index, row->text[LAST_ERROR],
                     m_errors[m_last_error(want)]) &&
           same_text(run, "owner_token", index, row->text[OWNER_TOKEN],
                     want->place == M_LEASED ? owner : NULL) &&
           same_int(run, "fence", index, row->number[FENCE], want->fence) &&
           same_int(run, "is_processed", index, row->number[IS_PROCESSED], want->place == M_DONE) &&
           same_int(run, "priority", index, row->number[PRIORITY], m_level(want)) &&
           same_text(run, "topic", index, row->text[TOPIC], m_topics[want->draft.topic]) &&
           same_text(run, "namespace", index, row->text[NAMESPACE], m_namespaces[want->draft.ns]) &&
           same_times(run, index, row);
}

struct tally {
    int64_t rows, leased, parked, messages, named, open;
};

static bool compare_row(struct run *run, const struct row *row, struct tally *tally)
{
    uint8_t id[16];
    int index;

    tally->messages = row->number[MESSAGES];
    tally->named = row->number[NAMED];
    tally->open = row->number[OPEN];
    if (!row->text[ID])
        return true;
    if (ph_id_parse(row->text[ID], id) < 0 || (index = message_of(&run->model, id)) < 0)
        return differ(run, "the view shows %s, which should not be there", row->text[ID]);
    tally->rows++;
    tally->leased += run->model.messages[index].place == M_LEASED;
    tally->parked += run->model.messages[index].place == M_PARKED;
    return same_row(run, index, row);
}

static int expected_rows(const struct model *model)
{
    int count = 0;

    for (int i = 0; i < model->message_count; i++)
        count += model->messages[i].place != M_GONE;
    return count;
}

/* ------------------------------------------------------------------- reading */

static int64_t big_endian(const char *bytes, int length)
{
    uint64_t value = 0;

    for (int i = 0; i < length; i++)
        value = value << 8 | (uint8_t)bytes[i];
    return length == 2 ? (int16_t)value : length == 4 ? (int32_t)value : (int64_t)value;
}

static void read_pg(struct row *row, const PGresult *result, int at)
{
    enum { UUID_OID = 2950, TEXT_OID = 25, TIME_OID = 1184 };

    memset(row, 0, sizeof(*row));
    for (int c = 0; c < COLUMNS; c++) {
        const char *value = PQgetvalue(result, at, c);

        if (PQgetisnull(result, at, c))
            continue;
        if (PQftype(result, c) == UUID_OID)
            row->text[c] = ph_id_text((const uint8_t *)value, row->ids[c == OWNER_TOKEN]);
        else if (PQftype(result, c) == TEXT_OID)
            row->text[c] = value;
        else
            row->number[c] = big_endian(value, PQgetlength(result, at, c));
        if (PQftype(result, c) == TIME_OID)
            row->number[c] += INT64_C(946684800) * M_SECOND; /* PostgreSQL counts from 2000 */
    }
}

static bool compare_pg(struct run *run, struct tally *tally)
{
    PGconn *conn = t_native(run->raw);
    PGresult *result = PQexecPrepared(conn, "model_view", 0, NULL, NULL, NULL, 1);
    bool ok = PQresultStatus(result) == PGRES_TUPLES_OK ||
              differ(run, "the view: %s", PQerrorMessage(conn));

    for (int i = 0; ok && i < PQntuples(result); i++) {
        struct row row;

        read_pg(&row, result, i);
        ok = compare_row(run, &row, tally);
    }
    PQclear(result);
    return ok;
}

/* 2023-11-14T22:13:20.000000Z in microseconds. */
static int64_t time_of(const char *text)
{
    struct tm tm = { 0 };
    const char *rest = strptime(text, "%Y-%m-%dT%T", &tm);

    return rest && *rest == '.' ? timegm(&tm) * M_SECOND + strtol(rest + 1, NULL, 10) : -1;
}

static void read_sqlite(struct row *row)
{
    memset(row, 0, sizeof(*row));
    for (int c = 0; c < COLUMNS; c++) {
        row->text[c] = (const char *)sqlite3_column_text(statement, c);
        if (!row->text[c])
            continue;
        if (c == NEXT_ATTEMPT_AT || c == LOCKED_UNTIL || (c >= PROCESSED_AT && c <= DUE_TIME))
            row->number[c] = time_of(row->text[c]);
        else
            row->number[c] = sqlite3_column_int64(statement, c);
    }
}

static bool compare_sqlite(struct run *run, struct tally *tally)
{
    bool ok = true;
    int r = SQLITE_ROW;

    while (ok && (r = sqlite3_step(statement)) == SQLITE_ROW) {
        struct row row;

        read_sqlite(&row);
        ok = compare_row(run, &row, tally);
    }
    if (ok && r != SQLITE_DONE)
        ok = differ(run, "the view: %s", sqlite3_errmsg(t_native(run->raw)));
    sqlite3_reset(statement);
    return ok;
}

bool view_matches(struct run *run)
{
    struct tally tally = { 0 };

    if (!(t_is_pg() ? compare_pg(run, &tally) : compare_sqlite(run, &tally)))
        return false;
    return same_int(run, "rows in the view", -1, tally.rows, expected_rows(&run->model)) &&
           same_int(run, "rows of message", -1, tally.messages, tally.rows) &&
           same_int(run, "messages named by all places", -1, tally.named,
                    tally.rows - tally.parked) &&
           same_int(run, "open items of leases", -1, tally.open, tally.leased);
}
