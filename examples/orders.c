/* orders.c - the producer: an order and its messages are one transaction.
 *
 * Each order is a row of the shop's own table and two messages, one for the
 * mailer and one for billing. They are stored together or not at all: the
 * order whose card is refused leaves nothing behind, neither row nor message.
 *
 * usage: orders FILE */
#include <posthorn/sqlite.h>

#include <stdio.h>
#include <stdlib.h>

struct order {
    int id;
    const char *customer;
    int cents;
    bool card_refused;
};

static const struct order orders[] = {
    { 1, "ada", 1999, false },  { 2, "bob", 500, false },   { 3, "carla", 7250, false },
    { 4, "dora", 9900, true },  { 5, "emil", 1250, false }, { 6, "fritz", 4000, false },
    { 7, "gina", 3300, false }, { 8, "hugo", 2100, false },
};

/* Fritz and Hugo have not told us where to write to. */
static const char *const tables =
    "CREATE TABLE IF NOT EXISTS customers (name TEXT PRIMARY KEY, mail TEXT);"
    "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, customer TEXT, cents INTEGER);"
    "CREATE TABLE IF NOT EXISTS ledger (order_id INTEGER, cents INTEGER);"
    "INSERT OR IGNORE INTO customers VALUES ('ada', 'ada@example.org'), ('bob', 'bob@example.org'),"
    " ('carla', 'carla@example.org'), ('dora', 'dora@example.org'), ('emil', 'emil@example.org'),"
    " ('fritz', NULL), ('gina', 'gina@example.org'), ('hugo', NULL);";

static void die(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static void sql(sqlite3 *db, const char *statement)
{
    if (sqlite3_exec(db, statement, NULL, NULL, NULL) != SQLITE_OK)
        die(statement, sqlite3_errmsg(db));
}

static void insert_order(sqlite3 *db, const struct order *order)
{
    sqlite3_stmt *insert;

    if (sqlite3_prepare_v2(db, "INSERT INTO orders VALUES (?, ?, ?)", -1, &insert, NULL) ||
        sqlite3_bind_int(insert, 1, order->id) ||
        sqlite3_bind_text(insert, 2, order->customer, -1, SQLITE_STATIC) ||
        sqlite3_bind_int(insert, 3, order->cents) || sqlite3_step(insert) != SQLITE_DONE)
        die("order", sqlite3_errmsg(db));
    sqlite3_finalize(insert);
}

static void place(ph_store *store, sqlite3 *db, const struct order *order)
{
    ph_message messages[2] = { PH_MESSAGE_INIT, PH_MESSAGE_INIT };
    char payload[100];
    ph_error err;

    snprintf(payload, sizeof(payload), "{\"order\":%d,\"cents\":%d}", order->id, order->cents);
    messages[0].topic = "mail.confirm";
    messages[0].payload = payload;
    messages[0].max_attempts = 3;
    messages[1].topic = "payment.book";
    messages[1].payload = payload;

    sql(db, "BEGIN IMMEDIATE");
    insert_order(db, order);
    if (ph_enqueue_many(store, ph_tx_sqlite(db), messages, 2, 0, NULL, &err) < 0)
        die("enqueue", err.message);
    sql(db, order->card_refused ? "ROLLBACK" : "COMMIT");

    printf("order %d by %s: %s\n", order->id, order->customer,
           order->card_refused ? "card refused, rolled back" : "stored with two messages");
}

int main(int argc, char **argv)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store;
    sqlite3 *db;
    ph_error err;
    char url[4096];

    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 2;
    }
    snprintf(url, sizeof(url), "sqlite:%s", argv[1]);
    opts.deploy_schema = true; /* makes our tables in the shop's file, if they are not there */
    if (ph_open(url, &opts, &store, &err) < 0)
        die(url, err.message);
    if (sqlite3_open(argv[1], &db) != SQLITE_OK)
        die(argv[1], sqlite3_errmsg(db));
    sqlite3_busy_timeout(db, 10000);
    sqlite3_wal_autocheckpoint(db, 0); /* older SQLites: see "version" in posthorn doctor */
    sql(db, tables);

    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
        place(store, db, &orders[i]);

    sqlite3_close(db);
    ph_close(store);
    return 0;
}
