/* reminder.c - a message for later, at most one per order.
 *
 * The due time is on the database's clock, the only one that counts. The
 * dedupe key makes the second request for the same reminder an answer, not a
 * second message.
 *
 * usage: reminder FILE ORDER SECONDS */
#include <posthorn/posthorn.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    ph_message message = PH_MESSAGE_INIT;
    ph_enqueued enqueued = { 0 };
    ph_store *store = NULL;
    ph_error err = { 0 };
    char url[4096], payload[100], key[100], id[PH_ID_TEXT_SIZE];
    int64_t now = 0;
    int r;

    if (argc != 4) {
        fprintf(stderr, "usage: %s FILE ORDER SECONDS\n", argv[0]);
        return 2;
    }
    snprintf(url, sizeof(url), "sqlite:%s", argv[1]);
    snprintf(payload, sizeof(payload), "{\"order\":%d}", atoi(argv[2]));
    snprintf(key, sizeof(key), "reminder/%d", atoi(argv[2]));
    message.topic = "mail.remind";
    message.payload = payload;
    message.dedupe_key = key;

    r = ph_open(url, NULL, &store, &err);
    if (r == 0)
        r = ph_clock(store, PH_OWN_TX, 0, &now, &err);
    message.due_at = now + atoi(argv[3]) * INT64_C(1000000);
    if (r == 0)
        r = ph_enqueue(store, PH_OWN_TX, &message, 0, &enqueued, &err);
    if (r < 0)
        fprintf(stderr, "%s: %s\n", url, err.message);
    else
        printf("%s %s\n", ph_id_text(enqueued.work_id.b, id),
               enqueued.is_new ? "is scheduled" : "was scheduled before");
    ph_close(store);
    return r < 0;
}
