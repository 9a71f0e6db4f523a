/* cures.c - cures in terms of commands; the library names its own functions. */
#include "frame.h"

#include <string.h>

/* {…} is a command of ours, in which DOOR becomes the option --door, unless that is the outbox.
 * NULL: the text of the library fits. */
static const char *template_of(ph_cure cure)
{
    static const char *const templates[] = {
        [PH_CURE_MIGRATE] = "run: {migrate up}",
        [PH_CURE_DEPLOY] = "run: {migrate up}",
        [PH_CURE_CREATE_FILE] = "run: {migrate up}, which creates it; or check the path",
        [PH_CURE_UPGRADE] = "use a newer version of posthorn",
        [PH_CURE_GRANT] = "grant the role its rights: {migrate sql --roles} prints the statements",
        [PH_CURE_NEW_OWNER] = "give one that is not all zero",
        [PH_CURE_REGISTER] = "register again with a new id",
        [PH_CURE_TIMER_ID] = "pass the id that {timer add} printed",
        [PH_CURE_JOIN_ID] = "pass the id that {join start} printed",
        [PH_CURE_MESSAGE_ID] = "pass the id that {enqueue} printed",
        [PH_CURE_LIST_JOBS] = "see: {job list}",
        [PH_CURE_RETENTION] = "settle or discard its messages, then run: {retention}",
        [PH_CURE_MORE_TIME] = "allow the call more time, or check the file for foreign objects "
                              "(see: {doctor})",
        [PH_CURE_BEGIN_IMMEDIATE] = "try again when it has ended",
        [PH_CURE_WORKERS] = "start more workers, or resume a paused queue (see: {queue list DOOR})",
        [PH_CURE_SCHEDULER] = "run a scheduler ({schedule}), or resume a paused queue (see: {queue "
                              "list DOOR})",
        [PH_CURE_REAP] = "a worker has died or hangs; the next claim takes them back, or run: "
                         "{reap}",
        [PH_CURE_DEAD_LETTERS] = "look at them with: {dead list DOOR}",
        [PH_CURE_DEAD_HEAD] = "look at the head with {explain ID}, then {dead retry ID} or {dead "
                              "discard ID}; or let the whole queue go on: {queue set --namespace "
                              "NAME --dead-head skip DOOR}",
        [PH_CURE_JOINS] = "look at them with: {join show ID}; one that hangs can be cancelled",
        [PH_CURE_LONG_TRANSACTION] = "a long transaction keeps, or kept, SQLite from reusing it: "
                                     "see {doctor --deep}; PRAGMA wal_checkpoint(TRUNCATE) "
                                     "shrinks it while nobody else is connected",
        [PH_CURE_JOURNAL_MODE] = "run: {migrate up}; or PRAGMA journal_mode = WAL, on a local disk",
    };

    return cure < sizeof(templates) / sizeof(*templates) ? templates[cure] : NULL;
}

/* One command of a template, from after its brace. */
static const char *command_of(struct cli *cli, const char *at, ph_door door)
{
    const char *command = "", *end = at + strcspn(at, "}");

    while (at < end) {
        int length = (int)strcspn(at, " }");
        const char *word = cli_printf(cli, "%.*s", length, at);

        if (strcmp(word, "DOOR") == 0)
            word = door == PH_OUTBOX ? "" : cli_printf(cli, "--door %s", ph_door_text(door));
        command = cli_printf(cli, "%s%s%s", command, *command && *word ? " " : "", word);
        at += length + 1;
    }
    return cli_command_line(cli, "%s", command);
}

const char *cli_cure(struct cli *cli, ph_cure cure, ph_door door)
{
    const char *at = template_of(cure), *said = "", *open;

    if (!at)
        return NULL;
    for (; (open = strchr(at, '{')) != NULL; at = strchr(open, '}') + 1)
        said = cli_printf(cli, "%s%.*s%s", said, (int)(open - at), at,
                          command_of(cli, open + 1, door));
    return cli_printf(cli, "%s%s", said, at);
}

const char *cli_error_text(struct cli *cli, const ph_error *err)
{
    const char *cure = cli_cure(cli, err->cure, PH_OUTBOX);
    char cause[PH_ERROR_MESSAGE_SIZE];

    if (!*err->message)
        return ph_status_text(err->code);
    if (!cure)
        return cli_strdup(cli, err->message);
    return cli_printf(cli, "%s; %s", ph_error_cause(err, cause), cure);
}
