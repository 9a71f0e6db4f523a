/* billing.c - an effect that happens exactly once, even if the worker is killed in the middle.
 *
 * The handler runs in a transaction that commits together with the
 * acknowledgement. The booking is stored and the message is done, or neither:
 * a worker that dies in between leaves no booking, and after its lease has run
 * out another one gets the message.
 *
 * usage: billing FILE [PAUSE_MS]   PAUSE_MS: wait so long between booking and commit */
#include "service.h"

#include <posthorn/sqlite.h>
#include <stdio.h>
#include <stdlib.h>

static ph_verdict book(void *context, ph_work *work)
{
    const ph_delivery *message = ph_work_delivery(work);
    sqlite3 *db = ph_tx_sqlite_connection(ph_work_tx(work));
    const int *pause_ms = context;
    sqlite3_stmt *insert = NULL;
    int order = 0, cents = 0, r;

    if (sscanf(message->payload, "{\"order\":%d,\"cents\":%d", &order, &cents) != 2) {
        ph_work_error(work, "the payload is no payment");
        return PH_VERDICT_FAIL;
    }
    r = sqlite3_prepare_v2(db, "INSERT INTO ledger VALUES (?, ?)", -1, &insert, NULL);
    if (r == SQLITE_OK)
        r = sqlite3_bind_int(insert, 1, order);
    if (r == SQLITE_OK)
        r = sqlite3_bind_int(insert, 2, cents);
    if (r == SQLITE_OK)
        r = sqlite3_step(insert);
    if (r != SQLITE_DONE)
        ph_work_error(work, sqlite3_errmsg(db));
    sqlite3_finalize(insert);
    if (r != SQLITE_DONE)
        return PH_VERDICT_RETRY;

    printf("order %d, attempt %d: %d cents booked, not yet committed\n", order, message->attempts,
           cents);
    if (*pause_ms > 0 && ph_work_wait(work, *pause_ms))
        return PH_VERDICT_RETRY; /* told to stop: rolled back */
    return PH_VERDICT_DONE;
}

int main(int argc, char **argv)
{
    ph_dispatcher_opts opts = PH_DISPATCHER_OPTS_INIT;
    ph_handler handler = PH_HANDLER_INIT;
    int pause_ms = argc == 3 ? atoi(argv[2]) : 0;

    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: %s FILE [PAUSE_MS]\n", argv[0]);
        return 2;
    }
    opts.threads = 1; /* SQLite has one writer at a time */
    opts.lease_s = 2; /* how long the others wait if this process dies */
    handler.topic = "payment.book";
    handler.handle = book;
    handler.context = &pause_ms;
    handler.in_transaction = true;
    return serve(argv[1], &opts, &handler, 1);
}
