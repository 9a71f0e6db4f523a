/* ended.c - joins that a call of the library has ended: told in a note, or in a row of JSON. */
#include "frame.h"

#include <stdlib.h>

struct cli_ended {
    ph_join_end *joins;
    size_t count, size;
};

static const char *state_of(const void *join)
{
    return ph_join_state_text(((const ph_join_end *)join)->state);
}

const struct cli_field cli_ended_fields[] = {
    CLI_FIELD(ph_join_end, "join_id", id, UUID, NULL, "the join"),
    CLI_FIELD_TEXT("state", state_of, STATE, NULL, "completed, failed or cancelled"),
    CLI_FIELD(ph_join_end, "expected_steps", expected_steps, NUMBER, NULL,
              "how many steps it expects"),
    CLI_FIELD(ph_join_end, "completed_steps", completed_steps, NUMBER, NULL,
              "how many of them are completed"),
    CLI_FIELD(ph_join_end, "failed_steps", failed_steps, NUMBER, NULL, "how many of them failed"),
    CLI_FIELD(ph_join_end, "waits", waits, NUMBER, NULL, "how many waits it settled"),
    { 0 },
};

static void on_join(void *context, const ph_join_end *join)
{
    struct cli_ended *ended = ((struct cli *)context)->ended;

    if (ended->count == ended->size) { /* not cli_grown(): a scheduler may run for months */
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
    bool late = join->state == PH_JOIN_FAILED && ended < join->expected_steps;

    cli_note(cli, "join %s is %s%s: %d of %d steps completed, %d failed; %d wait%s settled",
             ph_id_text(join->id.b, id), ph_join_state_text(join->state),
             late ? ", its deadline has passed" : "", join->completed_steps, join->expected_steps,
             join->failed_steps, join->waits, join->waits == 1 ? "" : "s");
}

void cli_joins_note(struct cli *cli)
{
    for (size_t i = 0; i < cli->ended->count; i++)
        note(cli, &cli->ended->joins[i]);
    cli->ended->count = 0;
}

json_t *cli_joins_tell(struct cli *cli)
{
    size_t count = cli->ended->count;

    if (cli->format == CLI_TEXT_FORM)
        cli_joins_note(cli);
    cli->ended->count = 0;
    return count && cli->format != CLI_TEXT_FORM
               ? cli_array(cli_ended_fields, cli->ended->joins, count, sizeof(*cli->ended->joins))
               : NULL;
}
