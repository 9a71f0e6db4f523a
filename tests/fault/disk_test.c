/* disk_test.c - SQLite's writes fail: the nth write of every verb, with the disk
 * full, broken, or refusing to sync. The call fails, nothing has changed, and
 * once the disk works again so does the store.
 *
 * The functions below stand before the C library's, for SQLite too. */
#include "scene.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A broken disk gives way where a full one does: a short run tries fewer places there. The places
 * differ from verb to verb, and the first write of each is always one of them. */
#define SPARSE_FULL 4
#define SPARSE 12

static long writes_left = -1; /* < 0: all work */
static int write_error;
static bool sync_too;

static bool must_fail(void)
{
    if (writes_left < 0)
        return false;
    if (writes_left > 0) {
        writes_left--;
        return false;
    }
    errno = write_error;
    return true;
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t offset)
{
    return must_fail() ? -1 : syscall(SYS_pwrite64, fd, bytes, size, offset);
}

/* Nobody pulls the plug here: what a real disk would take for it shows nothing. */
int fsync(int fd)
{
    (void)fd;
    return sync_too && must_fail() ? -1 : 0;
}

int fdatasync(int fd)
{
    return fsync(fd);
}

static int run_with(struct scene *scene, const struct verb *verb, long writes, int error)
{
    int r;

    writes_left = writes;
    write_error = error;
    r = verb->run(scene, PH_OWN_TX);
    writes_left = -1;
    return r;
}

static bool expected(int status, int error)
{
    if (error == ENOSPC)
        return status == PH_EFULL;
    return status == PH_EDATABASE || status == PH_ECORRUPT || status == PH_EFULL;
}

/* The first write of each verb, then every stride-th. */
static void fail_each(int error, bool syncs, size_t from, size_t to, long stride)
{
    if (t_is_pg())
        t_not_here("SQLite only");
    sync_too = syncs;
    for (size_t v = from; v < to; v++) {
        const struct verb *verb = verb_at(v);
        struct scene scene = scene_set(verb->start);
        char before[8000];
        long n = 0;
        int r;

        snprintf(before, sizeof(before), "%s", scene_state(&scene));
        do {
            r = run_with(&scene, verb, n, error);
            if (r < 0 && !expected(r, error))
                printf("%s, write %ld: %s (%s)\n", verb->name, n, t_err.message, ph_status_text(r));
            CHECK(r == 0 || expected(r, error));
            if (r < 0)
                CHECK_STR(scene_state(&scene), before);
            n += n ? stride : 1 + (long)v % stride;
            CHECK(n < 500);
        } while (r < 0);
        scene_state(&scene);
    }
}

TEST(the_disk_is_full_for_streams)
{
    fail_each(ENOSPC, false, verb_count - STREAM_VERBS, verb_count, t_soak() ? 1 : SPARSE_FULL);
}

TEST(the_disk_is_full)
{
    fail_each(ENOSPC, false, 0, verb_count - STREAM_VERBS, t_soak() ? 1 : SPARSE_FULL);
}

TEST(the_disk_is_broken)
{
    fail_each(EIO, false, 0, verb_count - STREAM_VERBS, t_soak() ? 1 : SPARSE);
}

TEST(the_disk_does_not_sync)
{
    fail_each(EIO, true, 0, verb_count - STREAM_VERBS, t_soak() ? 1 : SPARSE);
}
