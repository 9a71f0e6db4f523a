/* pg.h - shared by the files of the PostgreSQL backend. */
#ifndef PH_STORE_POSTGRES_PG_H
#define PH_STORE_POSTGRES_PG_H

#include "store/postgres/statement_enum.h" /* made of sql/calls.sql: PG_ENQUEUE, PG_CLAIM, … */
#include "store/store.h"
#include "util/buffer.h"

#include <libpq-fe.h>

/* --------------------------------------------------------------- statements */

/* Replaces {schema}, {s} and {p} in a text; NULL when memory is out. Freed by
 * ph__dealloc. */
char *ph__pg_substitute(const ph_store *store, const char *text);

/* -------------------------------------------------------------- parameters */

#define PH__PG_PARAMS 17 /* of PG_ENQUEUE */

enum ph__pg_oid {
    PG_ROW = 0, /* of a type of ours: the server sees from the statement which */
    PG_BOOL = 16,
    PG_INT8 = 20,
    PG_INT2 = 21,
    PG_INT4 = 23,
    PG_TEXT = 25,
    PG_BOOLS = 1000,
    PG_INT2S = 1005,
    PG_TEXTS = 1009,
    PG_INT8S = 1016,
    PG_TIME = 1184,
    PG_TIMES = 1185,
    PG_UUID = 2950,
    PG_UUIDS = 2951,
    PG_JSONB = 3802,
    PG_JSONBS = 3807
};

/* Binary parameters. Fixed-size values and arrays live in data; long texts are
 * borrowed, but not in a row. Each _add/_begin appends the next parameter. */
struct ph__pg_params {
    int count;
    unsigned types[PH__PG_PARAMS];
    const char *borrowed[PH__PG_PARAMS]; /* NULL: at offset, or null */
    size_t offset[PH__PG_PARAMS];
    int length[PH__PG_PARAMS]; /* -1: null */
    size_t items;              /* that the open array still lacks */
    bool in_row;
    uint32_t columns; /* of the open row, so far */
    size_t column_at; /* where the value of the last one begins */
    struct ph__buffer data;
};

void ph__pg_add_null(struct ph__pg_params *params, enum ph__pg_oid type);
void ph__pg_add_bool(struct ph__pg_params *params, bool value);
void ph__pg_add_int2(struct ph__pg_params *params, int value);
void ph__pg_add_int4(struct ph__pg_params *params, int value);
void ph__pg_add_int8(struct ph__pg_params *params, int64_t value);
void ph__pg_add_uuid(struct ph__pg_params *params, const uint8_t *id); /* NULL: null */
void ph__pg_add_time(struct ph__pg_params *params, int64_t time);      /* 0: null */
void ph__pg_add_text(struct ph__pg_params *params, const char *text);  /* NULL: null */
void ph__pg_add_bytes(struct ph__pg_params *params, const char *bytes, size_t length);
/* A field of a binary result as it is; borrowed. */
void ph__pg_add_field(struct ph__pg_params *params, enum ph__pg_oid type, const PGresult *result,
                      int row, int column);
void ph__pg_add_jsonb(struct ph__pg_params *params, const char *json); /* NULL: null */

/* An array: begin, then its elements, then end. */
void ph__pg_array_begin(struct ph__pg_params *params, enum ph__pg_oid array,
                        enum ph__pg_oid element, size_t count);
void ph__pg_item_null(struct ph__pg_params *params);
void ph__pg_item_bool(struct ph__pg_params *params, bool value);
void ph__pg_item_int2(struct ph__pg_params *params, int value);
void ph__pg_item_int8(struct ph__pg_params *params, int64_t value);
void ph__pg_item_uuid(struct ph__pg_params *params, const uint8_t *id);
void ph__pg_item_time(struct ph__pg_params *params, int64_t time);
void ph__pg_item_bytes(struct ph__pg_params *params, const char *bytes, size_t length);
void ph__pg_item_text(struct ph__pg_params *params, const char *text);
void ph__pg_item_jsonb(struct ph__pg_params *params, const char *json);
void ph__pg_array_end(struct ph__pg_params *params);
/* A row of a composite type: what is added between these two are its columns, not parameters. */
void ph__pg_row_begin(struct ph__pg_params *params);
void ph__pg_row_end(struct ph__pg_params *params);
/* A whole one of a type: item appends element i. */
#define PH__PG_ARRAY(params, type, count, item)                                                    \
    do {                                                                                           \
        ph__pg_array_begin(params, PG_##type##S, PG_##type, count);                                \
        for (size_t i = 0; i < (count); i++)                                                       \
            item;                                                                                  \
        ph__pg_array_end(params);                                                                  \
    } while (0)

void ph__pg_params_free(struct ph__pg_params *params);

/* ------------------------------------------------------------------- results
 * Fields of a binary result. A null reads as 0, false, or NULL. */

int64_t ph__pg_int(const PGresult *result, int row, int column); /* int2, int4, int8, bool */
int64_t ph__pg_time(const PGresult *result, int row, int column);
const uint8_t *ph__pg_uuid(const PGresult *result, int row, int column);
/* A copy in the arena; *failed is set when memory is out. */
const char *ph__pg_text(struct ph__arena *arena, const PGresult *result, int row, int column,
                        bool *failed);
/* False if it is null. */
bool ph__pg_id(const PGresult *result, int row, int column, uint8_t ret_id[16]);
/* Reads a row into an item, which is all zero. False when memory is out. */
typedef bool ph__pg_row_read(struct ph__arena *arena, const PGresult *result, int row, void *item);
/* Reads all rows from the first one wanted on. ret_items: the address of a pointer to items of a
 * size, which live in the arena. */
bool ph__pg_read_rows(struct ph__arena *arena, const PGresult *result, int first,
                      ph__pg_row_read *read, size_t size, void *ret_items, size_t *ret_count);
/* Element index of an int2[] without nulls; -1 if it has none such. */
int ph__pg_int2_at(const PGresult *result, int row, int column, size_t index);
/* The same of a uuid[], NULL if it has none such, and of a bool[], false. */
const uint8_t *ph__pg_uuid_at(const PGresult *result, int row, int column, size_t index);
bool ph__pg_bool_at(const PGresult *result, int row, int column, size_t index);

/* --------------------------------------------------------------- connection */

/* Where a claimer's last full batches began, so that the next claim need not walk over rows that it
 * has taken already (sql/functions/work_claim.sql). */
struct ph__pg_bounds {
    uint64_t key;                 /* a hash of namespace and topics; 0: none */
    int64_t from_due[PH__LEVELS]; /* 0: from the start */
    ph_work_id from_id[PH__LEVELS];
    int64_t whole_look_next_ms; /* CLOCK_MONOTONIC */
};

/* Are we woken by this connection? */
enum ph__pg_doorbell { PG_DOORBELL_UNKNOWN, PG_DOORBELL_LISTENING, PG_DOORBELL_NONE };

struct ph__pg_own {
    PGconn *conn; /* NULL: not connected */
    /* Of the URL: where we are connected, of how many (0: see hosts.c), and where the next try to
     * connect begins. */
    size_t host, host_count, next_host;
    bool to_read;            /* the URL asks for a server that need not be written */
    bool writable;           /* it takes writes, even if it reported otherwise */
    ph__deadline stay_until; /* on a read-only server: until the others are tried again */
    bool ended;              /* the server has announced the end of the session */
    bool lent;               /* a handler has had this connection */
    enum ph__pg_doorbell doorbell;
    bool ringing;             /* a ring was sent, and its answer has not been read */
    bool mute;                /* the server refuses rings: none are sent along with enqueues */
    ph__deadline quiet_until; /* no ring before that */
    struct ph__buffer owed;   /* namespaces to ring for when a lent transaction has committed */
    bool schema_checked;
    bool has_test_clock; /* installed through this store */
    bool use_prepared;
    bool prepared[PG_STATEMENTS];
    char *texts[PG_STATEMENTS]; /* with the store's names in them; NULL until needed */
    struct ph__pg_bounds bounds[PH_JOB_RUNS + 1]; /* by door */
};

bool ph__pg_matches(const char *url);
int ph__pg_check_url(const char *url, ph_error *err);
char *ph__pg_describe(const char *url);
/* May libpq's reading of it be shown? */
bool ph__pg_may_show(const char *url);
/* libpq wants its URL as it is, and KEY=VALUE words without our prefix. */
const char *ph__pg_conninfo(const char *url);

/* ---------------------------------------------------------------- connection */

/* One address to connect to. NULL: as the URL says, or as libpq does. */
struct ph__pg_place {
    const char *host, *address, *port;
    const char *attrs; /* target_session_attrs */
    ph__deadline until;
};

#define PH__PG_ADDRESS_SIZE 80 /* in digits, with a zone */

/* The places of a URL, in order; see hosts.c. */
struct ph__pg_walk {
    PQconninfoOption *options;             /* libpq's reading of the URL; lists are cut up */
    const char *hosts, *addresses, *ports; /* lists; NULL: none */
    size_t host_count, port_count;         /* no hosts: one place, as libpq does it */
    const char *default_port, *attrs;
    size_t *order;                      /* of the hosts */
    size_t tried, total;                /* hosts */
    bool has_spare;                     /* one that is read-only is kept for the end */
    int timeout_ms;                     /* connect_timeout; 0: none */
    ph__deadline until;                 /* of this host */
    char (*found)[PH__PG_ADDRESS_SIZE]; /* addresses of this host's name */
    size_t found_count, found_used;
};

/* Begins with that host of the URL, and the others after it. */
int ph__pg_walk_begin(struct ph__pg_walk *walk, const char *url, size_t first, ph_error *err);
/* 1: here is the next one. 0: all were tried, or the time is over. Negative: the next host cannot
 * be tried, go on. */
int ph__pg_walk_next(struct ph__pg_walk *walk, ph__deadline deadline, struct ph__pg_place *ret,
                     ph_error *err);
/* The place in the URL of the host that the last place belongs to, and of the one after it. */
size_t ph__pg_walk_at(const struct ph__pg_walk *walk);
size_t ph__pg_walk_after(const struct ph__pg_walk *walk);
void ph__pg_walk_end(struct ph__pg_walk *walk);

/* Connects to one of the URL's hosts, a writable one if there is one and others are not asked
 * for. */
int ph__pg_dial(struct ph__call *call, struct ph__pg_own *own);
/* Does the server say that it takes no writes? Costs no round trip; servers before PostgreSQL 14
 * do not tell. */
bool ph__pg_is_read_only(const PGconn *conn);

void ph__pg_drop(struct ph__pg_own *own); /* closes the connection, keeps the rest */
/* The same, and the next try to connect begins with the URL's next host. */
void ph__pg_leave(struct ph__pg_own *own);
void ph__pg_tune(struct ph__pg_own *own); /* libpq's side of the connection as we want it */
/* Reads the messages that the server has sent unasked; false if it has ended the session. */
bool ph__pg_hear(struct ph__pg_own *own);
int ph__pg_check_tx(void *connection, ph_error *err);

/* ---------------------------------------------------------------- execution */

/* May a call be repeated when the connection was lost and its outcome is unknown? */
enum ph__pg_repeat { PG_ONCE, PG_REPEATABLE, PG_READS };

/* Runs a statement in the caller's transaction, or in one of its own (then
 * with retries after serialization failures and, where it is safe, after a
 * lost connection). *ret_result is freed with PQclear. */
int ph__pg_run(struct ph__call *call, enum ph__pg_statement statement,
               const struct ph__pg_params *params, enum ph__pg_repeat repeat,
               PGresult **ret_result);

/* The same for a statement that answers a row; frees the parameters in any case. */
int ph__pg_run_row(struct ph__call *call, enum ph__pg_statement statement,
                   struct ph__pg_params *params, enum ph__pg_repeat repeat, PGresult **ret_result);
/* … for one that answers a number. */
int ph__pg_run_number(struct ph__call *call, enum ph__pg_statement statement,
                      struct ph__pg_params *params, enum ph__pg_repeat repeat, int64_t *ret_number);
/* … for one that answers a list, which is read as by ph__pg_read_rows(). */
int ph__pg_run_list(struct ph__call *call, enum ph__pg_statement statement,
                    struct ph__pg_params *params, ph__pg_row_read *read, struct ph__arena *arena,
                    size_t size, void *ret_items, size_t *ret_count);
/* Into a list { arena, items, count }. */
#define PH__PG_RUN_LIST(call, statement, params, read, list)                                       \
    ph__pg_run_list(call, statement, params, read, &(list)->arena, sizeof(*(list)->items),         \
                    &(list)->items, &(list)->count)
/* An answer has another form than was expected. */
int ph__pg_misfit(struct ph__call *call);

/* Before a write on the store's own connection: leaves a server that takes none, as far as it is
 * known, for another. PH_EREADONLY: there is none. */
int ph__pg_seek_writable(struct ph__call *call, bool check_schema);

/* Runs SQL text without parameters on a connection; several statements in one
 * text are one transaction. */
int ph__pg_run_text(struct ph__call *call, PGconn *conn, const char *sql, PGresult **ret_result);

/* The same for a text that begins with COMMIT or ROLLBACK: *ret_first is the answer to that. If
 * only the rest of the text fails, that is no failure, but *ret_clean is false. */
int ph__pg_run_ending(struct ph__call *call, PGconn *conn, const char *sql, PGresult **ret_first,
                      bool *ret_clean);

/* Sends a statement on the store's own connection and does not wait. Its answer must be
 * read by ph__pg_collect before the connection is used again. False if it was lost. */
bool ph__pg_send(struct ph__call *call, enum ph__pg_statement statement,
                 const struct ph__pg_params *params);
/* Reads to the end of the answer. *result becomes the last result, which is the
 * one that counts, or an error before it; NULL if the connection was lost
 * without one. PH_ETIMEOUT at the deadline: then it holds the part that has come, for another
 * call. */
int ph__pg_collect(PGconn *conn, ph__deadline deadline, PGresult **result);

/* Waits for the answer to a sent statement, and reads all of it. Asks the server to stop at the
 * time limit. */
int ph__pg_await(struct ph__call *call, PGconn *conn, PGresult **ret_result);

/* Sends the rest of the buffered data and reads until a whole result is there. */
int ph__pg_wait_result(PGconn *conn, ph__deadline deadline);

/* Waits until socket is ready (POLLIN, POLLOUT); PH_ETIMEOUT at the deadline. */
int ph__pg_wait(int socket, short events, ph__deadline deadline);

/* ------------------------------------------------------------------- errors */

int ph__pg_fail_connect(const PGconn *conn, bool *ret_telling, ph_error *err);
/* The connection was lost before the answer to a statement that must not be repeated. */
int ph__pg_fail_unknown(ph_error *err);
/* result may be NULL: the connection was lost. */
int ph__pg_fail(const PGconn *conn, const PGresult *result, ph_error *err);

/* -------------------------------------------------------------------- verbs */

#define PH__VERB(type, name, arguments) type ph__pg_##name arguments;
#include "store/verbs.def"

int ph__pg_check_schema(struct ph__call *call);

/* A work_messages; n 0: null. */
void ph__pg_add_messages(struct ph__pg_params *params, const struct ph__message *messages,
                         size_t n);
/* The outcomes of work_enqueue_many in the first row: work ids, message ids, are they new? */
int ph__pg_read_enqueued(struct ph__call *call, const PGresult *result, int column, size_t count,
                         ph_enqueued *ret_enqueued);
/* All of a call travels in one protocol message, which cannot exceed 1 GiB. */
int ph__pg_check_volume(const struct ph__message *messages, size_t count, ph_error *err);
/* Why messages were not stored: because of that at the index, in words, or by its join. */
struct ph__pg_message_problem {
    size_t at;
    const char *words;
    int join_problem;       /* enum ph__join_problem; 0: none */
    const uint8_t *message; /* of the join's problem; NULL: none */
};
int ph__pg_message_problem(struct ph__call *call, const struct ph__message *messages, size_t count,
                           const struct ph__pg_message_problem *problem);
/* Settlements, if there are any, and a claim of the same owner. */
int ph__pg_exchange(struct ph__call *call, const struct ph__work_part *part);
/* A claim as a part of a statement: begin adds its parameters, end reads its rows, from first to
 * before last, which may tell of joins only. */
struct ph__pg_claiming {
    const struct ph__claim *claim;
    struct ph__pg_bounds *bounds; /* NULL: not on the store's own connection */
    bool bounded;
    int64_t started_ms;
};
void ph__pg_claiming_begin(struct ph__pg_claiming *claiming, struct ph__call *call,
                           const struct ph__claim *claim, struct ph__pg_params *params);
int ph__pg_claiming_end(struct ph__pg_claiming *claiming, struct ph__call *call,
                        const PGresult *result, int first, int last, ph_batch *batch);
/* The columns that a claim and a lookup have in common, of one row. */
void ph__pg_read_delivery(struct ph__arena *arena, const PGresult *result, int row, ph_delivery *to,
                          bool *failed);
/* After that, from this column on: stream, seq, source. */
void ph__pg_read_origin(struct ph__arena *arena, const PGresult *result, int row, int column,
                        ph_delivery *to, bool *failed);
/* The parameters of settlements after door and owner. */
void ph__pg_add_settlements(struct ph__pg_params *params, const ph_settlement *items, size_t count);
/* Is an ack of a message that this owner has acked before answered with acked? In a transaction of
 * the caller's it is stale: the transaction may write the effect of the message, before or after,
 * for the second time. */
void ph__pg_add_again(struct ph__pg_params *params, const struct ph__call *call);
/* The parameters of leases: work ids, then fences. */
void ph__pg_add_leases(struct ph__pg_params *params, const ph_lease_ref *items, size_t count);
/* The outcomes in the first row. */
int ph__pg_read_outcomes(struct ph__call *call, const PGresult *result, int column, size_t count,
                         ph_outcome *ret_outcomes);

/* Quotes nothing: the schema's name is allow-listed. */
#define PH__PG_CHANNEL_SIZE 64
void ph__pg_channel(const ph_store *store, char ret_name[PH__PG_CHANNEL_SIZE]);
/* After our own enqueue: rings where a dispatcher may wait, without waiting for the server. */
void ph__pg_ring_after(struct ph__call *call, const struct ph__message *messages, size_t count,
                       const ph_enqueued *enqueued);
/* The same for the namespaces in a field, a text[]; null: none. */
void ph__pg_ring_these(struct ph__call *call, const PGresult *result, int row, int column);
/* After an enqueue in a lent transaction: remembers to ring. Then, with the end of it: does so if
 * it was committed, and forgets. */
void ph__pg_ring_owe(struct ph__pg_own *own, const struct ph__message *messages, size_t count,
                     const ph_enqueued *enqueued);
void ph__pg_ring_owed(struct ph__call *call, bool committed);
/* The same two in one, for a list of namespaces, each with its NUL. */
void ph__pg_ring_list(struct ph__call *call, const struct ph__buffer *list);
/* After a work batch: for the messages that it has stored, at once or when the lent transaction is
 * committed. */
void ph__pg_ring_parts(struct ph__call *call, const struct ph__work_part *outbox,
                       const struct ph__work_part *inbox);
/* Reads the answer of a ring that was sent; false if the connection is lost. */
bool ph__pg_ring_end(struct ph__pg_own *own, ph__deadline deadline);

/* One row of a look-up or a list; false when memory is out. */
bool ph__pg_read_info(struct ph__arena *arena, const PGresult *result, int row, void *info);

/* Adds a call's report of joins that ended (sql/functions/work_join_fire.sql) to call->ends, and
 * rings where messages were sent. A null says nothing. */
int ph__pg_read_joins(struct ph__call *call, const PGresult *result, int row, int column);

/* The parameters of results. */
void ph__pg_add_receptors(struct ph__pg_params *params, const ph_receptor_result *results,
                          size_t count);
void ph__pg_add_checkpoints(struct ph__pg_params *params, const struct ph__checkpoint *results,
                            size_t count);

#endif
