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

static char folder[300], bin[300], url[400], standby[400];
static pid_t server, standby_server;

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
    if (standby_server > 0) {
        kill(standby_server, SIGQUIT);
        finish(standby_server);
    }
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

static pid_t start(const char *name, const char *port)
{
    char data[400], at[20];
    char *postgres[] = { program("postgres"),
                         (char[]){ "-D" },
                         data,
                         (char[]){ "-k" },
                         folder,
                         (char[]){ "-p" },
                         at,
                         (char[]){ "-c" },
                         (char[]){ "listen_addresses=" },
                         (char[]){ "-c" },
                         (char[]){ "fsync=off" },
                         (char[]){ "-c" },
                         (char[]){ "shared_buffers=16MB" },
                         NULL };

    snprintf(data, sizeof(data), "%s/%s", folder, name);
    snprintf(at, sizeof(at), "%s", port);
    return run(postgres);
}

void server_start(void)
{
    server = start("data", "5432");
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

static void wait_for(const char *at)
{
    for (int i = 0; i < 1000; i++) {
        if (PQping(at) == PQPING_OK)
            return;
        nap();
    }
    FAIL("the server did not start");
}

void server_wait(void)
{
    wait_for(url);
}

/* ------------------------------------------------------------------- the standby */

static void await(struct t_conn *conn, const char *condition)
{
    char sql[300];

    snprintf(sql, sizeof(sql), "SELECT CASE WHEN %s THEN 1 ELSE 0 END", condition);
    for (int i = 0; t_number(conn, sql) == 0; i++) {
        CHECK(i < 1000);
        nap();
    }
}

void server_start_standby(void)
{
    char data[400];
    char *backup[] = { program("pg_basebackup"),
                       (char[]){ "-D" },
                       data,
                       (char[]){ "-h" },
                       folder,
                       (char[]){ "-p" },
                       (char[]){ "5432" },
                       (char[]){ "-U" },
                       (char[]){ "postgres" },
                       (char[]){ "-R" },
                       (char[]){ "--no-sync" },
                       (char[]){ "-c" },
                       (char[]){ "fast" },
                       (char[]){ "-X" },
                       (char[]){ "stream" },
                       NULL };
    struct t_conn *conn = t_connect_to(url);

    snprintf(data, sizeof(data), "%s/standby", folder);
    snprintf(standby, sizeof(standby), "postgresql:///postgres?host=%s&port=5433&user=postgres",
             folder);
    CHECK_INT(finish(run(backup)), 0);
    standby_server = start("standby", "5433");
    wait_for(standby);
    t_sql(conn, "ALTER SYSTEM SET synchronous_standby_names = '*'");
    t_sql(conn, "SELECT pg_reload_conf()");
    await(conn, "EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')");
    t_disconnect(conn);
}

const char *standby_url(void)
{
    return standby;
}

void standby_promote(void)
{
    struct t_conn *conn = t_connect_to(standby);

    /* If it waited, its snapshot might hold up the recovery that it waits for. */
    CHECK_STR(t_value(conn, "SELECT pg_promote(false)"), "t");
    await(conn, "NOT pg_is_in_recovery()");
    t_disconnect(conn);
}
