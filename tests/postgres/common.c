#include "common.h"

#include <libpq-fe.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXTS 8
#define TEXT_SIZE 16384

struct t_conn *a_connection(const char *url)
{
    struct t_conn *conn = url ? t_connect_to(url) : t_connect();

    PQsetErrorVerbosity((PGconn *)t_native(conn), PQERRORS_VERBOSE);
    return conn;
}

void refused(struct t_conn *conn, const char *sqlstate, const char *text, const char *sql)
{
    const char *start = say("ERROR:  %s: ", sqlstate);
    bool failed = !t_try_sql(conn, sql);
    const char *error = failed ? t_sql_error(conn) : "";

    if (!failed || strncmp(error, start, strlen(start)) != 0 || !strstr(error, text))
        printf("%.500s\n    wanted: %s…%s…\n    got: %.500s\n", sql, start, text,
               failed ? error : "success");
    CHECK(failed);
    CHECK(strncmp(error, start, strlen(start)) == 0);
    CHECK(strstr(error, text) != NULL);
}

const char *say(const char *format, ...)
{
    static char texts[TEXTS][TEXT_SIZE];
    static size_t next;
    char *text = texts[next++ % TEXTS];
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(text, TEXT_SIZE, format, arguments);
    va_end(arguments);
    CHECK(length >= 0 && length < TEXT_SIZE);
    return text;
}

/* libpq lets the last one of two equal parameters win. */
const char *url_with(const char *base, const char *parameters)
{
    return say("%s%c%s", base, strchr(base, '?') ? '&' : '?', parameters);
}

static void __attribute__((noreturn)) become(const char *const *argv, int in, int out)
{
    dup2(in, 0);
    dup2(out, 1);
    dup2(out, 2);
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    perror(argv[0]);
    _exit(127);
}

int run_program(const char *const *argv, const char *input, char *ret_output, size_t size)
{
    FILE *in = tmpfile(), *out = tmpfile();
    int status = -1;
    size_t length;
    pid_t pid;

    CHECK(in && out);
    fputs(input ? input : "", in);
    rewind(in);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
        become(argv, fileno(in), fileno(out));
    CHECK(waitpid(pid, &status, 0) == pid);
    rewind(out);
    length = fread(ret_output, 1, size - 1, out);
    ret_output[length] = '\0';
    fclose(in);
    fclose(out);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

const char *stored(struct t_conn *conn)
{
    return t_value(conn, "SELECT concat_ws(' ', (SELECT count(*) FROM {t}message), "
                         "(SELECT count(*) FROM {t}pending), (SELECT count(*) FROM {t}lease), "
                         "(SELECT count(*) FROM {t}done), (SELECT count(*) FROM {t}dead), "
                         "(SELECT count(*) FROM {t}dedupe), (SELECT count(*) FROM {t}attempt_log), "
                         "(SELECT md5(string_agg(q::text, ';' ORDER BY q.id)) FROM {t}queue q))");
}
