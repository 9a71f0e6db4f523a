/* stream.h - streams and their checkpoints: what the verbs of both share. */
#ifndef POSTHORN_CLI_STREAM_H
#define POSTHORN_CLI_STREAM_H

#include "message.h"

/* The stream that --door, --namespace and the first operand name. */
struct cli_stream {
    const struct cli_door *door;
    const char *ns, *key;
};
struct cli_stream cli_stream_named(const struct cli *cli);
#define CLI_STREAM_OPTIONS                                                                         \
    CLI_STREAM_DOOR_OPTION("the door of the stream"), CLI_NAMESPACE_OPTION(CLI_THE_QUEUE)

/* " --door inbox --namespace n", without what is the default; for a command line. */
const char *cli_stream_options(struct cli *cli, const struct cli_stream *stream);

/* The live instances. Returns an exit code. */
int cli_workers(struct cli *cli, ph_instances **ret_workers);
/* The service whose instances work on a queue (ns NULL: on any behind the door). NULL: no service
 * says so, or several do. Lasts as long as workers. */
const char *cli_workers_service(const ph_instances *workers, const struct cli_door *door,
                                const char *ns);

/* Looks a stream up, by --service (if omitted, the one that works on its queue) and --partitions;
 * *ret_list holds it, to be freed by ph_streams_free(). Returns an exit code, and does not report
 * CLI_NOT_FOUND. */
int cli_stream_find(struct cli *cli, const struct cli_stream *stream, ph_streams **ret_list);
/* Reports that there is none. */
int cli_stream_missing(struct cli *cli, const struct cli_stream *stream);

/* The checkpoints of a stream (consumer NULL: all), to be freed. Returns an exit code. */
int cli_checkpoints(struct cli *cli, const struct cli_stream *stream, const char *consumer,
                    ph_checkpoints **ret_list);
extern const struct cli_field cli_checkpoint_fields[];

#endif
