/* bench.c - posthorn bench: how fast is it here, on this database? */
#include "bench.h"

#include "commands.h"

#include <stdlib.h>
#include <string.h>

#define PHASES_MAX 8
#define SWEEP_BATCH 100

struct row {
    const char *phase;
    int64_t messages, ms, per_second, p50_us, p99_us, max_us;
};

#define ROW(...) CLI_FIELD(struct row, __VA_ARGS__)
static const struct cli_field fields[] = {
    ROW("phase", phase, TEXT, "Phase", "the measurement, a stable word"),
    ROW("messages", messages, NUMBER, "Messages", "how many messages it took"),
    ROW("ms", ms, NUMBER, "ms", "how many milliseconds they took"),
    ROW("per_second", per_second, NUMBER, "Per second", "messages per second"),
    ROW("p50_us", p50_us, NUMBER, "p50 us", "median latency, in microseconds"),
    ROW("p99_us", p99_us, NUMBER, "p99 us", "99th percentile of the latency"),
    ROW("max_us", max_us, NUMBER, "max us", "maximum latency"),
    { 0 },
};

void bench_message(const struct bench *bench, ph_message *ret_message)
{
    *ret_message = (ph_message)PH_MESSAGE_INIT;
    ret_message->topic = BENCH_TOPIC;
    ret_message->ns = BENCH_NAMESPACE;
    ret_message->payload = bench->payload;
    ret_message->payload_length = bench->payload_length;
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

void bench_percentiles(int64_t *times_us, int64_t count, struct bench_result *result)
{
    if (count == 0)
        return;
    qsort(times_us, (size_t)count, sizeof(*times_us), by_size);
    result->p50_us = times_us[(count - 1) / 2];
    result->p99_us = times_us[(count * 99 + 99) / 100 - 1];
    result->max_us = times_us[count - 1];
}

/* ------------------------------------------------------------------ prepare */

static int prepare_queue(struct bench *bench)
{
    struct cli *cli = bench->cli;
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;

    settings.delete_on_ack = 1;
    settings.max_attempts = PH_ATTEMPTS_MAX; /* nothing dies here, however often we are killed */
    settings.max_payload_bytes = PH_PAYLOAD_MAX;
    if (ph_outbox_queue_set(cli->store, PH_OWN_TX, BENCH_NAMESPACE, &settings, 0, &cli->err) < 0 ||
        ph_outbox_queue_resume(cli->store, PH_OWN_TX, BENCH_NAMESPACE, 0, &cli->err) < 0)
        return cli_fail_store(cli);
    return CLI_OK;
}

/* Acknowledges, and so deletes, all ready messages there. */
static int sweep(struct bench *bench)
{
    struct cli *cli = bench->cli;
    ph_claim_opts claim = PH_CLAIM_OPTS_INIT;
    ph_owner owner = ph_owner_new();
    size_t count = 1;
    int r = 0;

    claim.ns = BENCH_NAMESPACE;
    claim.batch_size = SWEEP_BATCH;
    while (r == 0 && count > 0) {
        ph_lease_ref refs[SWEEP_BATCH];
        ph_batch *batch = NULL;

        r = ph_outbox_claim(cli->store, PH_OWN_TX, owner, &claim, 0, &batch, &cli->err);
        count = ph_batch_count(batch);
        for (size_t i = 0; i < count; i++)
            refs[i] = ph_lease_ref_of(ph_batch_at(batch, i));
        if (r == 0)
            r = ph_outbox_ack(cli->store, PH_OWN_TX, owner, refs, count, 0, NULL, &cli->err);
        ph_batch_free(batch);
    }
    return r < 0 ? cli_fail_store(cli) : CLI_OK;
}

static int clear_away(struct bench *bench)
{
    struct cli *cli = bench->cli;
    ph_queue_counts counts = PH_QUEUE_COUNTS_INIT;
    int code = sweep(bench);

    if (code != CLI_OK)
        return code;
    if (ph_outbox_count(cli->store, PH_OWN_TX, BENCH_NAMESPACE, 0, &counts, &cli->err) < 0)
        return cli_fail_store(cli);
    if (counts.in_progress + counts.ready > 0)
        cli_warn(cli,
                 "%lld messages in %s are still leased, by another bench or by one that was "
                 "killed; the next bench deletes them",
                 (long long)(counts.in_progress + counts.ready), BENCH_NAMESPACE);
    return CLI_OK;
}

/* ------------------------------------------------------------------ measure */

static void show(struct cli *cli, const struct bench_result *result)
{
    int64_t us = result->us > 0 ? result->us : 1;
    struct row row = { result->phase,     result->messages,
                       result->us / 1000, result->messages * 1000000 / us,
                       result->p50_us,    result->p99_us,
                       result->max_us };

    if (!result->has_latency)
        row.p50_us = row.p99_us = row.max_us = CLI_NO_NUMBER;
    cli_row(cli, &row);
}

static int measure(struct bench *bench, struct bench_result *results, int *ret_count)
{
    int64_t us = bench->seconds_ms * 1000, latency_count = bench->seconds_ms / 40;
    int n = 0, code;

    if (bench->messages && latency_count > bench->messages)
        latency_count = bench->messages;
    code = bench_enqueue(bench, "enqueue_single", 1, bench->messages, us / 5, &results[n]);
    if (code == CLI_OK && !cli_interrupted())
        code = bench_enqueue(bench, "enqueue_batch", bench->batch, bench->messages, us / 8,
                             &results[++n]);
    if (code == CLI_OK && !cli_interrupted())
        code = bench_claim_and_ack(bench, results[0].messages + results[1].messages, &results[++n]);
    if (code == CLI_OK && !cli_interrupted()) /* the same again, for the dispatcher; not shown */
        code =
            bench_enqueue(bench, "refill", bench->batch, results[1].messages, 0, &results[n + 1]);
    if (code == CLI_OK && !cli_interrupted())
        code = bench_dispatcher(bench, results[1].messages, &results[++n]);
    if (code == CLI_OK && !cli_interrupted()) {
        code = bench_latency(bench, latency_count, &results[n + 1]);
        n += 2;
    }
    *ret_count = n + 1;
    return code;
}

static int prepare(struct bench *bench)
{
    struct cli *cli = bench->cli;
    int code;

    bench->batch = (int)cli_number(cli, "batch");
    bench->concurrency = (int)cli_number(cli, "concurrency");
    bench->messages = cli_number(cli, "messages");
    bench->seconds_ms = cli_number(cli, "seconds");
    bench->payload_length = (size_t)cli_number(cli, "payload");
    bench->payload = cli_alloc(cli, bench->payload_length + 1);
    memset(bench->payload, 'x', bench->payload_length);
    code = cli_confirm(
        cli, "Write messages into the namespace %s of %s for some seconds, and delete them again?",
        BENCH_NAMESPACE, cli_url_shown(cli));
    if (code == CLI_OK)
        code = cli_open(cli, CLI_OPEN_CHECKED);
    if (code == CLI_OK)
        code = prepare_queue(bench);
    return code == CLI_OK ? clear_away(bench) : code;
}

static int run(struct cli *cli)
{
    struct bench bench = { .cli = cli };
    struct bench_result results[PHASES_MAX] = { 0 };
    int count = 0, code = prepare(&bench), cleared;

    if (code != CLI_OK)
        return code;
    code = measure(&bench, results, &count);
    cleared = clear_away(&bench);
    if (code == CLI_OK && cli_interrupted())
        return cli_fail(cli, CLI_INTERRUPTED, "interrupted; nothing was left behind");
    if (code != CLI_OK || cleared != CLI_OK)
        return code != CLI_OK ? code : cleared;
    for (int i = 0; i < count; i++)
        show(cli, &results[i]);
    cli_note(cli,
             "payloads of %zu bytes, batches of %d, concurrency %d; valid only for this machine, "
             "this database, its settings and its current load",
             bench.payload_length, bench.batch, bench.concurrency);
    return CLI_OK;
}

const struct cli_command cli_bench = {
    .name = "bench",
    .summary = "measure the speed of this database",
    .description =
        "Measures how many messages per second this database handles: enqueued one by one and in "
        "batches, claimed and acknowledged, and handled by a dispatcher whose handlers do nothing. "
        "It also measures the time from enqueue to handler at 100 messages per second. All of this "
        "takes about ten seconds. The numbers hold only for this machine, this database, their "
        "settings and the connection between them.\n"
        "It works only in the namespace posthorn-bench, deletes every message it handles, and "
        "removes what an interrupted run left behind. Only the settings of that queue remain. It "
        "asks before it starts, because it writes a lot and other users of the database will "
        "notice.\n"
        "phase is one of enqueue_single, enqueue_batch, claim_ack (settling one batch and claiming "
        "the next in one call), dispatcher, latency_from_call (from the call of enqueue to the "
        "start of the handler, including the commit) and latency_from_commit (from the return of "
        "enqueue; 0 if the handler was faster).",
    .options = CLI_OPTIONS(
        CLI_OPTION("seconds", 0, MS, "DURATION", "approximate duration", .value = "10s",
                   .min = 1000, .max = 3600000),
        CLI_OPTION("messages", 0, NUMBER, "N", "messages per phase, however long they take",
                   .min = 1, .max = 100000000),
        CLI_OPTION("payload", 0, NUMBER, "BYTES", "the size of a payload", .value = "200", .min = 0,
                   .max = PH_PAYLOAD_MAX),
        CLI_OPTION("batch", 'b', NUMBER, "N", "messages per call in the batch phases",
                   .value = "100", .min = 2, .max = PH_BATCH_MAX),
        CLI_OPTION("concurrency", 'c', NUMBER, "N",
                   "concurrent connections, and handlers of the dispatcher", .value = "1", .min = 1,
                   .max = 256)),
    .fields = fields,
    .examples = CLI_EXAMPLES({ "posthorn bench --yes --messages 100", "A very short run" }),
    .graceful = true,
    .run = run,
};
