/* id.h - work ids: UUIDs of version 8 that carry a row number.
 *
 *   bytes 0–5   the row number, big-endian: ids sort by age
 *   byte  6–7   0x80 0x00: version 8, twelve bits kept for later
 *   bytes 8–15  the salt: two bits variant, two bits door, 28 bits store id,
 *               32 random bits
 *
 * The salt is kept in the row and compared on every lookup, so that an id from
 * another store, or from before a restore, never names the wrong message. */
#ifndef PH_CORE_ID_H
#define PH_CORE_ID_H

#include <posthorn/posthorn.h>

#define PH__NUMBER_MAX ((INT64_C(1) << 47) - 1)
#define PH__STORE_ID_MAX ((UINT32_C(1) << 28) - 1)

uint64_t ph__id_salt(int door, uint32_t store_id, uint32_t nonce);
ph_work_id ph__id_make(int64_t number, uint64_t salt);
/* False if id was not made by ph__id_make. */
bool ph__id_split(ph_work_id id, int64_t *ret_number, uint64_t *ret_salt);

#endif
