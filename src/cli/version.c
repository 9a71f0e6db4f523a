/* version.c - posthorn --version. */
#include "frame.h"

void cli_version(struct cli *cli)
{
    if (cli->format == CLI_TEXT_FORM) {
        cli_print(cli, "posthorn %s\nlibrary   %s\nschema    %d\nbackends  %s\n", PH_VERSION,
                  ph_version(), ph_schema_version(), ph_backends());
        return;
    }
    cli_print(cli,
              "{\"command\": \"%s\", \"library\": \"%s\", \"schema\": %d, \"backends\": \"%s\"}\n",
              PH_VERSION, ph_version(), ph_schema_version(), ph_backends());
}
