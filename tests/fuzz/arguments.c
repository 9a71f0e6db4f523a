#include "arguments.h"

#include <limits.h>
#include <posthorn/pg.h>
#include <posthorn/sqlite.h>

#define POOLS_MAX 40
#define POOL_SIZE 6
#define PIECES_MAX 4096
#define IDS_MAX 64

static struct {
    ph_store *store;
    struct t_conn *conn; /* of the caller's side */
    bool in_transaction;
    const char *url;
    unsigned oddity; /* one of so many arguments is odd */
    ph_error err;
    void *pools[POOLS_MAX][POOL_SIZE];
    void *pieces[PIECES_MAX];
    size_t piece_count;
    const uint8_t *results[16]; /* where ids may come back */
    size_t result_count;
    uint8_t ids[IDS_MAX][16];
    size_t id_count;
    long calls;
} fuzz;

/* ---------------------------------------------------------------------- memory */

void *draw_memory(size_t size)
{
    void *piece = calloc(1, size ? size : 1);

    CHECK(piece && fuzz.piece_count < PIECES_MAX);
    fuzz.pieces[fuzz.piece_count++] = piece;
    return piece;
}

static char *copy_of(const char *text)
{
    size_t length = strlen(text) + 1;

    return memcpy(draw_memory(length), text, length);
}

static void free_pieces(void)
{
    while (fuzz.piece_count > 0)
        free(fuzz.pieces[--fuzz.piece_count]);
    fuzz.result_count = 0;
}

/* --------------------------------------------------------------------- numbers */

unsigned draw(unsigned below)
{
    return t_dice(below);
}

bool odd(void)
{
    return draw(fuzz.oddity) == 0;
}

static int64_t draw_bits(void)
{
    uint64_t bits = (uint64_t)draw(1u << 16) << 48 | (uint64_t)draw(1u << 16) << 32 |
                    (uint64_t)draw(1u << 16) << 16 | draw(1u << 16);

    return (int64_t)(bits >> draw(64));
}

int draw_int(void)
{
    static const int odd_ones[] = { -1,    -2,    INT_MIN, INT_MAX, INT_MAX - 1, 10000,  10001,
                                    30000, 30001, 86400,   86401,   1000000,     1000001 };

    if (!odd())
        return draw(2) ? 0 : (int)draw(20);
    return draw(4) ? odd_ones[draw(sizeof(odd_ones) / sizeof(*odd_ones))] : (int)draw_bits();
}

int64_t draw_int64(void)
{
    static const int64_t odd_ones[] = { -1,
                                        -2,
                                        INT64_MIN,
                                        INT64_MAX,
                                        INT32_MAX,
                                        PH_TIME_MAX,
                                        PH_TIME_MAX + 1,
                                        PH_TIME_MIN,
                                        PH_TIME_MIN - 1 };

    if (!odd())
        return draw(2) ? 0 : (int64_t)draw(100000);
    return draw(4) ? odd_ones[draw(sizeof(odd_ones) / sizeof(*odd_ones))] : draw_bits();
}

size_t draw_size(void)
{
    return odd() ? SIZE_MAX - draw(3) : draw(4);
}

int draw_timeout(void)
{
    return odd() ? -(int)draw(3) - (draw(4) ? 0 : INT_MAX) : draw(2) ? 0 : 50 + (int)draw(500);
}

int draw_choice(void)
{
    return odd() ? draw_int() : (int)draw(5);
}

ph_priority draw_priority(void)
{
    static const ph_priority all[] = { PH_PRIORITY_URGENT, PH_PRIORITY_NORMAL, PH_PRIORITY_LOW,
                                       PH_PRIORITY_BULK };

    return odd() ? (ph_priority)draw_int() : all[draw(4)];
}

/* ----------------------------------------------------------------------- texts */

#define CHOOSE(list) list[draw(sizeof(list) / sizeof(*(list)))]

static const char *draw_strange(void)
{
    static const char *const strange[] = {
        "",         " ",        "\xff\xfe",     "\xe2\x80\xae",
        "\x01\x1f", "\xc0\x80", "\xed\xa0\x80", "'; DROP TABLE message; --",
        "%s%n%s",   "{schema}", "\"",           "\\",
        "a/b",      "\n"
    };
    static const unsigned lengths[] = { 255, 256, 300, 8192, 8193, 70000 };
    unsigned length;
    char *text;

    if (draw(3))
        return copy_of(CHOOSE(strange));
    length = CHOOSE(lengths);
    text = draw_memory(length + 1);
    memset(text, 'a' + (int)draw(26), length);
    return text;
}

static const char *draw_url(void)
{
    static const char *const urls[] = {
        "sqlite:",       "sqlite::memory:", "postgresql://127.0.0.1:1/x",
        "postgresql:",   "http://x",        "postgres://a:b@c:d/e",
        "postgresql://["
    };
    char url[400];

    if (draw(3) == 0)
        return copy_of(fuzz.url);
    snprintf(url, sizeof(url), "sqlite:%s/%u.db", t_dir(), draw(3));
    return copy_of(draw(2) ? url : CHOOSE(urls));
}

static const char *draw_path(void)
{
    static const char *const paths[] = { "", "/", "/nowhere/at/all", "/dev/null", "/etc/passwd" };

    return copy_of(draw(2) ? t_dir() : CHOOSE(paths));
}

static const char *draw_named(const char *name)
{
    static const char *const crons[] = { "* * * * *",       "0 3 * * *",    "@daily",
                                         "*/5 1-4 * * mon", "60 * * * *",   "* * 31 2 *",
                                         "1-0 * * * *",     "* * * * * * *" };
    static const char *const zones[] = { "UTC", "Europe/Berlin", "Mars/Base", "../etc/passwd",
                                         "/etc/passwd" };
    static const char *const jsons[] = { "{}",   "{\"a\":1}", "[]",
                                         "{",    "null",      "{\"a\":{\"b\":[1,2e400]}}",
                                         "\"x\"" };
    static const char *const queries[] = { "SELECT 'a', 'sqlite::memory:'", "SELECT 1; SELECT 2",
                                           "DELETE FROM x", "(" };
    static const char *const names[] = { "a", "orders", "b", "\xc3\xa4" };

    if (strcmp(name, "url") == 0)
        return draw_url();
    if (strcmp(name, "path") == 0)
        return draw_path();
    if (strcmp(name, "cron") == 0)
        return copy_of(CHOOSE(crons));
    if (strcmp(name, "timezone") == 0)
        return copy_of(CHOOSE(zones));
    if (strcmp(name, "headers") == 0 || strcmp(name, "metadata") == 0)
        return copy_of(CHOOSE(jsons));
    if (strcmp(name, "sql") == 0)
        return copy_of(CHOOSE(queries));
    return copy_of(CHOOSE(names));
}

static bool is_required(const char *name)
{
    static const char *const required[] = { "topic",    "payload",      "cron",   "name",
                                            "source",   "source_id",    "stream", "receptor",
                                            "consumer", "service_name", "url",    "id",
                                            "key",      "text" };

    for (size_t i = 0; i < sizeof(required) / sizeof(*required); i++) {
        if (strcmp(name, required[i]) == 0)
            return true;
    }
    return false;
}

const char *draw_text(const char *name)
{
    if (odd())
        return draw(3) ? draw_strange() : NULL;
    return is_required(name) || draw(4) == 0 ? draw_named(name) : NULL;
}

const char *const *draw_texts(size_t *ret_count)
{
    size_t filled;
    const char **texts;

    if (draw(2)) {
        *ret_count = 0;
        return NULL;
    }
    texts = draw_array(sizeof(*texts), ret_count, &filled);
    for (size_t i = 0; i < filled; i++)
        texts[i] = draw_text("topic");
    return texts;
}

size_t draw_length(const char *payload)
{
    if (odd())
        return SIZE_MAX - draw(3) - (draw(2) ? 0 : SIZE_MAX / 2);
    return draw(2) || !payload ? PH_TEXT_LENGTH : draw((unsigned)strlen(payload) + 1);
}

/* ------------------------------------------------------------- structs and arrays */

size_t draw_struct_size(size_t right, bool wrong)
{
    if (!wrong)
        return right;
    switch (draw(6)) {
    case 0:
        return 0;
    case 1:
        return right - 1 - draw((unsigned)right - 1);
    case 2:
        return right + 8 * (1 + draw(8)); /* there is room for that */
    case 3:
        return SIZE_MAX - draw(64);
    case 4:
        return right * 1000000;
    default:
        return (size_t)draw_bits() | (size_t)1 << 40;
    }
}

/* As many as are announced, unless so many are announced that nobody may look at them. */
void *draw_array(size_t element, size_t *ret_count, size_t *ret_filled)
{
    *ret_count = *ret_filled = draw(4);
    if (odd() && draw(2)) {
        *ret_filled = 0;
        return NULL;
    }
    if (odd())
        *ret_count = draw(2) ? SIZE_MAX - draw(3) : PH_BATCH_MAX + 1 + draw(100);
    return draw_memory(element * *ret_filled);
}

void *draw_room_for(size_t count, size_t size)
{
    void *room;

    if (count > PH_BATCH_MAX || count == 0)
        count = 1; /* one result has room, even where there are none */
    room = draw(8) ? draw_memory(count * size) : NULL;
    if (room && count * size >= 16 && fuzz.result_count < 16)
        fuzz.results[fuzz.result_count++] = room;
    return room;
}

void *draw_sized(size_t size)
{
    size_t *room = odd() ? NULL : draw_memory(size + 64);

    if (room)
        *room = draw_struct_size(size, odd());
    return room;
}

size_t draw_room(size_t *count)
{
    *count = draw(10);
    return *count;
}

void *draw_bytes(size_t size)
{
    return draw_memory(size);
}

void *draw_result(void *place)
{
    return odd() ? NULL : place;
}

ph_error *draw_err(void)
{
    memset(&fuzz.err, 0x55, sizeof(fuzz.err));
    return draw(4) ? &fuzz.err : NULL;
}

/* ---------------------------------------------------------------------- handles */

void *look(int pool)
{
    return odd() ? NULL : fuzz.pools[pool][draw(POOL_SIZE)];
}

void *take(int pool)
{
    unsigned i = draw(POOL_SIZE);
    void *handle = fuzz.pools[pool][i];

    fuzz.pools[pool][i] = NULL;
    return handle;
}

void keep(int pool, void *handle)
{
    unsigned i = draw(POOL_SIZE);

    CHECK(pool < POOLS_MAX);
    if (!handle)
        return;
    if (fuzz_is_borrowed(pool) && fuzz.pools[pool][i]) {
        fuzz_free(pool, handle);
        return;
    }
    fuzz_free(pool, fuzz.pools[pool][i]);
    fuzz.pools[pool][i] = handle;
}

void forget(int pool, void *handle)
{
    (void)pool;
    (void)handle;
}

static void free_borrowed(void)
{
    for (int k = 0; fuzz_end[k] >= 0; k++) {
        for (int i = 0; i < POOL_SIZE; i++) {
            fuzz_free(fuzz_end[k], fuzz.pools[fuzz_end[k]][i]);
            fuzz.pools[fuzz_end[k]][i] = NULL;
        }
    }
}

/* Ids of messages that are there, of anything that came back, and of nothing. */
void draw_id(uint8_t id[16])
{
    memset(id, 0, 16);
    if (odd())
        return;
    if (fuzz.id_count > 0 && draw(5)) {
        memcpy(id, fuzz.ids[draw((unsigned)(fuzz.id_count < IDS_MAX ? fuzz.id_count : IDS_MAX))],
               16);
        return;
    }
    for (int i = 0; i < 16; i++)
        id[i] = (uint8_t)draw(256);
}

static void remember(const uint8_t *id)
{
    if (!ph_id_is_zero(id))
        memcpy(fuzz.ids[fuzz.id_count++ % IDS_MAX], id, 16);
}

ph_store *draw_store(void)
{
    ph_store *other = draw(8) ? NULL : look(fuzz_pool_of_stores);

    return odd() ? NULL : other ? other : fuzz.store;
}

ph_tx draw_tx(void)
{
    ph_tx ours = t_tx(fuzz.conn), theirs = t_is_pg() ? ph_tx_sqlite(NULL) : ph_tx_pg(NULL);

    if (odd()) {
        switch (draw(4)) {
        case 0:
            return (ph_tx){ ours.backend, NULL };
        case 1:
            return (ph_tx){ NULL, ours.connection };
        case 2:
            return (ph_tx){ theirs.backend, ours.connection };
        default:
            return ours; /* no transaction is open */
        }
    }
    if (draw(4))
        return PH_OWN_TX;
    t_begin(fuzz.conn);
    fuzz.in_transaction = true;
    return ours;
}

/* -------------------------------------------------------------------- callbacks */

static void on_log(void *context, const ph_log_event *event)
{
    (void)context;
    CHECK(event->text && strlen(event->text) > 0);
}

static void on_join(void *context, const ph_join_end *join)
{
    (void)context;
    CHECK(join->state != PH_JOIN_PENDING);
}

static int64_t on_backoff(void *context, int retry_count, int attempts)
{
    (void)context;
    (void)retry_count;
    (void)attempts;
    return draw_int64();
}

static int on_discover(void *context, ph_found *found, ph_error *err)
{
    ph_database database = PH_DATABASE_INIT;

    (void)context;
    database.id = draw_text("id");
    database.url = draw_text("url");
    database.key = draw_text("key");
    return ph_found_add(found, odd() ? NULL : &database, err) == PH_ENOMEM ? PH_ENOMEM : 0;
}

static ph_verdict on_work(void *context, ph_work *work)
{
    (void)context;
    (void)work;
    return PH_VERDICT_DONE;
}

ph_handler_fn draw_ph_handler_fn(void)
{
    return odd() ? NULL : on_work;
}

ph_log_fn draw_ph_log_fn(void)
{
    return draw(2) ? NULL : on_log;
}

ph_join_fn draw_ph_join_fn(void)
{
    return draw(2) ? NULL : on_join;
}

ph_backoff_fn draw_ph_backoff_fn(void)
{
    return draw(2) ? NULL : on_backoff;
}

ph_discover_fn draw_ph_discover_fn(void)
{
    return odd() ? NULL : on_discover;
}

ph_select_fn draw_ph_select_fn(void)
{
    return NULL;
}

/* ------------------------------------------------------------------------ a call */

void check_status(const char *name, int status, const ph_error *err)
{
    if (status > 0 || strcmp(ph_status_text(status), "no such status") == 0 ||
        status == PH_EDATABASE || status == PH_ECORRUPT) {
        fprintf(stderr, "%s: status %d: %s\n", name, status, err ? err->message : "");
        FAIL("a status that no argument may cause");
    }
    if (err && status < 0) {
        CHECK_INT(err->code, status);
        CHECK(memchr(err->message, '\0', sizeof(err->message)) && err->message[0]);
    }
    for (size_t i = 0; status == 0 && i < fuzz.result_count; i++)
        remember(fuzz.results[i]);
}

void check_number(const char *name, int number, const ph_error *err)
{
    (void)err;
    if (number < -1)
        fprintf(stderr, "%s: %d\n", name, number);
    CHECK(number >= -1);
}

void fuzz_begin(ph_store *store, struct t_conn *conn, const char *url, uint64_t seed)
{
    fuzz.store = store;
    fuzz.conn = conn;
    fuzz.url = url;
    fuzz.oddity = 20;
    t_dice_seed(seed);
}

void fuzz_one(void)
{
    static const unsigned oddities[] = { 3, 10, 50, 500 };
    size_t count = 0;

    while (fuzz_calls[count].name)
        count++;
    fuzz.oddity = CHOOSE(oddities);
    fuzz_calls[draw((unsigned)count)].call();
    if (fuzz.in_transaction && draw(2) && t_try_sql(fuzz.conn, "COMMIT"))
        fuzz.in_transaction = false;
    if (fuzz.in_transaction)
        (void)t_try_sql(fuzz.conn, "ROLLBACK"); /* it may have been rolled back already */
    fuzz.in_transaction = false;
    free_pieces();
    if (++fuzz.calls % 100 == 0)
        free_borrowed();
}

void fuzz_over(void)
{
    free_borrowed();
    for (int pool = 0; pool < POOLS_MAX; pool++) {
        for (int i = 0; i < POOL_SIZE; i++)
            fuzz_free(pool, fuzz.pools[pool][i]);
    }
    memset(&fuzz, 0, sizeof(fuzz));
}
