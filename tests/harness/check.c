/* check.c - assertions, and the record of requirements that were put to the test. */
#include "internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define SEEN_MAX 512
#define ID_SIZE 16

ph_error t_err;

static char seen[SEEN_MAX][ID_SIZE];
static size_t seen_count;

static bool seen_before(const char *id)
{
    for (size_t i = 0; i < seen_count; i++) {
        if (strcmp(seen[i], id) == 0)
            return true;
    }
    if (seen_count < SEEN_MAX)
        memcpy(seen[seen_count++], id, ID_SIZE);
    return false;
}

/* One write per line, appended: tests that run at once do not mix their lines. */
static void record(const char *id)
{
    const char *path = getenv("PH_TEST_MATRIX");
    char line[64];
    int length, fd;

    if (!path || seen_before(id))
        return;
    length = snprintf(line, sizeof(line), "%s\t%s\n", id, t_env.backend);
    fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, line, (size_t)length) != length)
        fprintf(stderr, "cannot append to %s\n", path);
    if (fd >= 0)
        close(fd);
}

static void record_all(const char *requirements)
{
    while (requirements && *requirements) {
        size_t length = strcspn(requirements, " ,");
        char id[ID_SIZE] = "";

        if (length > 0 && length < sizeof(id)) {
            memcpy(id, requirements, length);
            record(id);
        }
        requirements += length;
        requirements += strspn(requirements, " ,");
    }
}

static void __attribute__((noreturn)) give_up(void)
{
    fflush(NULL);
    _exit(T_EXIT_FAILED);
}

static void where(const char *file, int line, const char *requirement)
{
    printf("%s:%d: %s%s", file, line, requirement ? requirement : "", requirement ? ": " : "");
}

void t_check(const char *file, int line, const char *requirement, const char *text, bool ok)
{
    if (!ok) {
        where(file, line, requirement);
        printf("not true: %s\n", text);
        if (t_err.code)
            printf("    the last error was: %s (%s)\n", t_err.message, ph_status_text(t_err.code));
        give_up();
    }
    record_all(requirement);
}

void t_check_int(const char *file, int line, const char *requirement, const char *text,
                 long long got, long long want)
{
    if (got != want) {
        where(file, line, requirement);
        printf("not true: %s\n    got %lld, want %lld\n", text, got, want);
        if (t_err.code)
            printf("    the last error was: %s (%s)\n", t_err.message, ph_status_text(t_err.code));
        give_up();
    }
    record_all(requirement);
}

void t_check_str(const char *file, int line, const char *requirement, const char *text,
                 const char *got, const char *want)
{
    bool same = got && want ? strcmp(got, want) == 0 : got == want;

    if (!same) {
        where(file, line, requirement);
        printf("%s\n    got  %s%s%s\n    want %s%s%s\n", text, got ? "\"" : "", got ? got : "NULL",
               got ? "\"" : "", want ? "\"" : "", want ? want : "NULL", want ? "\"" : "");
        give_up();
    }
    record_all(requirement);
}

void t_not_ok(const char *file, int line, const char *text, int status)
{
    where(file, line, NULL);
    printf("failed: %s\n    %d (%s): %s", text, status, ph_status_text(status), t_err.message);
    if (t_err.sqlstate[0])
        printf(" [%s]", t_err.sqlstate);
    printf("\n");
    give_up();
}

void t_skip(const char *reason)
{
    printf("%s\n", reason);
    fflush(NULL);
    _exit(T_EXIT_SKIPPED);
}

void t_not_here(const char *reason)
{
    printf("%s\n", reason);
    fflush(NULL);
    _exit(T_EXIT_NOT_HERE);
}
