#include "rig.h"

#include <posthorn/pg.h>
#include <posthorn/sqlite.h>
#include <stdlib.h>
#include <time.h>

/* ------------------------------------------------------------------- waiting */

void nap(void)
{
    struct timespec rest = { 0, 2000000 };

    nanosleep(&rest, NULL);
}

void gate_pass(struct gate *gate)
{
    pthread_mutex_lock(&gate->mutex);
    gate->arrived++;
    pthread_cond_broadcast(&gate->changed);
    while (!gate->open)
        pthread_cond_wait(&gate->changed, &gate->mutex);
    pthread_mutex_unlock(&gate->mutex);
}

void gate_await(struct gate *gate, int count)
{
    struct timespec end;
    int failed = 0;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += AWAIT_LIMIT_S;
    pthread_mutex_lock(&gate->mutex);
    while (gate->arrived < count && !failed)
        failed = pthread_cond_timedwait(&gate->changed, &gate->mutex, &end);
    CHECK(gate->arrived >= count);
    pthread_mutex_unlock(&gate->mutex);
}

void gate_open(struct gate *gate)
{
    pthread_mutex_lock(&gate->mutex);
    gate->open = true;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->mutex);
}

static pthread_key_t thread_key;
static pthread_once_t thread_key_once = PTHREAD_ONCE_INIT;
static _Atomic int ended;

static void thread_ended(void *value)
{
    (void)value;
    ended++;
}

static void make_thread_key(void)
{
    CHECK(pthread_key_create(&thread_key, thread_ended) == 0);
}

void watch_thread(void)
{
    static int anything;

    pthread_once(&thread_key_once, make_thread_key);
    CHECK(pthread_setspecific(thread_key, &anything) == 0);
}

int ended_threads(void)
{
    return ended;
}

/* ----------------------------------------------------------------------- log */

static void write_down(void *context, const ph_log_event *event)
{
    struct journal *journal = context;

    pthread_mutex_lock(&journal->mutex);
    if (journal->count < JOURNAL_MAX) {
        struct journal_line *line = &journal->lines[journal->count++];

        line->level = event->level;
        snprintf(line->event, sizeof(line->event), "%s", event->event);
        snprintf(line->text, sizeof(line->text), "%s", event->text);
    }
    pthread_mutex_unlock(&journal->mutex);
}

int journal_count(struct journal *journal, ph_log_level level, const char *event, const char *text)
{
    int count = 0;

    pthread_mutex_lock(&journal->mutex);
    for (size_t i = 0; i < journal->count; i++)
        count += (!level || journal->lines[i].level == level) &&
                 (!event || strcmp(journal->lines[i].event, event) == 0) &&
                 (!text || strstr(journal->lines[i].text, text));
    pthread_mutex_unlock(&journal->mutex);
    return count;
}

void journal_print(struct journal *journal)
{
    pthread_mutex_lock(&journal->mutex);
    for (size_t i = 0; i < journal->count; i++)
        printf("%d %s\n", (int)journal->lines[i].level, journal->lines[i].text);
    pthread_mutex_unlock(&journal->mutex);
}

/* ------------------------------------------------------------------- the rig */

static struct journal the_journal = { .mutex = PTHREAD_MUTEX_INITIALIZER };

ph_store_opts rig_store_opts(void)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;

    opts.log = write_down;
    opts.log_context = &the_journal;
    return opts;
}

void rig_open(struct rig *rig)
{
    ph_store_opts opts = rig_store_opts();

    *rig = (struct rig){ .opts = PH_DISPATCHER_OPTS_INIT, .journal = &the_journal };
    pthread_mutex_lock(&the_journal.mutex);
    the_journal.count = 0;
    pthread_mutex_unlock(&the_journal.mutex);
    rig->side = t_open(NULL);
    rig->store = t_open(&opts);
    rig->conn = t_connect();
    rig->opts.poll_ms = 100;
}

void rig_new(struct rig *rig)
{
    OK(ph_dispatcher_new(rig->store, &rig->opts, &rig->dispatcher, &t_err));
}

static void handle(struct rig *rig, const char *topic, ph_handler_fn function, void *context,
                   bool in_transaction, bool inbox)
{
    ph_handler handler = PH_HANDLER_INIT;

    handler.topic = topic;
    handler.handle = function;
    handler.context = context;
    handler.in_transaction = in_transaction;
    handler.inbox = inbox;
    OK(ph_dispatcher_handle(rig->dispatcher, &handler, &t_err));
}

void rig_handle(struct rig *rig, const char *topic, ph_handler_fn function, void *context)
{
    handle(rig, topic, function, context, false, false);
}

void rig_handle_in_tx(struct rig *rig, const char *topic, ph_handler_fn function, void *context)
{
    handle(rig, topic, function, context, true, false);
}

void rig_handle_inbox(struct rig *rig, const char *topic, ph_handler_fn function, void *context,
                      bool in_transaction)
{
    handle(rig, topic, function, context, in_transaction, true);
}

void rig_start(struct rig *rig)
{
    OK(ph_dispatcher_start(rig->dispatcher, &t_err));
}

void rig_run(struct rig *rig, const char *topic, ph_handler_fn function, void *context)
{
    rig_new(rig);
    rig_handle(rig, topic, function, context);
    rig_start(rig);
}

void rig_drain(struct rig *rig)
{
    OK(ph_dispatcher_drain(rig->dispatcher, AWAIT_LIMIT_S * 1000, &t_err));
}

void rig_stop(struct rig *rig)
{
    OK(ph_dispatcher_stop(rig->dispatcher, AWAIT_LIMIT_S * 1000, &t_err));
}

void rig_end(struct rig *rig)
{
    rig_stop(rig);
    ph_dispatcher_free(rig->dispatcher);
    rig->dispatcher = NULL;
    t_check_places(rig->conn);
}

ph_dispatcher_stats rig_stats(struct rig *rig)
{
    ph_dispatcher_stats stats = PH_DISPATCHER_STATS_INIT;

    OK(ph_dispatcher_stats_get(rig->dispatcher, &stats, &t_err));
    return stats;
}

ph_work_id rig_put(struct rig *rig, const char *topic)
{
    return t_enqueue(rig->side, topic, "x").work_id;
}

void rig_put_stream(struct rig *rig, const char *topic, const char *stream, int count)
{
    ph_message *messages = calloc((size_t)count, sizeof(*messages));

    CHECK(messages != NULL);
    for (int i = 0; i < count; i++) {
        messages[i] = a_message(topic, "x");
        messages[i].stream = stream;
    }
    OK(ph_enqueue_many(rig->side, PH_OWN_TX, messages, (size_t)count, 0, NULL, &t_err));
    free(messages);
}

bool rig_receive(struct rig *rig, const char *topic, const char *source_id, const char *stream)
{
    ph_inbox_message message = PH_INBOX_MESSAGE_INIT;
    ph_received received;

    message.source = "elsewhere";
    message.source_id = source_id;
    message.topic = topic;
    message.payload = "x";
    message.stream = stream;
    OK(ph_inbox_receive(rig->side, PH_OWN_TX, &message, 0, &received, &t_err));
    return received.is_new;
}

/* ------------------------------------------------------------------ handlers */

ph_verdict play(void *context, ph_work *work)
{
    struct part *part = context;

    part->calls++;
    if (part->gate)
        gate_pass(part->gate);
    if (part->heeds)
        CHECK(ph_work_wait(work, AWAIT_LIMIT_S * 1000));
    part->cancelled += ph_work_cancelled(work);
    if (part->error)
        ph_work_error(work, part->error);
    if (part->delayed)
        ph_work_delay(work, part->delay_ms);
    return part->verdict;
}

/* --------------------------------------------------- effects of transactions */

void effects_make(struct t_conn *conn)
{
    t_sql(conn, "CREATE TABLE {schema}.effect (of text NOT NULL)");
}

bool work_sql(ph_work *work, const char *sql)
{
    ph_tx tx = ph_work_tx(work);
    PGconn *pg = ph_tx_pg_connection(tx);
    sqlite3 *lite = ph_tx_sqlite_connection(tx);
    PGresult *result;
    bool ok;

    CHECK((pg != NULL) == t_is_pg() && (lite != NULL) == !t_is_pg());
    if (lite)
        return sqlite3_exec(lite, sql, NULL, NULL, NULL) == SQLITE_OK;
    result = PQexec(pg, sql);
    ok = PQresultStatus(result) == PGRES_COMMAND_OK || PQresultStatus(result) == PGRES_TUPLES_OK;
    PQclear(result);
    return ok;
}

bool effect_write(ph_work *work)
{
    char id[PH_ID_TEXT_SIZE], sql[200];

    snprintf(sql, sizeof(sql), "INSERT INTO \"%s\".effect VALUES ('%s')",
             t_is_pg() ? t_schema() : "main", ph_id_text(ph_work_delivery(work)->message_id.b, id));
    return work_sql(work, sql);
}

long long effects(struct t_conn *conn)
{
    return t_number(conn, "SELECT count(*) FROM {schema}.effect");
}

long long effects_distinct(struct t_conn *conn)
{
    return t_number(conn, "SELECT count(DISTINCT of) FROM {schema}.effect");
}
