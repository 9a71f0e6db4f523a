/* partition.h - where a stream belongs: a number that depends on its key alone. */
#ifndef PH_CORE_PARTITION_H
#define PH_CORE_PARTITION_H

#include <posthorn/posthorn.h>

/* The number in the first 15 hex digits of SHA-256 of the key: stored with the stream, and the
 * same on every backend. */
int64_t ph__stream_hash(const char *key);

#endif
