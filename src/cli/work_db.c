/* work_db.c - gives a command access to the database of its message, or denies it.
 *
 * A posthorn run by the command should use the database of the message. The environment cannot hold
 * its URL, which may contain a password. So it names a file in our memory, /proc/PID/fd/N, which
 * only processes with our rights can open, and which is gone when we are: see from.c. */
#include "frame.h"
#include "work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

#define NAME_MAX_LENGTH 63

/* The name of a variable, "NAME=value"; false: it is too long to be of interest. */
static bool name_of(const char *variable, char name[NAME_MAX_LENGTH + 1])
{
    size_t length = strcspn(variable, "=");

    if (length > NAME_MAX_LENGTH || !variable[length])
        return false;
    memcpy(name, variable, length);
    name[length] = '\0';
    return true;
}

/* ------------------------------------------------------------------ the access */

static void write_line(FILE *file, const char *before, const char *text)
{
    if (text)
        fprintf(file, "%s%s%c", before, text, '\0');
}

/* A command may change its folder, so paths begin at the root. */
static void write_url(FILE *file, const char *url)
{
    bool relative = strncmp(url, "sqlite:", 7) == 0 && url[7] != '/';
    char *folder = relative ? getcwd(NULL, 0) : NULL;

    if (folder)
        fprintf(file, "sqlite:%s/", folder);
    write_line(file, "", folder ? url + 7 : url);
    free(folder);
}

static void write_variables(FILE *file)
{
    char name[NAME_MAX_LENGTH + 1];

    for (char *const *at = environ; *at; at++)
        if (name_of(*at, name) && cli_is_access_variable(name))
            write_line(file, "", *at);
}

/* Returns a descriptor, or -1 with errno set. */
static int access_file(const char *url, const char *schema, const char *prefix)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    int fd = -1;

    if (!file)
        return -1;
    write_url(file, url);
    write_line(file, "schema=", schema);
    write_line(file, "table_prefix=", prefix);
    if (strncmp(url, "sqlite:", 7) != 0)
        write_variables(file);
    if (fclose(file) == 0)
        fd = process_file("database", text, length);
    free(text);
    if (fd >= 0)
        fchmod(fd, S_IRUSR);
    return fd;
}

/* The store may have joined the set since we started, so the set is asked. */
static int access_of_store(const struct work *work, const char *id)
{
    ph_database_list_opts wanted = PH_DATABASE_LIST_OPTS_INIT;
    ph_databases *list = NULL;
    const ph_database *found;
    ph_store_opts opts;
    ph_error err;
    int fd = -1;

    wanted.id = id;
    if (ph_database_list(work->cli->stores->set, &wanted, &list, &err) < 0) {
        errno = ENOMEM;
        return -1;
    }
    cli_store_opts(work->cli, &opts);
    found = ph_databases_at(list, 0);
    errno = EAGAIN; /* it has just left the set, and another worker will serve its message */
    if (found)
        fd = access_file(found->url, found->schema ? found->schema : opts.schema,
                         found->table_prefix ? found->table_prefix : opts.table_prefix);
    ph_databases_free(list);
    return fd;
}

int work_db_open(const struct work *work, const char *store)
{
    ph_store_opts opts;

    if (!work->gives_db)
        return WORK_NO_DB;
    if (store)
        return access_of_store(work, store);
    cli_store_opts(work->cli, &opts);
    return access_file(work->cli->url, opts.schema, opts.table_prefix);
}

/* ------------------------------------------------------------------- no access */

/* Where the kernel shows it to others, not where we use it. */
static void wipe(const char *text)
{
    explicit_bzero((char *)(uintptr_t)text, strlen(text));
}

static bool is_ours(const char *name)
{
    return strcmp(name, "POSTHORN_DB") == 0 || strcmp(name, "DATABASE_URL") == 0 ||
           strncmp(name, "PG", 2) == 0;
}

static void wipe_environment(void)
{
    char name[NAME_MAX_LENGTH + 1];

    for (char **at = environ; *at; at++) {
        char *before = *at;

        if (!name_of(before, name) || !is_ours(name))
            continue;
        *at = cli_need(strdup(before)); /* it lasts until the very end */
        wipe(before);
    }
}

static void wipe_arguments(struct cli *cli)
{
    for (size_t i = 0; i < cli->setting_count; i++) {
        struct cli_setting *setting = &cli->settings[i];
        const char *before = setting->text;

        if (strcmp(setting->option->name, "db") != 0)
            continue;
        setting->text = cli_strdup(cli, before);
        wipe(before);
    }
}

int work_db_hide(struct cli *cli)
{
    wipe_environment();
    wipe_arguments(cli);
    /* Hides our memory and descriptors from all but root. */
    return prctl(PR_SET_DUMPABLE, 0) < 0 ? errno : 0;
}
