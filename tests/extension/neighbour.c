/* neighbour.c - a program in C that works on the same file as those who use the extension.
 *
 * usage: neighbour FILE enqueue TOPIC PAYLOAD    stores a message
 *        neighbour FILE drain                    prints and acks what is due */
#include <posthorn/posthorn.h>

#include <stdio.h>
#include <string.h>

static int fail(const ph_error *err)
{
    fprintf(stderr, "%s\n", err->message);
    return 1;
}

static int enqueue(ph_store *store, const char *topic, const char *payload)
{
    ph_message message = PH_MESSAGE_INIT;
    ph_error err;

    message.topic = topic;
    message.payload = payload;
    return ph_enqueue(store, PH_OWN_TX, &message, 0, NULL, &err) < 0 ? fail(&err) : 0;
}

static int drain(ph_store *store)
{
    ph_owner owner = ph_owner_new();
    ph_batch *batch;
    ph_error err;
    int failed = 0;

    if (ph_outbox_claim(store, PH_OWN_TX, owner, NULL, 0, &batch, &err) < 0)
        return fail(&err);
    for (size_t i = 0; i < ph_batch_count(batch) && !failed; i++) {
        const ph_delivery *message = ph_batch_at(batch, i);
        ph_lease_ref lease = ph_lease_ref_of(message);

        printf("%s %s\n", message->topic, message->payload);
        failed = ph_outbox_ack(store, PH_OWN_TX, owner, &lease, 1, 0, NULL, &err) < 0 && fail(&err);
    }
    ph_batch_free(batch);
    return failed;
}

int main(int argc, char **argv)
{
    char url[600];
    ph_store *store;
    ph_error err;
    int failed;

    if (argc < 3)
        return 2;
    snprintf(url, sizeof(url), "sqlite:%s", argv[1]);
    if (ph_open(url, NULL, &store, &err) < 0)
        return fail(&err);
    failed = argc == 5 && strcmp(argv[2], "enqueue") == 0 ? enqueue(store, argv[3], argv[4])
                                                          : drain(store);
    ph_close(store);
    return failed;
}
