/* watch.c - what the tests see of a dispatcher without asking it: its log, and its connections. */
#include "fleet.h"

#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ------------------------------------------------------------------------- log */

struct line {
    ph_log_level level;
    int count; /* of a claim */
    char event[24], store[20];
    char *text;
};

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static struct line *lines;
static size_t line_count, line_room;
static _Atomic int in_log, overlaps;
_Atomic int log_takes_ms;

static const char *field(const ph_log_event *event, const char *key)
{
    for (size_t i = 0; i < event->field_count; i++) {
        if (strcmp(event->fields[i].key, key) == 0)
            return event->fields[i].value;
    }
    return NULL;
}

static void keep(const ph_log_event *event)
{
    const char *count = field(event, "count");
    struct line *line;

    if (line_count == line_room) {
        line_room = line_room ? line_room * 2 : 1024;
        lines = realloc(lines, line_room * sizeof(*lines));
        CHECK(lines != NULL);
    }
    line = &lines[line_count++];
    line->level = event->level;
    line->count = count ? atoi(count) : 0;
    snprintf(line->event, sizeof(line->event), "%s", event->event);
    snprintf(line->store, sizeof(line->store), "%s", event->store ? event->store : "");
    line->text = strdup(event->text);
}

static void note(void *context, const ph_log_event *event)
{
    (void)context;
    overlaps += atomic_fetch_add(&in_log, 1) > 0;
    for (int i = 0; i < log_takes_ms; i++)
        t_nap_ms(1);
    pthread_mutex_lock(&log_lock);
    keep(event);
    pthread_mutex_unlock(&log_lock);
    in_log--;
}

void log_into(ph_store_opts *opts)
{
    opts->log = note;
    opts->log_level = PH_LOG_DEBUG;
}

static bool fits(const struct line *line, const char *store, ph_log_level level, const char *event,
                 const char *text)
{
    return (!store || strcmp(line->store, store) == 0) && (!level || line->level == level) &&
           (!event || strcmp(line->event, event) == 0) && (!text || strstr(line->text, text));
}

int said(const char *store, ph_log_level level, const char *event, const char *text)
{
    int count = 0;

    pthread_mutex_lock(&log_lock);
    for (size_t i = 0; i < line_count; i++)
        count += fits(&lines[i], store, level, event, text);
    pthread_mutex_unlock(&log_lock);
    return count;
}

void log_print(void)
{
    pthread_mutex_lock(&log_lock);
    for (size_t i = 0; i < line_count; i++)
        printf("%d %s\n", (int)lines[i].level, lines[i].text);
    pthread_mutex_unlock(&log_lock);
}

void log_clear(void)
{
    pthread_mutex_lock(&log_lock);
    while (line_count > 0)
        free(lines[--line_count].text);
    pthread_mutex_unlock(&log_lock);
}

size_t log_length(void)
{
    size_t length;

    pthread_mutex_lock(&log_lock);
    length = line_count;
    pthread_mutex_unlock(&log_lock);
    return length;
}

int log_overlaps(void)
{
    return overlaps;
}

size_t claims_said(struct claimed *ret_claims, size_t room)
{
    size_t count = 0;

    pthread_mutex_lock(&log_lock);
    for (size_t i = 0; i < line_count; i++) {
        if (strcmp(lines[i].event, "claim") != 0 || lines[i].count == 0)
            continue;
        CHECK(count < room);
        ret_claims[count].line = i;
        ret_claims[count].count = lines[i].count;
        snprintf(ret_claims[count++].store, sizeof(ret_claims->store), "%s", lines[i].store);
    }
    pthread_mutex_unlock(&log_lock);
    return count;
}

const char *calls_said(void)
{
    static char text[20000];
    size_t length = 0;

    text[0] = '\0';
    pthread_mutex_lock(&log_lock);
    for (size_t i = 0; i < line_count; i++) {
        if (!fits(&lines[i], NULL, PH_LOG_INFO, "handle", "handler called"))
            continue;
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s ", lines[i].store);
        CHECK(length < sizeof(text));
    }
    pthread_mutex_unlock(&log_lock);
    return text;
}

/* ----------------------------------------------------------------- connections */

/* What the library opens and closes goes through here (--wrap). A store of SQLite may have a second
 * handle on its file, for checkpoints: both have the same owner and count once. */
#define LINKS_MAX 1000
#define OPENED_MAX 20000

static pthread_mutex_t links_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    const void *handle, *owner;
    char place[300];
} links[LINKS_MAX];
static int link_count, most;
static struct {
    char *place; /* URL or path */
    double at_s;
} opened[OPENED_MAX];
static int opened_count;
_Thread_local bool links_uncounted;

static int owners(void)
{
    int count = 0;

    for (int i = 0; i < link_count; i++) {
        int same = 0;

        while (links[same].owner != links[i].owner)
            same++;
        count += same == i;
    }
    return count;
}

static void linked(const void *handle, const void *owner, const char *place)
{
    int now;

    if (!handle || links_uncounted)
        return;
    pthread_mutex_lock(&links_lock);
    CHECK(link_count < LINKS_MAX);
    snprintf(links[link_count].place, sizeof(links[0].place), "%s", place);
    links[link_count].handle = handle;
    links[link_count++].owner = owner;
    now = owners();
    most = now > most ? now : most;
    pthread_mutex_unlock(&links_lock);
}

static void unlinked(const void *handle)
{
    int at = 0;

    pthread_mutex_lock(&links_lock);
    while (at < link_count && links[at].handle != handle)
        at++;
    if (at < link_count) {
        link_count--;
        for (; at < link_count; at++)
            links[at] = links[at + 1];
    }
    pthread_mutex_unlock(&links_lock);
}

static void note_opening(const char *place)
{
    if (links_uncounted)
        return;
    pthread_mutex_lock(&links_lock);
    if (opened_count < OPENED_MAX) {
        opened[opened_count].place = strdup(place);
        opened[opened_count++].at_s = t_now_s();
    }
    pthread_mutex_unlock(&links_lock);
}

int links_opened(const char *place)
{
    int count = 0;

    pthread_mutex_lock(&links_lock);
    for (int i = 0; i < opened_count; i++)
        count += strstr(opened[i].place, place) != NULL;
    pthread_mutex_unlock(&links_lock);
    return count;
}

bool links_open(const char *place)
{
    bool found = false;

    pthread_mutex_lock(&links_lock);
    for (int i = 0; i < link_count; i++)
        found |= strstr(links[i].place, place) != NULL;
    pthread_mutex_unlock(&links_lock);
    return found;
}

double links_gap_s(const char *place, int number)
{
    double gap_s = 0, before_s = 0;
    int count = 0;

    pthread_mutex_lock(&links_lock);
    for (int i = 0; i < opened_count && count <= number; i++) {
        if (!strstr(opened[i].place, place))
            continue;
        gap_s = opened[i].at_s - before_s;
        before_s = opened[i].at_s;
        count++;
    }
    pthread_mutex_unlock(&links_lock);
    CHECK(number > 0 && count > number);
    return gap_s;
}

int links_now(void)
{
    int now;

    pthread_mutex_lock(&links_lock);
    now = owners();
    pthread_mutex_unlock(&links_lock);
    return now;
}

int links_most(void)
{
    int was;

    pthread_mutex_lock(&links_lock);
    was = most;
    pthread_mutex_unlock(&links_lock);
    return was;
}

void links_reset(void)
{
    pthread_mutex_lock(&links_lock);
    most = owners();
    pthread_mutex_unlock(&links_lock);
}

PGconn *__real_PQconnectStartParams(const char *const *keywords, const char *const *values,
                                    int expand);
PGconn *__wrap_PQconnectStartParams(const char *const *keywords, const char *const *values,
                                    int expand);
PGconn *__wrap_PQconnectStartParams(const char *const *keywords, const char *const *values,
                                    int expand)
{
    const char *url = "";
    bool asks = false; /* what the URL means: libpq refuses it before it connects */
    PGconn *conn;

    for (int i = 0; keywords[i]; i++) {
        url = strcmp(keywords[i], "dbname") == 0 ? values[i] : url;
        asks = asks || strcmp(keywords[i], "channel_binding") == 0;
    }
    if (asks)
        return __real_PQconnectStartParams(keywords, values, expand);
    note_opening(url);
    conn = __real_PQconnectStartParams(keywords, values, expand);
    linked(conn, conn, url);
    return conn;
}

/* What is closed is gone before its address can be used again, so that is counted before. */
void __real_PQfinish(PGconn *conn);
void __wrap_PQfinish(PGconn *conn);
void __wrap_PQfinish(PGconn *conn)
{
    unlinked(conn);
    __real_PQfinish(conn);
}

int __real_sqlite3_open_v2(const char *path, sqlite3 **ret_db, int flags, const char *vfs);
int __wrap_sqlite3_open_v2(const char *path, sqlite3 **ret_db, int flags, const char *vfs);
int __wrap_sqlite3_open_v2(const char *path, sqlite3 **ret_db, int flags, const char *vfs)
{
    note_opening(path);
    return __real_sqlite3_open_v2(path, ret_db, flags, vfs);
}

int __real_sqlite3_busy_handler(sqlite3 *db, int (*handler)(void *, int), void *context);
int __wrap_sqlite3_busy_handler(sqlite3 *db, int (*handler)(void *, int), void *context);
int __wrap_sqlite3_busy_handler(sqlite3 *db, int (*handler)(void *, int), void *context)
{
    unlinked(db); /* it may have been there before */
    linked(db, context, sqlite3_db_filename(db, "main"));
    return __real_sqlite3_busy_handler(db, handler, context);
}

int __real_sqlite3_close(sqlite3 *db);
int __wrap_sqlite3_close(sqlite3 *db);
int __wrap_sqlite3_close(sqlite3 *db)
{
    unlinked(db);
    return __real_sqlite3_close(db);
}

int __real_sqlite3_close_v2(sqlite3 *db);
int __wrap_sqlite3_close_v2(sqlite3 *db);
int __wrap_sqlite3_close_v2(sqlite3 *db)
{
    unlinked(db);
    return __real_sqlite3_close_v2(db);
}

/* ------------------------------------------------------------------------ the disk */

/* SQLite finds this one before that of the C library. */
_Thread_local int sync_takes_ms;
_Atomic int disk_takes_ms;

int fdatasync(int fd)
{
    for (int i = 0; i < sync_takes_ms + disk_takes_ms; i++)
        t_nap_ms(1);
    return (int)syscall(SYS_fdatasync, fd);
}
