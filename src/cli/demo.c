/* demo.c - posthorn demo: the whole of it in ten seconds, without writing code. */
#include "commands.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NAMESPACE "posthorn-demo"
#define FIRST_BACKOFF_MS 200
#define ATTEMPTS 3
#define LEASE_S 1
#define WAIT_MS 15000 /* limit of waits for what takes milliseconds */

struct row {
    const char *step, *expected, *seen;
    bool ok;
};

static const struct cli_field fields[] = {
    CLI_FIELD(struct row, "step", step, TEXT, NULL, "what was tried"),
    CLI_FIELD(struct row, "expected", expected, TEXT, NULL, "the expected result"),
    CLI_FIELD(struct row, "seen", seen, TEXT, NULL, "the result"),
    CLI_FIELD(struct row, "ok", ok, BOOL, NULL, "true: they are the same"),
    { 0 },
};

struct demo {
    struct cli *cli;
    ph_store *store;
    const char *ns;
    bool failing; /* what the handler does at the moment */
    int wrong;
    int number; /* of the step */
};

/* ------------------------------------------------------------------ telling */

static void say(struct demo *demo, const char *text)
{
    if (demo->cli->format == CLI_TEXT_FORM)
        cli_print(demo->cli, "   %s\n", text);
}

static void begin_step(struct demo *demo, const char *title, const char *command)
{
    struct cli *cli = demo->cli;

    if (cli->format != CLI_TEXT_FORM)
        return;
    cli_print(cli, "\n%s%d. %s%s\n", cli_colour(cli, CLI_BOLD), ++demo->number, title,
              cli_colour(cli, CLI_PLAIN));
    cli_print(cli, "   %s$ %s%s\n", cli_colour(cli, CLI_DIM), command, cli_colour(cli, CLI_PLAIN));
    cli_flush(cli);
}

static void check(struct demo *demo, const char *step, const char *expected, const char *seen)
{
    struct cli *cli = demo->cli;
    bool ok = strcmp(expected, seen) == 0;

    demo->wrong += !ok;
    if (cli->format != CLI_TEXT_FORM) {
        cli_row(cli, &(struct row){ step, expected, seen, ok });
        return;
    }
    cli_print(cli, "   %s%s%s %s%s%s\n", cli_colour(cli, ok ? CLI_GREEN : CLI_RED),
              ok ? "ok:" : "WRONG:", cli_colour(cli, CLI_PLAIN), seen,
              ok ? "" : "; it should be: ", ok ? "" : expected);
    cli_flush(cli);
}

/* "done after 2 attempts", "dead (attempts) after 3 attempts" */
static const char *fate(struct demo *demo, ph_work_id id)
{
    static const char *const words[] = { "ready", "in progress", "done", "dead" };
    struct cli *cli = demo->cli;
    ph_message_info *info = NULL;
    const char *text;

    if (ph_outbox_find(demo->store, PH_OWN_TX, id, 0, &info, &cli->err) < 0)
        return cli_strdup(cli, cli->err.message);
    text = cli_printf(cli, "%s%s%s%s after %d attempt%s", words[info->state],
                      info->dead_reason ? " (" : "", info->dead_reason ? info->dead_reason : "",
                      info->dead_reason ? ")" : "", info->message->attempts,
                      info->message->attempts == 1 ? "" : "s");
    ph_message_info_free(info);
    return text;
}

/* -------------------------------------------------------------------- doing */

static void sleep_ms(long ms)
{
    struct timespec pause = { ms / 1000, ms % 1000 * 1000000 };

    nanosleep(&pause, NULL);
}

static int enqueue(struct demo *demo, const char *payload, int64_t due_at, ph_work_id *ret_id)
{
    struct cli *cli = demo->cli;
    ph_message message = PH_MESSAGE_INIT;
    ph_enqueued enqueued;

    message.topic = "mail.send";
    message.payload = payload;
    message.ns = demo->ns;
    message.due_at = due_at;
    if (ph_enqueue(demo->store, PH_OWN_TX, &message, 0, &enqueued, &cli->err) < 0)
        return cli_fail_store(cli);
    *ret_id = enqueued.work_id;
    return CLI_OK;
}

/* The mail server is down at the first attempt; an address that does not exist never works. */
static ph_verdict send_mail(void *context, ph_work *work)
{
    struct demo *demo = context;
    const ph_delivery *message = ph_work_delivery(work);
    bool flaky = strstr(message->payload, "flaky") && message->attempts == 1;
    bool hopeless = strstr(message->payload, "nobody") && demo->failing;

    if (!flaky && !hopeless)
        return PH_VERDICT_DONE;
    ph_work_error(work, flaky ? "the mail server does not answer" : "there is no such address");
    return PH_VERDICT_RETRY;
}

static bool is_settled(struct demo *demo, ph_work_id id)
{
    ph_message_info *info = NULL;
    ph_error ignored;
    bool settled = ph_outbox_find(demo->store, PH_OWN_TX, id, 0, &info, &ignored) == 0 &&
                   (info->state == PH_DONE || info->state == PH_FAILED);

    ph_message_info_free(info);
    return settled;
}

static void quiet(void *context, const ph_log_event *event)
{
    (void)context;
    (void)event;
}

/* A dispatcher works on a store of its own until the message is done or dead. */
static int handle_until_settled(struct demo *demo, ph_work_id id)
{
    struct cli *cli = demo->cli;
    ph_dispatcher_opts opts = PH_DISPATCHER_OPTS_INIT;
    ph_handler handler = PH_HANDLER_INIT;
    ph_dispatcher *dispatcher = NULL;
    ph_store_opts store_opts;
    ph_store *store = NULL;
    int64_t end_us = cli_now_us() + WAIT_MS * 1000LL;
    int r;

    cli_store_opts(cli, &store_opts);
    store_opts.log = quiet; /* handlers that fail are a part of the tour */
    opts.ns = demo->ns;
    opts.poll_ms = 50;
    handler.topic = "mail.send";
    handler.handle = send_mail;
    handler.context = demo;
    r = ph_open(cli->url, &store_opts, &store, &cli->err);
    if (r == 0)
        r = ph_dispatcher_new(store, &opts, &dispatcher, &cli->err);
    if (r == 0)
        r = ph_dispatcher_handle(dispatcher, &handler, &cli->err);
    if (r == 0)
        r = ph_dispatcher_start(dispatcher, &cli->err);
    while (r == 0 && !is_settled(demo, id) && cli_now_us() < end_us && !cli_interrupted())
        sleep_ms(10);
    if (r == 0)
        r = ph_dispatcher_stop(dispatcher, WAIT_MS, &cli->err);
    ph_dispatcher_free(dispatcher);
    ph_close(store);
    return r < 0 ? cli_fail_store(cli) : CLI_OK;
}

/* -------------------------------------------------------------------- steps */

/* A message is stored, and handled until it is done or dead. */
static int play(struct demo *demo, const char *payload, int64_t due_at, const char *step,
                const char *expected, ph_work_id *ret_id)
{
    int code = enqueue(demo, payload, due_at, ret_id);

    if (code == CLI_OK)
        code = handle_until_settled(demo, *ret_id);
    if (code == CLI_OK)
        check(demo, step, expected, fate(demo, *ret_id));
    return code;
}

static int step_handle(struct demo *demo)
{
    ph_work_id id;

    begin_step(demo, "A message is stored, and handled",
               "posthorn enqueue mail.send '{\"to\":\"ada\"}'");
    say(demo, "It is in the database now. A worker claims it, handles it and says so:");
    say(demo, "$ posthorn work mail.send --once --exec cat");
    return play(demo, "{\"to\":\"ada\"}", 0, "handle", "done after 1 attempt", &id);
}

static int step_retry(struct demo *demo)
{
    ph_work_id id;

    begin_step(demo, "A handler fails, and the message is tried again",
               "posthorn work mail.send --exec ./send-mail   # exits with 1");
    say(demo, "The mail server does not answer the first time. The message waits for its backoff");
    say(demo,
        "(2 s at first unless its queue says otherwise; 0.4 s here) and is handed out again.");
    return play(demo, "{\"to\":\"flaky\"}", 0, "retry", "done after 2 attempts", &id);
}

static int step_poison(struct demo *demo, ph_work_id *ret_dead)
{
    begin_step(demo, "A message that never works ends as a dead letter", "posthorn dead list");
    say(demo, "Three attempts are allowed here (10 unless its queue says otherwise). It does not");
    say(demo, "block the others, and it is not lost: it is kept with its errors.");
    demo->failing = true;
    return play(demo, "{\"to\":\"nobody\"}", 0, "dead", "dead (attempts) after 3 attempts",
                ret_dead);
}

static int step_replay(struct demo *demo, ph_work_id dead)
{
    struct cli *cli = demo->cli;
    char id[PH_ID_TEXT_SIZE];
    ph_work_id retried;
    int code;

    begin_step(demo, "The fault is repaired, and the dead letter is put back",
               cli_printf(cli, "posthorn dead retry %s", ph_id_text(dead.b, id)));
    demo->failing = false;
    if (ph_dead_retry(demo->store, PH_OWN_TX, &dead, 1, 0, &retried, &cli->err) < 0)
        return cli_fail_store(cli);
    code = handle_until_settled(demo, retried);
    if (code == CLI_OK)
        check(demo, "replay", "done after 1 attempt", fate(demo, retried));
    return code;
}

static int step_schedule(struct demo *demo)
{
    struct cli *cli = demo->cli;
    ph_message_info *info = NULL;
    int64_t now = 0;
    ph_work_id id;
    int code;

    begin_step(demo, "A message for later",
               "posthorn enqueue mail.send '{\"to\":\"bob\"}' --due +1s");
    if (ph_clock(demo->store, PH_OWN_TX, 0, &now, &cli->err) < 0)
        return cli_fail_store(cli);
    code = play(demo, "{\"to\":\"bob\"}", now + 1000000, "schedule", "done after 1 attempt", &id);
    if (code != CLI_OK)
        return code;
    if (ph_outbox_find(demo->store, PH_OWN_TX, id, 0, &info, &cli->err) < 0)
        return cli_fail_store(cli);
    check(demo, "schedule", "not before its time",
          info->processed_at >= now + 1000000 ? "not before its time" : "too early");
    ph_message_info_free(info);
    return CLI_OK;
}

static int step_recover(struct demo *demo)
{
    struct cli *cli = demo->cli;
    ph_claim_opts claim = PH_CLAIM_OPTS_INIT;
    ph_batch *batch = NULL;
    ph_work_id id;
    int code;

    begin_step(demo, "A worker takes a message and never comes back",
               "posthorn claim --lease 1s   # and then the machine burns down");
    code = enqueue(demo, "{\"to\":\"eve\"}", 0, &id);
    if (code != CLI_OK)
        return code;
    claim.ns = demo->ns;
    claim.lease_s = LEASE_S;
    claim.batch_size = 1;
    if (ph_outbox_claim(demo->store, PH_OWN_TX, ph_owner_new(), &claim, 0, &batch, &cli->err) < 0)
        return cli_fail_store(cli);
    ph_batch_free(batch);
    check(demo, "lease", "in progress after 1 attempt", fate(demo, id));
    say(demo, "Nobody else gets it while the lease lasts: one second here, 30 by default, and");
    say(demo, "renewed for as long as a worker lives. Then the next claim takes it back:");
    code = handle_until_settled(demo, id);
    if (code == CLI_OK)
        check(demo, "recover", "done after 2 attempts", fate(demo, id));
    return code;
}

static int tour(struct demo *demo)
{
    ph_work_id dead = { 0 };
    int code = step_handle(demo);

    if (code == CLI_OK)
        code = step_retry(demo);
    if (code == CLI_OK)
        code = step_poison(demo, &dead);
    if (code == CLI_OK)
        code = step_replay(demo, dead);
    if (code == CLI_OK)
        code = step_schedule(demo);
    if (code == CLI_OK)
        code = step_recover(demo);
    return code == CLI_OK && cli_interrupted() ? CLI_INTERRUPTED : code;
}

static void farewell(struct demo *demo)
{
    struct cli *cli = demo->cli;

    if (cli->format != CLI_TEXT_FORM)
        return;
    cli_print(cli, "\n%sYour turn:%s\n", cli_colour(cli, CLI_BOLD), cli_colour(cli, CLI_PLAIN));
    cli_print(cli, "   export POSTHORN_DB=sqlite:my.db\n"
                   "   posthorn migrate up\n"
                   "   posthorn enqueue mail.send '{\"to\":\"you\"}'\n"
                   "   posthorn list\n"
                   "   posthorn work mail.send --drain --exec cat\n"
                   "   posthorn stats\n"
                   "   posthorn doctor\n");
}

/* ---------------------------------------------------------------- the stage */

/* A file in a folder of its own, unless the user has named a database. */
static int open_stage(struct demo *demo, char *folder)
{
    struct cli *cli = demo->cli;

    if (cli_given(cli, "db"))
        return cli_open(cli, CLI_OPEN_CHECKED);
    if (!mkdtemp(folder))
        return cli_fail(cli, CLI_FAILED, "cannot create a temporary folder %s", folder);
    cli->url = cli_printf(cli, "sqlite:%s/demo.db", folder);
    cli->url_source = "demo";
    return cli_open(cli, CLI_OPEN_DEPLOY);
}

static void clear_stage(const char *folder)
{
    static const char *const names[] = { "demo.db", "demo.db-wal", "demo.db-shm" };
    char path[4096];

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

static int set_queue(struct demo *demo)
{
    struct cli *cli = demo->cli;
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;

    settings.max_attempts = ATTEMPTS;
    settings.backoff_base_ms = FIRST_BACKOFF_MS;
    if (ph_outbox_queue_set(demo->store, PH_OWN_TX, demo->ns, &settings, 0, &cli->err) < 0 ||
        ph_outbox_queue_resume(demo->store, PH_OWN_TX, demo->ns, 0, &cli->err) < 0)
        return cli_fail_store(cli);
    return CLI_OK;
}

static int run(struct cli *cli)
{
    const char *temporary = getenv("TMPDIR");
    char *folder =
        cli_printf(cli, "%s/posthorn-demo-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    struct demo demo = { .cli = cli, .ns = NAMESPACE };
    bool own = !cli_given(cli, "db");
    int code = open_stage(&demo, folder);

    demo.store = cli->store;
    if (code == CLI_OK)
        code = set_queue(&demo);
    if (code == CLI_OK && cli->format == CLI_TEXT_FORM)
        cli_print(cli, "On %s, in the namespace %s.\n", cli_url_shown(cli), demo.ns);
    if (code == CLI_OK)
        code = tour(&demo);
    if (code == CLI_OK && demo.wrong)
        code = cli_fail(cli, CLI_FAILED, "%d of the steps did not go as expected", demo.wrong);
    if (code == CLI_OK)
        farewell(&demo);
    if (own) {
        ph_close(cli->store);
        cli->store = NULL;
        clear_stage(folder);
    }
    return code;
}

const struct cli_command cli_demo = {
    .name = "demo",
    .summary = "see what Posthorn does, without writing code",
    .description = "Shows what Posthorn does, step by step: a message is enqueued and handled, one "
                   "is retried after a backoff, one fails until it is dead and is put back, one "
                   "waits for its time, and one is recovered from a worker that never came back. "
                   "Each step names the command that does the same.\n"
                   "It works on a SQLite file in a temporary folder, which it deletes. With --db "
                   "it uses the namespace posthorn-demo of that database, whose schema must exist.",
    .fields = fields,
    .examples = CLI_EXAMPLES({ "posthorn demo", "The tour" }),
    .exits = CLI_EXITS({ CLI_FAILED, "a step did not go as expected" }),
    .graceful = true,
    .run = run,
};
