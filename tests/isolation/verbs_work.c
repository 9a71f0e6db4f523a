/* verbs_work.c - the verbs of the inbox, of instances, receptors and checkpoints. */
#include "turn.h"
#include "verbs.h"

#include <stdlib.h>

/* ---------------------------------------------------------------------- inbox */

/* receive NAME… [source= id= topic= stream= handled]: id= is for all of them; otherwise each one's
 * is its name. */
static int verb_receive(struct turn *turn)
{
    const char *words[ITEMS_MAX], *names[ITEMS_MAX], *source = iso_option(turn->command, "source");
    const char *id = iso_option(turn->command, "id"), *topic = iso_option(turn->command, "topic");
    ph_inbox_message messages[ITEMS_MAX];
    ph_received received[ITEMS_MAX];
    size_t all = iso_names_of(turn->command, 1, words), count = 0;
    int r;

    for (size_t i = 0; i < all; i++) {
        if (strcmp(words[i], "handled") == 0)
            continue;
        names[count] = words[i];
        messages[count] = (ph_inbox_message)PH_INBOX_MESSAGE_INIT;
        messages[count].source = source ? source : "source";
        messages[count].source_id = id ? id : words[i];
        messages[count].topic = topic ? topic : "topic";
        messages[count].payload = words[i];
        messages[count].ns = turn->actor->world->ns;
        messages[count].stream = iso_option(turn->command, "stream");
        messages[count++].handled = iso_has_word(turn->command, "handled");
    }
    r = ph_inbox_receive_many(turn->actor->store, turn->tx, messages, count, 0, received,
                              &turn->err);
    for (size_t i = 0; r == 0 && i < count; i++) {
        iso_world_name(turn->actor->world, names[i], received[i].work_id, (ph_message_id){ { 0 } });
        iso_result_add(turn->result, "%s:%s", names[i], received[i].is_new ? "new" : "old");
    }
    return r;
}

/* ------------------------------------------------------------------- instances */

/* The parts of an exchange, of one door: what words with a colon ask for. */
struct exchange {
    const char *settled[ITEMS_MAX], *renewed[ITEMS_MAX], *stored[ITEMS_MAX];
    ph_settlement settle[ITEMS_MAX];
    ph_lease_ref renew[ITEMS_MAX];
    size_t settle_count, renew_count, store_count;
    struct iso_drafts drafts;
};

/* ack:NAME, abandon:NAME, …, renew:NAME, new:NAME */
static void exchange_read(struct turn *turn, ph_owner owner, struct exchange *exchange)
{
    int64_t delay = iso_option_number(turn->command, "delay", 0);

    for (size_t i = 2; i < turn->command->count; i++) {
        const char *word = turn->command->words[i], *colon = strchr(word, ':');

        if (!colon)
            continue;
        if (strncmp(word, "new:", 4) == 0) {
            exchange->stored[exchange->store_count++] = colon + 1;
        } else if (strncmp(word, "renew:", 6) == 0) {
            exchange->renewed[exchange->renew_count] = colon + 1;
            exchange->renew[exchange->renew_count++] = iso_lease_of(turn, owner, colon + 1);
        } else {
            ph_settlement *item = &exchange->settle[exchange->settle_count];

            exchange->settled[exchange->settle_count++] = colon + 1;
            *item = (ph_settlement){ .lease = iso_lease_of(turn, owner, colon + 1),
                                     .verb = iso_settle_verb(word),
                                     .delay_ms = delay * 1000 };
        }
    }
}

static void exchange_tell(struct turn *turn, const struct exchange *exchange,
                          const ph_work_batch_opts *opts, const ph_work_batch *done)
{
    bool inbox = iso_door(turn) == PH_INBOX;
    const char *name = iso_word_at(turn, 1);

    iso_result_add(turn->result, "%s:%s", name, done->registered ? "registered" : "known");
    iso_result_add(turn->result, "evicted=%d", done->evicted);
    iso_outcomes(turn, exchange->settled, inbox ? done->inbox_outcomes : done->outbox_outcomes,
                 exchange->settle_count);
    iso_enqueued(turn, exchange->stored, done->new_outbox, exchange->store_count);
    iso_outcomes(turn, exchange->renewed,
                 inbox ? done->renew_inbox_outcomes : done->renew_outbox_outcomes,
                 exchange->renew_count);
    if (!(opts->flags & PH_BATCH_NO_OUTBOX) || !(opts->flags & PH_BATCH_NO_INBOX))
        iso_claimed(turn, opts->instance_id, inbox ? done->inbox : done->outbox);
}

static void exchange_fill(struct turn *turn, const struct exchange *exchange,
                          ph_work_batch_opts *opts)
{
    bool inbox = iso_door(turn) == PH_INBOX;

    *(inbox ? &opts->inbox : &opts->outbox) = exchange->settle;
    *(inbox ? &opts->inbox_count : &opts->outbox_count) = exchange->settle_count;
    *(inbox ? &opts->renew_inbox : &opts->renew_outbox) = exchange->renew;
    *(inbox ? &opts->renew_inbox_count : &opts->renew_outbox_count) = exchange->renew_count;
    opts->new_outbox = exchange->drafts.messages;
    opts->new_outbox_count = exchange->store_count;
    opts->flags |= inbox ? PH_BATCH_NO_OUTBOX : PH_BATCH_NO_INBOX;
}

/* work INSTANCE N [ack:NAME abandon:NAME fail:NAME release:NAME renew:NAME new:NAME …] [lease=
 * stale= service= delay= stream= streams= door=inbox]: one exchange; N 0: it claims nothing. */
static int verb_work(struct turn *turn)
{
    const char *service = iso_option(turn->command, "service");
    ph_work_batch_opts opts = PH_WORK_BATCH_OPTS_INIT;
    struct exchange exchange = { .settle_count = 0 };
    ph_work_batch *done = NULL;
    int r;

    opts.instance_id = iso_owner(iso_word_at(turn, 1));
    opts.service_name = service ? service : "service";
    opts.host_name = "host";
    opts.ns = turn->actor->world->ns;
    opts.batch_size = (int)strtol(iso_word_at(turn, 2), NULL, 10);
    opts.instance_lease_s = (int)iso_option_number(turn->command, "lease", 30);
    opts.stale_threshold_s = (int)iso_option_number(turn->command, "stale", 60);
    if (opts.batch_size == 0)
        opts.flags = PH_BATCH_NO_OUTBOX | PH_BATCH_NO_INBOX;
    exchange_read(turn, opts.instance_id, &exchange);
    r = iso_drafts_make(turn, exchange.stored, exchange.store_count, &exchange.drafts);
    exchange_fill(turn, &exchange, &opts);
    if (r == 0)
        r = ph_process_work_batch(turn->actor->store, turn->tx, &opts, 0, &done, &turn->err);
    if (r == 0)
        exchange_tell(turn, &exchange, &opts, done);
    ph_work_batch_free(done);
    return r;
}

static int verb_leave(struct turn *turn)
{
    const char *name = iso_word_at(turn, 1);
    bool left = false;
    int r = ph_instance_leave(turn->actor->store, turn->tx, iso_owner(name), 0, &left, &turn->err);

    if (r == 0)
        iso_result_add(turn->result, "%s:%s", name, left ? "left" : "not_left");
    return r;
}

/* ------------------------------------------------------ receptors, checkpoints */

static bool says_failed(struct turn *turn, size_t index)
{
    const char *how = iso_word_at(turn, index);

    CHECK(strcmp(how, "failed") == 0 || strcmp(how, "completed") == 0);
    return strcmp(how, "failed") == 0;
}

/* receptor NAME RECEPTOR completed|failed */
static int verb_receptor(struct turn *turn)
{
    ph_receptor_result result = { .work_id = iso_world_id(turn->actor->world, iso_word_at(turn, 1)),
                                  .receptor = iso_word_at(turn, 2),
                                  .failed = says_failed(turn, 3) };

    result.error = result.failed ? "so it goes" : NULL;
    return ph_receptor_report(turn->actor->store, turn->tx, &result, 1, 0, &turn->err);
}

/* checkpoint STREAM CONSUMER completed|failed SEQ… [door=inbox] */
static int verb_checkpoint(struct turn *turn)
{
    ph_checkpoint_result results[ITEMS_MAX];
    const char *numbers[ITEMS_MAX];
    size_t count = iso_names_of(turn->command, 4, numbers);

    for (size_t i = 0; i < count; i++) {
        results[i] = (ph_checkpoint_result){ .door = iso_door(turn),
                                             .ns = turn->actor->world->ns,
                                             .stream = iso_word_at(turn, 1),
                                             .consumer = iso_word_at(turn, 2),
                                             .seq = strtoll(numbers[i], NULL, 10),
                                             .failed = says_failed(turn, 3) };
        results[i].error = results[i].failed ? "so it goes" : NULL;
    }
    return ph_checkpoint_report(turn->actor->store, turn->tx, results, count, 0, &turn->err);
}

/* rewind STREAM CONSUMER SEQ [door=inbox] */
static int verb_rewind(struct turn *turn)
{
    int64_t old = 0;
    int r = ph_checkpoint_rewind(turn->actor->store, turn->tx, iso_door(turn),
                                 turn->actor->world->ns, iso_word_at(turn, 1), iso_word_at(turn, 2),
                                 strtoll(iso_word_at(turn, 3), NULL, 10), 0, &old, &turn->err);

    if (r == 0)
        iso_result_add(turn->result, "old=%d", (int)old);
    return r;
}

const struct iso_verb iso_work_verbs[] = {
    { "receive", verb_receive },   { "work", verb_work },     { "leave", verb_leave },
    { "receptor", verb_receptor }, { "rewind", verb_rewind }, { "checkpoint", verb_checkpoint },
};
const size_t iso_work_verb_count = sizeof(iso_work_verbs) / sizeof(*iso_work_verbs);
