"""The twelve lines of the README, as a program; tests/meta runs its SQL and its commands."""
from examples import Workshop, blocks
from runner import temporary_folder

BEFORE = """
#include <posthorn/sqlite.h>
#include <stdio.h>
"""

# The second order has a message that is refused: it must leave no row.
AFTER = r"""
int main(void)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_message message = PH_MESSAGE_INIT, refused = PH_MESSAGE_INIT;
    ph_handler handler = PH_HANDLER_INIT;
    ph_dispatcher *dispatcher = NULL;
    ph_store *store = NULL;
    sqlite3_stmt *count = NULL;
    sqlite3 *db = NULL;
    ph_error err = { 0 };

    opts.deploy_schema = true;
    message.topic = handler.topic = "order.placed";
    message.payload = "{\"order\":1}";
    handler.handle = on_order;
    int failed = ph_open("sqlite:shop.db", &opts, &store, &err) || sqlite3_open("shop.db", &db) ||
                 sqlite3_exec(db, "CREATE TABLE orders (cents INTEGER)", 0, 0, 0) ||
                 place_order(store, db, &message, &err) ||
                 !place_order(store, db, &refused, &err) || sqlite3_exec(db, "ROLLBACK", 0, 0, 0) ||
                 ph_dispatcher_new(store, NULL, &dispatcher, &err) ||
                 ph_dispatcher_handle(dispatcher, &handler, &err) ||
                 ph_dispatcher_start(dispatcher, &err) ||
                 ph_dispatcher_drain(dispatcher, 60000, &err) ||
                 sqlite3_prepare_v2(db, "SELECT count(*) FROM orders", -1, &count, NULL) ||
                 sqlite3_step(count) != SQLITE_ROW;
    printf(failed ? "failed: %s\n" : "orders: %s\n",
           failed ? err.message : (const char *)sqlite3_column_text(count, 0));
    sqlite3_finalize(count);
    ph_dispatcher_free(dispatcher);
    sqlite3_close(db);
    ph_close(store);
    return failed;
}
"""


def test_an_order_and_its_message_are_stored_together_and_handled():
    with temporary_folder() as folder:
        shop = Workshop(folder)
        printed = shop.run(shop.compile(BEFORE + blocks("README.md", "c")[0] + AFTER, "shop"))
    assert printed.splitlines() == ['shipping {"order":1}', "orders: 1"], printed
