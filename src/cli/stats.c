/* stats.c - posthorn stats: how many are where. */
#include "commands.h"

#include <time.h>

static json_t *counts_json(json_t *ns, const ph_outbox_counts *counts, bool paused)
{
    return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:b}", "namespace", ns, "ready",
                     (json_int_t)counts->ready, "scheduled", (json_int_t)counts->scheduled,
                     "in_progress", (json_int_t)counts->in_progress, "dead",
                     (json_int_t)counts->dead, "expired_leases", (json_int_t)counts->expired_leases,
                     "oldest_ready_ms", (json_int_t)counts->oldest_ready_ms, "paused", paused);
}

static void counts_add(ph_outbox_counts *total, const ph_outbox_counts *counts)
{
    total->ready += counts->ready;
    total->scheduled += counts->scheduled;
    total->in_progress += counts->in_progress;
    total->dead += counts->dead;
    total->expired_leases += counts->expired_leases;
    if (counts->oldest_ready_ms > total->oldest_ready_ms)
        total->oldest_ready_ms = counts->oldest_ready_ms;
}

static int print(struct cli *cli)
{
    ph_outbox_counts total = PH_OUTBOX_COUNTS_INIT;
    const char *ns = cli_text(cli, "namespace");
    ph_queue_list *queues = NULL;
    bool all_paused = true;
    size_t count;

    if (ph_outbox_queue_list(cli->store, PH_OWN_TX, ns, cli->timeout_ms, &queues, &cli->err) < 0)
        return cli_fail_store(cli);
    count = ph_queue_list_count(queues);
    for (size_t i = 0; i < count; i++) {
        const ph_queue_info *queue = ph_queue_list_at(queues, i);

        counts_add(&total, &queue->counts);
        all_paused &= queue->paused;
        cli_row(cli, counts_json(cli_json_text(queue->ns), &queue->counts, queue->paused));
    }
    ph_queue_list_free(queues);
    if (ns && count == 0)
        return cli_fail(cli, CLI_NOT_FOUND, "there is no queue \"%.80s\"", ns);
    if (!ns)
        cli_row(cli, counts_json(cli->format == CLI_TEXT_FORM ? json_string("(all)") : json_null(),
                                 &total, count > 0 && all_paused));
    return CLI_OK;
}

/* Ends early when a signal comes. */
static void sleep_ms(int64_t ms)
{
    struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

    nanosleep(&time, NULL);
}

static int run(struct cli *cli)
{
    int code;

    if (cli_given(cli, "watch") && cli->format == CLI_JSON)
        return cli_usage(cli, "--watch never ends, and one JSON document must; use --jsonl");
    code = cli_open(cli, CLI_OPEN_CHECKED);
    if (code != CLI_OK || !cli_given(cli, "watch"))
        return code == CLI_OK ? print(cli) : code;
    while (code == CLI_OK && !cli_interrupted()) {
        cli_screen_clear(cli);
        code = print(cli);
        cli_flush(cli);
        if (cli_write_failed(cli))
            return CLI_FAILED;
        if (code == CLI_OK && !cli_interrupted())
            sleep_ms(cli_number(cli, "watch"));
    }
    return code == CLI_OK ? CLI_INTERRUPTED : code;
}

static const struct cli_option options[] = {
    CLI_NAMESPACE_OPTION(CLI_ONLY_QUEUE),
    { .name = "watch",
      .letter = 'w',
      .type = CLI_MS,
      .argument = "SECONDS",
      .help = "again and again, with so much time in between",
      .min = 100,
      .max = 86400000 },
    { 0 },
};

static const struct cli_field fields[] = {
    { "namespace", CLI_F_TEXT, "the queue; null: all together", "Namespace", NULL },
    { "ready", CLI_F_NUMBER, "messages that are due now", "Ready", NULL },
    { "scheduled", CLI_F_NUMBER, "due later, or waiting for a retry", "Scheduled", NULL },
    { "in_progress", CLI_F_NUMBER, "leased", "In progress", NULL },
    { "dead", CLI_F_NUMBER, "dead letters that were not put back", "Dead", NULL },
    { "expired_leases", CLI_F_NUMBER, "messages whose lease ran out and was not yet taken back",
      "Expired leases", NULL },
    { "oldest_ready_ms", CLI_F_NUMBER, "how long the oldest ready message has been due; 0: none",
      "Oldest ready ms", NULL },
    { "paused", CLI_F_BOOL, "the queue hands out nothing", "Paused", NULL },
    { 0 },
};

static const char *const description[] = {
    "Counts messages: a line per queue, and one for all together. Messages that are done are not "
    "counted, since that would mean to read all of them.",
    "A number of ready messages that stays high means that workers are too slow, absent, or that "
    "the queue is paused; posthorn doctor looks closer.",
    NULL,
};

static const struct cli_example examples[] = {
    { "posthorn enqueue order.placed 17 --namespace shop", "Something to count" },
    { "posthorn stats", "How many are where" },
    { "posthorn stats --namespace shop --json", "One queue, for programs" },
    { 0 },
};

static const struct cli_exit_note exits[] = {
    { CLI_NOT_FOUND, "--namespace, and there is no such queue" },
    { 0, NULL },
};

const struct cli_command cli_stats = {
    .name = "stats",
    .group = "list",
    .summary = "count messages",
    .operands = "",
    .description = description,
    .options = options,
    .fields = fields,
    .examples = examples,
    .exits = exits,
    .graceful = true,
    .run = run,
};
