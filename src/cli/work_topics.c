/* work_topics.c - topics without any message: typing errors? */
#include "door.h"
#include "frame.h"
#include "work.h"

#include <string.h>

#define LOOK_AT 1000 /* the newest messages, whose topics may have been meant */

void work_topic_seen(struct work *work, const char *topic)
{
    for (size_t i = 0; i < work->cli->rest_at; i++)
        if (strcmp(work->cli->operands[i], topic) == 0)
            atomic_store(&work->seen[i], true);
}

/* topic NULL: the newest messages of all topics. Returns NULL if the store does not answer. */
static ph_messages *messages_of(struct cli *cli, ph_store *store, const char *topic)
{
    ph_message_list_opts opts = PH_MESSAGE_LIST_OPTS_INIT;
    ph_messages *list = NULL;
    const char *ns = cli_text(cli, "namespace");

    opts.ns = ns ? ns : "";
    opts.topic = topic;
    opts.limit = topic ? 1 : LOOK_AT;
    return cli_door(cli)->list(store, PH_OWN_TX, &opts, cli->timeout_ms, &list, &cli->err) < 0
               ? NULL
               : list;
}

/* Topics of which no message was seen, and what was found out about them. */
struct unseen {
    const char *topic, *near; /* near: what may have been meant, or NULL */
    bool used;
};

struct look {
    struct unseen *topics;
    size_t count;
};

static const char *meant(struct cli *cli, ph_store *store, const char *topic)
{
    ph_messages *list = messages_of(cli, store, NULL);
    size_t count = list ? ph_messages_count(list) : 0;
    const char **topics = cli_alloc(cli, (count + 1) * sizeof(*topics)), *near;

    for (size_t i = 0; i < count; i++)
        topics[i] = ph_messages_at(list, i)->message->topic;
    near = cli_word_near(topic, topics, count);
    near = near ? cli_strdup(cli, near) : NULL;
    ph_messages_free(list);
    return near;
}

/* false: the store does not answer, or work is to end. */
static bool look_into(struct cli *cli, ph_store *store, struct look *look)
{
    for (size_t i = 0; i < look->count; i++) {
        struct unseen *unseen = &look->topics[i];
        ph_messages *list;

        if (unseen->used)
            continue;
        list = work_stop_is_due() ? NULL : messages_of(cli, store, unseen->topic);
        if (!list)
            return false;
        unseen->used = ph_messages_count(list) > 0;
        ph_messages_free(list);
        if (!unseen->used && !unseen->near)
            unseen->near = meant(cli, store, unseen->topic);
    }
    return true;
}

static bool look_at_one(struct cli *cli, struct look *look)
{
    ph_store *store = NULL;
    bool known =
        cli_open_another(cli, CLI_OPEN_LAZY, &store) == CLI_OK && look_into(cli, store, look);

    ph_close(store);
    return known;
}

/* A topic is used if any store of the set has it: so all must answer. */
static bool look_at_set(struct cli *cli, struct look *look)
{
    const ph_databases *list = NULL;
    bool known = cli_stores_list(cli, &list) == CLI_OK;

    for (size_t i = 0; known && i < ph_databases_count(list); i++) {
        cli_stores_use(cli, ph_databases_at(list, i));
        cli->place = cli->database->id;
        known = look_at_one(cli, look);
        cli->place = NULL;
        cli->database = NULL;
        cli->url = NULL;
    }
    return known;
}

static void tell(struct cli *cli, const struct unseen *unseen)
{
    if (unseen->used)
        return;
    if (unseen->near)
        cli_note(cli, "there is no message with the topic %s, settled or not; did you mean %s?",
                 cli_quoted(cli, unseen->topic), cli_quoted(cli, unseen->near));
    else
        cli_note(cli, "there is no message with the topic %s, settled or not",
                 cli_quoted(cli, unseen->topic));
}

void work_topics_tell(struct work *work)
{
    struct cli *cli = work->cli;
    struct look look = { cli_alloc(cli, (cli->rest_at + 1) * sizeof(*look.topics)), 0 };

    for (size_t i = 0; i < cli->rest_at; i++) {
        if (!atomic_load(&work->seen[i]))
            look.topics[look.count++] = (struct unseen){ .topic = cli->operands[i] };
    }
    if (cli->quiet || look.count == 0 ||
        !(cli_is_set(cli) ? look_at_set(cli, &look) : look_at_one(cli, &look)))
        return;
    for (size_t i = 0; i < look.count; i++)
        tell(cli, &look.topics[i]);
}
