/* schemas.c - PostgreSQL: schemas that are migrated already.
 *
 * Migrating takes longer than most tests. So a program migrates a few schemas once, in a database
 * of which those of its tests are copies, and lends each test one of them. The test has it if
 * t_open is the first to need a schema; one that asks for the name before, or names it in a
 * statement, has an empty schema, and so have tests of migrations, which do not begin with t_open. */
#include "internal.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Per database. More make its copy slower, and PostgreSQL: it looks at the functions of all schemas
 * that have the same name. */
#define SCHEMAS 10

static bool lent[T_JOBS_MAX][SCHEMAS]; /* to the tests that run */
static bool used[SCHEMAS];             /* in the present database */
static bool migrated;                  /* those of the template are */

static void name_schema(int schema, char *ret_name, size_t size)
{
    snprintf(ret_name, size, "t_%d_m%d", (int)getpid(), schema);
}

/* ------------------------------------------------------------------ the runner's side */

static void __attribute__((noreturn)) migrate_all(const char *url, const char names[][64])
{
    for (int i = 0; i < SCHEMAS; i++) {
        ph_store_opts opts = PH_STORE_OPTS_INIT;
        ph_store *store = NULL;

        opts.schema = names[i];
        opts.deploy_schema = true;
        if (ph_open(url, &opts, &store, NULL) < 0)
            _exit(1);
        ph_close(store);
    }
    _exit(0);
}

/* In a process of its own, for the library may crash. If it fails, each test migrates by itself,
 * and says what is wrong. */
static bool make_template(const char *database)
{
    char url[1024], names[SCHEMAS][64];
    int status = 1;
    pid_t pid;

    t_server_url(database, url, sizeof(url));
    for (int i = 0; i < SCHEMAS; i++)
        name_schema(i, names[i], sizeof(names[i]));
    fflush(NULL);
    pid = fork();
    if (pid == 0)
        migrate_all(url, (const char(*)[64])names);
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static bool change_database(bool many_tests)
{
    static int count;
    char template[64];

    snprintf(template, sizeof(template), "ph_%d_template", (int)getpid());
    if (count++ == 0 && many_tests)
        migrated = t_server_set_up(template, NULL) && make_template(template);
    snprintf(t_env.database, sizeof(t_env.database), "ph_%d_g%d", (int)getpid(), count);
    memset(used, 0, sizeof(used));
    return t_server_set_up(t_env.database, migrated ? template : NULL);
}

/* Names of schemas are found all over the server, as parts of those of roles and applications:
 * tests at the same time have different ones, although they may be in different databases. */
static int free_schema(void)
{
    for (int i = 0; i < SCHEMAS; i++) {
        bool is_free = !used[i];

        for (int slot = 0; slot < T_JOBS_MAX; slot++)
            is_free = is_free && !lent[slot][i];
        if (is_free)
            return i;
    }
    return -1;
}

bool t_schema_lend(int slot, bool many_tests)
{
    int schema = *t_env.database ? free_schema() : -1;

    if (schema < 0 && !change_database(many_tests))
        return false;
    if (schema < 0)
        schema = free_schema();
    *t_env.migrated = '\0';
    if (schema < 0)
        return true; /* so many run at once */
    used[schema] = lent[slot][schema] = true;
    if (migrated)
        name_schema(schema, t_env.migrated, sizeof(t_env.migrated));
    return true;
}

void t_schema_return(int slot)
{
    memset(lent[slot], 0, sizeof(lent[slot]));
}

/* -------------------------------------------------------------------- the test's side */

const char *t_schema_first(enum t_choice wish)
{
    int open = T_CHOICE_OPEN;

    if (!*t_env.migrated)
        return t_env.schema;
    atomic_compare_exchange_strong(&t_env.shared->choice, &open, (int)wish);
    return atomic_load(&t_env.shared->choice) == T_CHOICE_MIGRATED ? t_env.migrated : t_env.schema;
}

void t_schema_leave(void)
{
    if (*t_env.migrated && atomic_load(&t_env.shared->choice) != T_CHOICE_OPEN)
        *t_env.migrated = '\0';
}

const char *t_schema(void)
{
    return t_schema_first(T_CHOICE_EMPTY);
}
