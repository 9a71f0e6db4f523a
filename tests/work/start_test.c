/* start_test.c - commands that cannot be started. */
#include "command.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

TEST(a_command_must_be_there_from_the_start)
{
    struct stage stage;
    ph_work_id id;

    stage_open(&stage);
    id = stage_put(&stage, "x");
    file_write("text", "no program\n", false);
    CHECK_INT(WORK("t", "--once", "--exec", "no-such-program-anywhere"), 2);
    CHECK_STR(command_err(), "posthorn: no-such-program-anywhere is not in PATH; give --exec the "
                             "path of a program\n");
    CHECK_INT(WORK("t", "--once", "--exec", "./none"), 2);
    CHECK_STR(command_err(), "posthorn: ./none cannot be run: No such file or directory\n");
    CHECK_INT(WORK("t", "--once", "--exec", "./text"), 2);
    CHECK_STR(command_err(), "posthorn: ./text cannot be run: it is not an executable file\n");
    CHECK_INT(WORK("t", "--once", "--exec", "/"), 2);
    CHECK_STR(command_err(), "posthorn: / cannot be run: it is not an executable file\n");
    CHECK_INT(see(stage.store, id).history_count, 0);
}

TEST(a_command_is_found_in_path)
{
    char path[8192];
    struct stage stage;

    stage_open(&stage);
    stage_put(&stage, "x");
    file_write("prog", "#!/bin/sh\necho found \"$0\" \"$@\"\n", true);
    snprintf(path, sizeof(path), "/nowhere:%s:%s", t_dir(), getenv("PATH"));
    setenv("PATH", path, 1);
    CHECK_INT(WORK("t", "--once", "--exec", "prog", "a b"), 0);
    CHECK(strstr(command_out(), "/prog a b\n") != NULL);
}

/* It was there, then it is not: a deployment went wrong. No message pays for that. */
TEST(a_command_that_vanishes_ends_work)
{
    struct stage stage;
    struct seen seen;
    ph_work_id id;

    stage_open(&stage);
    file_write("prog", "#!/bin/sh\nexec rm prog\n", true);
    stage_put(&stage, "1");
    id = stage_put(&stage, "2");
    CHECK_INT(WORK("t", "--drain", "--env", "PATH", "--exec", "./prog"), 1);
    CHECK(strstr(command_err(), "cannot start ./prog: No such file or directory; the message was "
                                "given back\n") != NULL);
    seen = see(stage.store, id);
    CHECK_INT(seen.status, PH_READY);
    CHECK_INT(seen.attempts, 0);
    CHECK(seen.next_attempt_at <= t_clock(stage.store));
}

TEST(a_script_without_its_first_line_is_not_given_to_a_shell)
{
    struct stage stage;
    ph_work_id id;

    stage_open(&stage);
    file_write("script", "touch ran\n", true);
    id = stage_put(&stage, "1");
    CHECK_INT(WORK("t", "--drain", "--exec", "./script"), 1);
    CHECK(strstr(command_err(), "a script needs a first line such as #!/bin/sh") != NULL);
    CHECK(!file_exists("ran"));
    CHECK_INT(see(stage.store, id).attempts, 0);
}

static void small_stack(void)
{
    struct rlimit limit = { 512 << 10, 512 << 10 };

    setrlimit(RLIMIT_STACK,
              &limit); /* a quarter of it is what arguments and environment may take */
}

/* This one would never work: it must not come again and again for ever. */
TEST(headers_too_large_for_an_environment_cost_attempts)
{
    ph_message message = a_message("t", "x");
    struct stage stage;
    struct seen seen;
    char *headers = NULL;
    ph_work_id id;

    stage_open(&stage);
    CHECK(asprintf(&headers, "{\"h\":\"%s\"}", repeated("x", 60000)) > 0);
    message.headers = headers;
    id = put(stage.store, &message).work_id;
    command_before_exec = small_stack;
    CHECK_INT(WORK("t", "--once", "--exec", "true", repeated("x", 90000)), 1);
    seen = see(stage.store, id);
    CHECK_INT(seen.attempts, 1);
    CHECK_STR(seen.last_error, "cannot start the command: Argument list too long");
    free(headers);
}

/* The machine is short of something, and the message is sound. */
TEST(shortage_defers_uncounted_until_it_is_over)
{
    struct rlimit before, none;
    struct stage stage;
    struct seen seen;
    ph_work_id id;
    pid_t pid;

    stage_open(&stage);
    stage_put(&stage, "1");
    pid = WORK_BEGIN("t", "--exec", "true");
    AWAIT(t_number(stage.conn, "SELECT count(*) FROM {t}done") == 1);
    CHECK(prlimit(pid, RLIMIT_NOFILE, NULL, &before) == 0);
    none = (struct rlimit){ 3, before.rlim_max };
    CHECK(prlimit(pid, RLIMIT_NOFILE, &none, NULL) == 0);
    id = stage_put(&stage, "2");
    AWAIT(see(stage.store, id).history_count > 0);
    CHECK(strstr(command_err(), "cannot start the command: Too many open files; trying again every "
                                "second\n") != NULL);
    CHECK(prlimit(pid, RLIMIT_NOFILE, &before, NULL) == 0);
    AWAIT((seen = see(stage.store, id)).status == PH_DONE);
    CHECK_INT(seen.attempts, 1);
    CHECK_INT(seen.retry_count, 0);
    kill(pid, SIGTERM);
    CHECK_INT(command_end(pid), 0);
}
