/* stop_test.c - signals, and the end by force: no message is lost, none is counted in vain, and
 * nothing runs on. */
#include "command.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* A command that says where it is, obeys nothing and ends when it is told to by a file. */
#define UNTIL_GO                                                                                   \
    "--env", "PATH", "--exec", "sh", "-c", "echo $$ >child; until test -e go; do sleep 0.05; done"
#define STUBBORN                                                                                   \
    "--env", "PATH", "--exec", "sh", "-c",                                                         \
        "trap '' TERM; sleep 600 & echo $! >grandchild; echo $$ >child; while :; do sleep 0.1; "   \
        "done"

static void check_untouched(struct stage *stage, ph_work_id id)
{
    struct seen seen = see(stage->store, id);

    CHECK_INT(seen.status, PH_READY);
    CHECK_INT(seen.attempts, 0);
    CHECK_INT(seen.retry_count, 0);
    t_check_places(stage->conn);
}

TEST(sigterm_lets_the_command_finish)
{
    struct stage stage;
    ph_work_id id, next;
    pid_t pid;

    stage_open(&stage);
    id = stage_put(&stage, "1");
    next = stage_put(&stage, "2");
    pid = WORK_BEGIN("t", UNTIL_GO);
    pid_in("child");
    kill(pid, SIGTERM);
    AWAIT(strstr(command_err(), "ending; ") != NULL);
    file_write("go", "", false);
    CHECK_INT(command_end(pid), 0);
    CHECK_INT(see(stage.store, id).status, PH_DONE);
    check_untouched(&stage, next);
}

TEST(sigint_is_another_exit_status)
{
    struct stage stage;
    pid_t pid;

    stage_open(&stage);
    stage_put(&stage, "1");
    pid = WORK_BEGIN("t", UNTIL_GO);
    pid_in("child");
    file_write("go", "", false);
    kill(pid, SIGINT);
    CHECK_INT(command_end(pid), 130);
}

/* Whether its topics were ever used is asked by a worker that ends by itself. */
TEST(a_worker_that_is_told_to_end_asks_nothing_more)
{
    struct stage stage;
    pid_t pid;

    stage_open(&stage);
    stage_put(&stage, "1");
    pid = WORK_BEGIN("t", "unused", "--exec", "true");
    AWAIT(t_number(stage.conn, "SELECT count(*) FROM {t}done") == 1);
    kill(pid, SIGTERM);
    CHECK_INT(command_end(pid), 0);
    CHECK(strstr(command_err(), "1 handled") != NULL);
    CHECK(strstr(command_err(), "unused") == NULL);
}

TEST(an_idle_worker_ends_at_once)
{
    struct stage stage;
    pid_t pid;

    stage_open(&stage);
    stage_put(&stage, "1");
    pid = WORK_BEGIN("t", "--exec", "true");
    AWAIT(t_number(stage.conn, "SELECT count(*) FROM {t}done") == 1);
    kill(pid, SIGTERM);
    CHECK_INT(command_end(pid), 0);
}

TEST(the_stop_limit_gives_the_message_back_uncounted)
{
    struct stage stage;
    ph_work_id id;
    pid_t pid, child;

    stage_open(&stage);
    id = stage_put(&stage, "1");
    pid = WORK_BEGIN("t", "--stop-limit", "200ms", UNTIL_GO);
    child = pid_in("child");
    kill(pid, SIGTERM);
    CHECK_INT(command_end(pid), 0);
    AWAIT(is_gone(child));
    check_untouched(&stage, id);
}

TEST(a_second_signal_ends_commands_at_once)
{
    struct stage stage;
    ph_work_id id;
    pid_t pid, child;

    stage_open(&stage);
    id = stage_put(&stage, "1");
    pid = WORK_BEGIN("t", "--stop-limit", "1h", UNTIL_GO);
    child = pid_in("child");
    kill(pid, SIGTERM);
    AWAIT(strstr(command_err(), "ending; ") != NULL);
    CHECK(!is_gone(child));
    kill(pid, SIGTERM);
    CHECK_INT(command_end(pid), 0);
    AWAIT(is_gone(child));
    check_untouched(&stage, id);
}

TEST(a_third_signal_kills_stubborn_ones)
{
    struct stage stage;
    ph_work_id id;
    pid_t pid, child;

    stage_open(&stage);
    id = stage_put(&stage, "1");
    pid = WORK_BEGIN("t", "--stop-limit", "1h", "--kill-after", "1h", STUBBORN);
    child = pid_in("child");
    kill(pid, SIGTERM);
    AWAIT(strstr(command_err(), "ending; ") != NULL);
    kill(pid, SIGTERM);
    for (int i = 0; i < 30; i++)
        nap();
    CHECK(!is_gone(child));
    kill(pid, SIGINT);
    CHECK_INT(command_end(pid), 0);
    AWAIT(is_gone(child) && is_gone(pid_in("grandchild")));
    check_untouched(&stage, id);
}

/* The command must not work on when nobody would settle its message. */
TEST(kill_9_takes_the_commands_along)
{
    struct stage stage;
    struct seen seen;
    ph_work_id id;
    pid_t pid, child, grandchild;

    stage_open(&stage);
    t_clock_set(stage.store, T_EPOCH);
    id = stage_put(&stage, "1");
    pid = WORK_BEGIN("t", STUBBORN);
    child = pid_in("child");
    grandchild = pid_in("grandchild");
    kill(pid, SIGKILL);
    CHECK_INT(command_end(pid), -SIGKILL);
    AWAIT(is_gone(child));
    AWAIT(is_gone(grandchild));
    CHECK_INT(see(stage.store, id).status, PH_IN_PROGRESS);
    t_clock_advance(stage.store, 31 * T_SECOND);
    CHECK_INT(WORK("t", "--once", "--exec", "sh", "-c", "echo $POSTHORN_ATTEMPTS"), 0);
    CHECK_STR(command_out(), "2\n");
    seen = see(stage.store, id);
    CHECK_INT(seen.status, PH_DONE);
    CHECK_STR(seen.kinds, "lost");
}

TEST(a_lost_lease_ends_the_command)
{
    struct stage stage;
    ph_owner other = ph_owner_new();
    ph_work_id id;
    ph_lease_ref taken;
    pid_t pid, child;

    stage_open(&stage);
    t_clock_set(stage.store, T_EPOCH);
    id = stage_put(&stage, "1");
    pid = WORK_BEGIN("t", "--lease", "3s", UNTIL_GO);
    child = pid_in("child");
    t_clock_advance(stage.store, 10 * T_SECOND);
    taken = take_one(stage.store, other);
    AWAIT(is_gone(child));
    kill(pid, SIGTERM);
    CHECK_INT(command_end(pid), 0);
    CHECK_INT(ack(stage.store, other, taken), PH_OUTCOME_ACKED);
    CHECK_INT(see(stage.store, id).status, PH_DONE);
    CHECK(strstr(command_err(), "1 too late") != NULL);
}

/* What the command has done may be done again: somebody has to look. */
TEST(settled_too_late_is_no_success)
{
    struct stage stage;
    pid_t pid;

    stage_open(&stage);
    t_clock_set(stage.store, T_EPOCH);
    stage_put(&stage, "1");
    pid = WORK_BEGIN("t", "--once", "--lease", "1h", UNTIL_GO);
    pid_in("child");
    t_clock_advance(stage.store, 7200 * T_SECOND);
    take_one(stage.store, ph_owner_new());
    file_write("go", "", false);
    CHECK_INT(command_end(pid), 1);
    CHECK(strstr(command_err(), "1 too late") != NULL);
}

static int nobody_reads[2];

/* Standard error is a pipe that takes no more. */
static void stderr_full(void)
{
    char blanks[4096];

    memset(blanks, ' ', sizeof(blanks));
    fcntl(nobody_reads[1], F_SETFL, O_NONBLOCK);
    while (write(nobody_reads[1], blanks, sizeof(blanks)) > 0)
        ;
    fcntl(nobody_reads[1], F_SETFL, 0);
    dup2(nobody_reads[1], STDERR_FILENO);
    close(nobody_reads[1]);
}

TEST(a_fourth_signal_ends_it_even_if_nobody_reads_stderr)
{
    struct stage stage;
    pid_t pid, child;

    stage_open(&stage);
    stage_put(&stage, "1");
    CHECK(pipe(nobody_reads) == 0);
    command_before_exec = stderr_full;
    pid = WORK_BEGIN("t", "--stop-limit", "1h", "--kill-after", "1h", STUBBORN);
    command_before_exec = NULL;
    child = pid_in("child");
    for (int i = 0; i < 4; i++) {
        kill(pid, SIGTERM);
        for (int j = 0; j < 20; j++)
            nap(); /* so that each is counted */
    }
    CHECK_INT(command_end(pid), 130);
    AWAIT(is_gone(child) && is_gone(pid_in("grandchild")));
    close(nobody_reads[0]);
    close(nobody_reads[1]);
}

/* Standard output is a pipe whose reader has gone away. */
static void stdout_unread(void)
{
    int fds[2];

    if (pipe(fds) < 0 || dup2(fds[1], STDOUT_FILENO) < 0)
        _exit(120);
    close(fds[0]);
    close(fds[1]);
}

static void check_ends_unread(struct stage *stage, const char *form)
{
    pid_t pid;

    for (int i = 0; i < 20; i++) /* more than it begins before it has noticed */
        stage_put(stage, "1");
    command_before_exec = stdout_unread;
    pid = WORK_BEGIN("t", form, "--env", "PATH", "--exec", "sh", "-c", "echo x >>ran; sleep 0.1");
    command_before_exec = NULL;
    CHECK_INT(command_end(pid), 1);
    CHECK(strstr(command_err(), "cannot write to stdout") != NULL);
    CHECK(strstr(command_err(), "cannot start") == NULL);
}

TEST(it_ends_when_nobody_reads_its_rows)
{
    struct stage stage;

    stage_open(&stage);
    check_ends_unread(&stage, "--jsonl");
    check_ends_unread(&stage, "--json");
    CHECK(t_number(stage.conn, "SELECT count(*) FROM {t}pending") > 0);
    t_check_places(stage.conn);
}

TEST(ended_before_the_first_message_it_prints_an_empty_array)
{
    struct stage stage;
    pid_t pid;

    stage_open(&stage);
    pid = WORK_BEGIN("t", "-vv", "--json", "--exec", "true");
    AWAIT(strstr(file_text("command.err"), "claim: ") != NULL); /* before that it ends at once */
    kill(pid, SIGINT);
    CHECK_INT(command_end(pid), 130);
    CHECK_STR(command_out(), "[]\n");
}
