/* doorbell.c - LISTEN and NOTIFY: dispatchers are woken when messages come.
 *
 * The doorbell is a hint and no more: a dispatcher that does not hear it looks by itself a moment
 * later. So a ring may be lost with a connection, is left out when the last one was a moment ago,
 * and is not waited for: an enqueue sends it after its own answer has come, and the next call on
 * the connection reads the server's. */
#include "store/postgres/pg.h"

#include "core/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define QUIET_MS 5
#define OWED_MAX 4096      /* bytes of names; those beyond find out by themselves */
#define IN_THE_WAY_MS 1000 /* after a ring that others were in the way of */

void ph__pg_channel(const ph_store *store, char ret_name[PH__PG_CHANNEL_SIZE])
{
    snprintf(ret_name, PH__PG_CHANNEL_SIZE, "posthorn_%s", store->schema);
}

/* ------------------------------------------------------------------ listening */

/* A pooler tells a process id of its own making; and behind one that hands out sessions per
 * transaction no client would hear a notification. */
static int find_pooler(struct ph__call *call, PGconn *conn, bool *ret_pooled)
{
    PGresult *result = NULL;
    int r = ph__pg_run_text(call, conn, "SELECT pg_catalog.pg_backend_pid()", &result);

    if (r == 0)
        *ret_pooled = atoi(PQgetvalue(result, 0, 0)) != PQbackendPID(conn);
    PQclear(result);
    return r;
}

static int start_listening(struct ph__call *call, struct ph__pg_own *own)
{
    char channel[PH__PG_CHANNEL_SIZE], sql[PH__PG_CHANNEL_SIZE + 16];
    bool pooled = false;
    int r = ph__pg_seek_writable(call, true); /* a standby refuses to listen */

    if (r == 0)
        r = find_pooler(call, own->conn, &pooled);
    if (r == 0 && !pooled) {
        ph__pg_channel(call->store, channel);
        snprintf(sql, sizeof(sql), "LISTEN \"%s\"", channel);
        r = ph__pg_run_text(call, own->conn, sql, NULL);
    }
    if (r == 0)
        own->doorbell = pooled ? PG_DOORBELL_NONE : PG_DOORBELL_LISTENING;
    return r;
}

int ph__pg_doorbell_listen(struct ph__call *call, const char *ns, int *ret_fd)
{
    struct ph__pg_own *own = call->store->own;
    bool anew = own->doorbell == PG_DOORBELL_UNKNOWN;
    int r = anew ? start_listening(call, own) : 0;

    (void)ns; /* one channel for all: the payload names the namespace */
    if (r < 0)
        return r;
    *ret_fd = own->doorbell == PG_DOORBELL_LISTENING ? PQsocket(own->conn) : -1;
    return anew && *ret_fd >= 0;
}

bool ph__pg_doorbell_taken(ph_store *store, const char *ns)
{
    struct ph__pg_own *own = store->own;
    char channel[PH__PG_CHANNEL_SIZE];
    bool taken = false;
    PGnotify *notice;

    if (!own || !own->conn)
        return false;
    if (!ph__pg_hear(own))
        return true; /* the connection is lost: a reason to look, and to connect again */
    if (own->ringing && !PQisBusy(own->conn))
        (void)ph__pg_ring_end(own, ph__deadline_in(0));
    ph__pg_channel(store, channel);
    while ((notice = PQnotifies(own->conn)) != NULL) {
        taken |= strcmp(notice->relname, channel) == 0 && strcmp(notice->extra, ns) == 0;
        PQfreemem(notice);
    }
    return taken;
}

/* -------------------------------------------------------------------- ringing */

/* Says whether it is time to ring, and takes that time. */
static bool is_quiet(struct ph__pg_own *own)
{
    if (ph__deadline_left_ms(own->quiet_until) > 0)
        return false;
    own->quiet_until = ph__deadline_in(QUIET_MS);
    return true;
}

int ph__pg_doorbell_ring(struct ph__call *call, const char *ns)
{
    struct ph__pg_own *own = call->store->own;
    struct ph__pg_params params = { 0 };
    PGresult *result = NULL;
    int r;

    if (!is_quiet(own))
        return 0;
    ph__pg_array_begin(&params, PG_TEXTS, PG_TEXT, 1);
    ph__pg_item_text(&params, ns);
    ph__pg_array_end(&params);
    r = ph__pg_run(call, PG_DOORBELL_RING, &params, PG_READS, &result);
    ph__pg_params_free(&params);
    PQclear(result);
    return r;
}

bool ph__pg_ring_end(struct ph__pg_own *own, ph__deadline deadline)
{
    PGresult *result = NULL;
    const char *sqlstate;
    int r;

    if (!own->ringing)
        return true;
    r = ph__pg_collect(own->conn, deadline, &result);
    sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    if (sqlstate && strcmp(sqlstate, "55P03") == 0) /* others notify, and their commit lasts */
        own->quiet_until = ph__deadline_in(IN_THE_WAY_MS);
    else if (sqlstate)
        own->mute = true;
    own->ringing = r < 0;
    PQclear(result);
    return r == 0 && PQstatus(own->conn) == CONNECTION_OK;
}

static int64_t real_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* The namespace of message i, if a dispatcher may wait for it and last is another one; else
 * NULL. */
static const char *to_ring_for(const struct ph__message *message, const ph_enqueued *enqueued,
                               int64_t now, const char *last)
{
    if (!enqueued->is_new || message->due_at > now || (last && strcmp(last, message->ns) == 0))
        return NULL;
    return message->ns;
}

/* One namespace after the other, and each run of equal ones once: a list of texts that end with
 * NUL. */
static void list_namespaces(struct ph__buffer *list, const struct ph__message *messages,
                            size_t count, const ph_enqueued *enqueued)
{
    const char *last = NULL, *ns;
    int64_t now = real_us();

    for (size_t i = 0; i < count; i++) {
        ns = to_ring_for(&messages[i], &enqueued[i], now, last);
        if (!ns)
            continue;
        ph__buffer_bytes(list, ns, strlen(ns) + 1);
        last = ns;
    }
}

static void ring_for(struct ph__call *call, const struct ph__buffer *list)
{
    struct ph__pg_own *own = call->store->own;
    struct ph__pg_params params = { 0 };
    size_t count = 0;

    if (list->failed || list->length == 0 || own->mute || own->ringing || !is_quiet(own))
        return;
    for (const char *ns = list->data; ns < list->data + list->length; ns += strlen(ns) + 1)
        count++;
    ph__pg_array_begin(&params, PG_TEXTS, PG_TEXT, count);
    for (const char *ns = list->data; ns < list->data + list->length; ns += strlen(ns) + 1)
        ph__pg_item_text(&params, ns);
    ph__pg_array_end(&params);
    own->ringing = ph__pg_send(call, PG_DOORBELL_RING, &params);
    ph__pg_params_free(&params);
}

void ph__pg_ring_after(struct ph__call *call, const struct ph__message *messages, size_t count,
                       const ph_enqueued *enqueued)
{
    struct ph__buffer list = { 0 };

    list_namespaces(&list, messages, count, enqueued);
    ring_for(call, &list);
    ph__buffer_free(&list);
}

void ph__pg_ring_these(struct ph__call *call, const PGresult *result, int row, int column)
{
    struct ph__pg_own *own = call->store->own;
    struct ph__pg_params params = { 0 };

    if (PQgetisnull(result, row, column) || own->mute || own->ringing || !is_quiet(own))
        return;
    ph__pg_add_field(&params, PG_TEXTS, result, row, column);
    own->ringing = ph__pg_send(call, PG_DOORBELL_RING, &params);
    ph__pg_params_free(&params);
}

void ph__pg_ring_owe(struct ph__pg_own *own, const struct ph__message *messages, size_t count,
                     const ph_enqueued *enqueued)
{
    if (own->owed.length < OWED_MAX)
        list_namespaces(&own->owed, messages, count, enqueued);
}

void ph__pg_ring_list(struct ph__call *call, const struct ph__buffer *list)
{
    struct ph__pg_own *own = call->store->own;

    if (!call->connection)
        ring_for(call, list);
    else if (call->store->lends && own->owed.length < OWED_MAX && !list->failed)
        ph__buffer_bytes(&own->owed, list->data, list->length);
}

void ph__pg_ring_parts(struct ph__call *call, const struct ph__work_part *outbox,
                       const struct ph__work_part *inbox)
{
    struct ph__buffer list = { 0 };

    list_namespaces(&list, outbox->messages, outbox->message_count, outbox->ret_enqueued);
    list_namespaces(&list, inbox->messages, inbox->message_count, inbox->ret_enqueued);
    ph__pg_ring_list(call, &list);
    ph__buffer_free(&list);
}

void ph__pg_ring_owed(struct ph__call *call, bool committed)
{
    struct ph__pg_own *own = call->store->own;

    if (committed && own->conn && own->owed.length > 0)
        ring_for(call, &own->owed);
    ph__buffer_free(&own->owed);
}
