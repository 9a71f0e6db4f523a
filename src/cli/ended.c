/* ended.c - joins that a call of the library has ended: told in a note, or in a row of JSON. */
#include "frame.h"

#include <stdlib.h>

struct cli_ended {
    ph_join_end *joins;
    size_t count, size;
};

const struct cli_field cli_ended_fields[] = {
    { "join_id", CLI_F_UUID, "the join", NULL, NULL },
    { "status", CLI_F_STATE, "completed, failed or cancelled", NULL, NULL },
    { "expected_steps", CLI_F_NUMBER, "how many steps it expects", NULL, NULL },
    { "completed_steps", CLI_F_NUMBER, "how many of them are completed", NULL, NULL },
    { "failed_steps", CLI_F_NUMBER, "how many of them failed", NULL, NULL },
    { "waits", CLI_F_NUMBER, "how many waits were settled with it", NULL, NULL },
    { 0 },
};

static void on_join(void *context, const ph_join_end *join)
{
    struct cli_ended *ended = ((struct cli *)context)->ended;

    if (ended->count == ended->size) {
        ended->size = ended->size ? 2 * ended->size : 8;
        ended->joins = cli_need(realloc(ended->joins, ended->size * sizeof(*ended->joins)));
    }
    ended->joins[ended->count++] = *join;
}

void cli_joins_watch(struct cli *cli)
{
    cli->ended = cli_alloc(cli, sizeof(*cli->ended));
}

void cli_joins_hook(struct cli *cli, ph_store_opts *opts)
{
    if (!cli->ended)
        return;
    opts->join_ended = on_join;
    opts->join_context = cli;
}

void cli_joins_free(struct cli *cli)
{
    if (cli->ended)
        free(cli->ended->joins);
}

static void note(struct cli *cli, const ph_join_end *join)
{
    char id[PH_ID_TEXT_SIZE];
    int ended = join->completed_steps + join->failed_steps;
    bool late = join->status == PH_JOIN_FAILED && ended < join->expected_steps;

    cli_note(cli, "join %s is %s%s: %d of %d steps completed, %d failed; %d wait%s settled",
             ph_id_text(join->id.b, id), ph_join_status_text(join->status),
             late ? ", its deadline has passed" : "", join->completed_steps, join->expected_steps,
             join->failed_steps, join->waits, join->waits == 1 ? "" : "s");
}

void cli_joins_note(struct cli *cli)
{
    for (size_t i = 0; i < cli->ended->count; i++)
        note(cli, &cli->ended->joins[i]);
    cli->ended->count = 0;
}

void cli_joins_tell(struct cli *cli, json_t *row)
{
    json_t *joins;

    if (cli->format == CLI_TEXT_FORM) {
        cli_joins_note(cli);
        return;
    }
    if (cli->ended->count == 0)
        return;
    joins = cli_need(json_array());
    for (size_t i = 0; i < cli->ended->count; i++) {
        const ph_join_end *join = &cli->ended->joins[i];
        json_t *object =
            json_pack("{s:o, s:s, s:i, s:i, s:i, s:i}", "join_id", cli_json_id(join->id.b),
                      "status", ph_join_status_text(join->status), "expected_steps",
                      join->expected_steps, "completed_steps", join->completed_steps,
                      "failed_steps", join->failed_steps, "waits", join->waits);

        json_array_append_new(joins, cli_need(object));
    }
    if (json_object_set_new(row, "joins_completed", joins) < 0)
        cli_need(NULL);
    cli->ended->count = 0;
}
