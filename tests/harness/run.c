/* run.c - runs the tests of a program: each in a process, a process group and
 * a folder of its own, several at once, with a time limit. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_S 120
#define MANY_TESTS 30 /* schemas for them are made in advance */

struct test {
    const char *name;
    t_function function;
    char full[160]; /* file.name */
};

struct job {
    pid_t pid;
    struct test *test;
    double started;
    bool timed_out;
    char dir[256], output[300];
};

/* Undefined behaviour fails the test instead of being a line in its output. */
const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void)
{
    return "halt_on_error=1:print_stacktrace=1";
}

/* A small quarantine: tests are many and short, and a large one costs more page faults than it
 * finds errors. Short stacks of allocations: walking them is a tenth of the time. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=1:quarantine_size_mb=2:malloc_context_size=8";
}

struct t_env t_env = { .program = "", .backend = "" };

static struct test *tests;
static size_t test_count;
static struct job jobs[T_JOBS_MAX];
static struct t_shared *shared; /* one per job */
static int job_count = 2;
static const char *only = "";
static bool verbose;
static char run_dir[200];
static volatile sig_atomic_t stopped_by;
static int totals[4]; /* passed, failed, skipped, not here */

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

void t_register(const char *file, const char *name, t_function function)
{
    const char *base = strrchr(file, '/');
    struct test *test;

    tests = realloc(tests, (test_count + 1) * sizeof(*tests));
    if (!tests)
        abort();
    base = base ? base + 1 : file;
    test = &tests[test_count++];
    *test = (struct test){ name, function, "" };
    snprintf(test->full, sizeof(test->full), "%.*s.%s", (int)strcspn(base, "."), base, name);
}

void t_limit(int seconds)
{
    if (t_env.shared)
        t_env.shared->limit_s = seconds;
}

bool t_soak(void)
{
    const char *soak = getenv("PH_TEST_SOAK");

    return soak && *soak && strcmp(soak, "0") != 0;
}

/* ------------------------------------------------------------------- files */

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *ftw)
{
    (void)info;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void remove_tree(const char *path)
{
    if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) < 0 && errno != ENOENT)
        fprintf(stderr, "cannot remove %s: %s\n", path, strerror(errno));
}

static void print_file(const char *path)
{
    FILE *file = fopen(path, "r");
    char line[1024];

    while (file && fgets(line, sizeof(line), file))
        printf("    %s%s", line, strchr(line, '\n') ? "" : "\n");
    if (file)
        fclose(file);
}

/* ----------------------------------------------------------------- one test */

static void set_up_environment(const struct job *job, int slot)
{
    t_env.shared = &shared[slot];
    t_env.number = (int)(job->test - tests);
    snprintf(t_env.dir, sizeof(t_env.dir), "%s", job->dir);
    t_env_place();
}

/* exit, not _exit: LeakSanitizer looks for leaks there. */
static void __attribute__((noreturn)) run_in_child(const struct job *job, int slot)
{
    int fd = open(job->output, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
    sigset_t none;

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
        _exit(T_EXIT_FAILED);
    close(fd);
    set_up_environment(job, slot);
    job->test->function();
    t_stores_close();
    t_conns_close();
    exit(0);
}

static bool is_chosen(const struct test *test)
{
    return strstr(test->full, only);
}

static bool are_many_tests(void)
{
    size_t count = 0;

    for (size_t i = 0; i < test_count; i++)
        count += is_chosen(&tests[i]);
    return count >= MANY_TESTS;
}

static void start(struct job *job, int slot, struct test *test)
{
    if (strcmp(t_env.backend, "postgresql") == 0 && !t_schema_lend(slot, are_many_tests()))
        exit(2);
    *job = (struct job){ .test = test, .started = now() };
    snprintf(job->dir, sizeof(job->dir), "%s/%d", run_dir, (int)(test - tests));
    snprintf(job->output, sizeof(job->output), "%s/%d.output", run_dir, (int)(test - tests));
    shared[slot].limit_s = LIMIT_S;
    shared[slot].choice = T_CHOICE_OPEN;
    if (mkdir(job->dir, 0700) < 0) {
        perror(job->dir);
        exit(2);
    }
    fflush(NULL);
    job->pid = fork();
    if (job->pid < 0) {
        perror("fork");
        exit(2);
    }
    if (job->pid == 0)
        run_in_child(job, slot);
    setpgid(job->pid, job->pid);
}

static void write_result(const char *result, const struct test *test, double seconds)
{
    const char *path = getenv("PH_TEST_RESULTS");
    int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644) : -1;

    if (fd < 0)
        return;
    dprintf(fd, "%s\t%s\t%s\t%s\t%.3f\n", result, t_env.program, t_env.backend, test->full,
            seconds);
    close(fd);
}

static void finish(struct job *job, int status)
{
    static const char *const words[] = { "passed", "failed", "skipped", "no case" };
    double seconds = now() - job->started;
    int kind = 1;

    kill(-job->pid, SIGKILL); /* what the test may have left running */
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        kind = 0;
    else if (WIFEXITED(status) && WEXITSTATUS(status) == T_EXIT_SKIPPED)
        kind = 2;
    else if (WIFEXITED(status) && WEXITSTATUS(status) == T_EXIT_NOT_HERE)
        kind = 3;
    totals[kind]++;
    if (kind < 3)
        write_result(words[kind], job->test, seconds);
    if (kind == 1 || kind == 2 || verbose) {
        printf("%-7s %s %s %s (%.1f s)%s\n", words[kind], t_env.program, t_env.backend,
               job->test->full, seconds, job->timed_out ? ": the time limit was reached" : "");
        print_file(job->output);
        if (WIFSIGNALED(status) && !job->timed_out)
            printf("    ended by signal %d (%s)\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
        fflush(stdout);
    }
    remove_tree(job->dir);
    unlink(job->output);
    t_schema_return((int)(job - jobs));
    job->pid = 0;
}

/* ---------------------------------------------------------------- the loop */

static void check_limits(void)
{
    for (int i = 0; i < job_count; i++) {
        if (jobs[i].pid && (stopped_by || now() - jobs[i].started > shared[i].limit_s)) {
            jobs[i].timed_out = true;
            kill(-jobs[i].pid, SIGKILL);
            kill(jobs[i].pid, SIGKILL);
        }
    }
}

static int wait_some(void)
{
    struct timespec rest = { 0, 100000000 };
    sigset_t child;
    int status, ended = 0;
    pid_t pid;

    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigtimedwait(&child, NULL, &rest);
    check_limits();
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (int i = 0; i < job_count; i++) {
            if (jobs[i].pid == pid) {
                finish(&jobs[i], status);
                ended++;
            }
        }
    }
    return ended;
}

static void run_all(void)
{
    size_t next = 0;
    int running = 0;

    for (;;) {
        for (int i = 0; i < job_count && !stopped_by; i++) {
            while (next < test_count && !is_chosen(&tests[next]))
                next++;
            if (!jobs[i].pid && next < test_count) {
                start(&jobs[i], i, &tests[next++]);
                running++;
            }
        }
        if (running == 0)
            return;
        running -= wait_some();
    }
}

/* ------------------------------------------------------------------ the start */

static void stop(int signal_number)
{
    stopped_by = signal_number;
}

static void set_up(void)
{
    const char *folder = getenv("TMPDIR");
    struct sigaction action = { .sa_handler = stop };
    sigset_t child;

    setvbuf(stdout, NULL, _IOLBF, 0);
    snprintf(run_dir, sizeof(run_dir), "%s/posthorn-test.XXXXXX",
             folder && strlen(folder) < 100 ? folder : "/tmp");
    shared = mmap(NULL, T_JOBS_MAX * sizeof(*shared), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!mkdtemp(run_dir) || shared == MAP_FAILED) {
        perror(run_dir);
        exit(2);
    }
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static void __attribute__((noreturn)) usage(int status)
{
    fprintf(status ? stderr : stdout,
            "usage: %s [--backend sqlite|postgresql] [--only SUBSTRING] [--jobs N] [--list] "
            "[--verbose]\n"
            "PostgreSQL: PH_TEST_PG is the URL of a server's maintenance database, as superuser.\n",
            t_env.program);
    exit(status);
}

static void read_arguments(int argc, char **argv)
{
    const char *base = strrchr(argv[0], '/');

    t_env.program = base ? base + 1 : argv[0];
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;

        if (strcmp(argv[i], "--list") == 0) {
            for (size_t t = 0; t < test_count; t++)
                puts(tests[t].full);
            exit(0);
        }
        if (strcmp(argv[i], "--verbose") == 0) {
            verbose = true;
            continue;
        }
        if (strcmp(argv[i], "--help") == 0)
            usage(0);
        if (!value)
            usage(2);
        if (strcmp(argv[i], "--backend") == 0)
            t_env.backend = value;
        else if (strcmp(argv[i], "--only") == 0)
            only = value;
        else if (strcmp(argv[i], "--jobs") == 0)
            job_count = atoi(value);
        else
            usage(2);
        i++;
    }
    if (job_count < 1 || job_count > T_JOBS_MAX ||
        (*t_env.backend && strcmp(t_env.backend, "sqlite") && strcmp(t_env.backend, "postgresql")))
        usage(2);
}

int main(int argc, char **argv)
{
    char databases[32];
    double started = now();

    read_arguments(argc, argv);
    set_up();
    snprintf(databases, sizeof(databases), "ph_%d", (int)getpid());
    run_all();
    if (strcmp(t_env.backend, "postgresql") == 0)
        t_server_tear_down(databases);
    remove_tree(run_dir);
    printf("%s%s%s: %d passed, %d failed, %d skipped in %.1f s\n", t_env.program,
           *t_env.backend ? " " : "", t_env.backend, totals[0], totals[1], totals[2],
           now() - started);
    free(tests);
    tests = NULL;
    return stopped_by ? 128 + stopped_by : totals[1] > 0;
}
