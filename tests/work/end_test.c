/* end_test.c - how a command ends decides what becomes of its message. */
#include "command.h"

TEST(exit_status_0_is_done)
{
    struct stage stage;
    struct seen seen;
    ph_work_id id;

    stage_open(&stage);
    id = stage_put(&stage, "x");
    CHECK_INT(WORK("t", "--once", "--exec", "true"), 0);
    seen = see(stage.store, id);
    CHECK_INT(seen.status, PH_DONE);
    CHECK_INT(seen.attempts, 1);
    t_check_places(stage.conn);
}

TEST(exit_status_75_is_later_and_not_counted)
{
    struct stage stage;
    struct seen seen;
    ph_work_id id;

    stage_open(&stage);
    t_clock_set(stage.store, T_EPOCH);
    id = stage_put(&stage, "x");
    CHECK_INT(WORK("t", "--once", "--defer-delay", "90s", "--exec", "sh", "-c", "exit 75"), 0);
    seen = see(stage.store, id);
    CHECK_INT(seen.status, PH_READY);
    CHECK_INT(seen.attempts, 0);
    CHECK_INT(seen.retry_count, 0);
    CHECK_STR(seen.kinds, "released");
    CHECK_INT(seen.next_attempt_at, T_EPOCH + 90 * T_SECOND);
}

TEST(exit_status_65_is_dead_at_once)
{
    struct stage stage;
    struct seen seen;
    ph_work_id id;

    stage_open(&stage);
    id = stage_put(&stage, "x");
    CHECK_INT(WORK("t", "--once", "--exec", "sh", "-c", "echo no such order >&2; exit 65"), 1);
    seen = see(stage.store, id);
    CHECK_INT(seen.status, PH_FAILED);
    CHECK_STR(seen.dead_reason, "failed");
    CHECK_STR(seen.last_error, "no such order");
}

TEST(another_exit_status_is_tried_again_after_the_backoff)
{
    struct stage stage;
    struct seen seen;
    ph_work_id id;

    stage_open(&stage);
    t_clock_set(stage.store, T_EPOCH);
    id = stage_put(&stage, "x");
    CHECK_INT(WORK("t", "--once", "--exec", "sh", "-c", "exit 3"), 1);
    seen = see(stage.store, id);
    CHECK_INT(seen.status, PH_READY);
    CHECK_INT(seen.attempts, 1);
    CHECK_INT(seen.retry_count, 1);
    CHECK_STR(seen.last_error, "exit status 3");
    CHECK_INT(seen.next_attempt_at, T_EPOCH + 2 * T_SECOND);
}

TEST(a_retry_can_have_a_delay_of_its_own)
{
    struct stage stage;
    ph_work_id id;

    stage_open(&stage);
    t_clock_set(stage.store, T_EPOCH);
    id = stage_put(&stage, "x");
    CHECK_INT(WORK("t", "--once", "--retry-delay", "1h", "--exec", "false"), 1);
    CHECK_INT(see(stage.store, id).next_attempt_at, T_EPOCH + 3600 * T_SECOND);
}

TEST(the_last_attempt_ends_in_the_dead_letters)
{
    struct stage stage;
    struct seen seen;
    ph_work_id id;

    stage_open(&stage);
    set_max_attempts(stage.store, 2);
    id = stage_put(&stage, "x");
    CHECK_INT(WORK("t", "--drain", "--retry-delay", "0", "--exec", "false"), 1);
    seen = see(stage.store, id);
    CHECK_INT(seen.status, PH_FAILED);
    CHECK_STR(seen.dead_reason, "attempts");
    CHECK_INT(seen.attempts, 2);
}

TEST(a_signal_is_tried_again_and_named)
{
    struct stage stage;
    ph_work_id id;

    stage_open(&stage);
    id = stage_put(&stage, "x");
    CHECK_INT(WORK("t", "--once", "--exec", "sh", "-c", "kill -9 $$"), 1);
    CHECK_STR(see(stage.store, id).last_error, "killed by signal 9");
    CHECK_INT(see(stage.store, id).retry_count, 1);
}

TEST(a_signal_and_what_was_said_before)
{
    struct stage stage;
    ph_work_id id;

    stage_open(&stage);
    id = stage_put(&stage, "x");
    CHECK_INT(WORK("t", "--once", "--exec", "sh", "-c", "echo oh >&2; kill -11 $$"), 1);
    CHECK_STR(see(stage.store, id).last_error, "killed by signal 11: oh");
}

TEST(the_end_of_stderr_is_kept_and_all_of_it_passed_on)
{
    struct stage stage;
    struct seen seen;
    ph_work_id id;
    const char *end;

    stage_open(&stage);
    id = stage_put(&stage, "x");
    CHECK_INT(
        WORK("t", "--once", "--quiet", "--exec", "sh", "-c",
             "head -c 300000 /dev/zero | tr '\\0' e >&2; printf ' the end\\n\\n' >&2; exit 1"),
        1);
    seen = see(stage.store, id);
    end = seen.last_error + strlen(seen.last_error) - 8;
    CHECK_STR(end, " the end");
    CHECK(strlen(seen.last_error) > 4000 && strlen(seen.last_error) <= 4096);
    CHECK(strlen(command_err()) >= 300000);
}

TEST(a_line_without_an_end_does_not_run_into_ours)
{
    struct stage stage;

    stage_open(&stage);
    stage_put(&stage, "x");
    CHECK_INT(WORK("t", "--once", "--exec", "sh", "-c", "printf 'no end' >&2"), 0);
    CHECK(strncmp(command_err(), "no end\nposthorn: 1 handled", 26) == 0);
}

TEST(stderr_of_any_bytes_is_kept_as_text)
{
    struct stage stage;
    ph_work_id id;

    stage_open(&stage);
    id = stage_put(&stage, "x");
    CHECK_INT(WORK("t", "--once", "--exec", "sh", "-c", "printf 'a\\0b\\377c %%s $x' >&2; exit 1"),
              1);
    CHECK_STR(see(stage.store, id).last_error, "a b\xef\xbf\xbd"
                                               "c %s $x");
}

TEST(what_a_command_left_running_is_killed)
{
    struct stage stage;
    ph_work_id id;

    stage_open(&stage);
    id = stage_put(&stage, "x");
    CHECK_INT(WORK("t", "--once", "--env", "PATH", "--exec", "sh", "-c",
                   "sleep 600 & echo $! >left; exit 0"),
              0);
    CHECK_INT(see(stage.store, id).status, PH_DONE);
    AWAIT(is_gone(pid_in("left")));
}
