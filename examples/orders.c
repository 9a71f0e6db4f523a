/* orders.c - a shop that sends a message for every order, and never one too few or too many.
 *
 * The order and its message are one SQLite transaction. The worker ships the
 * order and acknowledges the message in one transaction too, so that nothing
 * is shipped twice. One order is rolled back, one shipment works at the second
 * try, one never does. At the end the program compares what it finds with what
 * there should be, and exits with 0 only if all is right.
 *
 * usage: orders FILE   (made anew by ./quickstart) */
#include <posthorn/posthorn.h>
#include <posthorn/sqlite.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ORDERS 8
#define ROLLED_BACK 4 /* the customer's card was refused */
#define RETRIED 3     /* the carrier does not answer the first time */
#define HOPELESS 6    /* there is no such address */

struct shop {
    sqlite3 *db;     /* the application's own connection */
    ph_store *store; /* Posthorn, on the same file */
    ph_owner worker;
    ph_work_id sent[ORDERS + 1]; /* the message of each order */
    int wrong;                   /* checks that failed */
};

static void die(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static void sql(struct shop *shop, const char *statement)
{
    if (sqlite3_exec(shop->db, statement, NULL, NULL, NULL) != SQLITE_OK)
        die(statement, sqlite3_errmsg(shop->db));
}

static long long number(struct shop *shop, const char *query)
{
    sqlite3_stmt *statement;
    long long result;

    if (sqlite3_prepare_v2(shop->db, query, -1, &statement, NULL) != SQLITE_OK ||
        sqlite3_step(statement) != SQLITE_ROW)
        die(query, sqlite3_errmsg(shop->db));
    result = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return result;
}

/* ------------------------------------------------------------- the producer */

static void place_order(struct shop *shop, int id)
{
    ph_message message = PH_MESSAGE_INIT;
    ph_enqueued enqueued;
    ph_error err;
    char text[100];

    sql(shop, "BEGIN IMMEDIATE");
    snprintf(text, sizeof(text), "INSERT INTO orders VALUES (%d, %d)", id, id * 1000);
    sql(shop, text);

    snprintf(text, sizeof(text), "{\"order\":%d,\"cents\":%d}", id, id * 1000);
    message.topic = "order.placed";
    message.payload = text;
    message.max_attempts = 2;
    if (ph_enqueue(shop->store, ph_tx_sqlite(shop->db), &message, 0, &enqueued, &err) < 0)
        die("enqueue", err.message);
    shop->sent[id] = enqueued.work_id;

    sql(shop, id == ROLLED_BACK ? "ROLLBACK" : "COMMIT");
}

/* --------------------------------------------------------------- the worker */

/* Ships in the caller's transaction. Returns NULL, or why it did not work. */
static const char *ship(struct shop *shop, int order, int attempt)
{
    char statement[100];

    if (order == RETRIED && attempt == 1)
        return "the carrier did not answer";
    if (order == HOPELESS)
        return "no such address";
    snprintf(statement, sizeof(statement), "INSERT INTO shipments VALUES (%d)", order);
    sql(shop, statement);
    return NULL;
}

static void handle(struct shop *shop, const ph_delivery *delivery)
{
    ph_lease_ref lease = ph_lease_ref_of(delivery);
    ph_outcome outcome;
    ph_error err;
    const char *error;
    int order = 0, r;

    sscanf(delivery->payload, "{\"order\":%d", &order);
    sql(shop, "BEGIN IMMEDIATE");
    error = ship(shop, order, delivery->attempts);
    if (error)
        r = ph_outbox_abandon(shop->store, ph_tx_sqlite(shop->db), shop->worker, &lease, 1, error,
                              50, 0, &outcome, &err);
    else
        r = ph_outbox_ack(shop->store, ph_tx_sqlite(shop->db), shop->worker, &lease, 1, 0, &outcome,
                          &err);
    if (r < 0)
        die("settle", err.message);
    sql(shop, "COMMIT");
    fprintf(stderr, "  order %d, attempt %d: %s%s%s\n", order, delivery->attempts,
            ph_outcome_text(outcome), error ? ", " : "", error ? error : "");
}

/* Claims and handles until nothing is left to do, for 20 seconds at most. */
static void work(struct shop *shop)
{
    const struct timespec rest = { 0, 10000000 };
    time_t end = time(NULL) + 20;
    ph_outbox_counts counts = PH_OUTBOX_COUNTS_INIT;
    ph_error err;

    do {
        ph_batch *batch;

        if (ph_outbox_claim(shop->store, PH_OWN_TX, shop->worker, NULL, 0, &batch, &err) < 0)
            die("claim", err.message);
        for (size_t i = 0; i < ph_batch_count(batch); i++)
            handle(shop, ph_batch_at(batch, i));
        if (ph_batch_count(batch) == 0)
            nanosleep(&rest, NULL);
        ph_batch_free(batch);
        if (ph_outbox_count(shop->store, PH_OWN_TX, NULL, 0, &counts, &err) < 0)
            die("count", err.message);
    } while (counts.ready + counts.scheduled + counts.in_progress > 0 && time(NULL) < end);
}

/* ------------------------------------------------------------------ the check */

static void check(struct shop *shop, const char *what, long long expected, long long seen)
{
    bool colour = isatty(1) && !getenv("NO_COLOR"), right = expected == seen;

    printf("  %-52s %8lld %8lld  %s%s%s\n", what, expected, seen,
           colour ? (right ? "\x1b[32m" : "\x1b[31m") : "", right ? "✓" : "✗",
           colour ? "\x1b[0m" : "");
    shop->wrong += !right;
}

static ph_message_info *look_up(struct shop *shop, int order)
{
    ph_message_info *info = NULL;
    ph_error err;
    int r = ph_outbox_find(shop->store, PH_OWN_TX, shop->sent[order], 0, &info, &err);

    if (r < 0 && r != PH_ENOTFOUND)
        die("find", err.message);
    return info;
}

static int acked(struct shop *shop)
{
    int count = 0;

    for (int order = 1; order <= ORDERS; order++) {
        ph_message_info *info = look_up(shop, order);

        count += info && info->status == PH_DONE;
        ph_message_info_free(info);
    }
    return count;
}

static void compare(struct shop *shop)
{
    ph_message_info *gone = look_up(shop, ROLLED_BACK), *retried = look_up(shop, RETRIED),
                    *dead = look_up(shop, HOPELESS);

    printf("\n  %-52s %8s %8s\n", "", "expected", "seen");
    check(shop, "orders that were committed", ORDERS - 1,
          number(shop, "SELECT count(*) FROM orders"));
    check(shop, "messages of the order that was rolled back", 0, gone != NULL);
    check(shop, "messages acknowledged", ORDERS - 2, acked(shop));
    check(shop, "orders shipped", ORDERS - 2, number(shop, "SELECT count(*) FROM shipments"));
    check(shop, "orders shipped twice", 0,
          number(shop, "SELECT count(*) - count(DISTINCT order_id) FROM shipments"));
    check(shop, "attempts for the order that needed a second try", 2,
          retried ? retried->message->attempts : -1);
    check(shop, "  times it was given back for later", 1,
          retried ? retried->message->retry_count : -1);
    check(shop, "dead letters: the order without an address", 1, dead && dead->status == PH_FAILED);
    check(shop, "  because its attempts were spent", 1,
          dead && dead->dead_reason && strcmp(dead->dead_reason, "attempts") == 0);
    check(shop, "  attempts in its history", 2, dead ? (long long)dead->history_count : -1);
    ph_message_info_free(gone);
    ph_message_info_free(retried);
    ph_message_info_free(dead);
}

int main(int argc, char **argv)
{
    struct shop shop = { .worker = ph_owner_new() };
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_error err;
    char url[1024];

    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 2;
    }
    snprintf(url, sizeof(url), "sqlite:%s", argv[1]);
    opts.deploy_schema = true;
    if (ph_open(url, &opts, &shop.store, &err) < 0)
        die(url, err.message);
    if (sqlite3_open(argv[1], &shop.db) != SQLITE_OK)
        die(argv[1], sqlite3_errmsg(shop.db));
    sql(&shop, "CREATE TABLE orders (id INTEGER PRIMARY KEY, cents INTEGER NOT NULL);"
               "CREATE TABLE shipments (order_id INTEGER NOT NULL)");

    fprintf(stderr, "placing %d orders, one of which is rolled back\n", ORDERS);
    for (int id = 1; id <= ORDERS; id++)
        place_order(&shop, id);
    fprintf(stderr, "working\n");
    work(&shop);
    compare(&shop);

    sqlite3_close(shop.db);
    ph_close(shop.store);
    printf("\n  %s\n", shop.wrong ? "Something is wrong." : "All as expected.");
    return shop.wrong > 0;
}
