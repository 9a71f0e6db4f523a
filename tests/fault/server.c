#include "server.h"

#include "harness.h"

#include <fcntl.h>
#include <grp.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[300], bin[300], url[400];
static pid_t server;

static void nap(void)
{
    struct timespec rest = { 0, 20000000 };

    nanosleep(&rest, NULL);
}

/* PostgreSQL refuses to run as root. */
static void become_nobody_special(void)
{
    const struct passwd *account = getpwnam("postgres");

    if (geteuid() != 0)
        return;
    if (!account)
        account = getpwnam("nobody");
    if (!account || setgroups(0, NULL) < 0 || setgid(account->pw_gid) < 0 ||
        setuid(account->pw_uid) < 0)
        _exit(126);
}

static pid_t run(char *const argv[])
{
    pid_t parent = getpid(), pid = fork();
    int log;

    CHECK(pid >= 0);
    if (pid > 0)
        return pid;
    become_nobody_special();
    if (chdir(folder) < 0)
        _exit(125);
    prctl(PR_SET_PDEATHSIG, SIGQUIT); /* after the change of user, which clears it */
    log = open("server.log", O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (getppid() != parent || log < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0)
        _exit(125);
    execv(argv[0], argv);
    _exit(127);
}

static int finish(pid_t pid)
{
    int status = -1;

    CHECK(waitpid(pid, &status, 0) == pid);
    return status;
}

/* The path of one of PostgreSQL's programs. */
static char *program(const char *name)
{
    static char paths[2][400];
    static int next;
    char *path = paths[next++ % 2];

    snprintf(path, sizeof(paths[0]), "%s/%s", bin, name);
    return path;
}

/* In the test's folder, which the server's account must be able to reach. */
static void make_folder(void)
{
    const struct passwd *account = getpwnam("postgres");
    char parent[300];

    if (!account)
        account = getpwnam("nobody");
    snprintf(folder, sizeof(folder), "%s", t_dir());
    snprintf(parent, sizeof(parent), "%s/..", t_dir());
    if (geteuid() == 0)
        CHECK(account && chown(folder, account->pw_uid, account->pw_gid) == 0 &&
              chmod(parent, 0711) == 0);
    snprintf(url, sizeof(url), "postgresql:///postgres?host=%s&port=5432&user=postgres", folder);
}

static void stop_at_exit(void)
{
    if (server > 0)
        server_crash();
}

void server_start_new(void)
{
    const char *from = getenv("PH_TEST_PG_BIN");
    char data[400];
    char *initdb[] = { NULL,
                       data,
                       (char[]){ "--username=postgres" },
                       (char[]){ "--no-sync" },
                       (char[]){ "--encoding=UTF8" },
                       (char[]){ "--locale=C.UTF-8" },
                       (char[]){ "--auth=trust" },
                       (char[]){ "--no-instructions" },
                       NULL };

    if (!from)
        t_skip("PH_TEST_PG_BIN is not set; ./test says where PostgreSQL's programs are");
    snprintf(bin, sizeof(bin), "%s", from);
    make_folder();
    atexit(stop_at_exit);
    snprintf(data, sizeof(data), "--pgdata=%s/data", folder);
    initdb[0] = program("initdb");
    CHECK_INT(finish(run(initdb)), 0);
    server_start();
    server_wait();
}

const char *server_url(void)
{
    return url;
}

void server_start(void)
{
    char data[400];
    char *postgres[] = { program("postgres"),
                         (char[]){ "-D" },
                         data,
                         (char[]){ "-k" },
                         folder,
                         (char[]){ "-c" },
                         (char[]){ "listen_addresses=" },
                         (char[]){ "-c" },
                         (char[]){ "fsync=off" },
                         (char[]){ "-c" },
                         (char[]){ "shared_buffers=16MB" },
                         NULL };

    snprintf(data, sizeof(data), "%s/data", folder);
    server = run(postgres);
}

static void stop_by(int signal_number)
{
    kill(server, signal_number);
    kill(server, SIGCONT);
    finish(server);
    server = 0;
}

void server_freeze(int pid)
{
    CHECK(kill(server, SIGSTOP) == 0 && kill(pid, SIGSTOP) == 0);
}

void server_thaw(int pid)
{
    CHECK(kill(server, SIGCONT) == 0 && kill(pid, SIGCONT) == 0);
}

void server_crash(void)
{
    stop_by(SIGQUIT);
}

void server_stop(void)
{
    stop_by(SIGINT);
}

void server_wait(void)
{
    for (int i = 0; i < 1000; i++) {
        if (PQping(url) == PQPING_OK)
            return;
        nap();
    }
    CHECK(!"the server did not start");
}
