/* hash.h - FNV-1a, to find texts and tell them apart; no protection against deliberate
 * collisions. */
#ifndef PH_UTIL_HASH_H
#define PH_UTIL_HASH_H

#include <stddef.h>
#include <stdint.h>

#define PH__HASH64 UINT64_C(14695981039346656037) /* of nothing */
#define PH__HASH32 UINT32_C(2166136261)

/* Goes on with a hash, which begins as that of nothing. */
uint64_t ph__hash64(uint64_t hash, const void *bytes, size_t length);
uint64_t ph__hash64_text(uint64_t hash, const char *text);
uint32_t ph__hash32(uint32_t hash, const void *bytes, size_t length);

#endif
