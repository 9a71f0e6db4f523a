/* receiver.c - the second of two services: a ledger that books what the shop (sender.c) sends.
 *
 * A handler of the inbox runs in a transaction: what it writes (here: a message into the ledger's
 * own outbox; your tables likewise, through ph_work_tx()) and the completion of the inbox message
 * commit together. So each order is booked once, however often it was delivered.
 *
 * usage: receiver LEDGER_URL ORDERS      exits with 0 if so many were booked, each customer's in order */
#include <posthorn/posthorn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUSTOMERS_MAX 10
#define LIMIT_MS 60000

struct ledger {
    int booked;
    int last_order[CUSTOMERS_MAX];
    int disorder;
};

static ph_verdict book(void *context, ph_work *work)
{
    const ph_delivery *order = ph_work_delivery(work);
    ph_message booked = PH_MESSAGE_INIT;
    ph_error err;

    (void)context;
    booked.topic = "ledger.booked";
    booked.payload = order->payload;
    booked.stream = order->stream;
    booked.correlation_id = order->source_id;
    if (ph_enqueue(ph_work_store(work), ph_work_tx(work), &booked, 0, NULL, &err) == 0)
        return PH_VERDICT_DONE;
    ph_work_error(work, err.message);
    return PH_VERDICT_RETRY;
}

static ph_verdict tell(void *context, ph_work *work)
{
    const char *payload = ph_work_delivery(work)->payload;
    struct ledger *ledger = context;
    int customer = 0, order = 0;

    if (sscanf(payload, "customer/%d order %d", &customer, &order) != 2 || customer < 1 ||
        customer >= CUSTOMERS_MAX)
        return PH_VERDICT_FAIL;
    printf("booked: %s\n", payload);
    ledger->booked++;
    ledger->disorder += order != ledger->last_order[customer] + 1;
    ledger->last_order[customer] = order;
    return PH_VERDICT_DONE;
}

static int run(ph_store *store, struct ledger *ledger, ph_error *err)
{
    ph_dispatcher_opts opts = PH_DISPATCHER_OPTS_INIT;
    ph_handler on_order = PH_HANDLER_INIT, on_booked = PH_HANDLER_INIT;
    ph_dispatcher *dispatcher = NULL;
    int r;

    opts.service = "ledger";
    opts.threads = 1; /* so that the count above needs no lock */
    on_order.topic = "order.placed";
    on_order.handle = book;
    on_order.inbox = true;
    on_order.in_transaction = true;
    on_booked.topic = "ledger.booked";
    on_booked.handle = tell;
    on_booked.context = ledger;
    r = ph_dispatcher_new(store, &opts, &dispatcher, err);
    if (r == 0)
        r = ph_dispatcher_handle(dispatcher, &on_order, err);
    if (r == 0)
        r = ph_dispatcher_handle(dispatcher, &on_booked, err);
    if (r == 0)
        r = ph_dispatcher_start(dispatcher, err);
    if (r == 0)
        r = ph_dispatcher_drain(dispatcher, LIMIT_MS, err); /* a service would wait for a signal */
    ph_dispatcher_free(dispatcher);
    return r;
}

int main(int argc, char **argv)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    struct ledger ledger = { 0 };
    ph_store *store = NULL;
    ph_error err = { 0 };
    int r;

    if (argc != 3) {
        fprintf(stderr, "usage: %s LEDGER_URL ORDERS\n", argv[0]);
        return 2;
    }
    opts.deploy_schema = true;
    r = ph_open(argv[1], &opts, &store, &err);
    if (r == 0)
        r = run(store, &ledger, &err);
    if (r < 0)
        fprintf(stderr, "%s\n", err.message);
    ph_close(store);
    printf("%d booked, %d out of order\n", ledger.booked, ledger.disorder);
    return r < 0 || ledger.booked != atoi(argv[2]) || ledger.disorder > 0;
}
