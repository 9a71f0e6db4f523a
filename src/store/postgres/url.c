/* url.c - the URL of a server: whether libpq can read it, and a name for it that may be shown.
 *
 * A '/', '@' or ':' in a password that its author forgot to write as %xx moves a part of it to
 * where libpq looks for the host, the port or the database. So no part of a URL is shown if one of
 * these looks strange. */
#include "store/postgres/pg.h"

#include "core/error.h"

#include <string.h>

#define UNKNOWN "postgresql:?"

struct target {
    const char *host, *port, *database; /* NULL: not given */
};

bool ph__pg_matches(const char *url)
{
    return strncmp(url, "postgresql:", 11) == 0 || strncmp(url, "postgres:", 9) == 0;
}

const char *ph__pg_conninfo(const char *url)
{
    const char *rest = strchr(url, ':') + 1;

    return strncmp(rest, "//", 2) == 0 ? url : rest;
}

/* Its texts belong to options. */
static struct target target_of(const PQconninfoOption *options)
{
    struct target target = { 0 };

    for (const PQconninfoOption *o = options; o && o->keyword; o++) {
        if (strcmp(o->keyword, "host") == 0)
            target.host = o->val;
        else if (strcmp(o->keyword, "port") == 0)
            target.port = o->val;
        else if (strcmp(o->keyword, "dbname") == 0)
            target.database = o->val;
    }
    return target;
}

/* Several hosts have several, separated by commas. */
static bool is_port(const char *text)
{
    return !text || strspn(text, "0123456789, ") == strlen(text);
}

static bool is_address(const char *text)
{
    size_t length = strspn(text, "0123456789abcdefABCDEF:.,");

    return text[length] == '\0' || text[length] == '%'; /* a zone follows */
}

static bool is_host(const char *text)
{
    return !text ||
           (!strchr(text, '@') && (!strchr(text, ':') || *text == '/' || is_address(text)));
}

static bool is_plain(const struct target *target)
{
    return is_port(target->port) && is_host(target->host) &&
           (!target->database || !strpbrk(target->database, "@:="));
}

char *ph__pg_describe(const char *url)
{
    PQconninfoOption *options = PQconninfoParse(ph__pg_conninfo(url), NULL);
    struct target target = target_of(options);
    struct ph__buffer text = { 0 };

    if (options && is_plain(&target))
        ph__buffer_printf(&text, "postgresql://%s%s%s/%s", target.host ? target.host : "",
                          target.port ? ":" : "", target.port ? target.port : "",
                          target.database ? target.database : "");
    else
        ph__buffer_text(&text, UNKNOWN);
    PQconninfoFree(options);
    if (text.failed)
        ph__buffer_free(&text);
    return text.data;
}

bool ph__pg_may_show(const char *url)
{
    PQconninfoOption *options = PQconninfoParse(ph__pg_conninfo(url), NULL);
    struct target target = target_of(options);
    bool may = options && is_plain(&target);

    PQconninfoFree(options);
    return may;
}

int ph__pg_check_url(const char *url, ph_error *err)
{
    PQconninfoOption *options = PQconninfoParse(ph__pg_conninfo(url), NULL);
    bool readable = options && is_port(target_of(options).port);

    PQconninfoFree(options);
    if (readable)
        return 0;
    return ph__fail(err, PH_EINVAL,
                    "libpq cannot read the URL; write "
                    "postgresql://user@host:port/database?key=value or postgresql:key=value, with "
                    "special characters as %%xx");
}
