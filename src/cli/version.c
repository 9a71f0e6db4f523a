/* version.c - posthorn --version. */
#include "frame.h"

#include <stdlib.h>
#include <string.h>

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
    version = json_pack("{s:s, s:s, s:i, s:o}", "command", PH_VERSION, "library", ph_version(),
                        "schema", ph_schema_version(), "backends", backends_json());
    line = cli_need(json_dumps(version, 0));
    cli_print(cli, "%s\n", line);
    free(line);
    json_decref(version);
}
