/* check.c - at the end every number must be exact. */
#include "crowd.h"

#include <stdlib.h>

/* A continuation tells in its payload which join and wait it comes from. */
static void note(const ph_message_info *info, const struct crowd *crowd, bool *seen)
{
    const ph_delivery *m = info->message;
    char id[PH_ID_TEXT_SIZE], *end;
    long join = strtol(m->payload, &end, 10), wait = strtol(end, NULL, 10);

    CHECK(join >= 0 && join < crowd->joins);
    CHECK(wait >= 0 && wait < crowd->made[join].waits && wait < 64);
    CHECK(strstr(m->headers, ph_id_text(crowd->made[join].id.b, id)) != NULL);
    REQ("JOIN-056", !seen[join * 64 + wait]); /* one of each */
    seen[join * 64 + wait] = true;
}

/* Reads all messages of the topic; returns how many there were. */
static size_t read_all(ph_store *store, const char *topic, const struct crowd *crowd, bool *seen)
{
    ph_message_list_opts opts = PH_MESSAGE_LIST_OPTS_INIT;
    size_t all = 0, count;

    opts.topic = topic;
    opts.with_payload = true;
    opts.oldest_first = true;
    opts.limit = 1000;
    do {
        ph_messages *list = NULL;

        OK(ph_outbox_list(store, PH_OWN_TX, &opts, 0, &list, &t_err));
        count = ph_messages_count(list);
        for (size_t i = 0; i < count; i++)
            note(ph_messages_at(list, i), crowd, seen);
        if (count > 0)
            opts.after = ph_messages_at(list, count - 1)->message->work_id;
        all += count;
        ph_messages_free(list);
    } while (count > 0);
    return all;
}

static void check_continuations(ph_store *store, const struct crowd *crowd)
{
    bool *seen = calloc((size_t)crowd->joins * 64, sizeof(*seen));
    size_t waits = 0, good, bad;

    CHECK(seen != NULL);
    for (int i = 0; i < crowd->joins; i++)
        waits += (size_t)crowd->made[i].waits;
    good = read_all(store, GOOD, crowd, seen);
    bad = read_all(store, BAD, crowd, seen);
    printf("%zu waits, %zu good, %zu bad\n", waits, good, bad);
    REQ_INT("JOIN-056 JOIN-060", good + bad, waits);
    free(seen);
}

/* Which way each wait took, by what its join says. */
static void check_ways(struct t_conn *conn)
{
    char sql[700];

    snprintf(sql, sizeof(sql),
             "SELECT count(*) FROM {t}outbox o JOIN {t}joins j ON j.id = %s "
             "WHERE o.topic IN ('good', 'bad') AND (o.topic = 'bad') <> "
             "(j.status = 'cancelled' OR j.completed_steps + j.failed_steps < j.expected_steps OR "
             "(o.payload LIKE '%%f' AND j.failed_steps > 0))",
             t_is_pg() ? "(o.headers ->> 'join_id')::uuid"
                       : "json_extract(o.headers, '$.join_id')");
    REQ_INT("JOIN-054 JOIN-055 JOIN-057", t_number(conn, sql), 0);
}

static void check_joins(ph_store *store, const struct crowd *crowd)
{
    int mortal = 0, early = 0;

    for (int i = 0; i < crowd->joins; i++) {
        ph_join_info *info = NULL;
        int ended;

        OK(ph_join_find(store, PH_OWN_TX, crowd->made[i].id, 1, 0, &info, &t_err));
        ended = info->completed_steps + info->failed_steps;
        REQ("JOIN-023", ended <= info->expected_steps);
        REQ("JOIN-040", info->state != PH_JOIN_PENDING);
        CHECK_INT(info->open_waits, 0);
        if (!crowd->made[i].mortal) {
            REQ_INT("JOIN-040 JOIN-060 JOIN-061", ended, info->expected_steps);
            REQ_INT("JOIN-041", info->state,
                    info->failed_steps ? PH_JOIN_FAILED : PH_JOIN_COMPLETED);
        }
        mortal += crowd->made[i].mortal;
        early += ended < info->expected_steps;
        ph_join_info_free(info);
    }
    printf("%d joins, %d mortal, %d ended early\n", crowd->joins, mortal, early);
}

void check_all(ph_store *store, struct t_conn *conn, const struct crowd *crowd)
{
    t_check_places(conn);
    t_check_joins(conn);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}joins"), crowd->joins);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox WHERE payload = 'taken back'"), 0);
    check_joins(store, crowd);
    check_continuations(store, crowd);
    check_ways(conn);
    printf("%lld messages, %lld steps of joins, %lld dead\n",
           t_number(conn, "SELECT count(*) FROM {t}outbox WHERE topic = 'step'"),
           t_number(conn, "SELECT count(*) FROM {t}join_member"),
           t_number(conn, "SELECT count(*) FROM {t}dead"));
}
