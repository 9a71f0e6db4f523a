/* stats.c - posthorn stats: counts of messages. */
#include "commands.h"
#include "door.h"

#include <string.h>
#include <time.h>

#define OPEN_JOINS_MAX 10000
#define COLUMNS "ready scheduled in_progress parked dead expired_leases oldest_ready_ms paused"

/* Queues together: those of a door in one store, or in all. */
struct sum {
    ph_queue_counts counts;
    size_t queues, paused;
};

/* What was printed, of all databases together. */
struct tally {
    struct sum doors[CLI_DOOR_COUNT];
    size_t open_joins;
    bool any;
};

struct row {
    const char *door, *ns;
    ph_queue_counts counts;
    bool paused;
    int64_t open_joins;
};

#define ROW(...) CLI_FIELD(struct row, __VA_ARGS__)
static const struct cli_field fields[] = {
    CLI_STORE_OR_ALL,
    ROW("namespace", ns, TEXT, "Namespace", "the queue; null: the total of the door"),
    ROW("ready", counts.ready, NUMBER, "Ready", "messages that are due now"),
    ROW("scheduled", counts.scheduled, NUMBER, "Scheduled", "due later, or waiting for a retry"),
    ROW("in_progress", counts.in_progress, NUMBER, "In progress", "leased"),
    ROW("parked", counts.parked, NUMBER, "Parked", "behind the heads of their streams"),
    ROW("waiting", counts.waiting, NUMBER, "Waiting", "waits for joins that are open"),
    ROW("dead", counts.dead, NUMBER, "Dead", "dead letters that were not put back"),
    ROW("expired_leases", counts.expired_leases, NUMBER, "Expired leases",
        "messages whose lease has expired and was not yet taken back"),
    ROW("oldest_ready_ms", counts.oldest_ready_ms, NUMBER, "Oldest ready ms",
        "how long the oldest ready message has been due; 0: none"),
    ROW("paused", paused, BOOL, "Paused", "the queue hands out nothing"),
    ROW("door", door, TEXT, "Door", CLI_DOORS_HELP),
    ROW("open_joins", open_joins, NUMBER, NULL,
        "joins that have not ended, 10000 at most; only in the total of the outbox",
        .or_none = true),
    CLI_TOTAL_FIELDS,
    CLI_ERROR_FIELD,
    { 0 },
};

static void counts_add(ph_queue_counts *total, const ph_queue_counts *counts)
{
    total->ready += counts->ready;
    total->scheduled += counts->scheduled;
    total->in_progress += counts->in_progress;
    total->parked += counts->parked;
    total->waiting += counts->waiting;
    total->dead += counts->dead;
    total->expired_leases += counts->expired_leases;
    if (counts->oldest_ready_ms > total->oldest_ready_ms)
        total->oldest_ready_ms = counts->oldest_ready_ms;
}

static struct sum sum_of(const ph_queues *queues)
{
    struct sum sum = { .counts = PH_QUEUE_COUNTS_INIT, .queues = ph_queues_count(queues) };

    for (size_t i = 0; i < sum.queues; i++) {
        counts_add(&sum.counts, &ph_queues_at(queues, i)->counts);
        sum.paused += ph_queues_at(queues, i)->paused;
    }
    return sum;
}

static struct row row_of(const struct cli_door *door, const ph_queue_info *queue)
{
    return (struct row){ door->name, queue->ns, queue->counts, queue->paused, CLI_NO_NUMBER };
}

/* The total of a door; open_joins counts only behind the outbox. */
static struct row row_of_sum(const struct cli *cli, size_t door, const struct sum *sum,
                             size_t open_joins)
{
    return (struct row){ cli_doors[door].name, cli->format == CLI_TEXT_FORM ? "(all)" : NULL,
                         sum->counts, sum->queues > 0 && sum->paused == sum->queues,
                         door == 0 ? (int64_t)open_joins : CLI_NO_NUMBER };
}

static bool has_anything(const ph_queue_info *queue)
{
    const ph_queue_counts *c = &queue->counts;

    return c->ready || c->scheduled || c->in_progress || c->parked || c->waiting || c->dead ||
           queue->paused;
}

/* Only queues that are worth a line. */
static size_t count_other(ph_queues *const *lists)
{
    size_t count = 0;

    for (size_t door = 1; door < CLI_DOOR_COUNT; door++) {
        for (size_t i = 0; i < ph_queues_count(lists[door]); i++)
            count += has_anything(ph_queues_at(lists[door], i));
    }
    return count;
}

static int look(struct cli *cli, const char *ns, ph_queues **ret_queues, size_t *ret_open_joins)
{
    ph_queue_list_opts wanted = PH_QUEUE_LIST_OPTS_INIT;
    ph_join_list_opts opts = PH_JOIN_LIST_OPTS_INIT;
    ph_joins *joins = NULL;

    wanted.ns = ns;
    for (size_t door = 0; door < CLI_DOOR_COUNT; door++) {
        wanted.door = cli_doors[door].door;
        if (ph_queue_list(cli->store, PH_OWN_TX, &wanted, cli->timeout_ms, &ret_queues[door],
                          &cli->err) < 0)
            return cli_fail_store(cli);
    }
    opts.state = PH_JOIN_PENDING;
    opts.limit = OPEN_JOINS_MAX;
    if (!ns && ph_join_list(cli->store, PH_OWN_TX, &opts, cli->timeout_ms, &joins, &cli->err) < 0)
        return cli_fail_store(cli);
    *ret_open_joins = ph_joins_count(joins);
    ph_joins_free(joins);
    return CLI_OK;
}

static void print_joins(struct cli *cli, size_t open_joins, int64_t waits)
{
    if (open_joins == 0 || cli->format != CLI_TEXT_FORM)
        return;
    cli_flush(cli);
    cli_print(cli, "%zu%s open join%s, %lld wait%s\n", open_joins,
              open_joins >= OPEN_JOINS_MAX ? " or more" : "", open_joins == 1 ? "" : "s",
              (long long)waits, waits == 1 ? "" : "s");
}

/* A door of one database: its queues, and their total. With a set the queues need --queues. */
static void print_door(struct cli *cli, struct tally *tally, size_t door, const ph_queues *queues,
                       size_t open_joins)
{
    bool set = cli_is_set(cli), anything = door == 0;
    struct sum sum = sum_of(queues), *total = &tally->doors[door];
    const struct row all = row_of_sum(cli, door, &sum, open_joins);

    for (size_t i = 0; i < sum.queues; i++) {
        const ph_queue_info *queue = ph_queues_at(queues, i);
        const struct row row = row_of(&cli_doors[door], queue);

        if (door > 0 && !has_anything(queue))
            continue;
        anything = true;
        if (!set || cli_given(cli, "queues"))
            cli_row(cli, &row);
    }
    if (!anything)
        return;
    if (set || (door == 0 && !cli_text(cli, "namespace")))
        cli_row(cli, &all);
    counts_add(&total->counts, &sum.counts);
    total->queues += sum.queues;
    total->paused += sum.paused;
}

static void print_failed(struct cli *cli, void *context)
{
    ((struct tally *)context)->any = true;
    cli_row_failed(cli, NULL);
}

static void print_totals(struct cli *cli, const struct tally *tally)
{
    for (size_t door = 0; door < CLI_DOOR_COUNT && cli_is_set(cli); door++) {
        const struct row all = row_of_sum(cli, door, &tally->doors[door], tally->open_joins);

        if (door == 0 || tally->doors[door].queues > 0)
            cli_row_total(cli, &all);
    }
    print_joins(cli, tally->open_joins, tally->doors[0].counts.waiting);
}

/* ---------------------------------------------------------------------------- run */

static int one(struct cli *cli, void *context)
{
    struct tally *tally = context;
    const char *ns = cli_text(cli, "namespace");
    ph_queues *queues[CLI_DOOR_COUNT] = { NULL };
    size_t open_joins = 0;
    int code = look(cli, ns, queues, &open_joins);

    if (code == CLI_OK && ns && ph_queues_count(queues[0]) == 0 && count_other(queues) == 0)
        code = CLI_NOT_FOUND;
    for (size_t door = 0; door < CLI_DOOR_COUNT; door++) {
        if (code == CLI_OK)
            print_door(cli, tally, door, queues[door], open_joins);
        ph_queues_free(queues[door]);
    }
    tally->open_joins += open_joins;
    tally->any |= code == CLI_OK;
    return code;
}

static int print(struct cli *cli)
{
    struct tally tally = { 0 };
    struct cli_each each = { .one = one, .failed = print_failed, .context = &tally };
    const char *ns = cli_text(cli, "namespace");
    int code;

    if (cli_is_set(cli) && !cli_given(cli, "queues"))
        cli_columns_set(cli, "door " COLUMNS);
    code = cli_each(cli, &each);
    if (code == CLI_NOT_FOUND && ns)
        cli_fail(cli, code, "there is no queue \"%.80s\"", ns);
    else if (tally.any && code != CLI_INTERRUPTED)
        print_totals(cli, &tally);
    return code;
}

/* Ends early when a signal comes. */
static void sleep_ms(int64_t ms)
{
    struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

    nanosleep(&time, NULL);
}

/* A failed store of a set is a line like others, and may answer in the next round. */
static bool goes_on(struct cli *cli, int code)
{
    return code == CLI_OK || (cli_is_set(cli) && (code == CLI_FAILED || code == CLI_TIMED_OUT ||
                                                  code == CLI_NO_CONNECTION));
}

static int watch(struct cli *cli)
{
    int code = cli_stores_refresh(cli);

    while (code == CLI_OK) {
        cli_screen_clear(cli);
        code = print(cli);
        cli_flush(cli);
        if (cli_write_failed(cli))
            return CLI_FAILED;
        if (!goes_on(cli, code))
            return code;
        if (!cli_interrupted())
            sleep_ms(cli_number(cli, "watch"));
        if (cli_interrupted())
            return CLI_INTERRUPTED;
        code = cli_stores_refresh(cli);
    }
    return code;
}

static int run(struct cli *cli)
{
    if (!cli_given(cli, "watch"))
        return print(cli);
    if (cli->format == CLI_JSON)
        return cli_usage(
            cli, "--watch never ends, and --json prints one document at the end; use --jsonl");
    return watch(cli);
}

const struct cli_command cli_stats = {
    .name = "stats",
    .summary = "count messages",
    .description = "Counts messages: a line per queue, and a total. Messages that are done are not "
                   "counted, since that would mean reading all of them. Queues of the inbox, of "
                   "timers and of job runs have their own lines unless they are empty. Open joins "
                   "and the waits for them are counted, too.\n"
                   "With a set of databases: a line per store, the sum of its queues, and a total. "
                   "A store that cannot be read has a line without numbers; stderr says why.\n"
                   "Messages behind the head of their stream are parked, until those before them "
                   "are settled.\n"
                   "If the number of ready messages stays high, workers are too slow or absent, or "
                   "the queue is paused; posthorn doctor looks closer.",
    .options = CLI_OPTIONS(
        CLI_NAMESPACE_OPTION(CLI_ONLY_QUEUE),
        CLI_FLAG("queues", 0, "with a set: also a line per queue, as with one database"),
        CLI_OPTION("watch", 'w', MS, "SECONDS", "refresh every SECONDS", .min = 100,
                   .max = 86400000)),
    .fields = fields,
    .columns = "door namespace " COLUMNS,
    .examples = CLI_EXAMPLES(
        { "posthorn enqueue order.placed 17 --namespace shop", "Something to count" },
        { "posthorn stats", "Count all messages" },
        { "posthorn stats --namespace shop --json", "One queue, for programs" },
        { "posthorn --db eu=sqlite:eu.db --db us=sqlite:us.db -q migrate up", "Two databases" },
        { "posthorn --db eu=sqlite:eu.db --db us=sqlite:us.db stats",
          "A line for each, and a total" }),
    .exits = CLI_EXITS({ CLI_NOT_FOUND, "there is no queue of this --namespace" }),
    .every_store = true,
    .graceful = true,
    .only_reads = true,
    .run = run,
};
