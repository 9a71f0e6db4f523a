/* work_topics.c - topics that nobody has ever used: a slip of the pen? */
#include "door.h"
#include "work.h"

#include <string.h>

#define LOOK_AT 1000 /* the newest messages, whose topics may have been meant */

void work_topic_seen(struct work *work, const char *topic)
{
    for (size_t i = 0; i < work->cli->rest_at; i++)
        if (strcmp(work->cli->operands[i], topic) == 0)
            atomic_store(&work->seen[i], true);
}

/* topic NULL: the newest messages of all. NULL: they cannot be had. */
static ph_message_list *messages_of(struct cli *cli, ph_store *store, const char *topic)
{
    ph_list_opts opts = PH_LIST_OPTS_INIT;
    ph_message_list *list = NULL;
    const char *ns = cli_text(cli, "namespace");

    opts.ns = ns ? ns : "";
    opts.topic = topic;
    opts.limit = topic ? 1 : LOOK_AT;
    return cli_door(cli)->list(store, PH_OWN_TX, &opts, cli->timeout_ms, &list, &cli->err) < 0
               ? NULL
               : list;
}

static const char *meant(struct cli *cli, ph_store *store, const char *topic)
{
    ph_message_list *list = messages_of(cli, store, NULL);
    size_t count = list ? ph_message_list_count(list) : 0;
    const char **topics = cli_alloc(cli, (count + 1) * sizeof(*topics)), *near;

    for (size_t i = 0; i < count; i++)
        topics[i] = ph_message_list_at(list, i)->message->topic;
    near = cli_word_near(topic, topics, count);
    near = near ? cli_strdup(cli, near) : NULL;
    ph_message_list_free(list);
    return near;
}

static void tell(struct cli *cli, ph_store *store, const char *topic)
{
    ph_message_list *list = messages_of(cli, store, topic);
    bool is_unknown = list && ph_message_list_count(list) == 0;
    const char *near = is_unknown ? meant(cli, store, topic) : NULL;

    ph_message_list_free(list);
    if (near)
        cli_note(cli, "there is no message of the topic %s, settled or not; did you mean %s?",
                 cli_quoted(cli, topic), cli_quoted(cli, near));
    else if (is_unknown)
        cli_note(cli, "there is no message of the topic %s, settled or not",
                 cli_quoted(cli, topic));
}

void work_topics_tell(struct work *work)
{
    struct cli *cli = work->cli;
    ph_store *store = NULL;

    if (cli->quiet || cli_is_set(cli))
        return;
    for (size_t i = 0; i < cli->rest_at; i++) {
        if (atomic_load(&work->seen[i]))
            continue;
        if (!store && cli_open_another(cli, CLI_OPEN_LAZY, &store) != CLI_OK)
            return;
        tell(cli, store, cli->operands[i]);
    }
    ph_close(store);
}
