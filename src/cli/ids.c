/* ids.c - the ids that a verb is given, as operands or on stdin. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

static void add(struct cli *cli, struct cli_ids *ids, const ph_lease_ref *ref)
{
    if ((ids->count & (ids->count + 1)) == 0) { /* full: 0, 1, 3, 7, … are in use */
        ph_lease_ref *grown = cli_alloc(cli, (ids->count + 1) * 2 * sizeof(*grown));

        if (ids->count)
            memcpy(grown, ids->refs, ids->count * sizeof(*grown));
        ids->refs = grown;
    }
    ids->refs[ids->count++] = *ref;
}

/* ID or ID:FENCE */
static int parse(struct cli *cli, const char *text, ph_lease_ref *ret_ref)
{
    const char *colon = strchr(text, ':');
    const char *id = colon ? cli_printf(cli, "%.*s", (int)(colon - text), text) : text;
    char *end = NULL;
    int code = cli_parse_id(cli, id, ret_ref->work_id.b);

    if (code != CLI_OK || !colon)
        return code;
    if (strspn(colon + 1, "0123456789") == strlen(colon + 1) && strlen(colon + 1) < 19)
        ret_ref->fence = strtoll(colon + 1, &end, 10);
    if (ret_ref->fence <= 0)
        return cli_usage(cli, "\"%.80s\" is not a fence; it is a number from 1, as claim prints it",
                         colon + 1);
    return CLI_OK;
}

static int parse_object(struct cli *cli, const char *text, ph_lease_ref *ret_ref)
{
    json_t *object = json_loads(text, 0, NULL);
    const char *id = json_string_value(json_object_get(object, "work_id"));
    json_t *fence = json_object_get(object, "fence");
    int code;

    if (!id)
        code = cli_usage(cli, "this is not an object with a work_id");
    else
        code = cli_parse_id(cli, id, ret_ref->work_id.b);
    if (code == CLI_OK && json_is_integer(fence))
        ret_ref->fence = json_integer_value(fence);
    json_decref(object);
    return code;
}

/* The heading of a table is passed over, so that one verb can read what another prints. */
static bool is_heading(const char *text)
{
    return strncmp(text, "WORK ID", 7) == 0 || strncmp(text, "LEASE", 5) == 0;
}

static int read_lines(struct cli *cli, struct cli_ids *ids)
{
    char *text, where[32];
    size_t length;
    int code;

    for (int64_t number = 1;; number++) {
        ph_lease_ref ref = { 0 };

        code = cli_read_line(cli, &text, &length);
        if (code != CLI_OK || !text)
            return code;
        text += strspn(text, " \t");
        if (!*text || (number == 1 && is_heading(text)))
            continue;
        snprintf(where, sizeof(where), "line %lld", (long long)number);
        cli->where = where;
        if (*text == '{') {
            code = parse_object(cli, text, &ref);
        } else {
            text[strcspn(text, " \t")] = '\0';
            code = parse(cli, text, &ref);
        }
        cli->where = NULL;
        if (code != CLI_OK)
            return code;
        add(cli, ids, &ref);
    }
}

int cli_ids_read(struct cli *cli, struct cli_ids *ret_ids)
{
    struct cli_ids ids = { 0 };
    bool from_stdin = false;
    int code = CLI_OK;

    for (size_t i = 0; i < cli->operand_count && code == CLI_OK; i++) {
        ph_lease_ref ref = { 0 };

        if (strcmp(cli->operands[i], "-") == 0) {
            code = read_lines(cli, &ids);
            from_stdin = true;
            continue;
        }
        code = parse(cli, cli->operands[i], &ref);
        if (code == CLI_OK)
            add(cli, &ids, &ref);
    }
    if (code == CLI_OK && ids.count == 0)
        code = from_stdin ? cli_fail(cli, CLI_NOT_FOUND, "there are no ids on stdin")
                          : cli_usage(cli, "which messages? give their ids, or - for stdin");
    *ret_ids = ids;
    return code;
}
