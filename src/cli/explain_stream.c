/* explain_stream.c - the reasons of posthorn explain that lie in streams. */
#include "explain.h"

#include <string.h>

int explain_stream_look(struct story *story)
{
    const ph_delivery *message = story->info->message;
    struct cli_stream stream = { story->door, message->ns, message->stream };
    int code;

    if (!message->stream)
        return CLI_OK;
    code = cli_stream_find(story->cli, &stream, &story->streams);
    if (code == CLI_OK)
        story->stream = ph_streams_at(story->streams, 0);
    return code == CLI_NOT_FOUND ? CLI_OK : code; /* deleted a moment ago */
}

static const char *id_text(const struct story *story, const uint8_t id[16])
{
    char text[PH_ID_TEXT_SIZE];

    return cli_strdup(story->cli, ph_id_text(id, text));
}

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

/* The three ways out, the safest first. */
static void advise_cures(struct story *story)
{
    struct cli *cli = story->cli;
    const char *head = id_text(story, story->stream->head.b);

    story->advice = cli_command_line(cli, "dead retry %s", head);
    story->others[0] = cli_command_line(cli, "dead discard %s", head);
    story->others[1] =
        cli_command_line(cli, "queue set%s --dead-head skip", explain_queue_options(story));
}

/* Which instance of a service comes first: the owner of the partition, for a while. since: when the
 * head became due; 0: it is not due. */
static void add_affinity(struct story *story, int64_t since)
{
    const ph_stream_info *stream = story->stream;
    const char *among, *owner;
    int64_t until = since + story->grace_us;

    if (ph_id_is_zero(stream->affinity_owner.b))
        return;
    among = cli_printf(story->cli, "Among the instances of the service \"%s\"",
                       stream->affinity_service);
    owner = id_text(story, stream->affinity_owner.b);
    if (since && until > story->now)
        explain_because(story, "affinity",
                        "%s the head is reserved for %s, the owner of its partition, %d, until %s; "
                        "workers outside the service do not wait.",
                        among, owner, stream->partition, explain_when(story, until));
    else if (since)
        explain_because(story, "partition_owner",
                        "%s its partition, %d, belongs to %s; since %s any of them may claim it.",
                        among, stream->partition, owner, explain_when(story, until));
    else
        explain_because(story, "partition_owner", "%s its partition, %d, belongs to %s.", among,
                        stream->partition, owner);
}

/* ------------------------------------------------------------------- parked */

static void head_is_pending(struct story *story)
{
    const ph_stream_info *stream = story->stream;
    const char *head = id_text(story, stream->head.b), *due;
    bool later = stream->head_due_at > story->now;

    due = explain_when(story, stream->head_due_at);
    if (later && stream->head_attempts > 0)
        explain_because(story, "head_retry_later",
                        "The head, %s, waits for its next attempt, which is due at %s; "
                        "it was claimed %d time%s.",
                        head, due, stream->head_attempts, plural(stream->head_attempts));
    else if (later)
        explain_because(story, "head_due_later",
                        "The head, %s, is scheduled: nobody can claim it before %s.", head, due);
    else
        explain_because(story, "head_ready",
                        "The head, %s, has been ready since %s, and nobody has claimed it yet.",
                        head, due);
    add_affinity(story, later ? 0 : stream->head_due_at);
}

static void head_is_leased(struct story *story)
{
    const ph_stream_info *stream = story->stream;
    bool over = stream->locked_until <= story->now;

    explain_because(story, over ? "head_lease_expired" : "head_leased",
                    over ? "The head, %s, was leased by %s until %s: the next claim takes it back."
                         : "The head, %s, is leased by %s until %s.",
                    id_text(story, stream->head.b), id_text(story, stream->owner.b),
                    explain_when(story, stream->locked_until));
    if (over)
        story->others[0] = explain_reap(story);
    add_affinity(story, 0);
}

static void head_is_dead(struct story *story)
{
    explain_because(story, "stream_blocked",
                    "The stream is blocked: its head, %s, is dead, and its queue does not skip "
                    "dead heads. It continues when the head is retried or discarded, or when the "
                    "queue is set to skip dead heads.",
                    id_text(story, story->stream->head.b));
    advise_cures(story);
}

void explain_parked(struct story *story)
{
    const ph_delivery *message = story->info->message;
    const ph_stream_info *stream = story->stream;
    int64_t before;

    story->state = "parked";
    if (!stream || stream->state == PH_STREAM_IDLE) {
        explain_because(story, "parked", "It was parked in its stream a moment ago; look again.");
        return;
    }
    before = message->seq - stream->next_seq + (stream->state == PH_STREAM_BLOCKED);
    explain_because(story, "parked",
                    "It is parked: number %lld of the stream \"%s\", and nobody can "
                    "claim it before the %lld message%s in front of it %s settled.",
                    (long long)message->seq, message->stream, (long long)before, plural(before),
                    before == 1 ? "is" : "are");
    if (!ph_id_is_zero(stream->head.b))
        story->advice = cli_command_line(story->cli, "explain %s", id_text(story, stream->head.b));
    if (stream->state == PH_STREAM_BLOCKED)
        head_is_dead(story);
    else if (stream->state == PH_STREAM_IN_PROGRESS)
        head_is_leased(story);
    else
        head_is_pending(story);
}

/* ----------------------------------------------------------------- the head */

static bool is_head(const struct story *story)
{
    return story->stream && memcmp(story->stream->head.b, story->info->message->work_id.b,
                                   sizeof(story->stream->head.b)) == 0;
}

void explain_head(struct story *story)
{
    const ph_message_info *info = story->info;
    int64_t behind;

    if (!is_head(story))
        return;
    behind = story->stream->unsettled - 1;
    explain_because(
        story, "stream_head",
        "It is the head of the stream \"%s\", number %lld; %lld message%s wait%s behind it.",
        info->message->stream, (long long)info->message->seq, (long long)behind, plural(behind),
        behind == 1 ? "s" : "");
    add_affinity(story, info->next_attempt_at > story->now ? 0 : info->next_attempt_at);
}

void explain_run(struct story *story)
{
    const ph_delivery *message = story->info->message;
    int64_t before;

    if (!story->stream || story->stream->state != PH_STREAM_IN_PROGRESS)
        return;
    before = message->seq - story->stream->next_seq;
    explain_because(
        story, "stream_run",
        "It is number %lld of the stream \"%s\"; nobody else gets a message of the stream "
        "meanwhile%s.",
        (long long)message->seq, message->stream,
        before > 0
            ? cli_printf(
                  story->cli,
                  "; its turn comes after the %lld in front of it, which were claimed with it",
                  (long long)before)
            : "");
}

void explain_dead_head(struct story *story)
{
    int64_t behind;

    if (!is_head(story) || story->stream->state != PH_STREAM_BLOCKED)
        return;
    behind = story->stream->unsettled;
    explain_because(story, "stream_blocked",
                    "It blocks the stream \"%s\": %lld message%s wait%s behind it until it is "
                    "retried or discarded, or its queue is set to skip dead heads.",
                    story->info->message->stream, (long long)behind, plural(behind),
                    behind == 1 ? "s" : "");
    advise_cures(story);
}
