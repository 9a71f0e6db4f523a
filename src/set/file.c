/* file.c - a source: a text that names databases, folders and queries. */
#include "core/error.h"
#include "set/sources.h"
#include "set/words.h"
#include "util/alloc.h"
#include "util/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIZE_MAX_BYTES (64 * 1024 * 1024)
#define SQLITE "sqlite:"
#define BYTE_ORDER_MARK "\xef\xbb\xbf" /* some editors begin a file with it */

/* ------------------------------------------------------------------ reading */

static int read_all(int fd, struct ph__buffer *text, ph_error *err)
{
    char piece[8192];
    ssize_t length;

    ph__buffer_text(text, "");
    while ((length = read(fd, piece, sizeof(piece))) != 0) {
        if (length < 0 && errno == EINTR)
            continue;
        if (length < 0)
            return ph__fail(err, PH_ECONNECT, "the set file cannot be read: %s", strerror(errno));
        ph__buffer_bytes(text, piece, (size_t)length);
        if (text->length > SIZE_MAX_BYTES)
            return ph__fail(err, PH_EINVAL, "the set file has more than %d bytes", SIZE_MAX_BYTES);
        if (text->failed)
            return ph__fail_memory(err);
    }
    if (text->failed)
        return ph__fail_memory(err);
    if (strlen(text->data) != text->length)
        return ph__fail(err, PH_EINVAL, "the set file holds a NUL byte; it must be a text");
    return 0;
}

static int read_file(const char *path, struct ph__buffer *text, ph_error *err)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), r; /* a FIFO must not block us */
    struct stat what;

    if (fd < 0)
        return ph__fail_flags(err,
                              ph__fail(err, PH_ECONNECT,
                                       "the set file cannot be opened (%s); check the path and "
                                       "its rights: %s",
                                       strerror(errno), path),
                              PH_RETRY);
    if (fstat(fd, &what) == 0 && !S_ISREG(what.st_mode))
        r = ph__fail(err, PH_EINVAL, "the set file is not a regular file: %s", path);
    else
        r = read_all(fd, text, err);
    close(fd);
    return r;
}

/* -------------------------------------------------------------------- a line */

struct line {
    struct ph__words words;
    ph_found *found;
};

/* Relative paths start at the file's folder. */
static void put_path(struct ph__buffer *to, const char *file, const char *path)
{
    const char *slash = file ? strrchr(file, '/') : NULL;

    if (slash && path[0] && path[0] != '/' && strcmp(path, ":memory:") != 0)
        ph__buffer_bytes(to, file, (size_t)(slash - file) + 1);
    ph__buffer_text(to, path);
}

void ph__file_put_url(struct ph__buffer *to, const char *file, const char *url)
{
    bool sqlite = strncmp(url, SQLITE, strlen(SQLITE)) == 0;

    ph__buffer_text(to, sqlite ? SQLITE : url);
    if (sqlite)
        put_path(to, file, url + strlen(SQLITE));
}

/* A path or a URL of the line as it is meant; NULL when memory is out. */
static const char *from_folder(struct line *line, const char *text,
                               void (*put)(struct ph__buffer *to, const char *file,
                                           const char *text))
{
    struct ph__buffer whole = { 0 };
    const char *kept = NULL;

    put(&whole, line->found->file, text);
    if (!whole.failed)
        kept = ph__arena_copy(&line->words.arena, whole.data, whole.length);
    ph__buffer_free(&whole);
    return kept;
}

static int take_store(struct line *line, ph_error *err)
{
    ph_database database = PH_DATABASE_INIT;
    const struct ph__words *words = &line->words;
    int r = 0;

    if (words->count < 3)
        return ph__fail(err, PH_EINVAL, "a store needs an id and a URL: store ID URL [KEY]...");
    database.id = words->items[1];
    database.url = from_folder(line, words->items[2], ph__file_put_url);
    if (!database.url)
        return ph__fail_memory(err);
    for (size_t i = 3; r != PH_ENOMEM && (i == 3 || i < words->count); i++) {
        database.key = i < words->count ? words->items[i] : NULL;
        r = ph_found_add(line->found, &database, err);
    }
    return r == PH_ENOMEM ? r : ph__ok(err); /* an entry that makes no sense is left out */
}

static int take_folder(struct line *line, ph_error *err)
{
    const struct ph__words *words = &line->words;
    const char *path;

    if (words->count < 2 || words->count > 3 || !*words->items[1] ||
        (words->count == 3 && !*words->items[2]))
        return ph__fail(err, PH_EINVAL, "a folder needs a path: folder PATH [PATTERN]");
    path = from_folder(line, words->items[1], put_path);
    if (!path)
        return ph__fail_memory(err);
    return ph__folder_ask(path, words->count > 2 ? words->items[2] : NULL, line->found, err);
}

static int take_query(struct line *line, ph_error *err)
{
    const struct ph__words *words = &line->words;
    const char *url;
    int r;

    if (words->count != 3)
        return ph__fail(err, PH_EINVAL,
                        "a query needs a URL and a statement in double quotes: query URL SQL");
    url = from_folder(line, words->items[1], ph__file_put_url);
    r = url ? ph__set_reserve_reader(line->found->set, err) : ph__fail_memory(err);
    return r < 0 ? r : ph__query_ask(url, words->items[2], line->found, err);
}

static int take_line(struct line *line, ph_error *err)
{
    const char *kind = line->words.count ? line->words.items[0] : NULL;

    if (!kind)
        return 0;
    if (strcmp(kind, "store") == 0)
        return take_store(line, err);
    if (strcmp(kind, "folder") == 0)
        return take_folder(line, err);
    if (strcmp(kind, "query") == 0)
        return take_query(line, err);
    return ph__fail(err, PH_EINVAL, "a line begins with store, folder or query");
}

/* ------------------------------------------------------------------ the file */

/* Says which line it was. */
static int fail_at(int number, int r, ph_error *err)
{
    return r == PH_ENOMEM ? r : ph__prefix(err, r, "line %d: ", number);
}

/* The next line, ended; *rest is what follows it, and NULL after the last. */
static char *next_line(char **rest)
{
    char *line = *rest, *end = line ? strchr(line, '\n') : NULL;

    if (end)
        *end = '\0';
    *rest = end ? end + 1 : NULL;
    return line;
}

static char *first_line(struct ph__buffer *text)
{
    size_t mark = strlen(BYTE_ORDER_MARK);

    return text->data + (strncmp(text->data, BYTE_ORDER_MARK, mark) == 0 ? mark : 0);
}

static int take_lines(char *rest, ph_found *found, ph_error *err)
{
    char *text;
    int r = 0;

    while (r == 0 && (text = next_line(&rest)) != NULL) {
        struct line line = { .found = found };

        found->line++;
        r = ph__words_split(&line.words, text, err);
        if (r == 0)
            r = take_line(&line, err);
        if (r < 0)
            r = fail_at(found->line, r, err);
        ph__words_free(&line.words);
    }
    return r;
}

static int ask(struct ph__source *source, ph_found *found, ph_error *err)
{
    struct ph__buffer text = { 0 };
    int r = read_file(source->path, &text, err);

    found->file = source->path;
    if (r == 0)
        r = take_lines(first_line(&text), found, err);
    ph__buffer_free(&text);
    return r;
}

static int is_query(const char *text, bool *ret_query, ph_error *err)
{
    struct ph__words words = { 0 };
    int r = ph__words_split(&words, text, err);

    *ret_query |= words.count > 0 && strcmp(words.items[0], "query") == 0;
    ph__words_free(&words);
    return r == PH_ENOMEM ? r : 0;
}

/* Will it need a connection? A file that cannot be read yet may. */
static int has_queries(const char *path, bool *ret_queries, ph_error *err)
{
    struct ph__buffer text = { 0 };
    int r = read_file(path, &text, err);
    char *rest = r == 0 ? first_line(&text) : NULL, *line;

    *ret_queries = r < 0;
    r = r == PH_ENOMEM ? r : 0;
    while (r == 0 && (line = next_line(&rest)) != NULL)
        r = is_query(line, ret_queries, err);
    ph__buffer_free(&text);
    return r < 0 ? r : ph__ok(err);
}

int ph_set_add_file(ph_set *set, const char *path, ph_error *reterr)
{
    struct ph__source *source;
    ph_error spare, *err = reterr ? reterr : &spare;
    bool queries = false;
    int r;

    ph__ok(err);
    if (!set || !path)
        return ph__fail(err, PH_EINVAL, "%s is NULL", set ? "path" : "set");
    if (!*path)
        return ph__fail(err, PH_EINVAL, "path is empty");
    source = ph__source_new("file", path, err);
    if (!source)
        return PH_ENOMEM;
    source->ask = ask;
    source->path = ph__strdup(path);
    r = source->path ? has_queries(path, &queries, err) : ph__fail_memory(err);
    if (r == 0 && queries)
        r = ph__set_reserve_reader(set, err);
    if (r < 0) {
        ph__source_free(source);
        return r;
    }
    ph__source_add(set, source);
    return 0;
}
