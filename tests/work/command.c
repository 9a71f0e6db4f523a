/* command.c - the command posthorn as a process of its own, and what it starts. */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARGUMENTS_MAX 64
#define ASIDE_FD 9 /* open and inherited, so that tests see whether commands get it too */

void nap(void)
{
    struct timespec pause = { 0, 10000000 };

    nanosleep(&pause, NULL);
}

void stage_open(struct stage *stage)
{
    stage->store = t_open(NULL);
    stage->conn = t_connect();
}

ph_work_id stage_put(struct stage *stage, const char *payload)
{
    return t_enqueue(stage->store, "t", payload).work_id;
}

/* ------------------------------------------------------------------ running */

void (*command_before_exec)(void);

static void open_as(const char *name, int fd)
{
    int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    if (file < 0 || dup2(file, fd) < 0)
        _exit(120);
    close(file);
}

pid_t command_begin(const char *const *arguments)
{
    const char *argv[ARGUMENTS_MAX] = { "posthorn", "--db", t_url() };
    size_t count = 3;
    pid_t pid;

    if (t_is_pg()) {
        argv[count++] = "--schema";
        argv[count++] = t_schema();
    }
    for (; *arguments; arguments++) {
        CHECK(count + 1 < ARGUMENTS_MAX);
        argv[count++] = *arguments;
    }
    argv[count] = NULL;
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        if (chdir(t_dir()) < 0 || dup2(STDIN_FILENO, ASIDE_FD) < 0)
            _exit(120);
        open_as("command.out", STDOUT_FILENO);
        open_as("command.err", STDERR_FILENO);
        if (command_before_exec)
            command_before_exec();
        execv(POSTHORN_COMMAND, (char *const *)(uintptr_t)argv);
        _exit(121);
    }
    return pid;
}

int command_end(pid_t pid)
{
    int status = 0;
    double end = t_now_s() + AWAIT_LIMIT_S;

    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (t_now_s() > end) {
            kill(pid, SIGKILL);
            printf("stderr: %s\n", command_err());
            FAIL("the command ends in time");
        }
        nap();
    }
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

int command_run(const char *const *arguments)
{
    return command_end(command_begin(arguments));
}

/* -------------------------------------------------------------------- files */

static const char *path_of(const char *name, char path[4096])
{
    snprintf(path, 4096, "%s/%s", t_dir(), name);
    return path;
}

bool file_exists(const char *name)
{
    char path[4096];

    return access(path_of(name, path), F_OK) == 0;
}

/* The bytes of a file in a place that is used again by the next call for that place. */
static const char *slurp(const char *name, int place, size_t *ret_length)
{
    static char *texts[3];
    char path[4096];
    FILE *file = fopen(path_of(name, path), "r");
    size_t length = 0, size = 65536, n;

    free(texts[place]);
    texts[place] = malloc(size);
    CHECK(texts[place] != NULL);
    while (file && (n = fread(texts[place] + length, 1, size - length - 1, file)) > 0) {
        length += n;
        if (length + 1 == size) {
            size *= 2;
            texts[place] = realloc(texts[place], size);
            CHECK(texts[place] != NULL);
        }
    }
    if (file)
        fclose(file);
    texts[place][length] = '\0';
    *ret_length = length;
    return texts[place];
}

static size_t out_length;

const char *command_out(void)
{
    return slurp("command.out", 0, &out_length);
}

size_t command_out_length(void)
{
    return out_length;
}

const char *command_err(void)
{
    size_t length;

    return slurp("command.err", 1, &length);
}

const char *file_text(const char *name)
{
    size_t length;

    return slurp(name, 2, &length);
}

void file_write(const char *name, const char *text, bool executable)
{
    char path[4096];
    FILE *file = fopen(path_of(name, path), "w");

    CHECK(file != NULL);
    fputs(text, file);
    fclose(file);
    CHECK(chmod(path, executable ? 0755 : 0644) == 0);
}

/* ---------------------------------------------------------------- processes */

pid_t pid_in(const char *name)
{
    const char *text = "";

    AWAIT(strchr(text = file_text(name), '\n') != NULL);
    return atoi(text);
}

bool is_gone(pid_t pid)
{
    char path[64], line[512] = "";
    const char *state;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "r");
    if (!file)
        return true;
    if (!fgets(line, sizeof(line), file))
        line[0] = '\0';
    fclose(file);
    state = strrchr(line, ')');
    return !state || state[2] == 'Z' || state[2] == 'X';
}
