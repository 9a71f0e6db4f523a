/* sha256.h - SHA-256 (FIPS 180-4) of a piece of memory. For spreading keys, not for secrets: it
 * takes no care about time. Our own, because the SQLite extension lives in processes that may
 * have any libcrypto, or none (docs/decisions/0026). */
#ifndef PH_UTIL_SHA256_H
#define PH_UTIL_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define PH__SHA256_SIZE 32

void ph__sha256(const void *data, size_t length, uint8_t ret_digest[PH__SHA256_SIZE]);

#endif
