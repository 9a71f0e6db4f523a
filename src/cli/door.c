/* door.c - outbox, inbox, timers and job runs: the library's verbs behind each door. */
#include "door.h"

const struct cli_door cli_doors[CLI_DOOR_COUNT] = {
    { PH_OUTBOX, "outbox", "message", ph_outbox_claim, ph_outbox_settle, ph_outbox_renew,
      ph_outbox_reap_expired, ph_outbox_find, ph_outbox_count, ph_outbox_list },
    { PH_INBOX, "inbox", "inbox message", ph_inbox_claim, ph_inbox_settle, ph_inbox_renew,
      ph_inbox_reap_expired, ph_inbox_find, ph_inbox_count, ph_inbox_list },
    { PH_TIMERS, "timers", "timer", ph_timers_claim, ph_timers_settle, ph_timers_renew,
      ph_timers_reap_expired, ph_timers_find, ph_timers_count, ph_timers_list },
    { PH_JOB_RUNS, "job_runs", "job run", ph_job_runs_claim, ph_job_runs_settle, ph_job_runs_renew,
      ph_job_runs_reap_expired, ph_job_runs_find, ph_job_runs_count, ph_job_runs_list },
};
const struct cli_door *const cli_outbox = &cli_doors[0];
const struct cli_door *const cli_inbox = &cli_doors[1];
const struct cli_door *const cli_timers = &cli_doors[2];
const struct cli_door *const cli_job_runs = &cli_doors[3];

const struct cli_door *cli_door(const struct cli *cli)
{
    return &cli_doors[cli_word(cli, "door")];
}

bool cli_has_streams(const struct cli_door *door)
{
    return door == cli_outbox || door == cli_inbox;
}

int cli_find(struct cli *cli, ph_work_id id, const struct cli_door **ret_door,
             ph_message_info **ret_info)
{
    ph_error first = { 0 };

    for (const struct cli_door *door = cli_doors; door < cli_doors + CLI_DOOR_COUNT; door++) {
        int r = door->find(cli->store, PH_OWN_TX, id, cli->timeout_ms, ret_info, &cli->err);

        *ret_door = door;
        if (r != PH_ENOTFOUND)
            return r;
        if (door == cli_doors)
            first = cli->err;
    }
    cli->err = first;
    return PH_ENOTFOUND;
}

struct search {
    ph_work_id id;
    cli_found_fn found;
    int code;
    bool is_found;
};

static int search_one(struct cli *cli, void *context)
{
    struct search *search = context;
    const struct cli_door *door = NULL;
    ph_message_info *info = NULL;
    int r = cli_find(cli, search->id, &door, &info);

    if (r == PH_ENOTFOUND)
        return CLI_NOT_FOUND;
    if (r < 0)
        return cli_fail_store(cli);
    search->is_found = true;
    search->code = search->found(cli, door, info);
    ph_message_info_free(info);
    return CLI_OK;
}

int cli_find_each(struct cli *cli, cli_found_fn found, bool *ret_found)
{
    struct search search = { .found = found };
    struct cli_each each = { .one = search_one, .until_found = true, .context = &search };
    int code = cli_parse_id(cli, cli->operands[0], search.id.b);

    if (code == CLI_OK)
        code = cli_each(cli, &each);
    *ret_found = search.is_found;
    return code == CLI_OK ? search.code : code;
}
