/* watch.c - see watch.h. */
#include "watch.h"

#ifdef PH_WITH_SQLITE
#include "store/sqlite/waiting.h"
#endif

#include <libpq-fe.h>
#include <unistd.h>

void iso_watch_open(struct iso_watch *watch)
{
    snprintf(watch->prefix, sizeof(watch->prefix), "iso-%d-", (int)getpid());
    watch->control = t_is_pg() ? t_connect() : NULL;
}

void iso_watch_close(struct iso_watch *watch)
{
    if (watch->control)
        t_disconnect(watch->control);
    watch->control = NULL;
}

static bool named(const PGresult *names, const char *name)
{
    for (int row = 0; row < PQntuples(names); row++) {
        if (strcmp(PQgetvalue(names, row, 0), name) == 0)
            return true;
    }
    return false;
}

/* The lock manager knows: pg_blocking_pids answers from the lock tables, so it
 * is empty from the moment a lock is granted, even if the waiter has not been
 * scheduled yet. A session has two connections under one application_name. */
static bool all_blocked_pg(struct iso_watch *watch, struct iso_actor *const *actors,
                           const bool *busy, size_t count)
{
    static const char sql[] =
        "WITH ours AS MATERIALIZED (SELECT pid, application_name, wait_event_type "
        "FROM pg_stat_activity WHERE starts_with(application_name, $1)) "
        "SELECT application_name FROM ours WHERE wait_event_type = 'Lock' "
        "AND pg_blocking_pids(pid) && ARRAY(SELECT pid FROM ours)";
    const char *values[] = { watch->prefix };
    PGresult *result = PQexecParams(t_native(watch->control), sql, 1, NULL, values, NULL, NULL, 0);
    bool all = true;

    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        printf("%s", PQerrorMessage(t_native(watch->control)));
    CHECK(PQresultStatus(result) == PGRES_TUPLES_OK);
    for (size_t i = 0; i < count; i++)
        all = all && (!busy[i] || named(result, actors[i]->name));
    PQclear(result);
    return all;
}

/* SQLite has one write lock, and a session holds it between two steps exactly
 * while its transaction (BEGIN IMMEDIATE) is open. So if such a session exists
 * and as many connections are in their busy handlers as there are busy
 * sessions, all of these wait for it. If there is none, the lock is free or
 * about to be, and every wait will be over by itself. */
static bool all_blocked_sqlite(struct iso_actor *const *actors, const bool *busy, size_t count)
{
    int waiting = 0, running = 0;
    bool held = false;

#ifdef PH_WITH_SQLITE
    waiting = atomic_load(&ph__sqlite_waiting);
#endif
    for (size_t i = 0; i < count; i++) {
        held = held || (!busy[i] && atomic_load(&actors[i]->in_tx));
        running += busy[i];
        waiting += busy[i] && atomic_load(&actors[i]->conn_waits);
    }
    return held && waiting >= running;
}

bool iso_watch_all_blocked(struct iso_watch *watch, struct iso_actor *const *actors,
                           const bool *busy, size_t count)
{
    return t_is_pg() ? all_blocked_pg(watch, actors, busy, count)
                     : all_blocked_sqlite(actors, busy, count);
}
