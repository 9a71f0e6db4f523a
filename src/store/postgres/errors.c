/* errors.c - what PostgreSQL says, in our words. Only the primary message is
 * used: details and context can hold values. */
#include "store/postgres/pg.h"

#include "core/error.h"

#include <string.h>

struct meaning {
    const char *sqlstate; /* a prefix */
    int code;
    unsigned flags;
    const char *advice;
};

/* The longer prefix first. */
static const struct meaning meanings[] = {
    { "40001", PH_ECONFLICT, PH_RETRY, "roll back and try again" },
    { "40P01", PH_ECONFLICT, PH_RETRY, "roll back and try again; enqueue_many locks in one order" },
    { "55P03", PH_EBUSY, PH_RETRY, "another session holds the lock; try again" },
    { "57014", PH_ETIMEOUT, PH_RETRY, "allow more time, or try again" },
    { "57P01", PH_ECONNECT, PH_RETRY, "the server is shutting down; try again" },
    { "57P02", PH_ECONNECT, PH_RETRY, "the server has crashed; try again" },
    { "57P03", PH_ECONNECT, PH_RETRY, "the server is starting or stopping; try again" },
    { "57P05", PH_ECONNECT, PH_RETRY, "the session was idle too long; try again" },
    { "25006", PH_EREADONLY, 0, "connect to the primary, or make the database writable" },
    { "25P02", PH_ETXDEAD, 0, "roll the transaction back" },
    { "28", PH_EAUTH, 0, "check user and password" },
    { "3D000", PH_ECONNECT, 0, "create the database, or correct its name in the URL" },
    { "3F000", PH_ENOSCHEMA, 0, "call ph_migrate(), or open with deploy_schema" },
    { "42883", PH_ENOSCHEMA, 0, "call ph_migrate(), or open with deploy_schema" },
    { "42P01", PH_ENOSCHEMA, 0, "call ph_migrate(), or open with deploy_schema" },
    { "42501", PH_EPERM, 0, "grant the role what it needs: see ph_migrate_sql()" },
    { "PH002", PH_EPERM, 0, NULL }, /* a migration's: who owns the schema; it names the cure */
    { "53100", PH_EFULL, PH_RETRY, "free space on the server's disk" },
    { "53200", PH_ENOMEM, PH_RETRY, "the server is out of memory" },
    { "53300", PH_ECONNECT, PH_RETRY, "the server has no free connection; raise max_connections" },
    { "22023", PH_EINVAL, 0, NULL },
    { "22021", PH_EINVAL, 0, "the database must have the encoding UTF8" },
    { "08", PH_ECONNECT, PH_RETRY, "check that the server is up, then try again" },
    { "53", PH_EDATABASE, PH_RETRY, "the server lacks a resource" },
    { "XX001", PH_ECORRUPT, 0, "restore from a backup" },
    { "XX002", PH_ECORRUPT, 0, "rebuild the index (REINDEX)" },
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

static bool is_auth_failure(const char *text)
{
    return strstr(text, "password authentication failed") || strstr(text, "no password supplied") ||
           strstr(text, "authentication failed") || strstr(text, "pg_hba.conf") ||
           (strstr(text, "role \"") && strstr(text, "does not exist"));
}

/* libpq writes a line for each address it tried: the first one where a server
 * answered tells most. */
static const char *telling_line(const char *text)
{
    for (const char *line = text; *line; line += length_of_line(line) + 1) {
        const char *fatal = strstr(line, "FATAL:"), *tls = strstr(line, "certificate");
        const char *end = line + length_of_line(line);

        if ((fatal && fatal < end) || (tls && tls < end))
            return line;
        if (!*end)
            break;
    }
    return text;
}

int ph__pg_fail_connect(const PGconn *conn, ph_error *err)
{
    const char *text = telling_line(conn ? PQerrorMessage(conn) : "out of memory");
    int length = length_of_line(text);

    if (strncmp(text, "invalid ", 8) == 0) /* it goes on with the value */
        return ph__fail(err, PH_EINVAL,
                        "libpq refuses a value of the URL; check port, sslmode and the other "
                        "parameters");
    if (memmem(text, (size_t)length, "no encryption", 13))
        return ph__fail(err, PH_EAUTH, "%.*s; use TLS: sslmode=verify-full", length, text);
    if (is_auth_failure(text))
        return ph__fail(err, PH_EAUTH, "%.*s; check user and password", length, text);
    if (strstr(text, "database \"") && strstr(text, "does not exist"))
        return ph__fail(err, PH_ECONNECT, "%.*s; create the database, or correct the URL", length,
                        text);
    ph__fail(err, PH_ECONNECT, "%.*s; check the URL and that the server is up", length, text);
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
    memcpy(err->sqlstate, sqlstate, strnlen(sqlstate, sizeof(err->sqlstate) - 1));
    return ph__fail_flags(err, code, meaning ? meaning->flags : 0);
}
