/* stats.c - posthorn stats: how many are where. */
#include "commands.h"
#include "door.h"

#include <time.h>

#define OPEN_JOINS_MAX 10000
#define COLUMNS "namespace ready scheduled in_progress dead expired_leases oldest_ready_ms paused"
#define STREAM_COLUMNS                                                                             \
    "namespace ready scheduled in_progress parked dead expired_leases oldest_ready_ms paused"

static json_t *counts_json(const struct cli_door *door, json_t *ns, const ph_outbox_counts *counts,
                           bool paused)
{
    return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:s}", "namespace", ns, "ready",
                     (json_int_t)counts->ready, "scheduled", (json_int_t)counts->scheduled,
                     "in_progress", (json_int_t)counts->in_progress, "parked",
                     (json_int_t)counts->parked, "dead", (json_int_t)counts->dead, "expired_leases",
                     (json_int_t)counts->expired_leases, "oldest_ready_ms",
                     (json_int_t)counts->oldest_ready_ms, "paused", paused, "door", door->name);
}

static void counts_add(ph_outbox_counts *total, const ph_outbox_counts *counts)
{
    total->ready += counts->ready;
    total->scheduled += counts->scheduled;
    total->in_progress += counts->in_progress;
    total->parked += counts->parked;
    total->dead += counts->dead;
    total->expired_leases += counts->expired_leases;
    if (counts->oldest_ready_ms > total->oldest_ready_ms)
        total->oldest_ready_ms = counts->oldest_ready_ms;
}

static bool has_anything(const ph_queue_info *queue)
{
    const ph_outbox_counts *c = &queue->counts;

    return c->ready || c->scheduled || c->in_progress || c->parked || c->dead || queue->paused;
}

/* Only queues that are worth a line. */
static size_t count_other(ph_queue_list *const *lists)
{
    size_t count = 0;

    for (size_t door = 1; door < CLI_DOOR_COUNT; door++) {
        for (size_t i = 0; i < ph_queue_list_count(lists[door]); i++)
            count += has_anything(ph_queue_list_at(lists[door], i));
    }
    return count;
}

/* Who has no streams needs no column for them. */
static bool is_any_parked(ph_queue_list *const *lists)
{
    for (size_t door = 0; door < CLI_DOOR_COUNT; door++) {
        for (size_t i = 0; i < ph_queue_list_count(lists[door]); i++) {
            if (ph_queue_list_at(lists[door], i)->counts.parked)
                return true;
        }
    }
    return false;
}

static void print_queues(struct cli *cli, const struct cli_door *door, const ph_queue_list *queues)
{
    for (size_t i = 0; i < ph_queue_list_count(queues); i++) {
        const ph_queue_info *queue = ph_queue_list_at(queues, i);

        if (door == cli_outbox || has_anything(queue))
            cli_row(cli,
                    counts_json(door, cli_json_text(queue->ns), &queue->counts, queue->paused));
    }
}

/* All messages together, and the joins that wait for some of them. */
static void print_total(struct cli *cli, const ph_queue_list *queues, size_t open_joins)
{
    ph_outbox_counts total = PH_OUTBOX_COUNTS_INIT;
    size_t count = ph_queue_list_count(queues);
    bool text = cli->format == CLI_TEXT_FORM, all_paused = count > 0;
    json_t *row;

    for (size_t i = 0; i < count; i++) {
        counts_add(&total, &ph_queue_list_at(queues, i)->counts);
        all_paused &= ph_queue_list_at(queues, i)->paused;
    }
    row = cli_need(
        counts_json(cli_outbox, text ? json_string("(all)") : json_null(), &total, all_paused));
    json_object_set_new(row, "open_joins", json_integer((json_int_t)open_joins));
    cli_row(cli, row);
}

static int look(struct cli *cli, const char *ns, ph_queue_list **ret_queues, size_t *ret_open_joins)
{
    ph_join_list_opts opts = PH_JOIN_LIST_OPTS_INIT;
    ph_join_list *joins = NULL;

    for (size_t door = 0; door < CLI_DOOR_COUNT; door++) {
        if (ph_queues_list(cli->store, PH_OWN_TX, cli_doors[door].door, ns, cli->timeout_ms,
                           &ret_queues[door], &cli->err) < 0)
            return cli_fail_store(cli);
    }
    opts.status = PH_JOIN_PENDING;
    opts.limit = OPEN_JOINS_MAX;
    if (!ns && ph_joins_list(cli->store, PH_OWN_TX, &opts, cli->timeout_ms, &joins, &cli->err) < 0)
        return cli_fail_store(cli);
    *ret_open_joins = ph_join_list_count(joins);
    ph_join_list_free(joins);
    return CLI_OK;
}

static int print_all(struct cli *cli, const char *ns, ph_queue_list *const *queues,
                     size_t open_joins)
{
    size_t others = count_other(queues);

    if (ns && ph_queue_list_count(queues[0]) == 0 && others == 0)
        return cli_fail(cli, CLI_NOT_FOUND, "there is no queue \"%.80s\"", ns);
    if (is_any_parked(queues))
        cli_columns_set(cli, others ? "door " STREAM_COLUMNS : STREAM_COLUMNS);
    else if (others)
        cli_columns_set(cli, "door " COLUMNS);
    for (size_t door = 0; door < CLI_DOOR_COUNT; door++) {
        print_queues(cli, &cli_doors[door], queues[door]);
        if (door == 0 && !ns)
            print_total(cli, queues[0], open_joins);
    }
    if (open_joins && cli->format == CLI_TEXT_FORM) {
        cli_flush(cli);
        cli_print(cli, "%zu%s open join%s\n", open_joins,
                  open_joins == OPEN_JOINS_MAX ? " or more" : "", open_joins == 1 ? "" : "s");
    }
    return CLI_OK;
}

static int print(struct cli *cli)
{
    const char *ns = cli_text(cli, "namespace");
    ph_queue_list *queues[CLI_DOOR_COUNT] = { NULL };
    size_t open_joins = 0;
    int code = look(cli, ns, queues, &open_joins);

    if (code == CLI_OK)
        code = print_all(cli, ns, queues, open_joins);
    for (size_t door = 0; door < CLI_DOOR_COUNT; door++)
        ph_queue_list_free(queues[door]);
    return code;
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
    { "door", CLI_F_TEXT, "outbox (messages), inbox (those from elsewhere), timers or job-runs",
      "Door", NULL },
    { "namespace", CLI_F_TEXT, "the queue; null: all of the outbox together", "Namespace", NULL },
    { "ready", CLI_F_NUMBER, "messages that are due now", "Ready", NULL },
    { "scheduled", CLI_F_NUMBER, "due later, or waiting for a retry", "Scheduled", NULL },
    { "in_progress", CLI_F_NUMBER, "leased", "In progress", NULL },
    { "parked", CLI_F_NUMBER, "behind the heads of their streams", "Parked", NULL },
    { "dead", CLI_F_NUMBER, "dead letters that were not put back", "Dead", NULL },
    { "expired_leases", CLI_F_NUMBER, "messages whose lease ran out and was not yet taken back",
      "Expired leases", NULL },
    { "oldest_ready_ms", CLI_F_NUMBER, "how long the oldest ready message has been due; 0: none",
      "Oldest ready ms", NULL },
    { "paused", CLI_F_BOOL, "the queue hands out nothing", "Paused", NULL },
    { "open_joins", CLI_F_NUMBER,
      "joins that have not ended, 10000 or more at 10000; only with all messages together", NULL,
      NULL },
    { 0 },
};

static const char *const description[] = {
    "Counts messages: a line per queue, and one for all together. Messages that are done are not "
    "counted, since that would mean to read all of them. Queues of the inbox, of timers and of job "
    "runs have a line of their own if there is anything in them; open joins are counted, too.",
    "Messages behind the head of their stream are parked: they come when those before them are "
    "settled. The column is there if there are any.",
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
    .columns = COLUMNS,
    .examples = examples,
    .exits = exits,
    .graceful = true,
    .run = run,
};
