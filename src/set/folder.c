/* folder.c - a source: the SQLite files of a folder. */
#include "core/error.h"
#include "set/pattern.h"
#include "set/sources.h"
#include "util/alloc.h"
#include "util/buffer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_PATTERN "*.db"

struct names {
    struct ph__arena arena;
    const char **items; /* from the arena */
    size_t count, room;
};

/* The files that SQLite puts beside a database. */
static bool is_beside(const char *name)
{
    static const char *const endings[] = { "-wal", "-shm", "-journal" };
    size_t length = strlen(name);

    for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
        size_t size = strlen(endings[i]);

        if (length >= size && strcmp(name + length - size, endings[i]) == 0)
            return true;
    }
    return false;
}

static bool is_wanted(DIR *folder, const char *name, const char *pattern)
{
    struct stat what;
    size_t stem;

    return name[0] != '.' && !is_beside(name) && ph__pattern_fits(pattern, name, &stem) &&
           fstatat(dirfd(folder), name, &what, 0) == 0 && S_ISREG(what.st_mode);
}

static int keep(struct names *names, const char *name, ph_error *err)
{
    const char *copy = ph__arena_copy(&names->arena, name, strlen(name));
    const char **added =
        copy ? PH__ARENA_ADD(&names->arena, names->items, names->count, names->room) : NULL;

    if (!added)
        return ph__fail_memory(err);
    *added = copy;
    return 0;
}

static int fail(const char *path, ph_error *err)
{
    return ph__fail_flags(err,
                          ph__fail(err, PH_ECONNECT,
                                   "the folder cannot be read (%s); check the path and its rights: "
                                   "%s",
                                   strerror(errno), path),
                          PH_RETRY);
}

static int read_names(const char *path, const char *pattern, struct names *names, ph_error *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *at;

    if (!folder) {
        r = fail(path, err);
        if (fd >= 0)
            close(fd);
        return r;
    }
    for (errno = 0; r == 0 && (at = readdir(folder)) != NULL; errno = 0) {
        if (is_wanted(folder, at->d_name, pattern))
            r = keep(names, at->d_name, err);
    }
    if (r == 0 && errno)
        r = fail(path, err);
    closedir(folder);
    return r;
}

static int name_one(const char *path, const char *name, const char *pattern, ph_found *found,
                    ph_error *err)
{
    ph_database database = PH_DATABASE_INIT;
    struct ph__buffer url = { 0 }, id = { 0 };
    size_t length = strlen(path), stem = 0;
    int r;

    (void)ph__pattern_fits(pattern, name, &stem);
    ph__buffer_bytes(&id, name, stem);
    ph__buffer_printf(&url, "sqlite:%s%s%s", path, path[length - 1] == '/' ? "" : "/", name);
    database.id = id.data;
    database.url = url.data;
    r = id.failed || url.failed ? ph__fail_memory(err) : ph_found_add(found, &database, err);
    ph__buffer_free(&id);
    ph__buffer_free(&url);
    return r == PH_ENOMEM ? r : ph__ok(err); /* a file that makes no sense is left out */
}

static int by_name(const void *one, const void *other)
{
    return strcmp(*(const char *const *)one, *(const char *const *)other);
}

/* In order, so that of two names with the same id it is always the same that counts. */
int ph__folder_ask(const char *path, const char *pattern, ph_found *found, ph_error *err)
{
    const char *wanted = pattern ? pattern : DEFAULT_PATTERN;
    struct names names = { 0 };
    int r = read_names(path, wanted, &names, err);

    if (r == 0 && names.count > 1)
        qsort(names.items, names.count, sizeof(const char *), by_name);
    for (size_t i = 0; r == 0 && i < names.count; i++)
        r = name_one(path, names.items[i], wanted, found, err);
    ph__arena_free(&names.arena);
    return r;
}

static int ask(struct ph__source *source, ph_found *found, ph_error *err)
{
    return ph__folder_ask(source->path, source->pattern, found, err);
}

static int check(const char *path, const char *pattern, ph_error *err)
{
    ph_store *store = NULL;
    int r;

    if (!path)
        return ph__fail(err, PH_EINVAL, "path is NULL");
    if (!*path || (pattern && !*pattern))
        return ph__fail(err, PH_EINVAL, "%s is empty", *path ? "pattern" : "path");
    r = ph_open_lazy("sqlite:x", NULL, &store, err); /* does this build have it? */
    ph_close(store);
    return r;
}

int ph_set_add_folder(ph_set *set, const char *path, const char *pattern, ph_error *reterr)
{
    struct ph__source *source;
    int r;

    ph__ok(reterr);
    if (!set)
        return ph__fail(reterr, PH_EINVAL, "set is NULL");
    r = check(path, pattern, reterr);
    if (r < 0)
        return r;
    source = ph__source_new("folder", path, reterr);
    if (!source)
        return PH_ENOMEM;
    source->ask = ask;
    source->path = ph__strdup(path);
    source->pattern = pattern ? ph__strdup(pattern) : NULL;
    if (!source->path || (pattern && !source->pattern)) {
        ph__source_free(source);
        return ph__fail_memory(reterr);
    }
    ph__source_add(set, source);
    return 0;
}
