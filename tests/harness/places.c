/* places.c - what the tables say about messages. */
#include "internal.h"

/* SQLite shows ids as 36 characters of text, PostgreSQL as uuid: both take this literal. */
const char *t_view(struct t_conn *conn, ph_work_id id, const char *column)
{
    char sql[400], text[PH_ID_TEXT_SIZE];

    snprintf(sql, sizeof(sql), "SELECT %s FROM {t}outbox WHERE id = '%s'", column,
             ph_id_text(id.b, text));
    return t_value(conn, sql);
}

/* place: one row per mention of a message in one of the five tables, with the lease's number.
 * Tokens of streams without a message, and those that are blocked by a dead one, are no mention. */
#define PG_PLACES                                                                                  \
    "WITH place(id, kind, lease) AS ("                                                             \
    "    SELECT id, 'pending', 0 FROM {t}pending WHERE due < 'infinity'"                           \
    "           AND id < '80000000-0000-0000-0000-000000000000'"                                   \
    "    UNION ALL SELECT id, 'dead', 0 FROM {t}dead"                                              \
    "    UNION ALL SELECT id, 'wait', 0 FROM {t}join_wait"                                         \
    "    UNION ALL SELECT unnest(ids), 'done', 0 FROM {t}done"                                     \
    "    UNION ALL SELECT u.id, 'lease', l.id FROM {t}lease l,"                                    \
    "                     unnest(l.ids) WITH ORDINALITY u(id, n)"                                  \
    "               WHERE l.settled IS NULL OR get_bit(l.settled, u.n::int - 1) = 0) "

/* The batches of SQLite hold ids as text, ",%012x" each: they are looked up from the message's
 * side, and the number of entries is compared so that none is without a message. */
#define LITE_PLACES                                                                                \
    "WITH place(id, kind, lease) AS ("                                                             \
    "    SELECT id, 'pending', 0 FROM {t}pending WHERE due < 9223372036854775807"                  \
    "    UNION ALL SELECT id, 'dead', 0 FROM {t}dead"                                              \
    "    UNION ALL SELECT id, 'wait', 0 FROM {t}join_wait"                                         \
    "    UNION ALL SELECT m.id, 'done', 0 FROM {t}done b"                                          \
    "               JOIN {t}message m ON m.id BETWEEN b.lo AND b.hi"                               \
    "               WHERE instr(b.ids, printf(',%012x', m.id)) > 0"                                \
    "    UNION ALL SELECT m.id, 'lease', b.fence FROM {t}lease b"                                  \
    "               JOIN {t}message m ON m.id BETWEEN b.lo AND b.hi"                               \
    "               WHERE instr(b.ids, printf(',%012x', m.id)) > 0 AND coalesce(substr(b.settled," \
    "                     (instr(b.ids, printf(',%012x', m.id)) - 1) / 13 + 1, 1), '0') = '0') "

/* Rows of pending that break the rule of their queue for the index of topics. */
#define LITE_TOPICS                                                                                \
    "SELECT count(*) FROM {t}pending p JOIN {t}queue q ON q.id = p.queue "                         \
    " WHERE CASE q.by_topic WHEN 0 THEN p.topic >= 0 WHEN 2 THEN p.topic < 0 ELSE p.topic < 0 "    \
    "       AND (p.level, p.line, p.due, p.id) <= (q.turned_level, q.turned_line, q.turned_due, "  \
    "                                              q.turned_id) END"

static const char *stream_column(const struct t_conn *conn)
{
    return t_conn_is_pg(conn) ? "stream_id" : "stream";
}

static long long places(struct t_conn *conn, const char *query)
{
    char sql[6000];

    snprintf(sql, sizeof(sql), "%s%s", t_conn_is_pg(conn) ? PG_PLACES : LITE_PLACES, query);
    return t_number(conn, sql);
}

void t_check_places(struct t_conn *conn)
{
    char query[400];

    snprintf(query, sizeof(query),
             "SELECT count(*) FROM {t}message WHERE %s IS NULL AND id NOT IN "
             "(SELECT id FROM place)",
             stream_column(conn));
    CHECK_INT(places(conn, query), 0);
    CHECK_INT(
        places(conn, "SELECT count(*) FROM place WHERE id NOT IN (SELECT id FROM {t}message)"), 0);
    CHECK_INT(places(conn, "SELECT count(*) - count(DISTINCT id) FROM place"), 0);
    if (t_conn_is_pg(conn)) {
        CHECK_INT(
            t_number(conn,
                     "SELECT count(*) FROM {t}lease WHERE open < 1 OR open <> "
                     "cardinality(ids) - coalesce(length(replace(settled::text, '0', '')), 0)"),
            0);
    } else {
        CHECK_INT(t_number(conn,
                           "SELECT count(*) FROM {t}lease WHERE open < 1 OR open <> "
                           "length(ids) / 13 - coalesce(length(replace(settled, '0', '')), 0)"),
                  0);
        CHECK_INT(places(conn,
                         "SELECT (SELECT count(*) FROM place) - (SELECT count(*) FROM {t}pending"
                         "        WHERE due < 9223372036854775807)"
                         " - (SELECT count(*) FROM {t}dead)"
                         " - (SELECT count(*) FROM {t}join_wait)"
                         " - (SELECT coalesce(sum(open), 0) FROM {t}lease)"
                         " - (SELECT coalesce(sum(length(ids) / 13), 0) FROM {t}done)"),
                  0);
        CHECK_INT(t_number(conn, LITE_TOPICS), 0);
    }
    t_check_streams(conn);
}

/* item: the messages of streams, with where they are; not those that an operator has put back under
 * a new id. %s: what the column is called that names the stream. */
#define ITEMS                                                                                      \
    ", every AS (SELECT m.id, m.%s AS stream, m.seq, p.lease, coalesce(p.kind, 'parked') AS "      \
    "kind, coalesce(p.kind, '') IN ('done', 'dead') AS settled "                                   \
    "FROM {t}message m LEFT JOIN place p ON p.id = m.id WHERE m.%s IS NOT NULL), "                 \
    "item AS (SELECT * FROM every WHERE id NOT IN "                                                \
    "(SELECT id FROM {t}dead WHERE retried_as IS NOT NULL)), "                                     \
    "sum AS (SELECT stream, max(CASE WHEN settled THEN seq END) AS settled, "                      \
    "min(CASE WHEN NOT settled THEN seq END) AS first, "                                           \
    "min(CASE WHEN kind = 'parked' THEN seq END) AS parked, "                                      \
    "max(CASE WHEN kind = 'lease' THEN seq END) AS leased, "                                       \
    "max(CASE WHEN kind = 'pending' THEN seq END) AS head, max(seq) AS last, "                     \
    "count(DISTINCT CASE WHEN kind = 'lease' THEN lease END) AS leases "                           \
    "FROM item GROUP BY stream), "                                                                 \
    "token AS (SELECT stream, count(*) AS n FROM {t}pending WHERE stream IS NOT NULL "             \
    "GROUP BY stream) "

/* What would be wrong, and how to count it: in one statement, since many tests ask. */
#define WRONG                                                                                      \
    "SELECT 'streams that are not there' AS what, count(*) AS n "                                  \
    "    FROM sum WHERE stream NOT IN (SELECT id FROM {t}stream) "                                 \
    "UNION ALL SELECT 'numbers given twice, or to none', count(*) FROM ("                          \
    "    SELECT stream, seq FROM item GROUP BY stream, seq "                                       \
    "    HAVING count(*) > 1 OR seq IS NULL OR seq < 1) x "                                        \
    "UNION ALL SELECT 'streams with a number above the last', count(*) "                           \
    "    FROM sum JOIN {t}stream s ON s.id = sum.stream WHERE sum.last > s.last_seq "              \
    "UNION ALL SELECT 'streams with a message that is not settled, before one that is', "          \
    "    count(*) FROM sum WHERE first < settled "                                                 \
    "UNION ALL SELECT 'streams with a head that is not the first', count(*) "                      \
    "    FROM sum WHERE head > first "                                                             \
    "UNION ALL SELECT 'streams with a leased message behind one that is parked', count(*) "        \
    "    FROM sum WHERE leased > parked "                                                          \
    "UNION ALL SELECT 'busy streams without exactly one token, or others with one', count(*) "     \
    "    FROM {t}stream s LEFT JOIN sum ON sum.stream = s.id LEFT JOIN token ON "                  \
    "    token.stream = s.id WHERE CASE WHEN s.busy THEN 1 ELSE 0 END <> "                         \
    "    coalesce(sum.leases, 0) + coalesce(token.n, 0) "                                          \
    "UNION ALL SELECT 'idle streams with messages that are not settled', count(*) "                \
    "    FROM {t}stream s JOIN sum ON sum.stream = s.id "                                          \
    "    WHERE NOT s.busy AND sum.first IS NOT NULL "                                              \
    "UNION ALL SELECT 'streams that are of no use any more', count(*) "                            \
    "    FROM {t}stream s WHERE NOT s.busy AND s.id NOT IN (SELECT stream FROM {t}checkpoint) "    \
    "    AND s.id NOT IN (SELECT stream FROM every)"

void t_check_streams(struct t_conn *conn)
{
    char items[2000], sql[7000];

    snprintf(items, sizeof(items), ITEMS, stream_column(conn), stream_column(conn));
    snprintf(sql, sizeof(sql), "%s%sSELECT %s(what || ': ' || n, ', ') FROM (%s) w WHERE n <> 0",
             t_conn_is_pg(conn) ? PG_PLACES : LITE_PLACES, items,
             t_conn_is_pg(conn) ? "string_agg" : "group_concat", WRONG);
    CHECK_STR(t_value(conn, sql), "");
}

void t_check_joins(struct t_conn *conn)
{
    CHECK_INT(t_number(conn,
                       "SELECT count(*) FROM {t}joins j LEFT JOIN (SELECT join_id, "
                       "count(*) AS n, sum(CASE WHEN status_code = 1 THEN 1 ELSE 0 END) AS c, "
                       "sum(CASE WHEN status_code = 2 THEN 1 ELSE 0 END) AS f "
                       "FROM {t}join_members GROUP BY join_id) m ON m.join_id = j.id "
                       "WHERE j.attached_steps <> coalesce(m.n, 0) "
                       "OR j.completed_steps <> coalesce(m.c, 0) "
                       "OR j.failed_steps <> coalesce(m.f, 0)"),
              0);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}joins WHERE attached_steps > expected_steps "
                             "OR (status IN ('pending', 'cancelled') AND "
                             "completed_steps + failed_steps >= expected_steps) "
                             "OR (status = 'completed' AND completed_steps <> expected_steps) "
                             "OR (status <> 'pending') <> (finished_at IS NOT NULL) "
                             "OR (status <> 'pending' AND open_waits > 0)"),
              0);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}join_wait WHERE join_id NOT IN "
                             "(SELECT id FROM {t}join_head)"),
              0);
}
