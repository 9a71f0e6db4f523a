/* no_sync.c - what is killed is processes, not the machine: SQLite need not wait for the disk. */
#include <unistd.h>

int fsync(int fd)
{
    (void)fd;
    return 0;
}

int fdatasync(int fd)
{
    (void)fd;
    return 0;
}
