/* door.h - outbox, inbox, timers and job runs: the library's verbs behind each door. */
#ifndef POSTHORN_CLI_DOOR_H
#define POSTHORN_CLI_DOOR_H

#include "cli.h"

struct cli_door {
    ph_door door;
    const char *name; /* as --door takes it */
    const char *noun; /* what comes through it: "message", "inbox message", "timer", "job run" */
    int (*claim)(ph_store *store, ph_tx tx, ph_owner owner, const ph_claim_opts *opts,
                 int timeout_ms, ph_batch **ret_batch, ph_error *reterr);
    int (*settle)(ph_store *store, ph_tx tx, ph_owner owner, const ph_settlement *items,
                  size_t count, int timeout_ms, ph_outcome *ret_outcomes, ph_error *reterr);
    int (*renew)(ph_store *store, ph_tx tx, ph_owner owner, const ph_lease_ref *items, size_t count,
                 int lease_s, int timeout_ms, ph_outcome *ret_outcomes, ph_error *reterr);
    int (*reap)(ph_store *store, ph_tx tx, int timeout_ms, int64_t *ret_count, ph_error *reterr);
    int (*find)(ph_store *store, ph_tx tx, ph_work_id id, int timeout_ms,
                ph_message_info **ret_info, ph_error *reterr);
    int (*count)(ph_store *store, ph_tx tx, const char *ns, int timeout_ms,
                 ph_queue_counts *ret_counts, ph_error *reterr);
    int (*list)(ph_store *store, ph_tx tx, const ph_message_list_opts *opts, int timeout_ms,
                ph_messages **ret_list, ph_error *reterr);
};

/* In the order of CLI_DOORS. */
#define CLI_STREAM_DOORS "outbox inbox" /* the first ones: those that have streams */
#define CLI_DOORS CLI_STREAM_DOORS " timers job_runs"
#define CLI_DOORS_HELP "outbox, inbox, timers or job_runs"
#define CLI_DOOR_COUNT 4
extern const struct cli_door cli_doors[CLI_DOOR_COUNT];
extern const struct cli_door *const cli_outbox, *const cli_inbox, *const cli_timers,
                                                                      *const cli_job_runs;

#define CLI_DOOR_OPTION(text)                                                                      \
    CLI_OPTION("door", 0, WORD, "DOOR", text, .value = "outbox", .choices = CLI_DOORS)
#define CLI_WHICH_DOOR "the door to claim from"
#define CLI_STREAM_DOOR_OPTION(text)                                                               \
    CLI_OPTION("door", 0, WORD, "DOOR", text, .value = "outbox", .choices = CLI_STREAM_DOORS)
/* The number of partitions and the service that shares them: for verbs that show streams. */
#define CLI_PARTITIONS "10000" /* PH_PARTITIONS */
#define CLI_PARTITION_OPTIONS                                                                      \
    CLI_OPTION("service", 0, TEXT, "NAME",                                                         \
               "the service whose instances share the partitions; if omitted, the only one that "  \
               "runs posthorn work on the queue"),                                                 \
        CLI_OPTION(                                                                                \
            "partitions", 0, NUMBER, "N",                                                          \
            "the number of partitions; if omitted, that of the service, or " CLI_PARTITIONS,       \
            .min = 1, .max = PH_PARTITIONS_MAX)

/* The door that --door names. */
const struct cli_door *cli_door(const struct cli *cli);

/* Outbox and inbox have ordered streams. */
bool cli_has_streams(const struct cli_door *door);

/* Looks for a work id behind every door. Returns a status of the library; if no door has the id,
 * the outbox's error. */
int cli_find(struct cli *cli, ph_work_id id, const struct cli_door **ret_door,
             ph_message_info **ret_info);

/* Called with a message that was found; returns an exit code. */
typedef int (*cli_found_fn)(struct cli *cli, const struct cli_door *door,
                            const ph_message_info *info);

/* Looks for the first operand, a work id, in every database. Returns the code of found().
 * CLI_NOT_FOUND with *ret_found false: no database has it, and the caller has to say so. */
int cli_find_each(struct cli *cli, cli_found_fn found, bool *ret_found);

#endif
