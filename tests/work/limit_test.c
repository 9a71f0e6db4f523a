/* limit_test.c - the time limit of a command ends all of it, whether it likes that or not. */
#include "command.h"

TEST(the_time_limit_ends_the_whole_group)
{
    struct stage stage;
    struct seen seen;
    ph_work_id id;

    stage_open(&stage);
    id = stage_put(&stage, "x");
    CHECK_INT(WORK("t", "--once", "--time-limit", "300ms", "--env", "PATH", "--exec", "sh", "-c",
                   "sh -c 'sleep 600 & echo $! >grandchild; wait' & echo $! >child; wait"),
              1);
    AWAIT(is_gone(pid_in("child")));
    AWAIT(is_gone(pid_in("grandchild")));
    seen = see(stage.store, id);
    CHECK_STR(seen.last_error, "time limit of 300 ms");
    CHECK_INT(seen.status, PH_READY);
    CHECK_INT(seen.attempts, 1);
}

TEST(a_stubborn_command_is_killed)
{
    struct stage stage;
    ph_work_id id;

    stage_open(&stage);
    id = stage_put(&stage, "x");
    CHECK_INT(WORK("t", "--once", "--time-limit", "300ms", "--kill-after", "300ms", "--env", "PATH",
                   "--exec", "sh", "-c",
                   "trap 'echo asked >asked' TERM; echo $$ >child; while :; do sleep 0.1; done"),
              1);
    AWAIT(is_gone(pid_in("child")));
    CHECK(file_exists("asked"));
    CHECK(strncmp(see(stage.store, id).last_error, "time limit of 300 ms", 20) == 0);
}

TEST(a_stopped_command_is_ended_too)
{
    struct stage stage;
    ph_work_id id;

    stage_open(&stage);
    id = stage_put(&stage, "x");
    CHECK_INT(WORK("t", "--once", "--time-limit", "300ms", "--exec", "sh", "-c", "kill -STOP $$"),
              1);
    CHECK_STR(see(stage.store, id).last_error, "time limit of 300 ms");
}

/* A program that obeys SIGTERM often exits with 0, and has not done its work. */
TEST(exit_status_0_after_the_time_limit_is_not_done)
{
    struct stage stage;
    struct seen seen;
    ph_work_id id;

    stage_open(&stage);
    id = stage_put(&stage, "x");
    CHECK_INT(WORK("t", "--once", "--time-limit", "300ms", "--env", "PATH", "--exec", "sh", "-c",
                   "trap 'echo sorry >&2; exit 0' TERM; while :; do sleep 0.05; done"),
              1);
    seen = see(stage.store, id);
    CHECK_INT(seen.status, PH_READY);
    CHECK(strncmp(seen.last_error, "time limit of 300 ms: ", 22) == 0);
    CHECK(strstr(seen.last_error, "sorry") != NULL);
}

TEST(a_command_within_its_limit_is_left_alone)
{
    struct stage stage;
    ph_work_id id;

    stage_open(&stage);
    id = stage_put(&stage, "x");
    CHECK_INT(WORK("t", "--once", "--time-limit", "10m", "--env", "PATH", "--exec", "sleep", "0.3"),
              0);
    CHECK_INT(see(stage.store, id).status, PH_DONE);
}
