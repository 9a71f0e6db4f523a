#include "schedule/zone.h"

#include "core/error.h"
#include "schedule/civil.h"
#include "schedule/rule.h"
#include "util/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "/usr/share/zoneinfo"
#define NAME_MAX_LENGTH 100
#define FILE_MAX ((off_t)1024 * 1024)
#define HEADER_SIZE 44

struct change {
    int64_t at_s;
    int offset_s; /* from then on */
};

struct ph__zone {
    char *path; /* NULL: UTC, without a file */
    dev_t device;
    ino_t inode;
    struct timespec modified;
    off_t size;
    int first_offset_s; /* before the first change */
    struct change *changes;
    size_t change_count;
    bool has_rule; /* for the time after the last change */
    struct ph__rule rule;
};

/* ----------------------------------------------------------------- the format */

/* What is left of the file. */
struct reader {
    const uint8_t *at, *end;
};

static uint32_t be32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static int64_t be64(const uint8_t *at)
{
    return (int64_t)((uint64_t)be32(at) << 32 | be32(at + 4));
}

struct header {
    int version;
    size_t utc_flags, standard_flags, leaps, changes, types, letters;
};

static bool read_header(struct reader *reader, struct header *ret_header)
{
    const uint8_t *at = reader->at;

    if (reader->end - at < HEADER_SIZE || memcmp(at, "TZif", 4) != 0)
        return false;
    *ret_header = (struct header){
        .version = at[4] ? at[4] - '0' : 1,
        .utc_flags = be32(at + 20),
        .standard_flags = be32(at + 24),
        .leaps = be32(at + 28),
        .changes = be32(at + 32),
        .types = be32(at + 36),
        .letters = be32(at + 40),
    };
    reader->at += HEADER_SIZE;
    return ret_header->changes < 10000 && ret_header->types < 256 && ret_header->types > 0 &&
           ret_header->leaps < 1000 && ret_header->letters < 10000 &&
           ret_header->utc_flags <= ret_header->types &&
           ret_header->standard_flags <= ret_header->types;
}

static size_t block_size(const struct header *header, size_t time_size)
{
    return header->changes * (time_size + 1) + header->types * 6 + header->letters +
           header->leaps * (time_size + 4) + header->standard_flags + header->utc_flags;
}

/* Seconds east of UTC of type number `type`. */
static int type_offset(const uint8_t *types, int type)
{
    return (int)(int32_t)be32(types + (ptrdiff_t)type * 6);
}

static const char no_memory[] = "no memory"; /* the one problem that is not the file's */

static const char *read_changes(struct ph__zone *zone, const struct header *header,
                                const uint8_t *times, size_t time_size)
{
    const uint8_t *indexes = times + header->changes * time_size;
    const uint8_t *types = indexes + header->changes;

    zone->first_offset_s = type_offset(types, 0);
    zone->changes = ph__alloc_zero(header->changes + 1, sizeof(*zone->changes));
    if (!zone->changes)
        return no_memory;
    for (size_t i = 0; i < header->changes; i++) {
        const uint8_t *time = times + i * time_size;
        struct change change = { time_size == 8 ? be64(time) : (int32_t)be32(time), 0 };

        if (indexes[i] >= header->types || (i > 0 && change.at_s <= zone->changes[i - 1].at_s))
            return "its changes are out of order";
        change.offset_s = type_offset(types, indexes[i]);
        zone->changes[i] = change;
    }
    zone->change_count = header->changes;
    for (size_t i = 0; i < header->types; i++) {
        int offset_s = type_offset(types, (int)i);

        if (offset_s <= -PH__OFFSET_MAX_S || offset_s >= PH__OFFSET_MAX_S)
            return "an offset is more than a day";
    }
    return NULL;
}

/* A line with a rule, or an empty one. */
static const char *read_footer(struct ph__zone *zone, struct reader *reader)
{
    char text[128] = "";
    const uint8_t *end;
    size_t length;

    if (reader->at == reader->end || *reader->at++ != '\n')
        return "its footer is missing";
    end = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
    length = end ? (size_t)(end - reader->at) : 0;
    if (!end || length >= sizeof(text))
        return "its footer does not end";
    memcpy(text, reader->at, length);
    zone->has_rule = length > 0;
    return length == 0 || ph__rule_parse(text, &zone->rule) ? NULL : "its footer is malformed";
}

/* NULL if the file is right, otherwise what is wrong. */
static const char *read_file(struct ph__zone *zone, const uint8_t *bytes, size_t size)
{
    struct reader reader = { bytes, bytes + size };
    struct header header;
    size_t time_size = 4;
    const char *problem;

    if (!read_header(&reader, &header))
        return "it is not a zone file";
    if (header.version >= 2) { /* the first block is for old programs */
        if ((size_t)(reader.end - reader.at) < block_size(&header, 4))
            return "it is cut short";
        reader.at += block_size(&header, 4);
        time_size = 8;
        if (!read_header(&reader, &header))
            return "it is not a zone file";
    }
    if ((size_t)(reader.end - reader.at) < block_size(&header, time_size))
        return "it is cut short";
    if (header.leaps > 0)
        return "it counts leap seconds (a zone of right/), which no database clock does";
    problem = read_changes(zone, &header, reader.at, time_size);
    reader.at += block_size(&header, time_size);
    if (!problem && time_size == 8)
        problem = read_footer(zone, &reader);
    return problem;
}

/* --------------------------------------------------------------------- loading */

/* A name goes into a path: letters, digits and a few signs, and never a step upwards. */
static bool is_name(const char *name)
{
    size_t length = strnlen(name, NAME_MAX_LENGTH + 1);

    if (length == 0 || length > NAME_MAX_LENGTH || name[0] == '/' || name[length - 1] == '/')
        return false;
    if (strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-/") !=
        length)
        return false;
    return !strstr(name, "//");
}

static const char *folder_of_zones(void)
{
    const char *folder = getenv("TZDIR");

    return folder && *folder ? folder : FOLDER;
}

static char *path_of(const char *name)
{
    char path[4096];
    int length = snprintf(path, sizeof(path), "%s/%s", folder_of_zones(), name);

    return length > 0 && (size_t)length < sizeof(path) ? ph__strdup(path) : NULL;
}

static int fail_file(ph_error *err, const char *name, int error)
{
    if (error == ENOENT && access(folder_of_zones(), F_OK) != 0)
        return ph__fail(err, PH_EUNSUPPORTED,
                        "there are no time zone files on this machine (%.100s); install the "
                        "package tzdata, or set TZDIR",
                        folder_of_zones());
    if (error == ENOENT || error == ENOTDIR)
        return ph__fail(err, PH_EINVAL,
                        "there is no time zone \"%.100s\"; give one such as Europe/Berlin, and "
                        "check that the zone files (package tzdata) are installed",
                        name);
    if (error == EMFILE || error == ENFILE || error == ENOMEM) /* it may be good all the same */
        return ph__fail_flags(
            err,
            ph__fail(err, PH_ENOMEM, "the file of the time zone \"%.100s\" cannot be read now: %s",
                     name, strerror(error)),
            PH_RETRY);
    return ph__fail(err, PH_EINVAL, "the file of the time zone \"%.100s\" cannot be read: %s", name,
                    strerror(error));
}

static int read_all(int fd, uint8_t *bytes, size_t size)
{
    size_t length = 0;

    while (length < size) {
        ssize_t got = read(fd, bytes + length, size - length);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? errno : EIO;
        length += (size_t)got;
    }
    return 0;
}

static int load_open_file(struct ph__zone *zone, const char *name, int fd, ph_error *err)
{
    struct stat status;
    uint8_t *bytes = NULL;
    const char *problem = NULL;
    int error = 0;

    if (fstat(fd, &status) < 0)
        return fail_file(err, name, errno);
    if (S_ISDIR(status.st_mode))
        return fail_file(err, name, ENOENT);
    if (!S_ISREG(status.st_mode))
        return ph__fail(err, PH_EINVAL, "the file of the time zone \"%.100s\" is not a plain file",
                        name);
    if (status.st_size > FILE_MAX)
        return fail_file(err, name, EFBIG);
    bytes = ph__alloc(status.st_size > 0 ? (size_t)status.st_size : 1);
    if (!bytes)
        return ph__fail_memory(err);
    zone->device = status.st_dev;
    zone->inode = status.st_ino;
    zone->modified = status.st_mtim;
    zone->size = status.st_size;
    error = read_all(fd, bytes, (size_t)status.st_size);
    if (!error)
        problem = read_file(zone, bytes, (size_t)status.st_size);
    ph__dealloc(bytes);
    if (error)
        return fail_file(err, name, error);
    if (problem == no_memory)
        return ph__fail_memory(err);
    return problem
               ? ph__fail(err, PH_EINVAL, "the file of the time zone \"%.100s\": %s", name, problem)
               : 0;
}

static int load_file(struct ph__zone *zone, const char *name, ph_error *err)
{
    int fd, r;

    if (!is_name(name))
        return ph__fail(err, PH_EINVAL,
                        "\"%.100s\" is not the name of a time zone; give one such as Europe/Berlin",
                        name);
    zone->path = path_of(name);
    if (!zone->path)
        return ph__fail_memory(err);
    fd = open(zone->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); /* it may be anything */
    if (fd < 0)
        return fail_file(err, name, errno);
    r = load_open_file(zone, name, fd, err);
    close(fd);
    return r;
}

int ph__zone_load(const char *name, struct ph__zone **ret_zone, ph_error *err)
{
    struct ph__zone *zone = ph__alloc_zero(1, sizeof(*zone));
    int r = 0;

    if (!zone)
        return ph__fail_memory(err);
    if (name && strcmp(name, "UTC") != 0)
        r = load_file(zone, name, err);
    if (r < 0) {
        ph__zone_free(zone);
        return r;
    }
    *ret_zone = zone;
    return 0;
}

void ph__zone_free(struct ph__zone *zone)
{
    if (!zone)
        return;
    ph__dealloc(zone->changes);
    ph__dealloc(zone->path);
    ph__dealloc(zone);
}

bool ph__zone_is_stale(const struct ph__zone *zone)
{
    struct stat now;

    if (!zone->path || stat(zone->path, &now) < 0) /* one that is gone: the loaded zone is better */
        return false;
    return now.st_dev != zone->device || now.st_ino != zone->inode || now.st_size != zone->size ||
           now.st_mtim.tv_sec != zone->modified.tv_sec ||
           now.st_mtim.tv_nsec != zone->modified.tv_nsec;
}

/* -------------------------------------------------------------------- answers */

/* How many changes have happened at an instant. */
static size_t changes_until(const struct ph__zone *zone, int64_t at_s)
{
    size_t low = 0, high = zone->change_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (zone->changes[middle].at_s <= at_s)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int ph__zone_offset(const struct ph__zone *zone, int64_t at_s, int64_t *ret_until_s)
{
    size_t done = changes_until(zone, at_s);
    int64_t from_s, until_s = INT64_MAX;
    int offset_s = done ? zone->changes[done - 1].offset_s : zone->first_offset_s;

    if (done < zone->change_count)
        until_s = zone->changes[done].at_s;
    else if (zone->has_rule)
        offset_s = ph__rule_offset(&zone->rule, at_s, &from_s, &until_s);
    if (ret_until_s)
        *ret_until_s = until_s;
    return offset_s;
}

/* Looks at the stretches of equal offset around the local time, from the earliest on: the first
 * that has it is right; and if the next one begins behind it, it was skipped between the two. */
int64_t ph__zone_instant(const struct ph__zone *zone, int64_t local_s)
{
    int64_t at_s = local_s - PH__OFFSET_MAX_S, until_s;

    for (;;) {
        int offset_s = ph__zone_offset(zone, at_s, &until_s);

        if (local_s - offset_s < at_s) /* it would have been before this stretch: a gap */
            return at_s;
        if (local_s - offset_s < until_s)
            return local_s - offset_s;
        at_s = until_s;
    }
}
