/* stats.c - posthorn stats: how many are where. */
#include "commands.h"
#include "door.h"

#include <string.h>
#include <time.h>

#define OPEN_JOINS_MAX 10000
#define COLUMNS "namespace ready scheduled in_progress dead expired_leases oldest_ready_ms paused"
#define STREAM_COLUMNS                                                                             \
    "namespace ready scheduled in_progress parked dead expired_leases oldest_ready_ms paused"

/* Queues together: those of a door in one store, or in all. */
struct sum {
    ph_outbox_counts counts;
    size_t queues, paused;
};

/* A set of databases: what is to be printed when all have been asked, and which columns that needs. */
struct tally {
    json_t *rows;
    struct sum doors[CLI_DOOR_COUNT];
    size_t open_joins;
    bool others, parked;
};

static json_t *counts_json(const struct cli_door *door, json_t *ns, const ph_outbox_counts *counts,
                           bool paused)
{
    return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:s}", "namespace", ns,
                     "ready", (json_int_t)counts->ready, "scheduled", (json_int_t)counts->scheduled,
                     "in_progress", (json_int_t)counts->in_progress, "parked",
                     (json_int_t)counts->parked, "waiting", (json_int_t)counts->waiting, "dead",
                     (json_int_t)counts->dead, "expired_leases", (json_int_t)counts->expired_leases,
                     "oldest_ready_ms", (json_int_t)counts->oldest_ready_ms, "paused", paused,
                     "door", door->name);
}

static void counts_add(ph_outbox_counts *total, const ph_outbox_counts *counts)
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

static struct sum sum_of(const ph_queue_list *queues)
{
    struct sum sum = { .counts = PH_OUTBOX_COUNTS_INIT, .queues = ph_queue_list_count(queues) };

    for (size_t i = 0; i < sum.queues; i++) {
        counts_add(&sum.counts, &ph_queue_list_at(queues, i)->counts);
        sum.paused += ph_queue_list_at(queues, i)->paused;
    }
    return sum;
}

static json_t *sum_json(struct cli *cli, const struct cli_door *door, const struct sum *sum)
{
    bool text = cli->format == CLI_TEXT_FORM;

    return cli_need(counts_json(door, text ? json_string("(all)") : json_null(), &sum->counts,
                                sum->queues > 0 && sum->paused == sum->queues));
}

static bool has_anything(const ph_queue_info *queue)
{
    const ph_outbox_counts *c = &queue->counts;

    return c->ready || c->scheduled || c->in_progress || c->parked || c->waiting || c->dead ||
           queue->paused;
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

static void joins_add(json_t *row, size_t open_joins)
{
    json_object_set_new(row, "open_joins", json_integer((json_int_t)open_joins));
}

/* All messages together, and the joins that wait for some of them. */
static void print_total(struct cli *cli, const ph_queue_list *queues, size_t open_joins)
{
    struct sum sum = sum_of(queues);
    json_t *row = sum_json(cli, cli_outbox, &sum);

    joins_add(row, open_joins);
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

static void print_joins(struct cli *cli, size_t open_joins, int64_t waits)
{
    if (open_joins == 0 || cli->format != CLI_TEXT_FORM)
        return;
    cli_flush(cli);
    cli_print(cli, "%zu%s open join%s, %lld wait%s\n", open_joins,
              open_joins >= OPEN_JOINS_MAX ? " or more" : "", open_joins == 1 ? "" : "s",
              (long long)waits, waits == 1 ? "" : "s");
}

static const char *columns(bool others, bool parked)
{
    return parked ? (others ? "door " STREAM_COLUMNS : STREAM_COLUMNS)
                  : (others ? "door " COLUMNS : COLUMNS);
}

static void print_all(struct cli *cli, const char *ns, ph_queue_list *const *queues,
                      size_t open_joins)
{
    cli_columns_set(cli, columns(count_other(queues) > 0, is_any_parked(queues)));
    for (size_t door = 0; door < CLI_DOOR_COUNT; door++) {
        print_queues(cli, &cli_doors[door], queues[door]);
        if (door == 0 && !ns)
            print_total(cli, queues[0], open_joins);
    }
    print_joins(cli, open_joins, sum_of(queues[0]).counts.waiting);
}

/* ------------------------------------------------------------- a set of databases */

static void tally_row(struct cli *cli, struct tally *tally, json_t *row)
{
    json_object_set_new(row, "store", cli_json_text(cli->place));
    json_array_append_new(tally->rows, row);
}

/* A door of one store: its queues if they were asked for, and their sum. */
static void tally_door(struct cli *cli, struct tally *tally, size_t door,
                       const ph_queue_list *queues, size_t open_joins)
{
    struct sum sum = sum_of(queues), *total = &tally->doors[door];
    bool anything = false;
    json_t *row;

    for (size_t i = 0; i < sum.queues; i++) {
        const ph_queue_info *queue = ph_queue_list_at(queues, i);

        anything |= has_anything(queue);
        if (cli_given(cli, "queues") && (door == 0 || has_anything(queue)))
            tally_row(cli, tally,
                      cli_need(counts_json(&cli_doors[door], cli_json_text(queue->ns),
                                           &queue->counts, queue->paused)));
    }
    if (door > 0 && !anything)
        return;
    row = sum_json(cli, &cli_doors[door], &sum);
    if (door == 0)
        joins_add(row, open_joins);
    tally_row(cli, tally, row);
    counts_add(&total->counts, &sum.counts);
    total->queues += sum.queues;
    total->paused += sum.paused;
}

static void tally_add(struct cli *cli, struct tally *tally, ph_queue_list *const *queues,
                      size_t open_joins)
{
    for (size_t door = 0; door < CLI_DOOR_COUNT; door++)
        tally_door(cli, tally, door, queues[door], open_joins);
    tally->open_joins += open_joins;
    tally->others |= count_other(queues) > 0;
    tally->parked |= is_any_parked(queues);
}

static void tally_failed(struct cli *cli, void *context)
{
    struct tally *tally = context;

    json_array_append_new(tally->rows, cli_json_failed(cli));
}

static void tally_print(struct cli *cli, struct tally *tally)
{
    const char *all = columns(tally->others, tally->parked);
    json_t *row;
    size_t index;

    if (!cli_given(cli, "queues")) {
        const char *ns = strstr(all, "namespace ");

        all = cli_printf(cli, "%.*s%s", (int)(ns - all), all, ns + strlen("namespace "));
    }
    cli_columns_set(cli, all);
    json_array_foreach(tally->rows, index, row) cli_row(cli, json_incref(row));
    for (size_t door = 0; door < CLI_DOOR_COUNT; door++) {
        if (door > 0 && tally->doors[door].queues == 0)
            continue;
        row = sum_json(cli, &cli_doors[door], &tally->doors[door]);
        if (door == 0)
            joins_add(row, tally->open_joins);
        cli_row_total(cli, row);
    }
    print_joins(cli, tally->open_joins, tally->doors[0].counts.waiting);
}

/* ---------------------------------------------------------------------------- run */

static int one(struct cli *cli, void *context)
{
    const char *ns = cli_text(cli, "namespace");
    ph_queue_list *queues[CLI_DOOR_COUNT] = { NULL };
    size_t open_joins = 0;
    int code = look(cli, ns, queues, &open_joins);

    if (code == CLI_OK && ns && ph_queue_list_count(queues[0]) == 0 && count_other(queues) == 0)
        code = CLI_NOT_FOUND;
    else if (code == CLI_OK && cli_is_set(cli))
        tally_add(cli, context, queues, open_joins);
    else if (code == CLI_OK)
        print_all(cli, ns, queues, open_joins);
    for (size_t door = 0; door < CLI_DOOR_COUNT; door++)
        ph_queue_list_free(queues[door]);
    return code;
}

static int print(struct cli *cli)
{
    struct tally tally = { .rows = cli_need(json_array()) };
    struct cli_each each = { .one = one, .failed = tally_failed, .context = &tally };
    const char *ns = cli_text(cli, "namespace");
    int code = cli_each(cli, &each);

    if (code == CLI_NOT_FOUND && ns)
        cli_fail(cli, code, "there is no queue \"%.80s\"", ns);
    else if (json_array_size(tally.rows) > 0 && code != CLI_INTERRUPTED)
        tally_print(cli, &tally);
    json_decref(tally.rows);
    return code;
}

/* Ends early when a signal comes. */
static void sleep_ms(int64_t ms)
{
    struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

    nanosleep(&time, NULL);
}

/* Of a set a store that fails is a line like others, and may answer in the next round. */
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
        return cli_usage(cli, "--watch never ends, and one JSON document must; use --jsonl");
    return watch(cli);
}

static const struct cli_field fields[] = {
    CLI_STORE_OR_ALL,
    { "door", CLI_F_TEXT, "outbox (messages), inbox (those from elsewhere), timers or job-runs",
      "Door", NULL },
    { "namespace", CLI_F_TEXT, "the queue; null: all behind this door together", "Namespace",
      NULL },
    { "ready", CLI_F_NUMBER, "messages that are due now", "Ready", NULL },
    { "scheduled", CLI_F_NUMBER, "due later, or waiting for a retry", "Scheduled", NULL },
    { "in_progress", CLI_F_NUMBER, "leased", "In progress", NULL },
    { "parked", CLI_F_NUMBER, "behind the heads of their streams", "Parked", NULL },
    { "waiting", CLI_F_NUMBER, "waits for joins that are open", "Waiting", NULL },
    { "dead", CLI_F_NUMBER, "dead letters that were not put back", "Dead", NULL },
    { "expired_leases", CLI_F_NUMBER, "messages whose lease ran out and was not yet taken back",
      "Expired leases", NULL },
    { "oldest_ready_ms", CLI_F_NUMBER, "how long the oldest ready message has been due; 0: none",
      "Oldest ready ms", NULL },
    { "paused", CLI_F_BOOL, "the queue hands out nothing", "Paused", NULL },
    { "open_joins", CLI_F_NUMBER,
      "joins that have not ended, 10000 or more at 10000; only with all messages together", NULL,
      NULL },
    CLI_TOTAL_FIELDS,
    CLI_ERROR_FIELD,
    { 0 },
};

const struct cli_command cli_stats = {
    .name = "stats",
    .summary = "count messages",
    .description =
        "Counts messages: a line per queue, and one for all together. Messages that are done are "
        "not counted, since that would mean to read all of them. Queues of the inbox, of timers "
        "and of job runs have a line of their own if there is anything in them; open joins and the "
        "waits for them are counted, too.\n"
        "Of a set of databases: a line per store, with all of its queues together, and one for all "
        "stores. One that cannot be asked has a line without numbers; why is said on stderr.\n"
        "Messages behind the head of their stream are parked: they come when those before them are "
        "settled. The column is there if there are any.\n"
        "A number of ready messages that stays high means that workers are too slow, absent, or "
        "that the queue is paused; posthorn doctor looks closer.",
    .options = CLI_OPTIONS(
        CLI_NAMESPACE_OPTION(CLI_ONLY_QUEUE),
        CLI_FLAG("queues", 0, "of a set of databases: also a line per queue, as with one database"),
        CLI_OPTION("watch", 'w', MS, "SECONDS", "again and again, with so much time in between",
                   .min = 100, .max = 86400000)),
    .fields = fields,
    .columns = COLUMNS,
    .examples = CLI_EXAMPLES(
        { "posthorn enqueue order.placed 17 --namespace shop", "Something to count" },
        { "posthorn stats", "How many are where" },
        { "posthorn stats --namespace shop --json", "One queue, for programs" },
        { "posthorn --db eu=sqlite:eu.db --db us=sqlite:us.db -q migrate up", "Two databases" },
        { "posthorn --db eu=sqlite:eu.db --db us=sqlite:us.db stats",
          "A line for each, and one for all" }),
    .exits = CLI_EXITS({ CLI_NOT_FOUND, "--namespace, and there is no such queue" }),
    .every_store = true,
    .graceful = true,
    .only_reads = true,
    .run = run,
};
