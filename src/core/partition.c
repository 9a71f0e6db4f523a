#include "core/partition.h"

#include "core/error.h"
#include "core/message.h"
#include "util/assert.h"
#include "util/sha256.h"

#include <string.h>

int64_t ph__stream_hash(const char *key)
{
    uint8_t digest[PH__SHA256_SIZE];
    uint64_t hash = 0;

    ph__sha256(key, strlen(key), digest);
    for (int i = 0; i < 8; i++)
        hash = hash << 8 | digest[i];
    PH__ASSERT((int64_t)(hash >> 4) >= 0);
    return (int64_t)(hash >> 4);
}

int ph_stream_partition(const char *stream, int partition_count)
{
    ph_error ignored;

    if (partition_count < 0 || partition_count > PH_PARTITIONS_MAX ||
        ph__name_check(stream, "stream", false, &ignored) < 0)
        return -1;
    return (int)(ph__stream_hash(stream) % (partition_count ? partition_count : PH_PARTITIONS));
}
