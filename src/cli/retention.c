/* retention.c - posthorn retention: deletes messages that were settled long ago. */
#include "commands.h"

struct row {
    int64_t deleted;
};

static const struct cli_field fields[] = {
    CLI_STORE_OR_ALL,
    CLI_FIELD(struct row, "deleted", deleted, NUMBER, "Deleted", "how many messages it deleted"),
    CLI_TOTAL_FIELDS,
    CLI_ERROR_FIELD,
    { 0 },
};

static int one(struct cli *cli, void *context)
{
    struct row *all = context, here = { 0 };
    int64_t count = 0;

    cli_progress_begin(cli, "deleted", 0);
    do {
        if (ph_retention_run(cli->store, PH_OWN_TX, (int)cli_number(cli, "batch"), cli->timeout_ms,
                             &count, &cli->err) < 0)
            return cli_fail_store(cli);
        here.deleted += count;
        cli_progress_at(cli, here.deleted, 0);
    } while (count > 0 && !cli_given(cli, "once") && !cli_interrupted());
    cli_progress_end(cli);
    cli_row(cli, &here);
    all->deleted += here.deleted;
    return cli_interrupted() ? CLI_INTERRUPTED : CLI_OK;
}

static int run(struct cli *cli)
{
    struct row all = { 0 };
    struct cli_each each = { .one = one, .failed = cli_row_failed, .context = &all, .total = &all };

    return cli_each(cli, &each);
}

const struct cli_command cli_retention = {
    .name = "retention",
    .summary = "delete messages that were settled long ago",
    .description =
        "Deletes settled messages whose retention is over, and where that is set also dead letters "
        "and dedupe keys, in small transactions until nothing is left to delete. It never deletes "
        "messages that wait or are leased. posthorn queue set says how long each queue keeps "
        "them.\n"
        "Run it from time to time, by cron or a systemd timer; two at once do no harm. With a set "
        "of databases it cleans up one after the other, and prints a line per store and a total.",
    .options = CLI_OPTIONS(CLI_OPTION("batch", 'b', NUMBER, "N",
                                      "delete at most N of each kind in one transaction",
                                      .value = "1000", .min = 1, .max = PH_BATCH_MAX),
                           CLI_FLAG("once", 0, "only one transaction")),
    .fields = fields,
    .layout = CLI_CARD,
    .examples = CLI_EXAMPLES({ "posthorn retention", "Clean up" },
                             { "posthorn retention --once --batch 100 --json", "A little" }),
    .every_store = true,
    .graceful = true,
    .run = run,
};
