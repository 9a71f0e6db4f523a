/* errors.c - PostgreSQL's errors, in our words. Only the primary message is used: details and
 * context can hold values. */
#include "store/postgres/pg.h"

#include "core/error.h"

#include <string.h>

struct meaning {
    const char *sqlstate; /* a prefix */
    int code;
    unsigned flags;
    ph_cure cure;
    const char *advice; /* NULL: the cure's text */
};

/* The longer prefix first. */
static const struct meaning meanings[] = {
    { "40001", PH_ECONFLICT, PH_RETRY, PH_CURE_NONE, "roll back and try again" },
    { "40P01", PH_ECONFLICT, PH_RETRY, PH_CURE_NONE,
      "roll back and try again; enqueue_many locks in one order" },
    { "55P03", PH_EBUSY, PH_RETRY, PH_CURE_NONE, "another session holds the lock; try again" },
    { "57014", PH_ETIMEOUT, PH_RETRY, PH_CURE_NONE, "allow more time, or try again" },
    { "57P01", PH_ECONNECT, PH_RETRY, PH_CURE_NONE, "the server is shutting down; try again" },
    { "57P02", PH_ECONNECT, PH_RETRY, PH_CURE_NONE, "the server has crashed; try again" },
    { "57P03", PH_ECONNECT, PH_RETRY, PH_CURE_NONE,
      "the server is starting or stopping; try again" },
    { "57P05", PH_ECONNECT, PH_RETRY, PH_CURE_NONE, "the session was idle too long; try again" },
    { "25006", PH_EREADONLY, 0, PH_CURE_PLACE,
      "connect to the primary, or make the database writable" },
    { "25P02", PH_ETXDEAD, 0, PH_CURE_NONE, "roll the transaction back" },
    { "28", PH_EAUTH, 0, PH_CURE_CREDENTIALS, NULL },
    { "3D000", PH_ECONNECT, 0, PH_CURE_CONNECTION,
      "create the database, or correct its name in the URL" },
    { "3F000", PH_ENOSCHEMA, 0, PH_CURE_DEPLOY, NULL },
    { "42883", PH_ENOSCHEMA, 0, PH_CURE_DEPLOY, NULL },
    { "42P01", PH_ENOSCHEMA, 0, PH_CURE_DEPLOY, NULL },
    { "42501", PH_EPERM, 0, PH_CURE_GRANT, NULL },
    { "PH002", PH_EPERM, 0, PH_CURE_NONE,
      NULL }, /* a migration's, about the schema's owner; it names the cure */
    { "53100", PH_EFULL, PH_RETRY, PH_CURE_SPACE, "free space on the server's disk" },
    { "53200", PH_ENOMEM, PH_RETRY, PH_CURE_NONE, "the server is out of memory" },
    { "53300", PH_ECONNECT, PH_RETRY, PH_CURE_SETTINGS,
      "the server has no free connection; raise max_connections" },
    { "22023", PH_EINVAL, 0, PH_CURE_NONE, NULL },
    { "22021", PH_EINVAL, 0, PH_CURE_SETTINGS, "the database must have the encoding UTF8" },
    { "08", PH_ECONNECT, PH_RETRY, PH_CURE_CONNECTION,
      "check that the server is up, then try again" },
    { "53", PH_EDATABASE, PH_RETRY, PH_CURE_NONE, "the server lacks a resource" },
    { "XX001", PH_ECORRUPT, 0, PH_CURE_RESTORE, "restore from a backup" },
    { "XX002", PH_ECORRUPT, 0, PH_CURE_MEND, "rebuild the index (REINDEX)" },
};

static const struct meaning *meaning_of(const char *sqlstate)
{
    for (size_t i = 0; i < sizeof(meanings) / sizeof(*meanings); i++) {
        if (strncmp(sqlstate, meanings[i].sqlstate, strlen(meanings[i].sqlstate)) == 0)
            return &meanings[i];
    }
    return NULL;
}

/* Without the line end that libpq puts. */
static int length_of_line(const char *text)
{
    return (int)strcspn(text, "\n");
}

/* Where a server answered, libpq was told to write the SQLSTATE, which is the same in every
 * language: "FATAL:  28P01: password …". NULL: there is none in this line. */
static const char *sqlstate_in(const char *line)
{
    static const char symbols[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const char *end = line + length_of_line(line);

    for (const char *at = line; (at = strchr(at, ':')) != NULL && at < end; at++) {
        if (at[1] == ' ' && at[2] == ' ' && strspn(at + 3, symbols) == 5 && at[8] == ':')
            return at + 3;
    }
    return NULL;
}

/* libpq's own words: it has no number for these. */
static bool is_about_certificate(const char *line)
{
    return memmem(line, (size_t)length_of_line(line), "certificate", 11) != NULL;
}

/* A pooler says so with the SQLSTATE of a broken protocol, and in English only. */
static bool is_about_password(const char *line, const char *state)
{
    if (!state)
        return false;
    return memcmp(state, "28", 2) == 0 ||
           (memcmp(state, "08P01", 5) == 0 &&
            memmem(line, (size_t)length_of_line(line), "authentication failed", 21));
}

/* libpq writes a line for each address it tried: the first one where a server answered tells most.
 * *ret_telling: there is one. */
static const char *telling_line(const char *text, bool *ret_telling)
{
    *ret_telling = true;
    for (const char *line = text; *line; line += strcspn(line, "\n")) {
        line += *line == '\n';
        if (sqlstate_in(line) || is_about_certificate(line))
            return line;
    }
    *ret_telling = false;
    return text;
}

/* The line without its SQLSTATE, which goes where it belongs; and the cure, in these words. */
static int fail_with_line(ph_error *err, int code, const char *line, const char *advice,
                          ph_cure cure)
{
    const char *state = sqlstate_in(line), *rest = state ? state + strlen("28P01: ") : line;

    ph__fail(err, code, "%.*s%.*s; %s", state ? (int)(state - line) : 0, line, length_of_line(rest),
             rest, advice);
    if (state)
        memcpy(err->sqlstate, state, sizeof(err->sqlstate) - 1);
    return ph__cure_in_message(err, code, cure);
}

int ph__pg_fail_connect(const PGconn *conn, bool *ret_telling, ph_error *err)
{
    const char *text = conn ? PQerrorMessage(conn) : "out of memory";
    const char *line = telling_line(text, ret_telling), *state = sqlstate_in(line);

    if (strncmp(line, "invalid ", 8) == 0) /* it goes on with the value */
        return ph__fail(err, PH_EINVAL,
                        "libpq refuses a value of the URL; check port, sslmode and the other "
                        "parameters");
    if (memmem(line, (size_t)length_of_line(line), "no encryption", 13))
        return fail_with_line(err, PH_EAUTH, line, "use TLS: sslmode=verify-full",
                              PH_CURE_SETTINGS);
    if (is_about_password(line, state) || PQconnectionNeedsPassword(conn))
        return fail_with_line(err, PH_EAUTH, line, "check user and password", PH_CURE_CREDENTIALS);
    if (state && memcmp(state, "3D000", 5) == 0)
        return fail_with_line(err, PH_ECONNECT, line, "create the database, or correct the URL",
                              PH_CURE_CONNECTION);
    fail_with_line(err, PH_ECONNECT, line, "check the URL and that the server is up",
                   PH_CURE_CONNECTION);
    return ph__fail_flags(err, PH_ECONNECT, PH_RETRY);
}

int ph__pg_fail_unknown(ph_error *err)
{
    ph__fail(err, PH_EUNKNOWN,
             "the connection was lost before the answer came; it has happened wholly or not "
             "at all: look, or repeat it with a dedupe key");
    err->flags = PH_RETRY | PH_UNKNOWN;
    return PH_EUNKNOWN;
}

int ph__pg_fail(const PGconn *conn, const PGresult *result, ph_error *err)
{
    const char *sqlstate = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    const char *text = result ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    const struct meaning *meaning = sqlstate ? meaning_of(sqlstate) : NULL;
    int code = meaning ? meaning->code : PH_EDATABASE;

    if (!sqlstate) {
        const char *why = PQerrorMessage(conn);

        ph__fail(err, PH_ECONNECT, "connection lost: %.*s", length_of_line(why), why);
        return ph__fail_flags(err, PH_ECONNECT, PH_RETRY);
    }
    if (!text)
        text = "no message";
    if (meaning && meaning->advice)
        ph__fail(err, code, "%.*s; %s", length_of_line(text), text, meaning->advice);
    else
        ph__fail(err, code, "%.*s", length_of_line(text), text);
    if (meaning && meaning->cure && meaning->advice)
        ph__cure_in_message(err, code, meaning->cure);
    else if (meaning && meaning->cure)
        ph__cure(err, code, meaning->cure);
    memcpy(err->sqlstate, sqlstate, strnlen(sqlstate, sizeof(err->sqlstate) - 1));
    return ph__fail_flags(err, code, meaning ? meaning->flags : 0);
}
