/* view.c - the view outbox, and the tables beneath it, against the model: one
 * query, one row per message, and a last row that counts what is in the tables. */
#include "run.h"

#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <time.h>

enum column {
    ID, STATUS_CODE, ATTEMPTS, RETRY_COUNT, LAST_ERROR, NEXT_ATTEMPT_AT, LOCKED_UNTIL, OWNER_TOKEN,
    FENCE, IS_PROCESSED, PROCESSED_AT, UPDATED_AT, EXPIRES_AT, DUE_TIME, PRIORITY, TOPIC, NAMESPACE,
    PLACES, /* how often the message is named by pending, lease, done and dead */
    COLUMNS
};

struct row {
    const char *value[COLUMNS]; /* NULL: null */
};

/* ----------------------------------------------------------------- the query */

#define MICROSECONDS(column) "(extract(epoch FROM " column ") * 1000000)::bigint"

static const char view_pg[] =
    "PREPARE model_view AS WITH place AS ("
    "  SELECT id FROM {t}pending UNION ALL SELECT id FROM {t}dead UNION ALL"
    "  SELECT unnest(ids) FROM {t}done UNION ALL"
    "  SELECT u.id FROM {t}lease l, unnest(l.ids) WITH ORDINALITY u(id, i)"
    "  WHERE l.settled IS NULL OR get_bit(l.settled, u.i::int - 1) = 0)"
    "SELECT id, status_code, attempts, retry_count, last_error, " MICROSECONDS("next_attempt_at")
    ", " MICROSECONDS("locked_until") ", owner_token, fence, is_processed::int, "
    MICROSECONDS("processed_at") ", " MICROSECONDS("updated_at") ", " MICROSECONDS("expires_at")
    ", " MICROSECONDS("due_time_utc") ", priority, topic, namespace,"
    "  (SELECT count(*) FROM place p WHERE p.id = v.id) FROM {t}outbox v "
    "UNION ALL SELECT NULL, (SELECT count(*) FROM {t}message), (SELECT count(*) FROM place),"
    "  (SELECT coalesce(sum(open), 0) FROM {t}lease), NULL, NULL, NULL, NULL, NULL, NULL, NULL,"
    "  NULL, NULL, NULL, NULL, NULL, NULL, NULL";

#define NEEDLE "printf(',%012x', m.id)"

static const char view_lite[] =
    "CREATE TEMP VIEW model_view AS SELECT v.id, v.status_code, v.attempts, v.retry_count,"
    "  v.last_error, v.next_attempt_at, v.locked_until, v.owner_token, v.fence, v.is_processed,"
    "  v.processed_at, v.updated_at, v.expires_at, v.due_time_utc, v.priority, v.topic,"
    "  v.namespace,"
    "  (SELECT count(*) FROM {t}pending p WHERE p.id = m.id)"
    "  + (SELECT count(*) FROM {t}dead x WHERE x.id = m.id)"
    "  + (SELECT count(*) FROM {t}done d WHERE instr(d.ids, " NEEDLE "))"
    "  + (SELECT count(*) FROM {t}lease l WHERE instr(l.ids, " NEEDLE ") AND (l.settled IS NULL"
    "     OR substr(l.settled, (instr(l.ids, " NEEDLE ") - 1) / 13 + 1, 1) = '0')) "
    "FROM {t}message m JOIN {t}outbox v ON v.id = printf('%08x-%04x-8000-%04x-%012x', m.id >> 16,"
    "  m.id & 65535, (m.salt >> 48) & 65535, m.salt & 281474976710655) "
    "UNION ALL SELECT NULL, (SELECT count(*) FROM {t}message),"
    "  (SELECT count(*) FROM {t}pending) + (SELECT count(*) FROM {t}dead)"
    "  + (SELECT coalesce(sum(length(ids) / 13), 0) FROM {t}done)"
    "  + (SELECT coalesce(sum(length(replace(coalesce(settled, printf('%.*c', length(ids) / 13,"
    "     '0')), '1', ''))), 0) FROM {t}lease),"
    "  (SELECT coalesce(sum(open), 0) FROM {t}lease), NULL, NULL, NULL, NULL, NULL, NULL, NULL,"
    "  NULL, NULL, NULL, NULL, NULL, NULL, NULL";

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

void view_clear(struct t_conn *raw)
{
    t_sql(raw, "BEGIN; DELETE FROM {t}message; DELETE FROM {t}pending; DELETE FROM {t}lease;"
               "DELETE FROM {t}done; DELETE FROM {t}dead; DELETE FROM {t}attempt_log;"
               "DELETE FROM {t}dedupe; DELETE FROM {t}queue; COMMIT");
}

/* ---------------------------------------------------------------- comparison */

static int64_t number_of(const struct row *row, enum column column)
{
    return row->value[column] ? strtoll(row->value[column], NULL, 10) : 0;
}

/* Microseconds: a number, or 2023-11-14T22:13:20.000000Z. 0: null. */
static int64_t time_of(const struct row *row, enum column column)
{
    struct tm tm = { 0 };
    const char *rest = row->value[column] ? strptime(row->value[column], "%Y-%m-%dT%T", &tm) : NULL;

    return rest && *rest == '.' ? timegm(&tm) * M_SECOND + strtol(rest + 1, NULL, 10)
                                : number_of(row, column);
}

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

    if (want->place == M_PENDING && !adopt_due(run, index, time_of(row, NEXT_ATTEMPT_AT)))
        return false;
    return same_int(run, "next_attempt_at", index, time_of(row, NEXT_ATTEMPT_AT),
                    want->place == M_PENDING ? want->due : 0) &&
           same_int(run, "locked_until", index, time_of(row, LOCKED_UNTIL),
                    lease ? lease->until : 0) &&
           same_int(run, "processed_at", index, time_of(row, PROCESSED_AT),
                    want->place == M_DONE ? want->ended_at : 0) &&
           same_int(run, "updated_at", index, time_of(row, UPDATED_AT), m_updated_at(want)) &&
           same_int(run, "expires_at", index, time_of(row, EXPIRES_AT), want->draft.expires_at) &&
           same_int(run, "due_time_utc", index, time_of(row, DUE_TIME), want->draft.due_at);
}

static bool same_row(struct run *run, int index, const struct row *row)
{
    const struct m_message *want = &run->model.messages[index];
    char owner[PH_ID_TEXT_SIZE];

    ph_id_text(owner_of(want->owner).b, owner);
    return same_int(run, "places", index, number_of(row, PLACES), 1) &&
           same_int(run, "status_code", index, number_of(row, STATUS_CODE), want->place) &&
           same_int(run, "attempts", index, number_of(row, ATTEMPTS), m_attempts_shown(want)) &&
           same_int(run, "retry_count", index, number_of(row, RETRY_COUNT), m_retry_count(want)) &&
           same_text(run, "last_error", index, row->value[LAST_ERROR],
                     m_errors[m_last_error(want)]) &&
           same_text(run, "owner_token", index, row->value[OWNER_TOKEN],
                     want->place == M_LEASED ? owner : NULL) &&
           same_int(run, "fence", index, number_of(row, FENCE), want->fence) &&
           same_int(run, "is_processed", index, number_of(row, IS_PROCESSED),
                    want->place == M_DONE) &&
           same_int(run, "priority", index, number_of(row, PRIORITY), m_level(want)) &&
           same_text(run, "topic", index, row->value[TOPIC], m_topics[want->draft.topic]) &&
           same_text(run, "namespace", index, row->value[NAMESPACE],
                     m_namespaces[want->draft.ns]) &&
           same_times(run, index, row);
}

struct tally {
    int rows, leased;
};

static bool compare_row(struct run *run, const struct row *row, struct tally *tally)
{
    uint8_t id[16];
    int index;

    if (!row->value[ID])
        return same_int(run, "rows of message", -1, number_of(row, STATUS_CODE), tally->rows) &&
               same_int(run, "ids in all places", -1, number_of(row, ATTEMPTS), tally->rows) &&
               same_int(run, "open items of leases", -1, number_of(row, RETRY_COUNT),
                        tally->leased);
    if (ph_id_parse(row->value[ID], id) < 0 || (index = message_of(&run->model, id)) < 0)
        return differ(run, "the view shows %s, which should not be there", row->value[ID]);
    tally->rows++;
    tally->leased += run->model.messages[index].place == M_LEASED;
    return same_row(run, index, row);
}

static int expected_rows(const struct model *model)
{
    int count = 0;

    for (int i = 0; i < model->message_count; i++)
        count += model->messages[i].place != M_GONE;
    return count;
}

static bool compare_pg(struct run *run, struct tally *tally)
{
    PGconn *conn = t_native(run->raw);
    PGresult *result = PQexecPrepared(conn, "model_view", 0, NULL, NULL, NULL, 0);
    bool ok = PQresultStatus(result) == PGRES_TUPLES_OK ||
              differ(run, "the view: %s", PQerrorMessage(conn));

    for (int i = 0; ok && i < PQntuples(result); i++) {
        struct row row;

        for (int c = 0; c < COLUMNS; c++)
            row.value[c] = PQgetisnull(result, i, c) ? NULL : PQgetvalue(result, i, c);
        ok = compare_row(run, &row, tally);
    }
    PQclear(result);
    return ok;
}

static bool compare_sqlite(struct run *run, struct tally *tally)
{
    bool ok = true;
    int r = SQLITE_ROW;

    while (ok && (r = sqlite3_step(statement)) == SQLITE_ROW) {
        struct row row;

        for (int c = 0; c < COLUMNS; c++)
            row.value[c] = (const char *)sqlite3_column_text(statement, c);
        ok = compare_row(run, &row, tally);
    }
    if (ok && r != SQLITE_DONE)
        ok = differ(run, "the view: %s", sqlite3_errmsg(t_native(run->raw)));
    sqlite3_reset(statement);
    return ok;
}

bool view_matches(struct run *run)
{
    struct tally tally = { 0, 0 };

    if (!(t_is_pg() ? compare_pg(run, &tally) : compare_sqlite(run, &tally)))
        return false;
    return same_int(run, "rows in the view", -1, tally.rows, expected_rows(&run->model));
}
