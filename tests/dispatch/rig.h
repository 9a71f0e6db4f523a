/* rig.h - a dispatcher under test: its store, a second store and a connection for the test's own
 * eyes, handlers that do as they are told, and gates at which they meet the test. */
#ifndef DISPATCH_RIG_H
#define DISPATCH_RIG_H

#include "common.h"

#include <pthread.h>
#include <stdatomic.h>

/* In a build with ThreadSanitizer what is only long, or only about other processes, is left out. */
#ifdef __SANITIZE_THREAD__
#define UNDER_TSAN true
#else
#define UNDER_TSAN false
#endif

/* ------------------------------------------------------------------- waiting */

void nap(void); /* 2 ms */
/* Waits for what must come. The limit only tells a hang from a slow machine. */
#define AWAIT_LIMIT_S 60
#define AWAIT(cond)                                                                                \
    for (double await_end = t_now_s() + AWAIT_LIMIT_S; !(cond); nap())                             \
    t_check(__FILE__, __LINE__, NULL, "in time: " #cond, t_now_s() < await_end)

/* Handlers stop here until the test lets them go. */
struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int arrived;
    bool open;
};
#define GATE_INIT                                                                                  \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, false                              \
    }
void gate_pass(struct gate *gate);             /* arrives, and waits until it is open */
void gate_await(struct gate *gate, int count); /* until so many have arrived */
void gate_open(struct gate *gate);

/* Counts threads that have ended: a thread that called watch_thread() is one of them. */
void watch_thread(void);
int ended_threads(void);

/* ----------------------------------------------------------------------- log */

#define JOURNAL_MAX 4000

/* What a store has logged; the first so many lines. */
struct journal {
    pthread_mutex_t mutex;
    size_t count;
    struct journal_line {
        ph_log_level level;
        char event[24], text[400];
    } lines[JOURNAL_MAX];
};

/* How many lines have this level (0: any), this event (NULL: any) and hold this text (NULL: any). */
int journal_count(struct journal *journal, ph_log_level level, const char *event, const char *text);
void journal_print(struct journal *journal);

/* --------------------------------------------------------------------- clock */

/* How long each reading of the boot-time clock takes (freeze_test.c), but on threads that are quick. */
extern _Atomic int boot_clock_stall_ms;
extern _Thread_local bool boot_clock_is_quick;

/* ------------------------------------------------------------------- the rig */

struct rig {
    ph_store *store; /* the dispatcher's, and nobody else's while it lives */
    ph_store *side;  /* the test's */
    struct t_conn *conn;
    ph_dispatcher_opts opts;
    ph_dispatcher *dispatcher;
    struct journal *journal;
};

/* Opens stores and connection; opts are the defaults with a short polling interval. */
void rig_open(struct rig *rig);
/* What a store needs to write into the journal, for stores that tests open otherwise. */
ph_store_opts rig_store_opts(void);
/* Makes the dispatcher, as opts say. */
void rig_new(struct rig *rig);
void rig_handle(struct rig *rig, const char *topic, ph_handler_fn function, void *context);
void rig_handle_in_tx(struct rig *rig, const char *topic, ph_handler_fn function, void *context);
void rig_handle_inbox(struct rig *rig, const char *topic, ph_handler_fn function, void *context,
                      bool in_transaction);
void rig_start(struct rig *rig);
/* rig_new, one handler for one topic (NULL: all), rig_start. */
void rig_run(struct rig *rig, const char *topic, ph_handler_fn function, void *context);
void rig_drain(struct rig *rig);
/* Must succeed, within a generous limit for the handlers. */
void rig_stop(struct rig *rig);
/* Stops and frees the dispatcher, and checks that every message is in one place. */
void rig_end(struct rig *rig);
ph_dispatcher_stats rig_stats(struct rig *rig);
/* Enqueues a message of the topic; its work id. */
ph_work_id rig_put(struct rig *rig, const char *topic);
/* Enqueues count messages of the topic into a stream. */
void rig_put_stream(struct rig *rig, const char *topic, const char *stream, int count);
/* Takes one in; false: it had come before. */
bool rig_receive(struct rig *rig, const char *topic, const char *source_id, const char *stream);

/* ------------------------------------------------------------------ handlers */

/* A handler that does as it is told. */
struct part {
    ph_verdict verdict;
    const char *error; /* NULL: sets none */
    bool delayed;      /* sets this delay */
    int64_t delay_ms;
    struct gate *gate; /* waits there first; NULL: does not */
    bool heeds;        /* waits until it is cancelled */
    _Atomic int calls, cancelled;
};
ph_verdict play(void *context, ph_work *work);

/* --------------------------------------------------- effects of transactions */

/* A table of the test's own beside ours, with a row per effect. */
void effects_make(struct t_conn *conn);
/* Writes one in the handler's transaction; false: the database refused. */
bool effect_write(ph_work *work);
/* Runs a statement in the handler's transaction; false on error. */
bool work_sql(ph_work *work, const char *sql);
long long effects(struct t_conn *conn);
/* How many messages have an effect. */
long long effects_distinct(struct t_conn *conn);

#endif
