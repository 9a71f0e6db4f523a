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

void t_check_places(struct t_conn *conn)
{
    long long messages = t_number(conn, "SELECT count(*) FROM {t}message");

    /* The view finds a message's place; a message in none or in two would be missing or double. */
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox"), messages);
    CHECK_INT(t_number(conn, "SELECT count(DISTINCT id) FROM {t}outbox"), messages);
}
