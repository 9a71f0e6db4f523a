/* run_test.c - which messages are handled, how many at once, and when it ends. */
#include "command.h"

#include <jansson.h>

TEST(once_handles_one_message)
{
    struct stage stage;
    ph_work_id first, second;

    stage_open(&stage);
    first = stage_put(&stage, "1");
    second = stage_put(&stage, "2");
    CHECK_INT(WORK("t", "--once", "--exec", "cat"), 0);
    CHECK_STR(command_out(), "1");
    CHECK_INT(see(stage.store, first).status, PH_DONE);
    CHECK_INT(see(stage.store, second).status, PH_READY);
    CHECK_INT(see(stage.store, second).history_count, 0);
}

TEST(once_without_a_message_says_so)
{
    struct stage stage;

    stage_open(&stage);
    CHECK_INT(WORK("t", "--once", "--exec", "cat"), 4);
    CHECK_STR(command_out(), "");
}

TEST(drain_handles_all_that_is_due)
{
    ph_message later = a_message("t", "later");
    struct stage stage;
    ph_work_id id;

    stage_open(&stage);
    put_many(stage.store, "t", 20, NULL);
    later.due_at = t_clock(stage.store) + 3600 * T_SECOND;
    id = put(stage.store, &later).work_id;
    CHECK_INT(WORK("t", "--drain", "--exec", "cat"), 0);
    CHECK_INT(strlen(command_out()), 10 + 2 * 10);
    CHECK_INT(see(stage.store, id).status, PH_READY);
    CHECK_INT(t_number(stage.conn, "SELECT count(*) FROM {t}pending"), 1);
    CHECK_INT(WORK("t", "--drain", "--exec", "cat"), 0);
    t_check_places(stage.conn);
}

TEST(only_the_topics_and_the_namespace_are_handled)
{
    ph_message other = a_message("other", "other"), elsewhere = a_message("t", "elsewhere");
    struct stage stage;

    stage_open(&stage);
    elsewhere.ns = "elsewhere";
    put(stage.store, &other);
    put(stage.store, &elsewhere);
    stage_put(&stage, "mine");
    CHECK_INT(WORK("t", "u", "--drain", "--exec", "cat"), 0);
    CHECK_STR(command_out(), "mine");
    CHECK_INT(WORK("--any-topic", "--drain", "--exec", "cat"), 0);
    CHECK_STR(command_out(), "other");
    CHECK_INT(WORK("t", "--namespace", "elsewhere", "--drain", "--exec", "cat"), 0);
    CHECK_STR(command_out(), "elsewhere");
}

/* Each waits for the others: one after the other they would never end. */
TEST(concurrency_runs_so_many_at_once)
{
    struct stage stage;

    stage_open(&stage);
    put_many(stage.store, "t", 3, NULL);
    CHECK_INT(WORK("t", "--drain", "--concurrency", "3", "--time-limit", "50s", "--env", "PATH",
                   "--exec", "sh", "-c",
                   "touch here.$POSTHORN_WORK_ID;"
                   "until set -- here.*; test $# -eq 3; do sleep 0.05; done"),
              0);
}

TEST(without_concurrency_one_runs_after_the_other)
{
    struct stage stage;

    stage_open(&stage);
    put_many(stage.store, "t", 3, NULL);
    CHECK_INT(WORK("t", "--drain", "--env", "PATH", "--exec", "sh", "-c",
                   "mkdir busy || exit 65; sleep 0.1; rmdir busy"),
              0);
}

/* Nobody else can have a message that would only wait here. */
TEST(no_more_is_claimed_than_can_run)
{
    struct stage stage;
    pid_t pid;

    stage_open(&stage);
    put_many(stage.store, "t", 5, NULL);
    pid = WORK_BEGIN("t", "--drain", "--concurrency", "2", "--env", "PATH", "--exec", "sh", "-c",
                     "touch here.$POSTHORN_WORK_ID; until test -e go; do sleep 0.05; done");
    AWAIT(t_number(stage.conn, "SELECT count(*) FROM {t}pending") == 3);
    CHECK_INT(claimable(stage.store, 10), 3);
    file_write("go", "", false);
    CHECK_INT(command_end(pid), 0);
}

TEST(with_json_stdout_is_ours)
{
    struct stage stage;
    json_t *rows, *row;
    char id[PH_ID_TEXT_SIZE];
    ph_work_id first;

    stage_open(&stage);
    first = stage_put(&stage, "1");
    stage_put(&stage, "2");
    CHECK_INT(WORK("t", "--drain", "--json", "--retry-delay", "1h", "--exec", "sh", "-c",
                   "echo from the command; read x; test $x = 1 || exit 7"),
              1);
    rows = json_loads(command_out(), 0, NULL);
    CHECK_INT(json_array_size(rows), 2);
    row = json_array_get(rows, 0);
    CHECK_STR(json_string_value(json_object_get(row, "work_id")), ph_id_text(first.b, id));
    CHECK_STR(json_string_value(json_object_get(row, "topic")), "t");
    CHECK_STR(json_string_value(json_object_get(row, "verdict")), "done");
    CHECK_INT(json_integer_value(json_object_get(row, "exit_status")), 0);
    CHECK(json_is_null(json_object_get(row, "reason")));
    row = json_array_get(rows, 1);
    CHECK_STR(json_string_value(json_object_get(row, "verdict")), "retry");
    CHECK_INT(json_integer_value(json_object_get(row, "exit_status")), 7);
    CHECK_STR(json_string_value(json_object_get(row, "reason")), "exit status 7");
    CHECK(strstr(command_err(), "from the command") != NULL);
    json_decref(rows);
}

TEST(verbose_has_a_line_per_message_and_a_summary_follows)
{
    struct stage stage;

    stage_open(&stage);
    stage_put(&stage, "1");
    CHECK_INT(WORK("t", "--drain", "-v", "--exec", "true"), 0);
    CHECK(strstr(command_err(), " \"t\": attempt 1, done after ") != NULL);
    CHECK(strstr(command_err(), "1 handled: 1 done, 0 to be retried, 0 dead") != NULL);
}
