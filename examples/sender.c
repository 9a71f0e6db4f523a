/* sender.c - the first of two services: a shop that tells a ledger about its orders.
 *
 *     shop: order + outbox message ── carry ──▶ ledger: inbox ── book ──▶ outbox (receiver.c)
 *
 * The orders of one customer are a stream: they are carried one after the other, in the order in
 * which they were placed. Each is delivered twice on purpose, as a network would if an answer got
 * lost: the ledger takes it in once.
 *
 * usage: sender SHOP_URL LEDGER_URL      (sqlite:PATH or postgresql://…; then run receiver) */
#include <posthorn/posthorn.h>
#include <stdio.h>

#define CUSTOMERS 3
#define ORDERS 4 /* each */
#define LIMIT_MS 60000

static int place_orders(ph_store *shop, ph_error *err)
{
    int r = 0;

    for (int i = 0; r == 0 && i < CUSTOMERS * ORDERS; i++) {
        ph_message message = PH_MESSAGE_INIT;
        char stream[32], payload[64];

        snprintf(stream, sizeof(stream), "customer/%d", i % CUSTOMERS + 1);
        snprintf(payload, sizeof(payload), "%s order %d", stream, i / CUSTOMERS + 1);
        message.topic = "order.placed";
        message.payload = payload;
        message.stream = stream;
        r = ph_enqueue(shop, PH_OWN_TX, &message, 0, NULL, err); /* or in the order's transaction */
    }
    return r;
}

/* Here the network is a call; with a broker or a web hook between them nothing else changes: the
 * source and the id travel along. */
static ph_verdict carry(void *context, ph_work *work)
{
    const ph_delivery *order = ph_work_delivery(work);
    ph_inbox_message message = PH_INBOX_MESSAGE_INIT;
    ph_store *ledger = context;
    char id[PH_ID_TEXT_SIZE];
    ph_received received;
    ph_error err;

    message.source = "shop";
    message.source_id = ph_id_text(order->message_id.b, id);
    message.topic = order->topic;
    message.payload = order->payload;
    message.stream = order->stream;
    if (ph_inbox_receive(ledger, PH_OWN_TX, &message, 0, &received, &err) < 0) {
        ph_work_error(work, err.message);
        return PH_VERDICT_RETRY;
    }
    printf("%s: %s\n", order->payload, received.is_new ? "taken in" : "was there already");
    if (received.is_new) {
        ph_work_error(work, "the answer got lost"); /* so the shop must send it again */
        ph_work_delay(work, 0);
        return PH_VERDICT_RETRY;
    }
    return PH_VERDICT_DONE;
}

static int run(ph_store *shop, ph_store *ledger, ph_error *err)
{
    ph_dispatcher_opts opts = PH_DISPATCHER_OPTS_INIT;
    ph_handler handler = PH_HANDLER_INIT;
    ph_dispatcher *dispatcher = NULL;
    int r;

    opts.service = "shop";
    opts.threads = 1; /* a store serves one thread at a time, and all share the ledger's */
    handler.topic = "order.placed";
    handler.handle = carry;
    handler.context = ledger;
    r = ph_dispatcher_new(shop, &opts, &dispatcher, err);
    if (r == 0)
        r = ph_dispatcher_handle(dispatcher, &handler, err);
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
    ph_store *shop = NULL, *ledger = NULL;
    ph_error err = { 0 };
    int r;

    if (argc != 3) {
        fprintf(stderr, "usage: %s SHOP_URL LEDGER_URL\n", argv[0]);
        return 2;
    }
    opts.deploy_schema = true;
    r = ph_open(argv[1], &opts, &shop, &err);
    if (r == 0)
        r = ph_open(argv[2], &opts, &ledger, &err);
    if (r == 0)
        r = place_orders(shop, &err);
    if (r == 0)
        r = run(shop, ledger, &err);
    if (r < 0)
        fprintf(stderr, "%s\n", err.message);
    ph_close(ledger);
    ph_close(shop);
    return r < 0;
}
