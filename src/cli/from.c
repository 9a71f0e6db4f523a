/* from.c - "--db from:PATH": a file that names the database.
 *
 *     postgresql://shop:secret@db.example/shop
 *     schema=orders
 *     table_prefix=ph_
 *     PGSSLROOTCERT=/etc/shop/ca.crt
 *
 * The URL comes first; the schema, the table prefix and variables of libpq may follow, which hold
 * for this process. posthorn work gives such a file to its commands, with a NUL at the end of each
 * line, since a URL may hold anything else. */
#include "frame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FROM_MAX 65536

const char *cli_url_from(const char *url)
{
    return strncmp(url, "from:", 5) == 0 ? url + 5 : NULL;
}

bool cli_is_access_variable(const char *name)
{
    size_t length = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");

    return name[length] == '\0' && (strncmp(name, "PG", 2) == 0 || strcmp(name, "HOME") == 0);
}

/* Returns the length, or -1 with errno set. */
static ssize_t slurp(const char *path, char *text)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), error;
    size_t length = 0;
    ssize_t n = 1;

    if (fd < 0)
        return -1;
    while (n > 0 && length < FROM_MAX) {
        n = read(fd, text + length, FROM_MAX - length);
        length += n > 0 ? (size_t)n : 0;
    }
    error = n < 0 ? errno : n > 0 ? EFBIG : 0;
    close(fd);
    errno = error;
    return error ? -1 : (ssize_t)length;
}

/* Returns what is wrong with it, or NULL. The line is not shown: it may be a secret. */
static const char *take(struct cli *cli, size_t number, char *line)
{
    char *value = strchr(line, '=');

    if (number == 1)
        return *line ? NULL : "its first line is empty; it must be a URL";
    if (!*line)
        return NULL;
    if (value)
        *value++ = '\0';
    if (value && strcmp(line, "schema") == 0)
        cli->from_schema = value;
    else if (value && strcmp(line, "table_prefix") == 0)
        cli->from_prefix = value;
    else if (!value || !cli_is_access_variable(line))
        return cli_printf(cli, "line %zu is not schema=, table_prefix= or a variable of libpq",
                          number);
    else if (setenv(line, value, 1) < 0)
        cli_need(NULL);
    return NULL;
}

void cli_from_read(struct cli *cli, const char *path)
{
    char *text = cli_alloc(cli, FROM_MAX + 2), *line = text, end;
    ssize_t length = slurp(path, text);
    const char *wrong = length < 0 ? strerror(errno) : NULL;

    if (length == 0)
        wrong = "it is empty";
    end = length > 0 && memchr(text, '\0', (size_t)length) ? '\0' : '\n';
    for (size_t number = 1; !wrong && line < text + length; number++) {
        size_t size = end ? strcspn(line, "\n") : strlen(line);

        line[size] = '\0';
        if (end && size > 0 && line[size - 1] == '\r')
            line[size - 1] = '\0';
        wrong = take(cli, number, line);
        line += size + 1;
    }
    cli->from_error = wrong;
    if (!wrong) {
        cli->named[0] = text;
        cli->url_source = cli_printf(cli, "from:%s", path);
    }
}
