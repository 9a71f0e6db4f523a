/* harness.h - what every test program shares: registration, assertions that
 * name requirements, a fresh store per test on the backend under test, raw
 * connections for the caller's side, and the fake clock.
 *
 * A test is a function; each runs in a process of its own with a time limit:
 *
 *     TEST(empty_topic_is_refused)
 *     {
 *         ph_store *store = t_open(NULL);
 *         ...
 *         REQ("OBX-004", r == PH_EINVAL);
 *         CHECK_STR(err.message, "topic is empty; it is required");
 *     }
 *
 * REQ is a CHECK that also records that the requirement was put to the test on
 * this backend: tests/requirements.tsv lists them all, and ./test fails if one
 * of a finished issue was never executed. */
#ifndef T_HARNESS_H
#define T_HARNESS_H

#include <posthorn/posthorn.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------- registration */

typedef void (*t_function)(void);
void t_register(const char *file, const char *name, t_function function);

#define TEST(name)                                                                                 \
    static void name(void);                                                                        \
    __attribute__((constructor)) static void t_register_##name(void)                               \
    {                                                                                              \
        t_register(__FILE__, #name, name);                                                         \
    }                                                                                              \
    static void name(void)

/* This test needs more (or less) than the usual 120 seconds. */
void t_limit(int seconds);
/* True in a long run (./test --soak): do more rounds. */
bool t_soak(void);

/* ---------------------------------------------------------------- assertions
 * A failed one prints file, line, both values, and ends the test. */

void t_check(const char *file, int line, const char *requirement, const char *text, bool ok);
void t_check_int(const char *file, int line, const char *requirement, const char *text,
                 long long got, long long want);
void t_check_str(const char *file, int line, const char *requirement, const char *text,
                 const char *got, const char *want); /* NULL equals NULL */

#define CHECK(cond) t_check(__FILE__, __LINE__, NULL, #cond, (cond))
/* What must not be reached was reached. */
#define FAIL(why) t_check(__FILE__, __LINE__, NULL, why, false)
#define CHECK_INT(got, want)                                                                       \
    t_check_int(__FILE__, __LINE__, NULL, #got " == " #want, (long long)(got), (long long)(want))
#define CHECK_STR(got, want) t_check_str(__FILE__, __LINE__, NULL, #got, (got), (want))
/* requirements: one id, or several separated by blanks: "OBX-027 OBX-028". */
#define REQ(requirements, cond) t_check(__FILE__, __LINE__, requirements, #cond, (cond))
#define REQ_INT(requirements, got, want)                                                           \
    t_check_int(__FILE__, __LINE__, requirements, #got " == " #want, (long long)(got),             \
                (long long)(want))
#define REQ_STR(requirements, got, want)                                                           \
    t_check_str(__FILE__, __LINE__, requirements, #got, (got), (want))

/* An options struct for one call: T_OPTS(ph_queue_list_opts, .door = PH_INBOX). */
#define T_OPTS(type, ...) (&(type){ .size = sizeof(type), __VA_ARGS__ })

/* The call must succeed; prints err on failure. err is the ph_error of the call. */
#define OK(call)                                                                                   \
    do {                                                                                           \
        int t_r = (call);                                                                          \
        if (t_r < 0)                                                                               \
            t_not_ok(__FILE__, __LINE__, #call, t_r);                                              \
    } while (0)
void t_not_ok(const char *file, int line, const char *text, int status);
/* The ph_error that tests pass to calls; OK prints it. */
extern ph_error t_err;

/* Ends the test as skipped, with the reason; counted and printed. */
void t_skip(const char *reason) __attribute__((noreturn));
/* The test does not concern this backend: ends it, and it is not counted at all. */
void t_not_here(const char *reason) __attribute__((noreturn));

/* ------------------------------------------------------------------ backends */

/* "sqlite" or "postgresql": the backend under test (unit tests: ""). */
const char *t_backend(void);
bool t_is_pg(void);

/* The URL of this test's own empty database (a file in the test's folder, or a
 * database of the private server), and the schema that is this test's own: an empty one, unless
 * t_open has come first, which on PostgreSQL takes one that is migrated already (schemas.c). */
const char *t_url(void);
const char *t_schema(void);
/* The test's own temporary folder. */
const char *t_dir(void);

/* The URL of another empty database, removed after the test: for what cannot
 * share one, such as roles, settings of a database or a second store. Valid
 * until the end of the test. */
const char *t_fresh_database(void);

/* PostgreSQL only, and only under ./test: the URL of the same database over TCP
 * with TLS, at the host name "localhost" of the server's certificate, as the
 * superuser t_tcp whose password is checked. It has a '?' and the authority's
 * certificate (sslrootcert), so that "&sslmode=verify-full" and others can be
 * appended. NULL if there is none. */
const char *t_tcp_url(void);
#define T_TCP_PASSWORD "correct horse"

/* Opens a store with a deployed schema. opts NULL: defaults. t_open may be
 * called several times: further stores on the same database. Stores are
 * closed at the end of the test unless the test does (with ph_close). */
ph_store *t_open(const ph_store_opts *opts);
/* Opens with everything given; returns what ph_open returns. */
int t_try_open(const char *url, const ph_store_opts *opts, ph_store **ret_store);

/* Closes all stores and connections of the test; from here on t_url, t_schema,
 * t_open and t_connect mean another, empty place. For tests that are loops. */
void t_start_over(void);

/* ------------------------------------------- the caller's side of the database */

struct t_conn; /* a raw connection: libpq or sqlite3 */
struct t_conn *t_connect(void);
void t_disconnect(struct t_conn *conn);
/* The same to another database (a URL as ph_open takes it). */
struct t_conn *t_connect_to(const char *url);
/* Statements on this connection mean this schema instead of the test's own (PostgreSQL). */
void t_conn_schema(struct t_conn *conn, const char *schema);
/* Is it one to PostgreSQL? Not only where that is the backend under test. */
bool t_conn_is_pg(const struct t_conn *conn);
/* Runs statements. {t} stands for schema and prefix in front of a table's name, {schema} for the
 * quoted schema ("main" on SQLite), {p} for the prefix: "SELECT count(*) FROM {t}pending". Fails the
 * test on error. */
void t_sql(struct t_conn *conn, const char *sql);
/* The same, but returns false on error. */
bool t_try_sql(struct t_conn *conn, const char *sql);
/* What the database said about the last failed t_try_sql. */
const char *t_sql_error(struct t_conn *conn);
/* The first column of the first row as text, "" if NULL or none. Valid for the next few calls. */
const char *t_value(struct t_conn *conn, const char *sql);
long long t_number(struct t_conn *conn, const char *sql);
/* BEGIN (IMMEDIATE), COMMIT, ROLLBACK. */
void t_begin(struct t_conn *conn);
void t_commit(struct t_conn *conn);
void t_rollback(struct t_conn *conn);
ph_tx t_tx(struct t_conn *conn);
void *t_native(struct t_conn *conn); /* PGconn * or sqlite3 * */

/* ---------------------------------------------------------------- the clock */

#define T_EPOCH INT64_C(1700000000000000) /* where the fake clock starts, in microseconds */
#define T_SECOND INT64_C(1000000)
/* From t_clock_set on the store's database uses the fake clock. */
void t_clock_set(ph_store *store, int64_t time_us);
void t_clock_advance(ph_store *store, int64_t by_us);
int64_t t_clock(ph_store *store);

/* ------------------------------------------------------------------- chance */

/* The seed of a random run: the environment's variable, or another one each time. Says which. */
uint64_t t_seed(const char *variable);
/* From here on this process's numbers are those of this seed; further threads have numbers of their
 * own, which follow from it. */
void t_dice_seed(uint64_t seed);
/* A number below sides. */
unsigned t_dice(unsigned sides);
/* For programs that are about processes and real time; tests wait for what must come. */
void t_nap_ms(unsigned ms);
double t_now_s(void); /* monotonic */

/* ----------------------------------------------------------------- shorthands */

/* Enqueues one message; fails the test on error. */
ph_enqueued t_enqueue(ph_store *store, const char *topic, const char *payload);
/* Claims up to n with a lease of 30 s. */
ph_batch *t_claim(ph_store *store, ph_owner owner, int n);
/* Acks every message of the batch and frees it; returns how many were acked. */
size_t t_ack_all(ph_store *store, ph_owner owner, ph_batch *batch);
/* The view's row of a message, one column as text ("" if NULL or no such row). */
const char *t_view(struct t_conn *conn, ph_work_id id, const char *column);
/* Every message is in exactly one of pending, lease, done, dead and join_wait, or is parked in a
 * stream, and every row there has a message. Includes t_check_streams. */
void t_check_places(struct t_conn *conn);
/* Numbers, order and tokens of every stream are as docs/states.md says. */
void t_check_streams(struct t_conn *conn);
/* The counters of every join are what its steps show, it is complete if all have ended, and nothing
 * waits for one that has ended. */
void t_check_joins(struct t_conn *conn);

#endif
