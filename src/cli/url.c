/* url.c - a database's URL as it may be shown: without passwords.
 *
 * Users mistype, and libpq accepts more forms than one. So nothing here decides what a URL means:
 * each rule hides what could be a password, and what is left is shown. Hiding too much does no
 * harm. */
#include "frame.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct masked {
    const char *text;
    size_t length;
    bool *hidden; /* per byte */
};

static void hide(struct masked *url, const char *from, const char *end)
{
    for (; from < end; from++)
        url->hidden[from - url->text] = true;
}

static bool is_space(char c)
{
    return isspace((unsigned char)c) != 0;
}

static const char *after_spaces(const char *at)
{
    while (is_space(*at))
        at++;
    return at;
}

/* The end of "scheme:"; NULL: there is none. */
static const char *after_scheme(const char *text)
{
    const char *at = after_spaces(text);

    if (!isalpha((unsigned char)*at))
        return NULL;
    while (isalnum((unsigned char)*at) || (*at && strchr("+.-", *at)))
        at++;
    return *at == ':' ? at + 1 : NULL;
}

static int hex_value(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, tolower((unsigned char)c)) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* The parameters of libpq whose values may be shown. */
static bool is_known_name(const char *name)
{
    static const char names[] =
        " host hostaddr port dbname user passfile service options application_name "
        "fallback_application_name client_encoding connect_timeout tcp_user_timeout "
        "keepalives keepalives_idle keepalives_interval keepalives_count replication "
        "target_session_attrs load_balance_hosts require_auth requirepeer channel_binding "
        "sslmode sslcert sslkey sslrootcert sslcrl sslcrldir sslsni sslcompression "
        "sslnegotiation sslcertmode ssl_min_protocol_version ssl_max_protocol_version "
        "gssencmode gssdelegation krbsrvname gsslib ";
    const char *at = strstr(names, name);
    size_t length = strlen(name);

    if (strchr(name, ' '))
        return false; /* the blanks are ours */
    for (; at && length > 0; at = strstr(at + 1, name)) {
        if (at[-1] == ' ' && at[length] == ' ')
            return true;
    }
    return false;
}

/* May the value of this parameter be a password? An unknown name may be a typing error for
 * "password". In URLs %70 is a p, too. */
static bool is_secret_name(struct cli *cli, const char *name, size_t length)
{
    char *plain = cli_alloc(cli, length + 1);
    size_t out = 0;

    for (size_t i = 0; i < length; i++) {
        char c = name[i];

        if (c == '%' && i + 2 < length && hex_value(name[i + 1]) >= 0 &&
            hex_value(name[i + 2]) >= 0) {
            c = (char)(hex_value(name[i + 1]) * 16 + hex_value(name[i + 2]));
            i += 2;
        }
        plain[out++] = c;
    }
    return !is_known_name(plain);
}

/* A URL as the value of a parameter. */
static bool holds_url(const char *from, const char *end)
{
    const char *slashes = strstr(from, "://");

    return slashes && slashes < end && memchr(slashes, '@', (size_t)(end - slashes));
}

/* ---------------------------------------------------------------------- scheme:// */

/* Where the parameters begin; the end of the text: there are none. A '?' may also be a part of a
 * password, but then no "name=" follows it before the '@'. */
static const char *query_of(const char *text)
{
    const char *at = strchr(text, '?');

    while (at && strchr(at, '@') && strcspn(at + 1, "=") > strcspn(at + 1, "@&"))
        at = strchr(at + 1, '?');
    return at ? at : text + strlen(text);
}

static const char *last_at_sign(const char *from, const char *end)
{
    while (end > from && end[-1] != '@')
        end--;
    return end > from ? end - 1 : NULL;
}

/* //user:password@host. The password may hold any of : / # ? @ if its author forgot to write them
 * as %3A and so on. */
static void hide_user_password(struct masked *url, const char *authority)
{
    const char *query = query_of(authority), *colon = strchr(authority, ':');
    const char *at = last_at_sign(authority, query);

    if (!at)
        at = last_at_sign(query, url->text + url->length);
    if (colon && at && colon < at)
        hide(url, colon + 1, at);
}

/* ?name=value&name=value. What follows a password's '&' without being a name=value belongs to it. */
static void hide_parameters(struct cli *cli, struct masked *url, const char *authority)
{
    const char *at = strchr(authority, '?');
    bool secret = false;

    while (at && *at) {
        const char *part = at + 1, *end = part + strcspn(part, "&");
        const char *equals = memchr(part, '=', (size_t)(end - part));

        if (equals)
            secret = is_secret_name(cli, part, (size_t)(equals - part)) || holds_url(equals, end);
        if (secret)
            hide(url, equals ? equals + 1 : part, end);
        at = end;
    }
}

/* Is there something like "password=…" that no rule has matched? */
static bool is_exposed(const struct masked *url)
{
    for (const char *at = url->text; (at = strcasestr(at, "password")) != NULL; at++) {
        const char *sign = after_spaces(at + strlen("password"));

        if ((*sign == '=' || *sign == ':') && sign[1] && sign[1] != '&' &&
            !url->hidden[at - url->text] && !url->hidden[sign + 1 - url->text])
            return true;
    }
    return false;
}

/* ----------------------------------------------------------------- name=value … */

static const char *value_end(const char *at)
{
    char quote = *at == '\'' ? *at++ : '\0';

    while (*at && (quote ? *at != quote : !is_space(*at)))
        at += *at == '\\' && at[1] ? 2 : 1;
    if (!quote)
        return at;
    return *at ? at + 1 : NULL;
}

/* host=h password = 'se cret', as libpq reads it. false: it is something else. */
static bool hide_pairs(struct cli *cli, struct masked *url, const char *at)
{
    for (at = after_spaces(at); *at; at = after_spaces(at)) {
        const char *name = at, *end;
        size_t length;

        while (*at && *at != '=' && !is_space(*at))
            at++;
        length = (size_t)(at - name);
        at = after_spaces(at);
        if (*at != '=' || length == 0)
            return false;
        at = after_spaces(at + 1);
        end = value_end(at);
        if (!end)
            return false;
        if (is_secret_name(cli, name, length) || holds_url(at, end))
            hide(url, at, end);
        at = end;
    }
    return true;
}

/* ------------------------------------------------------------------------- shown */

/* Each run of hidden bytes as one "***". */
static const char *without_hidden(struct cli *cli, const struct masked *url)
{
    char *shown = cli_alloc(cli, url->length * 3 + 1);
    size_t out = 0, hidden = 0;

    for (size_t i = 0; i < url->length; i++) {
        if (!url->hidden[i]) {
            shown[out++] = url->text[i];
        } else if (i == 0 || !url->hidden[i - 1]) {
            memcpy(shown + out, "***", 3);
            out += 3;
            hidden++;
        }
    }
    return hidden ? shown : url->text;
}

/* A path; "sqlite://user:password@host" is none. */
static bool is_file(const char *text, const char *rest)
{
    bool has_host = strncmp(rest, "//", 2) == 0 && rest[2] != '/';

    return strncasecmp(after_spaces(text), "sqlite:", 7) == 0 && !has_host;
}

static const char *masked(struct cli *cli, const char *text)
{
    struct masked url = { .text = text, .length = strlen(text) };
    const char *rest = after_scheme(text), *colon = strchr(text, ':');
    bool understood;

    if (cli_url_set_file(text) || cli_url_from(text) || (rest && is_file(text, rest)))
        return text; /* a path, whatever is in it */
    url.hidden = cli_alloc(cli, (url.length + 1) * sizeof(*url.hidden));
    if (rest && strncmp(rest, "//", 2) == 0) {
        rest += 2;
        hide_user_password(&url, rest);
        hide_parameters(cli, &url, rest);
        understood = !is_exposed(&url);
    } else {
        understood = hide_pairs(cli, &url, rest ? rest : text) ||
                     (!strcasestr(text, "password") && !(colon && strchr(colon, '@')));
    }
    if (!understood)
        return cli_printf(cli, "%.*s\u2026", rest ? (int)(rest - text) : 0, text);
    return without_hidden(cli, &url);
}

const char *cli_url_masked(struct cli *cli, const char *text)
{
    size_t id = cli_url_id(text);
    const char *url = id ? text + id + 1 : text, *shown = masked(cli, url);

    if (shown == url)
        return text;
    return id ? cli_printf(cli, "%.*s=%s", (int)id, text, shown) : shown;
}

/* ------------------------------------------------------------------------- forms */

const char *cli_url_set_file(const char *url)
{
    return strncmp(url, "set:", 4) == 0 ? url + 4 : NULL;
}

static bool has_known_scheme(const char *text)
{
    static const char *const schemes[] = { "sqlite:", "postgresql:", "postgres:", "set:" };

    for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++) {
        if (strncmp(text, schemes[i], strlen(schemes[i])) == 0)
            return true;
    }
    return false;
}

bool cli_url_is_pairs(struct cli *cli, const char *text)
{
    struct masked ignored = { .text = text, .length = strlen(text) };
    const char *name = after_spaces(text);
    size_t length = strcspn(name, "= \t\n\v\f\r");

    if (after_scheme(text) || cli_url_id(text) || !*name)
        return false;
    name = cli_printf(cli, "%.*s", (int)length, name);
    ignored.hidden = cli_alloc(cli, (ignored.length + 1) * sizeof(*ignored.hidden));
    return (is_known_name(name) || strcmp(name, "password") == 0) &&
           hide_pairs(cli, &ignored, text);
}

size_t cli_url_id(const char *text)
{
    size_t length = strcspn(text, "=");

    return !has_known_scheme(text) && text[length] && has_known_scheme(text + length + 1) ? length
                                                                                          : 0;
}
