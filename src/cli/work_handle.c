/* work_handle.c - handles one message: runs the command, and turns its end into the verdict. */
#include "work.h"
#include "frame.h"
#include "message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#define SHORT_OF_DELAY_MS 1000 /* memory or processes: others will give some back */

#define BROKEN_WAIT_MS 500 /* until work ends: otherwise it would come right back */

/* How one message was handled, for the log and the verdict. */
struct handled {
    ph_verdict verdict;
    const char *word;  /* stable, for --jsonl */
    char reason[160];  /* "": it is done */
    int64_t delay_ms;  /* negative: as the dispatcher or the queue says */
    bool with_stderr;  /* the end of standard error belongs to the error */
    const char *store; /* of a set of databases: the message's; or NULL */
};

static enum process_wish wish(void *context)
{
    const ph_work *message = context;
    enum process_wish asked = work_stop_wish();

    return asked == PROCESS_GO_ON && ph_work_cancelled(message) ? PROCESS_END : asked;
}

static void verdict_is(struct handled *handled, ph_verdict verdict, const char *word)
{
    handled->verdict = verdict;
    handled->word = word;
}

static void judge_exit(const struct work *work, int status, struct handled *handled)
{
    snprintf(handled->reason, sizeof(handled->reason), "exit status %d", status);
    handled->with_stderr = true;
    switch (status) {
    case EX_OK:
        handled->reason[0] = '\0';
        verdict_is(handled, PH_VERDICT_DONE, "done");
        break;
    case EX_TEMPFAIL:
        verdict_is(handled, PH_VERDICT_DEFER, "deferred");
        break;
    case EX_DATAERR:
        verdict_is(handled, PH_VERDICT_FAIL, "failed");
        break;
    default:
        verdict_is(handled, PH_VERDICT_RETRY, "retry");
        handled->delay_ms = work->retry_delay_ms;
    }
}

static bool is_short_of(int error)
{
    static const int temporary[] = { EAGAIN, ENOMEM, EMFILE, ENFILE, ENOSPC, EIO, ETXTBSY };

    for (size_t i = 0; i < sizeof(temporary) / sizeof(*temporary); i++)
        if (error == temporary[i])
            return true;
    return false;
}

/* The command could not be started. That must not cost the message an attempt, unless it is too
 * large for an environment or a file. If the machine is short of something, we wait a little.
 * Otherwise the command is gone or no longer a program, no message would fare better, and work ends
 * with an error for the operator. */
static void judge_start(struct work *work, ph_work *message, int error, struct handled *handled)
{
    snprintf(handled->reason, sizeof(handled->reason), "cannot start the command: %s",
             strerror(error));
    if (error == E2BIG || error == EFBIG) {
        verdict_is(handled, PH_VERDICT_RETRY, "retry");
        handled->delay_ms = work->retry_delay_ms;
    } else if (is_short_of(error)) {
        verdict_is(handled, PH_VERDICT_DEFER, "deferred");
        handled->delay_ms = SHORT_OF_DELAY_MS;
        if (!atomic_exchange(&work->spared, true)) {
            pthread_mutex_lock(&work->words);
            cli_warn(work->cli, "%s; trying again every second", handled->reason);
            pthread_mutex_unlock(&work->words);
        }
        ph_work_wait(message, SHORT_OF_DELAY_MS);
    } else {
        verdict_is(handled, PH_VERDICT_DEFER, "released");
        handled->delay_ms = 0;
        work_stop_broken(error);
        ph_work_wait(message, BROKEN_WAIT_MS);
    }
}

static void judge(struct work *work, ph_work *message, const struct process_result *result,
                  struct handled *handled)
{
    char limit[CLI_DURATION_SIZE];

    if (result->end != PROCESS_NOT_STARTED)
        atomic_store(&work->spared, false);
    switch (result->end) {
    case PROCESS_EXITED:
        judge_exit(work, result->code, handled);
        break;
    case PROCESS_SIGNALLED:
        snprintf(handled->reason, sizeof(handled->reason), "killed by signal %d", result->code);
        break;
    case PROCESS_TIME_LIMIT:
        snprintf(handled->reason, sizeof(handled->reason), "time limit of %s",
                 cli_duration_text(work->time_limit_ms, limit));
        break;
    case PROCESS_STOPPED:
        if (work_stop_wish() != PROCESS_GO_ON) {
            snprintf(handled->reason, sizeof(handled->reason), "stopped");
            verdict_is(handled, PH_VERDICT_DEFER, "released");
            handled->delay_ms = 0;
        } else {
            snprintf(handled->reason, sizeof(handled->reason), "the lease was lost");
        }
        break;
    case PROCESS_NOT_STARTED:
        judge_start(work, message, result->code, handled);
        break;
    }
    if (!handled->word) {
        verdict_is(handled, PH_VERDICT_RETRY, "retry");
        handled->delay_ms = work->retry_delay_ms;
        handled->with_stderr = true;
    }
}

/* The end of standard error without the blanks around it and without half a character. */
static const char *tail_text(struct process_result *result)
{
    char *from = result->tail;
    size_t length = strlen(from);

    while (length > 0 && strchr(" \t\r\n", from[length - 1]))
        from[--length] = '\0';
    if (length + 1 >= PROCESS_TAIL_MAX)
        for (int i = 0; i < 3 && ((unsigned char)*from & 0xc0) == 0x80; i++)
            from++;
    return from + strspn(from, "\r\n");
}

/* The error that is kept with the attempt: what the command said, or else how it ended. */
static void give_error(ph_work *message, const struct handled *handled,
                       struct process_result *result)
{
    char error[PROCESS_TAIL_MAX + sizeof(handled->reason) + 3];
    const char *tail = handled->with_stderr ? tail_text(result) : "";
    bool said_enough = *tail && result->end == PROCESS_EXITED;

    if (!handled->reason[0])
        return;
    snprintf(error, sizeof(error), "%s%s%s", said_enough ? "" : handled->reason,
             *tail && !said_enough ? ": " : "", tail);
    ph_work_error(message, error);
}

struct row {
    ph_delivery m;
    const char *store, *verdict, *reason;
    int64_t exit_status, signal, run_ms;
};

#define ROW(...) CLI_FIELD(struct row, __VA_ARGS__)
const struct cli_field work_fields[] = {
    ROW("work_id", m.work_id, UUID, NULL, "the message's work id"),
    ROW("store", store, TEXT, NULL, "the store it is in; absent without a set", .or_none = true),
    ROW("message_id", m.message_id, UUID, NULL, "its message id"),
    ROW("topic", m.topic, TEXT, NULL, "its topic"),
    CLI_STREAM_FIELDS(struct row, NULL, NULL),
    ROW("attempts", m.attempts, NUMBER, NULL, "how often it was claimed, this time included"),
    ROW("verdict", verdict, STATE, NULL,
        "done, retry, failed, deferred, or released (because work ends); without effect if the "
        "lease is lost before it is stored"),
    ROW("exit_status", exit_status, NUMBER, NULL,
        "the exit status of the command; null: it did not end by itself"),
    ROW("signal", signal, NUMBER, NULL,
        "the signal that killed the command; null: none, or we sent it"),
    ROW("reason", reason, TEXT, NULL, "why it is not done, in words; null: it is done"),
    ROW("run_ms", run_ms, NUMBER, NULL, "how long the command ran"),
    { 0 },
};

static void print_row(struct cli *cli, const ph_delivery *message, const struct handled *handled,
                      const struct process_result *result)
{
    const struct row row = {
        .m = *message,
        .store = handled->store,
        .verdict = handled->word,
        .reason = handled->reason[0] ? handled->reason : NULL,
        .exit_status = result->end == PROCESS_EXITED ? result->code : CLI_NO_NUMBER,
        .signal = result->end == PROCESS_SIGNALLED ? result->code : CLI_NO_NUMBER,
        .run_ms = result->run_us / 1000,
    };

    cli_row(cli, &row);
}

/* As JSON, since a topic may hold what a terminal would obey. To be freed; NULL: no memory. */
static char *quoted(const char *topic)
{
    json_t *text = cli_json_text(topic);
    char *line = json_dumps(text, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);

    json_decref(text);
    return line;
}

static void report(struct work *work, const ph_delivery *message, const struct handled *handled,
                   const struct process_result *result)
{
    char id[PH_ID_TEXT_SIZE], took[CLI_DURATION_SIZE];
    char *topic = work->verbose ? quoted(message->topic) : NULL;
    char *place = work->verbose && handled->store ? cli_escaped(handled->store) : NULL;

    pthread_mutex_lock(&work->words);
    if (topic)
        cli_note(work->cli, "%s%s%s %s: attempt %d, %s%s%s after %s", handled->store ? place : "",
                 handled->store ? ": " : "", ph_id_text(message->work_id.b, id), topic,
                 message->attempts, handled->word, handled->reason[0] ? ", " : "", handled->reason,
                 cli_duration_text(result->run_us / 1000, took));
    if (work->cli->format != CLI_TEXT_FORM) {
        print_row(work->cli, message, handled, result);
        cli_flush(work->cli);
        if (cli_write_failed(work->cli))
            work_stop_unread();
    }
    pthread_mutex_unlock(&work->words);
    free(topic);
    free(place);
}

static void run_command(const struct work *work, const ph_delivery *delivery, const char *store,
                        int db_fd, struct process_spec *spec, struct process_result *result)
{
    char **env = work_env(work, delivery, store, db_fd);

    spec->envp = env;
    if (env)
        process_run(spec, result);
    free(env);
    if (db_fd >= 0)
        close(db_fd);
}

ph_verdict work_handle(void *context, ph_work *message)
{
    struct work *work = context;
    const ph_delivery *delivery = ph_work_delivery(message);
    struct handled handled = { .delay_ms = -1 };
    struct process_result result = { .end = PROCESS_NOT_STARTED, .code = ENOMEM };
    struct process_spec spec = {
        .path = work->path,
        .argv = work->argv,
        .input = delivery->payload,
        .input_length = delivery->payload_length,
        .stdout_fd = work->stdout_fd,
        .time_limit_ms = work->time_limit_ms,
        .kill_after_ms = work->kill_after_ms,
        .wish = wish,
        .wish_context = message,
    };
    int db_fd;

    if (cli_is_set(work->cli))
        handled.store = ph_work_store_id(message);
    work_topic_seen(work, delivery->topic);
    db_fd = work_db_open(work, handled.store);
    if (db_fd == -1)
        result.code = errno;
    else
        run_command(work, delivery, handled.store, db_fd, &spec, &result);
    judge(work, message, &result, &handled);
    give_error(message, &handled, &result);
    ph_work_delay(message, handled.delay_ms);
    report(work, delivery, &handled, &result);
    return handled.verdict;
}
