/* posthorn.h - transactional messages in the database you already run.
 *
 * SPDX-License-Identifier: MIT
 *
 * This header is the specification of libposthorn: what each function
 * promises, when it fails, who owns what, which thread may call it, and
 * whether it can take part in a transaction of yours. Anything not promised
 * here may change.
 *
 * IN FOUR SENTENCES
 *   A producer enqueues a message, alone or inside its own transaction. A
 *   worker claims a batch of due messages under a lease, and settles each:
 *   ack (done), abandon (again later), fail (dead letter) or release (as if
 *   never claimed). The next claim takes back a lease that has run out. So
 *   each committed message is handled at least once: handlers must be
 *   idempotent, or settle in the transaction that holds their effect.
 *
 * RETURN VALUES
 *   A function that can fail returns 0 or a negative ph_status; if reterr is
 *   not NULL, it is filled on failure and cleared on success. A failed call
 *   leaves every ret_ parameter untouched, and changes nothing in the
 *   database unless the error has the flag PH_UNKNOWN.
 *
 * TRANSACTIONS
 *   Every verb takes a ph_tx. PH_OWN_TX: the store uses a connection of its
 *   own, and one transaction that has been committed when the call returns.
 *   ph_tx_pg() (pg.h) or ph_tx_sqlite() (sqlite.h): the call becomes part of
 *   the transaction that is open on your connection; it never begins, commits
 *   or rolls back. The call checks that a transaction is open (else PH_ENOTX)
 *   and healthy (else PH_ETXDEAD) before it touches anything. Schema name and
 *   table prefix are the store's.
 *
 * TIME LIMITS
 *   Every call that can wait takes timeout_ms: 0 means the store's default
 *   (ph_store_opts.timeout_ms), negative is PH_EINVAL. At the limit the call
 *   fails with PH_ETIMEOUT or PH_EBUSY. In your own PostgreSQL transaction it
 *   also cancels the statement, which leaves the transaction dead. In your own
 *   SQLite transaction the busy handler of your connection decides how long
 *   the call waits for a lock.
 *
 * THREADS
 *   The library starts no threads, except those of a dispatcher (dispatcher.h)
 *   that you start. Only one thread at a time may use the connection owned by a
 *   ph_store: a call that finds it in use fails with PH_ESTATE, and so does a
 *   call from a callback (log, join_ended). Open a store for each thread;
 *   stores are independent, even on the same database. A call with a
 *   transaction of yours only reads the store: any number of threads may make
 *   such calls at once, each with a connection of its own (the log callback
 *   must then cope with that).
 *
 * TIMES
 *   int64_t, microseconds since 1970-01-01T00:00:00Z, between the years 1 and
 *   9999. 0 means "not given". All comparisons use the database's clock.
 *
 * TEXT
 *   UTF-8, without NUL. Topics, namespaces and keys compare byte for byte and
 *   hold at most PH_NAME_MAX code points.
 */
#ifndef POSTHORN_H
#define POSTHORN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PH_API __attribute__((visibility("default")))
#define PH_MUST_CHECK __attribute__((warn_unused_result))
#else
#define PH_API
#define PH_MUST_CHECK
#endif

#define PH_VERSION_MAJOR 0
#define PH_VERSION_MINOR 1
#define PH_VERSION_PATCH 0
#define PH_VERSION "0.1.0"

/* Limits. */
#define PH_NAME_MAX 255                    /* code points: topic, namespace, keys, correlation id */
#define PH_PAYLOAD_MAX (64 * 1024 * 1024)  /* bytes; a queue's own limit is 1 MiB unless set */
#define PH_HEADERS_MAX (64 * 1024)         /* bytes of JSON */
#define PH_ERROR_TEXT_MAX 8192             /* bytes kept of an error text; the rest is cut */
#define PH_BATCH_MAX 10000                 /* messages per call */
#define PH_CLAIM_BYTES_MAX (64 * 1024 * 1024) /* payloads and headers of one claim; but at least one
                                                 message, however large */
#define PH_ENQUEUE_BYTES_MAX (128 * 1024 * 1024) /* payloads and headers that one call stores */
#define PH_LEASE_S 30                      /* seconds: the default of every lease_s */
#define PH_LEASE_MAX_S 86400               /* seconds */
#define PH_ATTEMPTS_MAX 30000
#define PH_TIME_MIN (-62135596800000000LL) /* 0001-01-01T00:00:00Z */
#define PH_TIME_MAX 253402300799999999LL   /* 9999-12-31T23:59:59.999999Z */

/* ------------------------------------------------------------------ errors */

#define PH_STATUS_MAP(X)                                                       \
    X(OK, 0, "success")                                                        \
    X(EINVAL, -1, "bad argument")                                              \
    X(ENOTX, -2, "no open transaction on this connection")                     \
    X(ETXDEAD, -3, "the transaction is broken: roll it back")                  \
    X(ENOSCHEMA, -4, "the schema is missing")                                  \
    X(ETOOOLD, -5, "the schema is older than this library needs")              \
    X(ETOONEW, -6, "the schema is newer than this library can use")            \
    X(ECONNECT, -7, "cannot connect to the database")                          \
    X(EAUTH, -8, "the database refused the credentials")                       \
    X(EPERM, -9, "the role lacks a right")                                     \
    X(EBUSY, -10, "the database is locked")                                    \
    X(ETIMEOUT, -11, "the time limit was reached")                             \
    X(ECONFLICT, -12, "the transaction lost to a concurrent one")              \
    X(EREADONLY, -13, "the database is read-only")                             \
    X(EFULL, -14, "the disk is full")                                          \
    X(ENOMEM, -15, "out of memory")                                            \
    X(EUNKNOWN, -16, "the connection was lost: the outcome is unknown")        \
    X(ENOTFOUND, -17, "not found")                                             \
    X(EUNSUPPORTED, -18, "not supported by this build or this database")       \
    X(EDATABASE, -19, "the database reported an error")                        \
    X(ECORRUPT, -20, "the stored data is damaged")                            \
    X(ESTATE, -21, "not possible in the present state")                        \
    X(EEVICTED, -22, "the instance was taken for dead: register anew")

typedef enum {
#define PH_STATUS_ENUM(name, value, text) PH_##name = value,
    PH_STATUS_MAP(PH_STATUS_ENUM)
#undef PH_STATUS_ENUM
        PH_STATUS_FORCE_INT = 0x7fffffff
} ph_status;

/* The flags of an error. */
#define PH_RETRY 1u   /* the same call may succeed later */
#define PH_TX_DEAD 2u /* roll your transaction back first */
#define PH_UNKNOWN 4u /* the connection was lost while the transaction may have been committing:
                         it has happened wholly or not at all */

#define PH_ERROR_MESSAGE_SIZE 246 /* with the final NUL */

/* Caller-owned, nothing to free; its layout is frozen. The message names the
 * cause and, after a semicolon or in a second sentence, the cure. It never
 * holds a payload, a header or a password. */
typedef struct {
    int code;        /* a ph_status */
    int native;      /* the driver's own number, or 0 */
    unsigned flags;  /* PH_RETRY, PH_TX_DEAD, PH_UNKNOWN */
    char sqlstate[6]; /* PostgreSQL's, or "" */
    char message[PH_ERROR_MESSAGE_SIZE];
    unsigned short item;       /* which message of several is wrong, from 1; or 0 */
    unsigned char cause_bytes; /* if there is a cure: the message's length before the cure's text */
    unsigned char cure;        /* a ph_cure; PH_CURE_NONE: the message alone may name one */
} ph_error;

/* Cures for an error or for a finding of the doctor, so that programs need not
 * read sentences. The texts name functions of C; a program for other users puts
 * words of its own after the cause (ph_error_cause()). Columns: name, value,
 * word, text. New cures are only appended. */
#define PH_CURE_MAP(X)                                                         \
    X(NONE, 0, "none", "")                                                     \
    X(MIGRATE, 1, "migrate", "call ph_migrate()")                              \
    X(DEPLOY, 2, "deploy",                                                     \
      "call ph_migrate() or open with deploy_schema, or check the URL, the "   \
      "schema and the table prefix")                                           \
    X(UPGRADE, 3, "upgrade", "upgrade the library")                            \
    X(GRANT, 4, "grant", "grant the role what it needs: see ph_migrate_sql()") \
    X(NEW_OWNER, 5, "new_owner", "make one with ph_owner_new()")               \
    X(REGISTER, 6, "register",                                                 \
      "take a fresh id (ph_owner_new) and register anew")                      \
    X(TIMER_ID, 7, "timer_id", "pass the one from ph_timer_schedule()")        \
    X(JOIN_ID, 8, "join_id", "pass the one from ph_join_start()")              \
    X(MESSAGE_ID, 9, "message_id", "pass the one from ph_enqueue()")           \
    X(LIST_JOBS, 10, "list_jobs", "see ph_job_list()")                         \
    X(RETENTION, 11, "retention",                                              \
      "settle or discard its messages, then call ph_retention_run(), which "   \
      "deletes what its settings do not keep")                                 \
    X(MORE_TIME, 12, "more_time",                                              \
      "allow the call more time, or check the file for foreign objects (see "  \
      "ph_doctor())")                                                          \
    X(TIME_UNIT, 13, "time_unit", "times are microseconds since 1970")         \
    X(BEGIN_IMMEDIATE, 14, "begin_immediate",                                  \
      "use BEGIN IMMEDIATE (and sqlite3_busy_timeout) so that the "            \
      "transaction waits for its turn")                                        \
    X(RENAME, 15, "rename", "give each database an id and keys of its own")    \
    X(WORKERS, 16, "workers",                                                  \
      "start more workers, or resume a paused queue (see ph_queue_list())")    \
    X(SCHEDULER, 17, "scheduler",                                              \
      "run a scheduler (see ph_scheduler_run()), or resume a paused queue "    \
      "(see ph_queue_list())")                                                 \
    X(REAP, 18, "reap",                                                        \
      "a worker has died or hangs; the next claim takes them back, or call "   \
      "ph_outbox_reap_expired()")                                              \
    X(DEAD_LETTERS, 19, "dead_letters", "look at them with ph_outbox_list()")  \
    X(DEAD_HEAD, 20, "dead_head",                                              \
      "look at the head with ph_outbox_find() or ph_inbox_find(), then call "  \
      "ph_dead_retry() or ph_dead_discard(); or let the whole queue go on: "   \
      "ph_queue_set() with PH_DEAD_HEAD_SKIP")                                 \
    X(JOINS, 21, "joins",                                                      \
      "look at them with ph_join_find(); one that hangs can be cancelled")     \
    X(LONG_TRANSACTION, 22, "long_transaction",                                \
      "a long transaction keeps, or kept, SQLite from reusing it: "            \
      "see ph_doctor() with deep; PRAGMA wal_checkpoint(TRUNCATE) shrinks "    \
      "it while nobody else is connected")                                     \
    X(JOURNAL_MODE, 23, "journal_mode",                                        \
      "call ph_migrate(); or PRAGMA journal_mode = WAL, on a local disk")      \
    X(CREATE_FILE, 24, "create_file",                                          \
      "call ph_migrate(), which makes it; or check the path")                  \
    X(HANDLER, 25, "handler",                                                  \
      "start a worker that has a handler for the topic; workers that do not "  \
      "register as instances are not seen here")                               \
    /* The message or the advice says more about these. */                     \
    X(SETTINGS, 26, "settings", "change the setting")                          \
    X(UPDATE, 27, "update", "use a newer version of the database's software")  \
    X(RIGHTS, 28, "rights", "check the rights")                                \
    X(SPACE, 29, "space", "free some space")                                   \
    X(RESTORE, 30, "restore", "restore a backup")                              \
    X(END_TRANSACTION, 31, "end_transaction", "end the transaction")           \
    X(CLOCKS, 32, "clocks", "set the clocks")                                  \
    X(INSTANCES, 33, "instances", "look at the instances")                     \
    X(FOREIGN, 34, "foreign", "remove foreign objects")                        \
    X(MEND, 35, "mend", "look at the rows, and mend them")                     \
    X(PLACE, 36, "place", "move the database, or connect to it directly")      \
    X(CREDENTIALS, 37, "credentials", "check user and password")               \
    X(CONNECTION, 38, "connection",                                            \
      "check the URL, and whether the database can be reached")

typedef enum {
#define PH_CURE_ENUM(name, value, word, text) PH_CURE_##name = value,
    PH_CURE_MAP(PH_CURE_ENUM)
#undef PH_CURE_ENUM
        PH_CURE_FORCE_INT = 0x7fffffff
} ph_cure;

/* Writes the message without the text of its cure, and returns ret_cause. If there
 * is no cure, or the message words it differently, it writes the whole message. */
PH_API const char *ph_error_cause(const ph_error *err, char ret_cause[PH_ERROR_MESSAGE_SIZE]);

/* If the error is about one message of several, the message begins with "message 3: ". Takes
 * that away, sets item to 0, and returns the index, from 0; otherwise returns -1. For programs
 * that call it by another number, such as that of a line. */
PH_API long ph_error_take_item(ph_error *err);

/* A cure as a stable word for programs ("migrate"), and as a text for C
 * programmers. Never NULL. */
PH_API const char *ph_cure_word(ph_cure cure);
PH_API const char *ph_cure_text(ph_cure cure);

/* The short text of a status, never NULL. */
PH_API const char *ph_status_text(int status);

/* The version of the library that is running, such as "0.1.0". */
PH_API const char *ph_version(void);

/* The backends that were built in, such as "sqlite postgresql". */
PH_API const char *ph_backends(void);

/* The schema version that this library installs. */
PH_API int ph_schema_version(void);

/* The doors: a door and a namespace name a queue. Every work id and every stored queue contains
 * the door's number. */
typedef enum { PH_OUTBOX = 0, PH_INBOX = 1, PH_TIMERS = 2, PH_JOB_RUNS = 3 } ph_door;

/* "outbox", "inbox", "timers", "job_runs": its name in SQL and in the command; never NULL. */
PH_API const char *ph_door_text(ph_door door);

/* --------------------------------------------------------------- identifiers */

/* 16 bytes each, in distinct types so that you cannot mix them up. All zero means
 * "none". A work id names one stay of a message in the queue; the message id
 * stays the same when an operator retries a dead message. */
typedef struct { uint8_t b[16]; } ph_work_id;
typedef struct { uint8_t b[16]; } ph_message_id;
typedef struct { uint8_t b[16]; } ph_tenant_id;
typedef struct { uint8_t b[16]; } ph_owner;
typedef struct { uint8_t b[16]; } ph_join_id;

#define PH_ID_TEXT_SIZE 37 /* 36 characters and the final NUL */

/* Writes the 36-character lower-case form of any of the types above (pass its
 * member b) and returns ret_text. */
PH_API const char *ph_id_text(const uint8_t id[16], char ret_text[PH_ID_TEXT_SIZE]);

/* Reads 32 hex digits, with or without hyphens, in either case.
 * Errors: PH_EINVAL. */
PH_API PH_MUST_CHECK int ph_id_parse(const char *text, uint8_t ret_id[16]);

PH_API bool ph_id_is_zero(const uint8_t id[16]);

/* A fresh random owner. Each worker process (or thread) needs one per start. */
PH_API ph_owner ph_owner_new(void);

/* --------------------------------------------------------------------- store */

typedef struct ph_store ph_store;
struct ph__backend;

/* The caller's own open transaction, by value. Make one with ph_tx_pg() or
 * ph_tx_sqlite(); PH_OWN_TX lets the store use a transaction of its own. */
typedef struct {
    const struct ph__backend *backend;
    void *connection;
} ph_tx;

#ifdef __cplusplus
#define PH_OWN_TX (ph_tx())
#else
#define PH_OWN_TX ((ph_tx){ 0, 0 })
#endif

typedef enum {
    PH_LOG_ERROR = 1,
    PH_LOG_WARN = 2,
    PH_LOG_INFO = 3,
    PH_LOG_DEBUG = 4
} ph_log_level;

typedef struct {
    const char *key, *value;
} ph_log_field;

/* One line of log. Everything is borrowed for the duration of the callback. It
 * never holds a payload, a header or a password; only the event "handle" at
 * PH_LOG_ERROR holds the error text of a handler. */
typedef struct {
    ph_log_level level;
    const char *event; /* "enqueue", "claim", "settle", "renew", "reap", "migrate", "connect",
                          "handle", "dispatcher", "join", "join_wait", "timer", "job", … */
    const char *store; /* the store's identifier */
    const ph_log_field *fields;
    size_t field_count;
    const char *text; /* the same as one line; control characters are escaped */
} ph_log_event;

/* Must not call into the same store, and must not throw or jump. */
typedef void (*ph_log_fn)(void *context, const ph_log_event *event);

/* Returns how many milliseconds an abandoned message waits. retry_count includes
 * this abandon (1 at the first), attempts counts the claims. A result above a
 * year is cut to a year; a negative one means the queue's policy. */
typedef int64_t (*ph_backoff_fn)(void *context, int retry_count, int attempts);

/* The state of a join (join.h). */
typedef enum {
    PH_JOIN_ANY = -1,      /* only to ask for joins in any state */
    PH_JOIN_PENDING = 0,
    PH_JOIN_COMPLETED = 1, /* every step is completed */
    PH_JOIN_FAILED = 2,    /* every step has ended, at least one failed; or the deadline has passed */
    PH_JOIN_CANCELLED = 3
} ph_join_state;

/* A join that a call has ended. Many calls can: an ack, a claim that buries an expired message,
 * a cancel. */
typedef struct {
    ph_join_id id;
    ph_join_state state;
    int expected_steps, completed_steps, failed_steps;
    int waits; /* waits that were settled with it */
} ph_join_end;

/* Called once per join, after the call has succeeded; a transaction of yours is
 * not committed yet at that time. join is borrowed. Must not call into the same
 * store, and must not throw or jump. */
typedef void (*ph_join_fn)(void *context, const ph_join_end *join);

typedef enum {
    PH_PREPARED_AUTO = 0, /* use prepared statements, and stop by itself behind a pooler without
                             them */
    PH_PREPARED_OFF = 1
} ph_prepared;

typedef struct {
    size_t size;             /* set by PH_STORE_OPTS_INIT; new members are only appended */
    const char *schema;      /* PostgreSQL schema; NULL: "posthorn" */
    const char *table_prefix; /* NULL: "" on PostgreSQL, "posthorn_" on SQLite */
    const char *store_id;    /* the store's name in the log; NULL: from the URL, without password */
    bool deploy_schema;      /* run the migrations on open; default off: the schema must be there */
    int timeout_ms;          /* the default time limit of each call; 0: 30 000 */
    ph_log_fn log;           /* NULL: silent */
    void *log_context;
    ph_log_level log_level;  /* 0: PH_LOG_INFO */
    ph_backoff_fn backoff;   /* NULL: the queue's policy */
    void *backoff_context;
    ph_prepared prepared;    /* PostgreSQL only */
    ph_join_fn join_ended;   /* NULL: only the log reports them */
    void *join_context;
} ph_store_opts;
#define PH_STORE_OPTS_INIT                                                     \
    { sizeof(ph_store_opts), NULL, NULL, NULL, false, 0, NULL, NULL,           \
      (ph_log_level)0, NULL, NULL, PH_PREPARED_AUTO, NULL, NULL }

/* Opens a store. url:
 *   sqlite:PATH          a file, made if it does not exist and deploy_schema is set
 *   postgresql://…       or postgres://…, libpq's URL with all its parameters (sslmode=verify-full …)
 *   postgresql:KEY=VALUE … libpq's other form
 * Connects and checks the schema, within timeout_ms. schema and table_prefix are
 * at most 40 letters, digits and underscores, and do not begin with a digit;
 * anything else is PH_EINVAL.
 * *ret_store is owned by the caller: ph_close().
 * Errors: PH_EINVAL, PH_EUNSUPPORTED (backend not built in), PH_ECONNECT,
 * PH_EAUTH, PH_ENOSCHEMA, PH_ETOOOLD, PH_ETOONEW, PH_EBUSY, PH_ETIMEOUT … */
PH_API PH_MUST_CHECK int ph_open(const char *url, const ph_store_opts *opts, ph_store **ret_store,
                                 ph_error *reterr);

/* The same, but neither connects nor checks the schema: for a store that you use
 * only inside transactions of yours, or whose database may be down now. The
 * first call that needs a connection makes it. */
PH_API PH_MUST_CHECK int ph_open_lazy(const char *url, const ph_store_opts *opts,
                                      ph_store **ret_store, ph_error *reterr);

/* Closes the connection and frees the store. NULL is fine. Batches from the
 * store stay valid. */
PH_API void ph_close(ph_store *store);

/* The store's name in the log; borrowed from the store. */
PH_API const char *ph_store_id(const ph_store *store);

/* Reads the database's clock. */
PH_API PH_MUST_CHECK int ph_clock(ph_store *store, ph_tx tx, int timeout_ms, int64_t *ret_time,
                                  ph_error *reterr);

/* ---------------------------------------------------------------- migrations */

typedef struct {
    size_t size;         /* set by the caller to sizeof(ph_schema_status) */
    int installed;       /* the schema's version; 0: none */
    int serves_from;     /* the oldest library schema version it still serves */
    int library;         /* the version this library installs */
    bool usable;         /* this library can work with it as it is */
    bool pending;        /* ph_migrate() would change something */
} ph_schema_status;
#define PH_SCHEMA_STATUS_INIT { sizeof(ph_schema_status), 0, 0, 0, false, false }

/* Brings the schema to the version of this library, in one transaction. It is
 * idempotent, and two processes may run it at once. It only goes forward: a
 * newer schema stays as it is, and is PH_ETOONEW if it no longer serves this
 * library. The role needs the right to create objects; on PostgreSQL it must own
 * the schema, and nobody else may create objects there (PH_EPERM).
 * *ret_applied, if not NULL: how many migrations were applied. */
PH_API PH_MUST_CHECK int ph_migrate(ph_store *store, int timeout_ms, int *ret_applied,
                                    ph_error *reterr);

/* Reports the installed schema. A missing one is not an error here. */
PH_API PH_MUST_CHECK int ph_schema_inspect(ph_store *store, int timeout_ms,
                                           ph_schema_status *ret_status, ph_error *reterr);

/* Returns the migrations (or, with roles, the statements that create the roles
 * producer, worker, scheduler and reader and grant them their rights) as text to
 * review and run by hand. The migrations start from an empty schema; ph_migrate()
 * upgrades an older one. The statements for the roles can be run again at any
 * time; the text says how to name the roles. Needs no connection. *ret_sql is
 * owned by the caller: ph_free(). */
PH_API PH_MUST_CHECK int ph_migrate_sql(ph_store *store, bool roles, char **ret_sql,
                                        ph_error *reterr);

/* Frees memory whose description names this function. NULL is fine. */
PH_API void ph_free(void *memory);

/* ------------------------------------------------------------------- enqueue */

#define PH_TEXT_LENGTH ((size_t)-1) /* payload_length: the payload ends with NUL */

/* The order of messages that are due. Use the names: the numbers behind them are for C alone. SQL
 * numbers the levels from 0 (urgent) to 3 (bulk). C refuses SQL's 1, 2 and 3; 0, which a
 * member has until you set it, means normal. */
typedef enum {
    PH_PRIORITY_URGENT = -10,
    PH_PRIORITY_NORMAL = 0, /* the default */
    PH_PRIORITY_LOW = 10,
    PH_PRIORITY_BULK = 20
} ph_priority;

/* "urgent", "normal", "low", "bulk"; never NULL. */
PH_API const char *ph_priority_text(ph_priority priority);

/* A message to enqueue. Zero means default; everything is borrowed. */
typedef struct {
    size_t size;               /* set by PH_MESSAGE_INIT; new members are only appended */
    const char *topic;         /* required, not empty */
    const char *payload;       /* required, may be empty; returned byte for byte */
    size_t payload_length;     /* PH_TEXT_LENGTH (the default of PH_MESSAGE_INIT): strlen(payload) */
    const char *ns;            /* namespace; NULL: "" */
    const ph_tenant_id *tenant_id; /* NULL: none */
    const char *dedupe_key;    /* NULL: none. Unique in (namespace, topic). With a tenant it must
                                  begin with the tenant id in hex, followed by '/' */
    const char *correlation_id; /* NULL or "": none */
    const char *headers;       /* a JSON object, or NULL */
    const ph_message_id *message_id; /* NULL: made by the store */
    ph_priority priority;
    int64_t due_at;            /* 0 or past: at once */
    int64_t expires_at;        /* 0: never; not claimed after that time, but buried as "expired" */
    int max_attempts;          /* 0: as the queue says (10) */
    const ph_join_id *join_id; /* NULL: none. Makes the message a member of the join, as
                                  ph_join_attach() does; a duplicate attaches the message that has
                                  the key */
    const char *stream;        /* NULL: none. Messages of a stream are handled one after the other,
                                  in the order in which their transactions committed
                                  (coordination.h); due time, priority and expiry count once it is
                                  the stream's head */
} ph_message;
#define PH_MESSAGE_INIT                                                        \
    { sizeof(ph_message), NULL, NULL, PH_TEXT_LENGTH, NULL, NULL, NULL, NULL,  \
      NULL, NULL, PH_PRIORITY_NORMAL, 0, 0, 0, NULL, NULL }

typedef struct {
    ph_work_id work_id;
    ph_message_id message_id;
    bool is_new; /* false: the dedupe key was taken, and these are the ids of the message that has
                    it */
} ph_enqueued;

/* Stores a message. It can be claimed once the transaction has committed and
 * its due time has come. A duplicate is an answer (is_new = false), not an
 * error. If another transaction is inserting the same dedupe key, the call
 * waits for it. The first message of a new namespace creates its queue, and
 * waits likewise for another transaction that is creating it.
 * Errors: PH_EINVAL (says which argument; your transaction is not harmed),
 * PH_ECONFLICT (REPEATABLE READ or a deadlock in your transaction), … */
PH_API PH_MUST_CHECK int ph_enqueue(ph_store *store, ph_tx tx, const ph_message *message,
                                    int timeout_ms, ph_enqueued *ret_enqueued, ph_error *reterr);

/* Stores count messages (1 … PH_BATCH_MAX, an array of structs of equal size),
 * all or none, in one transaction and one round trip. ret_enqueued, if not
 * NULL, has room for count. If a key occurs twice among them, the later message
 * is the duplicate. An error names the index of the offending message. All
 * payloads and headers together may have PH_ENQUEUE_BYTES_MAX bytes (beyond that
 * PH_EINVAL: pass fewer messages per call). */
PH_API PH_MUST_CHECK int ph_enqueue_many(ph_store *store, ph_tx tx, const ph_message *messages,
                                         size_t count, int timeout_ms, ph_enqueued *ret_enqueued,
                                         ph_error *reterr);

/* Wakes the dispatchers of a namespace (NULL: ""). Call it after you have
 * committed a transaction of yours with messages in it, so that dispatchers need
 * not wait for their next poll. Enqueueing with PH_OWN_TX does it by itself. At
 * most one call in 5 ms reaches the server; it never waits for anyone. On SQLite
 * the commit itself wakes them, and this function does nothing. */
PH_API PH_MUST_CHECK int ph_doorbell_ring(ph_store *store, const char *ns, int timeout_ms,
                                          ph_error *reterr);

/* --------------------------------------------------------------------- claim */

/* A claimed message. We allocate it; new members are only appended. */
typedef struct {
    ph_work_id work_id;
    ph_message_id message_id;
    int64_t fence;        /* rises with every claim; pass it to systems that can refuse a lower one */
    const char *topic;
    const char *payload;  /* ends with a NUL that is not counted */
    size_t payload_length;
    const char *ns;
    const ph_tenant_id *tenant_id; /* NULL: none */
    const char *dedupe_key;        /* NULL: none */
    const char *correlation_id;    /* NULL: none */
    const char *headers;           /* JSON, or NULL */
    ph_priority priority;
    int attempts;         /* this one included: 1 at the first delivery */
    int retry_count;      /* how often it was abandoned */
    int64_t created_at;
    int64_t due_at;       /* as the producer asked; created_at if it named no time */
    const char *last_error; /* of the last abandon, or NULL */
    const char *job;      /* of a job run: the job's name; otherwise NULL */
    int64_t scheduled_at; /* of a job run: the instant it stands for; otherwise 0 */
    const char *stream;   /* NULL: none */
    int64_t seq;          /* its number in the stream, from 1; 0: no stream */
    const char *source;   /* of an inbox message: the name of its source, … */
    const char *source_id; /* … and its id there; otherwise NULL */
    unsigned flags;       /* PH_WORK_… (coordination.h); 0 unless it comes from
                             ph_process_work_batch() */
} ph_delivery;

typedef struct ph_batch ph_batch;

typedef struct {
    size_t size;             /* set by PH_CLAIM_OPTS_INIT */
    int lease_s;             /* 0: PH_LEASE_S; at most PH_LEASE_MAX_S (10 to 300 recommended) */
    int batch_size;          /* 0: 50; at most PH_BATCH_MAX (1 to 100 recommended) */
    const char *ns;          /* NULL: "" */
    const char *const *topics; /* NULL: all */
    size_t topic_count;
} ph_claim_opts;
#define PH_CLAIM_OPTS_INIT { sizeof(ph_claim_opts), 0, 0, NULL, NULL, 0 }

/* Leases up to batch_size due messages to owner, by priority, then due time,
 * then age; every 16th claim reads the priorities in reverse, so that nothing
 * starves. The claim skips messages leased by others, and does not wait for
 * them. It takes back expired leases (at most 20 per call), and buries messages
 * that have expired or spent their attempts. Messages whose worker died once
 * come in groups of their own, of up to 8; a message that was lost more often
 * comes alone. Payloads and headers of a batch have at most PH_CLAIM_BYTES_MAX
 * bytes together, unless it is a single message; the others stay in the queue
 * untouched. So a short batch does not mean that the queue is empty, nor a full
 * one that there is more.
 * *ret_batch is owned by the caller (ph_batch_free) and may hold no message.
 * In your own transaction: the lease exists once you commit.
 * Errors: PH_EINVAL (no owner, negative or too large numbers), … */
PH_API PH_MUST_CHECK int ph_outbox_claim(ph_store *store, ph_tx tx, ph_owner owner,
                                         const ph_claim_opts *opts, int timeout_ms,
                                         ph_batch **ret_batch, ph_error *reterr);

PH_API size_t ph_batch_count(const ph_batch *batch);
/* Borrowed until ph_batch_free(); NULL if index is out of range. */
PH_API const ph_delivery *ph_batch_at(const ph_batch *batch, size_t index);
/* Frees the batch and every byte of its messages; does not settle. NULL is fine. */
PH_API void ph_batch_free(ph_batch *batch);

/* -------------------------------------------------------------------- settle */

/* The effect of a call on one message. */
#define PH_OUTCOME_MAP(X)                                                      \
    X(UNKNOWN, 0, "unknown")     /* there is no such message */                \
    X(STALE, 1, "stale")         /* not leased by this owner (or under another fence): nothing changed */ \
    X(ACKED, 2, "acked")                                                       \
    X(ABANDONED, 3, "abandoned")                                               \
    X(FAILED, 4, "failed")                                                     \
    X(DEAD, 5, "dead")           /* an abandon that spent the last attempt */  \
    X(RELEASED, 6, "released")                                                 \
    X(RENEWED, 7, "renewed")
typedef enum {
#define PH_OUTCOME_ENUM(name, value, text) PH_OUTCOME_##name = value,
    PH_OUTCOME_MAP(PH_OUTCOME_ENUM)
#undef PH_OUTCOME_ENUM
        PH_OUTCOME_FORCE_INT = 0x7fffffff
} ph_outcome;

/* "acked", "stale", …; never NULL. */
PH_API const char *ph_outcome_text(ph_outcome outcome);

/* Names a leased message. */
typedef struct {
    ph_work_id work_id;
    int64_t fence;   /* 0: any lease of this owner; otherwise exactly that claim */
    int attempts;    /* for ph_store_opts.backoff; 0: not known, the queue's policy decides */
    int retry_count; /* before this abandon */
} ph_lease_ref;

/* The reference of a delivery. */
PH_API ph_lease_ref ph_lease_ref_of(const ph_delivery *delivery);

typedef enum { PH_ACK = 1, PH_ABANDON = 2, PH_FAIL = 3, PH_RELEASE = 4 } ph_settle_verb;

#define PH_DELAY_POLICY ((int64_t)-1)

/* One message, and how to settle it. Zero-initialise, then fill. */
typedef struct {
    ph_lease_ref lease;
    ph_settle_verb verb;
    const char *error;  /* abandon, fail: kept with the attempt; NULL: none. Invalid UTF-8 is
                           replaced, length is cut at PH_ERROR_TEXT_MAX */
    int64_t delay_ms;   /* abandon: due after this time; PH_DELAY_POLICY: by the backoff policy.
                           release: not before this time; 0: due as it was */
} ph_settlement;

/* Settles 1 … PH_BATCH_MAX messages, each in its own way, in one transaction.
 * ret_outcomes, if not NULL, has room for count. An id that is not the
 * caller's (wrong owner, lost lease, settled already, never there) gets
 * PH_OUTCOME_STALE or PH_OUTCOME_UNKNOWN and disturbs nothing; an id given
 * twice gets the outcome of the first. A message can still be settled after its
 * lease has expired, until the lease is taken back.
 *   ack      done; never claimed again. If the same owner repeats it (under the
 *            same fence, if one is given), it gets PH_OUTCOME_ACKED again for as
 *            long as the message is kept; but in a transaction of yours
 *            PH_OUTCOME_STALE, so that you roll back an effect done twice,
 *            before or after the ack.
 *   abandon  counts the attempt and the retry; due again after the backoff. If
 *            attempts have reached the maximum: dead letter.
 *   fail     dead letter at once.
 *   release  as if it had not been claimed: the attempt is refunded; with a
 *            delay the message is deferred.
 * In your own transaction: locks the lease's row until you commit; settle last.
 * Errors: PH_EINVAL (no owner, count, unknown verb, delay below -1), … */
PH_API PH_MUST_CHECK int ph_outbox_settle(ph_store *store, ph_tx tx, ph_owner owner,
                                          const ph_settlement *items, size_t count, int timeout_ms,
                                          ph_outcome *ret_outcomes, ph_error *reterr);

/* Settles 0 … PH_BATCH_MAX messages as ph_outbox_settle(), then claims as
 * ph_outbox_claim(), in one transaction and one round trip: the loop of a
 * worker. claim NULL: it only settles, and leaves *ret_batch alone. */
PH_API PH_MUST_CHECK int ph_outbox_exchange(ph_store *store, ph_tx tx, ph_owner owner,
                                            const ph_settlement *items, size_t count,
                                            const ph_claim_opts *claim, int timeout_ms,
                                            ph_outcome *ret_outcomes, ph_batch **ret_batch,
                                            ph_error *reterr);

/* The same, with one verb for all messages. An empty list (count 0) is fine here. */
PH_API PH_MUST_CHECK int ph_outbox_ack(ph_store *store, ph_tx tx, ph_owner owner,
                                       const ph_lease_ref *items, size_t count, int timeout_ms,
                                       ph_outcome *ret_outcomes, ph_error *reterr);
PH_API PH_MUST_CHECK int ph_outbox_abandon(ph_store *store, ph_tx tx, ph_owner owner,
                                           const ph_lease_ref *items, size_t count,
                                           const char *error, int64_t delay_ms, int timeout_ms,
                                           ph_outcome *ret_outcomes, ph_error *reterr);
PH_API PH_MUST_CHECK int ph_outbox_fail(ph_store *store, ph_tx tx, ph_owner owner,
                                        const ph_lease_ref *items, size_t count, const char *error,
                                        int timeout_ms, ph_outcome *ret_outcomes, ph_error *reterr);
PH_API PH_MUST_CHECK int ph_outbox_release(ph_store *store, ph_tx tx, ph_owner owner,
                                           const ph_lease_ref *items, size_t count, int timeout_ms,
                                           ph_outcome *ret_outcomes, ph_error *reterr);

/* Extends the leases that hold these messages to lease_s seconds from now (0:
 * PH_LEASE_S), never beyond the queue's max_lease_s after the claim. If a lease has
 * reached that cap, or was lost, the outcome is PH_OUTCOME_STALE. Messages claimed
 * in one batch share a lease, so renewing one renews all of them. */
PH_API PH_MUST_CHECK int ph_outbox_renew(ph_store *store, ph_tx tx, ph_owner owner,
                                         const ph_lease_ref *items, size_t count, int lease_s,
                                         int timeout_ms, ph_outcome *ret_outcomes,
                                         ph_error *reterr);

/* Takes back every expired lease: its messages can be claimed again, or are dead
 * if that was their last attempt. Claims do the same by themselves. *ret_count,
 * if not NULL: messages given back or buried. */
PH_API PH_MUST_CHECK int ph_outbox_reap_expired(ph_store *store, ph_tx tx, int timeout_ms,
                                                int64_t *ret_count, ph_error *reterr);

/* ------------------------------------------------------------- look and steer */

typedef enum {
    PH_READY = 0,
    PH_IN_PROGRESS = 1,
    PH_DONE = 2,
    PH_FAILED = 3,
    PH_WAITING = 4, /* a wait for an open join: never handed out by a claim */
    PH_PARKED = 5   /* behind the head of its stream */
} ph_message_state;

/* One past attempt: why the message came back, or ended. */
typedef struct {
    int attempt;        /* the number of the claim, from 1 */
    const char *kind;   /* "abandoned", "failed", "released", "lost" (the lease ran out), "expired" */
    const char *error;  /* NULL: none */
    int64_t at;
    ph_owner owner;
    int64_t next_due_at; /* 0: it ended there */
} ph_attempt;

/* Everything known about a message. We allocate it, and it owns everything it
 * points to; new members are only appended. */
typedef struct {
    const ph_delivery *message; /* fence 0 unless it is leased */
    ph_message_state state;
    int max_attempts;
    int64_t requested_due_at; /* 0: none */
    int64_t expires_at;       /* 0: never */
    int64_t locked_until;     /* 0: not leased */
    ph_owner owner;           /* in progress: its owner; done or failed: the owner that settled it */
    int64_t processed_at;     /* 0: not settled */
    int64_t updated_at;
    int64_t next_attempt_at;  /* ready: when it is due; 0 otherwise */
    const char *dead_reason;  /* "failed", "attempts", "lost", "expired"; NULL: not dead */
    ph_work_id retried_as;    /* zero: not retried */
    const ph_attempt *history;
    size_t history_count;
    ph_join_id waits_for;     /* state PH_WAITING: the join; otherwise zero */
} ph_message_info;

/* Looks a message up by its work id. Errors: PH_ENOTFOUND, … */
PH_API PH_MUST_CHECK int ph_outbox_find(ph_store *store, ph_tx tx, ph_work_id id, int timeout_ms,
                                        ph_message_info **ret_info, ph_error *reterr);
PH_API void ph_message_info_free(ph_message_info *info);

/* How many messages of one queue, or of all queues of a door, are in each state. Timers and job
 * runs, counted likewise, are never parked and never wait for joins; inbox messages never wait. */
typedef struct {
    size_t size;             /* set by PH_QUEUE_COUNTS_INIT; new members are only appended */
    int64_t ready;           /* due now */
    int64_t scheduled;       /* due later */
    int64_t in_progress;
    int64_t dead;            /* not yet retried or discarded */
    int64_t expired_leases;  /* messages whose lease ran out and was not yet taken back */
    int64_t oldest_ready_ms; /* how long the oldest ready message has been due; 0: none */
    int64_t parked;          /* behind the heads of their streams */
    int64_t waiting;         /* waits for joins that are open (join.h) */
} ph_queue_counts;
#define PH_QUEUE_COUNTS_INIT { sizeof(ph_queue_counts), 0, 0, 0, 0, 0, 0, 0, 0 }

/* Counts the outbox of one namespace (NULL: of all). */
PH_API PH_MUST_CHECK int ph_outbox_count(ph_store *store, ph_tx tx, const char *ns, int timeout_ms,
                                         ph_queue_counts *ret_counts, ph_error *reterr);

/* Puts dead messages back into their queue under a new work id, with 0 attempts;
 * the dead row stays, and names the new id. ret_new_ids, if not NULL, has room
 * for count; zero for an id that belongs to no dead message, or to one that was
 * retried before. */
PH_API PH_MUST_CHECK int ph_dead_retry(ph_store *store, ph_tx tx, const ph_work_id *ids,
                                       size_t count, int timeout_ms, ph_work_id *ret_new_ids,
                                       ph_error *reterr);

/* Deletes dead messages for good, with body and history, and leaves others
 * alone. *ret_count, if not NULL: how many were deleted. */
PH_API PH_MUST_CHECK int ph_dead_discard(ph_store *store, ph_tx tx, const ph_work_id *ids,
                                         size_t count, int timeout_ms, int64_t *ret_count,
                                         ph_error *reterr);

typedef enum {
    PH_BACKOFF_KEEP = 0,
    PH_BACKOFF_EXPONENTIAL = 1, /* min(2^retry_count × base, max); default base 1 s, max 60 s */
    PH_BACKOFF_EQUAL_JITTER = 2 /* d = min(base × 2^(attempts-1), max); uniform in [d/2, d];
                                   default base 1 s, max 300 s */
} ph_backoff;

#define PH_FOREVER ((int64_t)-1)

/* How a stream reacts when its head has died. */
typedef enum {
    PH_DEAD_HEAD_KEEP = 0,
    PH_DEAD_HEAD_SKIP = 1, /* it goes on with the next message */
    PH_DEAD_HEAD_BLOCK = 2 /* it stands still until the head is retried or discarded */
} ph_dead_head;

#define PH_NO_GRACE (-1)

/* Settings of a queue, with their defaults. 0 leaves a setting as it is. */
typedef struct {
    size_t size;              /* set by PH_QUEUE_SETTINGS_INIT */
    int max_attempts;         /* 10 */
    ph_backoff backoff;       /* exponential */
    int64_t backoff_base_ms;  /* 1 000; choosing another policy sets its defaults first */
    int64_t backoff_max_ms;   /* 60 000 or 300 000 */
    int64_t retention_s;      /* settled messages: 7 days; PH_FOREVER: keep */
    int64_t dead_retention_s; /* dead messages: PH_FOREVER */
    int64_t dedupe_retention_s; /* dedupe keys, from enqueue on: never shorter than their message; 7
                                   days; of the inbox PH_FOREVER */
    int64_t max_payload_bytes; /* 1 MiB; up to PH_PAYLOAD_MAX */
    int max_lease_s;          /* renewals stretch a lease to this at most; PH_LEASE_MAX_S */
    int delete_on_ack;        /* 1: acked messages are deleted at once; -1: kept (default) */
    const char *join_wait_topic; /* outbox: the topic of waits (join.h); NULL: as it is
                                    ("join.wait") */
    ph_dead_head dead_head;   /* skip; setting it to skip lets blocked streams go on */
    int affinity_grace_ms;    /* how long others leave a stream's head to the instance that owns its
                                 partition: 1 000; at most 3 600 000; PH_NO_GRACE: not at all */
} ph_queue_settings;
#define PH_QUEUE_SETTINGS_INIT                                                 \
    { sizeof(ph_queue_settings), 0, PH_BACKOFF_KEEP, 0, 0, 0, 0, 0, 0, 0, 0, NULL, \
      PH_DEAD_HEAD_KEEP, 0 }

/* Creates the outbox queue of a namespace (NULL: "") if need be, and changes every setting that is
 * not 0. */
PH_API PH_MUST_CHECK int ph_outbox_queue_set(ph_store *store, ph_tx tx, const char *ns,
                                             const ph_queue_settings *settings, int timeout_ms,
                                             ph_error *reterr);
/* A paused queue accepts messages and settlements, but hands out no messages. A
 * queue that does not exist yet is created. */
PH_API PH_MUST_CHECK int ph_outbox_queue_pause(ph_store *store, ph_tx tx, const char *ns,
                                               int timeout_ms, ph_error *reterr);
PH_API PH_MUST_CHECK int ph_outbox_queue_resume(ph_store *store, ph_tx tx, const char *ns,
                                                int timeout_ms, ph_error *reterr);
/* Deletes an empty queue with its settings. Empty means: no message in any state,
 * not even a settled or dead one; no dedupe key; no stream (a consumer's
 * checkpoint keeps its stream); and no job, and no timer or job run that waits,
 * in its namespace, since these would bring messages. The next use of the name
 * makes the queue anew with the defaults, also for the namespace "".
 * *ret_deleted, if not NULL: whether there was such a queue. A message that
 * another transaction is enqueueing at that moment is not lost, whichever
 * commits first: the queue then exists again.
 * Errors: PH_ESTATE (it is not empty; the message names the contents), … */
PH_API PH_MUST_CHECK int ph_outbox_queue_delete(ph_store *store, ph_tx tx, const char *ns,
                                                int timeout_ms, bool *ret_deleted,
                                                ph_error *reterr);

/* Deletes settled messages (and, where set, dead ones and dedupe keys) whose
 * retention is over, at most limit (0: 1 000) of each kind per call; never a
 * pending or leased message. Finished joins are kept for the retention of the
 * outbox queue with the namespace "", open joins for ever. *ret_count, if not
 * NULL: messages and joins deleted; call again while it is not 0. */
PH_API PH_MUST_CHECK int ph_retention_run(ph_store *store, ph_tx tx, int limit, int timeout_ms,
                                          int64_t *ret_count, ph_error *reterr);

#ifdef __cplusplus
}
#endif

#include <posthorn/set.h>
#include <posthorn/dispatcher.h>
#include <posthorn/inspect.h>
#include <posthorn/join.h>
#include <posthorn/schedule.h>
#include <posthorn/inbox.h>
#include <posthorn/coordination.h>

#endif /* POSTHORN_H */
