/* instance.c - posthorn instance: running workers, and those that have ended. */
#include "commands.h"
#include "cli.h"

/* An instance writes a heartbeat at its first call after a tenth of the threshold, and calls at
 * least every third of a lease. */
static const char *liveness(const ph_instance_info *instance, int64_t now)
{
    int64_t silent_us = now - instance->last_heartbeat_at;

    if (silent_us > instance->stale_threshold_s * 1000000LL)
        return "stale";
    return silent_us > instance->stale_threshold_s * 300000LL + instance->lease_s * 1000000LL / 3
               ? "late"
               : "live";
}

static const char *state_of(const ph_instance_info *instance, int64_t now)
{
    switch (instance->state) {
    case PH_INSTANCE_LIVE:
        return liveness(instance, now);
    case PH_INSTANCE_LEFT:
        return "left";
    case PH_INSTANCE_EVICTED:
        return "evicted";
    }
    return "unknown";
}

struct row {
    ph_instance_info instance;
    const char *state;
    int64_t silent_s;
};

static void print(struct cli *cli, const ph_instance_info *instance, int64_t now)
{
    int64_t silent_s = (now - instance->last_heartbeat_at) / 1000000;
    const struct row row = { *instance, state_of(instance, now), silent_s > 0 ? silent_s : 0 };

    cli_row(cli, &row);
}

/* --------------------------------------------------------------------------- list */

static int list_one(struct cli *cli, void *context)
{
    ph_instance_list_opts opts = PH_INSTANCE_LIST_OPTS_INIT;
    ph_instances *instances = NULL;
    int64_t now = 0;
    size_t count;

    (void)context;
    opts.service = cli_text(cli, "service");
    opts.ended_too = cli_given(cli, "all");
    if (ph_clock(cli->store, PH_OWN_TX, cli->timeout_ms, &now, &cli->err) < 0 ||
        ph_instance_list(cli->store, PH_OWN_TX, &opts, cli->timeout_ms, &instances, &cli->err) < 0)
        return cli_fail_store(cli);
    count = ph_instances_count(instances);
    for (size_t i = 0; i < count; i++)
        print(cli, ph_instances_at(instances, i), now);
    ph_instances_free(instances);
    return count ? CLI_OK : CLI_NOT_FOUND;
}

static int run_list(struct cli *cli)
{
    struct cli_each each = { .one = list_one };
    int code = cli_each(cli, &each);

    if (code == CLI_NOT_FOUND)
        cli_note(cli, cli_given(cli, "all")
                          ? "no instances"
                          : "no live instances; --all lists those that have ended");
    return code;
}

#define ROW(...) CLI_FIELD(struct row, __VA_ARGS__)
static const struct cli_field list_fields[] = {
    ROW("instance_id", instance.id, UUID, "Instance id",
        "identifies it; the owner of what it has claimed"),
    CLI_ITS_STORE,
    ROW("service", instance.service, TEXT, "Service",
        "the name shared by all instances that do the same work"),
    ROW("host", instance.host, TEXT, "Host", "the machine it runs on"),
    ROW("process_id", instance.process_id, NUMBER, "Process", "its process id there"),
    ROW("state", state, STATE, "State", "live, late, stale, left or evicted"),
    ROW("in_progress", instance.in_progress, NUMBER, "In progress", "messages it has claimed"),
    ROW("silent_s", silent_s, AGO, "Last seen", "seconds since its last heartbeat was written"),
    ROW("stale_threshold_s", instance.stale_threshold_s, LIFETIME, "Stale after",
        "how many seconds of silence remove it"),
    ROW("lease_s", instance.lease_s, LIFETIME, "Lease", "how many seconds its leases last"),
    ROW("partition_count", instance.partition_count, NUMBER, "Partitions",
        "the number of partitions by which its service shares streams"),
    ROW("started_at", instance.started_at, TIME, "Started", "when it registered"),
    ROW("last_heartbeat_at", instance.last_heartbeat_at, TIME, "Heartbeat",
        "when its last heartbeat was written"),
    ROW("ended_at", instance.ended_at, TIME, "Ended",
        "when it left or was removed; null: it has not"),
    ROW("metadata", instance.metadata, JSON, "Metadata",
        "an object with which it describes itself; or null"),
    { 0 },
};

const struct cli_command cli_instance_list = {
    .name = "instance list",
    .summary = "list the running workers",
    .description =
        "Lists the running workers: every dispatcher, including posthorn work, and every program "
        "that uses process_work_batch. Each gets a new id at every start, under which it claims.\n"
        "live: its heart beats. late: three heartbeats are missing, so check whether it still "
        "runs. stale: it was silent for longer than its threshold; the next call of any other "
        "instance removes it, and its messages are handed out again. With --all it also lists "
        "instances that ended in the last day: left (it said good-bye) and evicted (it was removed "
        "because it was silent).\n"
        "A worker that serves a set of databases is an instance in each of them.",
    .options =
        CLI_OPTIONS(CLI_FLAG("all", 'a', "also instances that ended in the last day"),
                    CLI_OPTION("service", 0, TEXT, "NAME", "only instances of this service")),
    .fields = list_fields,
    .columns = "instance_id service host process_id state in_progress silent_s stale_threshold_s",
    .examples = CLI_EXAMPLES(
        { "posthorn enqueue mail.send hello; posthorn work mail.send --service mailer --drain "
          "--exec cat",
          "A worker that ends" },
        { "posthorn instance list --all", "Running workers, and those that have ended" },
        { "posthorn instance list --all --service mailer --json", "One service, for programs" }),
    .exits = CLI_EXITS({ CLI_NOT_FOUND, "no instance matches" }),
    .every_store = true,
    .only_reads = true,
    .run = run_list,
};

/* -------------------------------------------------------------------------- leave */

struct left {
    ph_owner id;
    const char *state;
};

static const struct cli_field leave_fields[] = {
    CLI_FIELD(struct left, "instance_id", id, UUID, "Instance id", "the instance"),
    CLI_FIELD(struct left, "state", state, STATE, "State", "left"),
    { 0 },
};

static int run_leave(struct cli *cli)
{
    struct left row = { .state = "left" };
    char text[PH_ID_TEXT_SIZE];
    bool left = false;
    ph_owner id;
    int code = cli_parse_id(cli, cli->operands[0], id.b);

    if (code == CLI_OK)
        code = cli_open(cli, CLI_OPEN_CHECKED);
    if (code != CLI_OK)
        return code;
    if (ph_instance_leave(cli->store, PH_OWN_TX, id, cli->timeout_ms, &left, &cli->err) < 0)
        return cli_fail_store(cli);
    if (!left)
        return cli_fail(cli, CLI_NOT_FOUND, "%s is not a live instance; see: %s",
                        ph_id_text(id.b, text), cli_command_line(cli, "instance list --all"));
    row.id = id;
    cli_row(cli, &row);
    return CLI_OK;
}

const struct cli_command cli_instance_leave = {
    .name = "instance leave",
    .summary = "remove a worker by hand",
    .operands = "INSTANCE",
    .description = "Removes an instance by hand, as if it had said good-bye: its claimed messages "
                   "are given back at once, and these attempts do not count. Use it for a worker "
                   "that you know to be dead, instead of waiting until its leases expire.\n"
                   "If the worker still runs, its next call tells it so, and it registers anew; "
                   "what it was doing may be done twice.",
    .fields = leave_fields,
    .layout = CLI_CARD,
    .examples = CLI_EXAMPLES(
        { "posthorn work mail.send --service mailer --exec cat & worker=$!; until posthorn "
          "instance list -q --service mailer --no-header > gone; do sleep 0.1; done",
          "A worker …" },
        { "kill -9 $worker", "… that dies" },
        { "posthorn instance leave \"$(cut -d' ' -f1 gone)\"", "Its messages need not wait" }),
    .exits = CLI_EXITS({ CLI_NOT_FOUND, "there is no such instance, or it has already ended" }),
    .run = run_leave,
};
