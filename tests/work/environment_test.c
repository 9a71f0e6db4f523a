/* environment_test.c - what a command is given besides its input. */
#include "command.h"

#include <signal.h>
#include <stdlib.h>

static bool has_line(const char *text, const char *line)
{
    size_t length = strlen(line);

    for (const char *at = text; (at = strstr(at, line)) != NULL; at++)
        if ((at == text || at[-1] == '\n') && at[length] == '\n')
            return true;
    return false;
}

#define CHECK_LINE(line)                                                                           \
    do {                                                                                           \
        if (!has_line(command_out(), (line)))                                                      \
            printf("%s", command_out());                                                           \
        CHECK(has_line(command_out(), (line)));                                                    \
    } while (0)

static int lines(const char *text)
{
    int count = 0;

    for (; *text; text++)
        count += *text == '\n';
    return count;
}

TEST(the_environment_is_the_message_its_database_and_path_and_nothing_else)
{
    char expected[128], path[4096], id[PH_ID_TEXT_SIZE];
    ph_message message = a_message("t", "x");
    struct stage stage;
    ph_enqueued put_in;

    stage_open(&stage);
    t_clock_set(stage.store, T_EPOCH);
    put_in = put(stage.store, &message);
    setenv("SECRET", "do not pass", 1);
    CHECK_INT(WORK("t", "--once", "--quiet", "--exec", "env"), 0);
    snprintf(expected, sizeof(expected), "POSTHORN_WORK_ID=%s", ph_id_text(put_in.work_id.b, id));
    CHECK_LINE(expected);
    snprintf(expected, sizeof(expected), "POSTHORN_MESSAGE_ID=%s",
             ph_id_text(put_in.message_id.b, id));
    CHECK_LINE(expected);
    CHECK_LINE("POSTHORN_TOPIC=t");
    CHECK_LINE("POSTHORN_NAMESPACE=");
    CHECK_LINE("POSTHORN_ATTEMPTS=1");
    CHECK_LINE("POSTHORN_RETRY_COUNT=0");
    CHECK_LINE("POSTHORN_FENCE=1");
    CHECK_LINE("POSTHORN_PRIORITY=normal");
    CHECK_LINE("POSTHORN_CREATED_AT=2023-11-14T22:13:20.000000Z");
    CHECK_LINE("POSTHORN_DUE_AT=2023-11-14T22:13:20.000000Z");
    CHECK(strstr(command_out(), "POSTHORN_DB=from:/proc/") != NULL);
    snprintf(path, sizeof(path), "PATH=%s", getenv("PATH"));
    CHECK_LINE(path);
    CHECK_INT(lines(command_out()), 12);
}

TEST(all_that_a_message_can_have_is_in_the_environment)
{
    ph_tenant_id tenant = { { 0xab, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 } };
    ph_message message = a_message("t", "x");
    struct stage stage;

    stage_open(&stage);
    message.ns = "shop $(x)";
    message.tenant_id = &tenant;
    message.dedupe_key = "ab0102030405060708090a0b0c0d0e0f/k;1";
    message.correlation_id = "c'or";
    message.headers = "{\"h\": \"%s\"}";
    message.priority = PH_PRIORITY_URGENT;
    put(stage.store, &message);
    CHECK_INT(WORK("t", "--once", "--quiet", "--namespace", "shop $(x)", "--retry-delay", "0",
                   "--exec", "sh", "-c", "echo 'went wrong' >&2; exit 1"),
              1);
    CHECK_INT(WORK("t", "--once", "--quiet", "--namespace", "shop $(x)", "--exec", "env"), 0);
    CHECK_LINE("POSTHORN_NAMESPACE=shop $(x)");
    CHECK_LINE("POSTHORN_TENANT_ID=ab010203-0405-0607-0809-0a0b0c0d0e0f");
    CHECK_LINE("POSTHORN_DEDUPE_KEY=ab0102030405060708090a0b0c0d0e0f/k;1");
    CHECK_LINE("POSTHORN_CORRELATION_ID=c'or");
    CHECK(strstr(command_out(), "\nPOSTHORN_HEADERS={\"h\":") != NULL);
    CHECK_LINE("POSTHORN_PRIORITY=urgent");
    CHECK_LINE("POSTHORN_ATTEMPTS=2");
    CHECK_LINE("POSTHORN_RETRY_COUNT=1");
    CHECK_LINE("POSTHORN_LAST_ERROR=went wrong");
}

TEST(env_passes_variables_of_ours)
{
    struct stage stage;

    stage_open(&stage);
    stage_put(&stage, "x");
    setenv("ONE", "1 $x", 1);
    setenv("OTHER", "2", 1);
    unsetenv("NONE");
    CHECK_INT(WORK("t", "--once", "--env", "ONE", "--env", "NONE", "--exec", "env"), 0);
    CHECK_LINE("ONE=1 $x");
    CHECK(strstr(command_out(), "OTHER") == NULL);
    CHECK(strstr(command_err(), "--env NONE: the variable is not set") != NULL);
}

TEST(what_a_command_runs_is_found_where_the_command_was_found)
{
    struct stage stage;
    char path[4096];

    stage_open(&stage);
    stage_put(&stage, "x");
    stage_put(&stage, "y");
    file_write("inner", "#!/bin/sh\necho found\n", true);
    snprintf(path, sizeof(path), "%s:%s", t_dir(), getenv("PATH"));
    setenv("PATH", path, 1);
    CHECK_INT(WORK("t", "--once", "--quiet", "--exec", "sh", "-c", "inner"), 0);
    CHECK_STR(command_out(), "found\n");
    unsetenv("PATH"); /* then neither has the command one */
    CHECK_INT(WORK("t", "--once", "--quiet", "--exec", "/usr/bin/env"), 0);
    CHECK(strstr(command_out(), "\nPATH=") == NULL && strncmp(command_out(), "PATH=", 5) != 0);
}

TEST(topics_and_arguments_are_never_read_by_a_shell)
{
    static const char topic[] = "a b;touch hacked $(touch hacked) `touch hacked` %s%n \\ '";
    ph_message message = a_message(topic, "x");
    struct stage stage;

    stage_open(&stage);
    put(stage.store, &message);
    CHECK_INT(WORK(topic, "--once", "--quiet", "--exec", "printf", "%s|", "$HOME", "$(id)", ";",
                   "--once", "-v", ""),
              0);
    CHECK_STR(command_out(), "$HOME|$(id)|;|--once|-v||");
    CHECK(!file_exists("hacked"));
}

TEST(a_command_has_descriptors_0_1_2_and_no_other)
{
    struct stage stage;

    stage_open(&stage);
    stage_put(&stage, "x");
    CHECK_INT(WORK("t", "--once", "--quiet", "--exec", "sh", "-c",
                   "i=0; while test $i -lt 256; do"
                   " test ! -e /proc/$$/fd/$i || echo $i; i=$((i + 1)); done"),
              0);
    CHECK_STR(command_out(), "0\n1\n2\n");
}

static void odd_signals(void)
{
    sigset_t some;

    sigemptyset(&some);
    sigaddset(&some, SIGUSR1);
    sigprocmask(SIG_BLOCK, &some, NULL);
    signal(SIGUSR2, SIG_IGN);
    signal(SIGCHLD, SIG_IGN); /* would take the exit status of commands from posthorn */
}

TEST(a_command_has_a_session_of_its_own_and_default_signals)
{
    char *second, *out;
    struct stage stage;
    ph_work_id id;

    stage_open(&stage);
    id = stage_put(&stage, "x");
    command_before_exec = odd_signals;
    CHECK_INT(WORK("t", "--once", "--quiet", "--env", "PATH", "--exec", "sh", "-c",
                   "cut -d ' ' -f 1,5,6,7 /proc/$$/stat; echo $$ $$ $$ 0;"
                   "grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status; exit 65"),
              1);
    CHECK_STR(see(stage.store, id).dead_reason, "failed");
    CHECK(strstr(command_out(), "SigBlk:\t0000000000000000\n") != NULL);
    CHECK(strstr(command_out(), "SigIgn:\t0000000000000000\n") != NULL);
    out = strdup(command_out());
    second = strchr(out, '\n');
    CHECK(second != NULL);
    *second++ = '\0';
    *strchr(second, '\n') = '\0';
    CHECK_STR(out, second); /* number, group, session and no terminal */
    free(out);
}
