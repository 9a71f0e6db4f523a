/* version.c - posthorn --version. */
#include "frame.h"

#include <stdlib.h>
#include <string.h>

struct version {
    const char *command, *library;
    int schema;
    json_t *backends;
};

static const struct cli_field fields[] = {
    CLI_FIELD(struct version, "command", command, TEXT, NULL, "of the command"),
    CLI_FIELD(struct version, "library", library, TEXT, NULL, "of the library"),
    CLI_FIELD(struct version, "schema", schema, NUMBER, NULL, "of its schema"),
    CLI_FIELD(struct version, "backends", backends, JSON, NULL, "that are built in"),
    { 0 },
};

/* "sqlite postgresql" as an array. */
static json_t *backends_json(void)
{
    json_t *array = cli_need(json_array());

    for (const char *at = ph_backends(); *at;) {
        size_t length = strcspn(at, " ");

        if (length > 0)
            json_array_append_new(array, cli_need(json_stringn(at, length)));
        at += length + strspn(at + length, " ");
    }
    return array;
}

void cli_version(struct cli *cli)
{
    json_t *version;
    char *line;

    if (cli->format == CLI_TEXT_FORM) {
        cli_print(cli, "posthorn %s\nlibrary   %s\nschema    %d\nbackends  %s\n", PH_VERSION,
                  ph_version(), ph_schema_version(), ph_backends());
        return;
    }
    version = cli_object(fields, &(struct version){ PH_VERSION, ph_version(), ph_schema_version(),
                                                    backends_json() });
    line = cli_need(json_dumps(version, 0));
    cli_print(cli, "%s\n", line);
    free(line);
    json_decref(version);
}
