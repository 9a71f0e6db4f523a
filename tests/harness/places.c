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

/* place: one row per mention of a message in one of the five tables. */
#define PG_PLACES                                                                                  \
    "WITH place AS ("                                                                              \
    "    SELECT id FROM {t}pending UNION ALL SELECT id FROM {t}dead"                               \
    "    UNION ALL SELECT id FROM {t}join_wait"                                                    \
    "    UNION ALL SELECT unnest(ids) FROM {t}done"                                                \
    "    UNION ALL SELECT u.id FROM {t}lease l, unnest(l.ids) WITH ORDINALITY u(id, n)"            \
    "               WHERE l.settled IS NULL OR get_bit(l.settled, u.n::int - 1) = 0) "

/* The batches of SQLite hold ids as text, ",%012x" each: they are looked up from the message's
 * side, and the number of entries is compared so that none is without a message. */
#define LITE_PLACES                                                                                \
    "WITH place AS ("                                                                              \
    "    SELECT id FROM {t}pending UNION ALL SELECT id FROM {t}dead"                               \
    "    UNION ALL SELECT id FROM {t}join_wait"                                                    \
    "    UNION ALL SELECT m.id FROM {t}done b JOIN {t}message m ON m.id BETWEEN b.lo AND b.hi"     \
    "               WHERE instr(b.ids, printf(',%012x', m.id)) > 0"                                \
    "    UNION ALL SELECT m.id FROM {t}lease b JOIN {t}message m ON m.id BETWEEN b.lo AND b.hi"    \
    "               WHERE instr(b.ids, printf(',%012x', m.id)) > 0 AND coalesce(substr(b.settled," \
    "                     (instr(b.ids, printf(',%012x', m.id)) - 1) / 13 + 1, 1), '0') = '0') "

static long long places(struct t_conn *conn, const char *query)
{
    char sql[1500];

    snprintf(sql, sizeof(sql), "%s%s", t_is_pg() ? PG_PLACES : LITE_PLACES, query);
    return t_number(conn, sql);
}

void t_check_places(struct t_conn *conn)
{
    CHECK_INT(
        places(conn, "SELECT count(*) FROM {t}message WHERE id NOT IN (SELECT id FROM place)"), 0);
    CHECK_INT(
        places(conn, "SELECT count(*) FROM place WHERE id NOT IN (SELECT id FROM {t}message)"), 0);
    CHECK_INT(places(conn, "SELECT count(*) - count(DISTINCT id) FROM place"), 0);
    if (t_is_pg()) {
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
                         "SELECT (SELECT count(*) FROM place) - (SELECT count(*) FROM {t}pending)"
                         " - (SELECT count(*) FROM {t}dead)"
                         " - (SELECT count(*) FROM {t}join_wait)"
                         " - (SELECT coalesce(sum(open), 0) FROM {t}lease)"
                         " - (SELECT coalesce(sum(length(ids) / 13), 0) FROM {t}done)"),
                  0);
    }
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
