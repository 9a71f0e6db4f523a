/* ids.c - the ids given to a verb, as operands or on stdin. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void add(struct cli *cli, struct cli_ids *ids, const ph_lease_ref *ref)
{
    ids->refs = cli_grown(cli, ids->refs, ids->count, sizeof(*ids->refs));
    ids->refs[ids->count++] = *ref;
}

/* A number from 1; 0: the text is none. */
static int64_t fence_of(const char *text)
{
    if (!*text || strspn(text, "0123456789") != strlen(text) || strlen(text) > 18)
        return 0;
    return strtoll(text, NULL, 10);
}

/* ID or ID:FENCE */
static int parse(struct cli *cli, const char *text, ph_lease_ref *ret_ref)
{
    const char *colon = strchr(text, ':');
    const char *id = colon ? cli_printf(cli, "%.*s", (int)(colon - text), text) : text;
    int code = cli_parse_id(cli, id, ret_ref->work_id.b);

    if (code != CLI_OK || !colon)
        return code;
    ret_ref->fence = fence_of(colon + 1);
    if (ret_ref->fence <= 0)
        return cli_usage(cli,
                         "\"%.80s\" is not a fence; a fence is a number from 1, as claim prints it",
                         colon + 1);
    return CLI_OK;
}

/* Some languages print numbers of 64 bits as strings. Anything else is refused: ignoring a fence
 * that we cannot read would settle the message without one. */
static int parse_fence(struct cli *cli, const json_t *fence, int64_t *ret_fence)
{
    int64_t number = json_integer_value(fence);

    if (!fence || json_is_null(fence))
        return CLI_OK;
    if (json_is_string(fence))
        number = fence_of(json_string_value(fence));
    if (number <= 0)
        return cli_usage(cli, "fence is not a number from 1, as claim prints it");
    *ret_fence = number;
    return CLI_OK;
}

static int parse_object(struct cli *cli, const char *text, const char *member,
                        ph_lease_ref *ret_ref)
{
    json_error_t error = { 0 };
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    const char *id = json_string_value(json_object_get(object, member));
    int code;

    if (!object)
        return cli_usage(cli, "this is not JSON: %s", cli_json_error(cli, &error));
    if (!id)
        code = cli_usage(cli, "this is not an object with a %s", member);
    else
        code = cli_parse_id(cli, id, ret_ref->work_id.b);
    if (code == CLI_OK)
        code = parse_fence(cli, json_object_get(object, "fence"), &ret_ref->fence);
    json_decref(object);
    return code;
}

static int parse_line(struct cli *cli, char *text, const char *member, ph_lease_ref *ret_ref)
{
    if (*text == '{')
        return parse_object(cli, text, member, ret_ref);
    if (*text == '[')
        return cli_usage(cli, "this is the beginning of a JSON array; give one object per line, as "
                              "--jsonl prints them");
    text[strcspn(text, " \t")] = '\0';
    return parse(cli, text, ret_ref);
}

/* The heading of a table is passed over, so that one verb can read what another prints. */
static bool is_heading(const char *text)
{
    for (size_t i = 0; cli_commands[i]; i++) {
        const char *heading = cli_commands[i]->fields ? cli_commands[i]->fields->heading : NULL;

        if (heading && strncasecmp(text, heading, strlen(heading)) == 0)
            return true;
    }
    return false;
}

static int read_lines(struct cli *cli, const char *member, struct cli_ids *ids)
{
    char *text, where[32];
    size_t length;
    int code;

    for (int64_t number = 1;; number++) {
        ph_lease_ref ref = { 0 };

        code = cli_read_line(cli, CLI_JSON_LINE_MAX, &text, &length);
        if (code != CLI_OK || !text)
            return code;
        text += strspn(text, " \t");
        if (!*text || (number == 1 && is_heading(text)))
            continue;
        snprintf(where, sizeof(where), "line %lld", (long long)number);
        cli->where = where;
        code = parse_line(cli, text, member, &ref);
        cli->where = NULL;
        if (code != CLI_OK)
            return code;
        add(cli, ids, &ref);
    }
}

int cli_ids_read_from(struct cli *cli, size_t first, const char *member, struct cli_ids *ret_ids)
{
    struct cli_ids ids = { 0 };
    bool from_stdin = false;
    int code = CLI_OK;

    for (size_t i = first; i < cli->operand_count && code == CLI_OK; i++) {
        ph_lease_ref ref = { 0 };

        if (strcmp(cli->operands[i], "-") == 0) {
            code = read_lines(cli, member, &ids);
            from_stdin = true;
            continue;
        }
        code = parse(cli, cli->operands[i], &ref);
        if (code == CLI_OK)
            add(cli, &ids, &ref);
    }
    if (code == CLI_OK && ids.count == 0)
        code = from_stdin ? cli_fail(cli, CLI_NOT_FOUND, "there are no ids on stdin")
                          : cli_usage(cli, "no ids given; pass them, or - to read them from stdin");
    *ret_ids = ids;
    return code;
}

int cli_ids_read(struct cli *cli, struct cli_ids *ret_ids)
{
    return cli_ids_read_from(cli, 0, "work_id", ret_ids);
}
