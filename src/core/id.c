#include "core/id.h"

#include "util/assert.h"
#include "util/hex.h"
#include "util/random.h"

#include <string.h>

uint64_t ph__id_salt(int door, uint32_t store_id, uint32_t nonce)
{
    PH__ASSERT(door >= PH_OUTBOX && door <= PH_JOB_RUNS);
    return UINT64_C(2) << 62 | (uint64_t)door << 60 |
           (uint64_t)(store_id & PH__STORE_ID_MAX) << 32 | nonce;
}

ph_work_id ph__id_make(int64_t number, uint64_t salt)
{
    ph_work_id id;

    for (int i = 0; i < 6; i++)
        id.b[i] = (uint8_t)((uint64_t)number >> (40 - 8 * i));
    id.b[6] = 0x80;
    id.b[7] = 0x00;
    for (int i = 0; i < 8; i++)
        id.b[8 + i] = (uint8_t)(salt >> (56 - 8 * i));
    return id;
}

bool ph__id_split(ph_work_id id, int64_t *ret_number, uint64_t *ret_salt)
{
    uint64_t number = 0, salt = 0;

    if (id.b[6] != 0x80 || id.b[7] != 0x00 || (id.b[8] & 0xc0) != 0x80 || (id.b[0] & 0x80))
        return false;
    for (int i = 0; i < 6; i++)
        number = number << 8 | id.b[i];
    for (int i = 8; i < 16; i++)
        salt = salt << 8 | id.b[i];
    *ret_number = (int64_t)number;
    *ret_salt = salt;
    return true;
}

const char *ph_id_text(const uint8_t id[16], char ret_text[PH_ID_TEXT_SIZE])
{
    static const char hex[] = "0123456789abcdef";
    char *to = ret_text;

    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *to++ = '-';
        *to++ = hex[id[i] >> 4];
        *to++ = hex[id[i] & 15];
    }
    *to = '\0';
    return ret_text;
}

int ph_id_parse(const char *text, uint8_t ret_id[16])
{
    uint8_t id[16] = { 0 };
    bool hyphens;

    if (!text || !ret_id)
        return PH_EINVAL;
    hyphens = strlen(text) == 36;
    for (int i = 0; i < 16; i++) {
        uint64_t byte;

        if (hyphens && (i == 4 || i == 6 || i == 8 || i == 10) && *text++ != '-')
            return PH_EINVAL;
        if (!ph__hex_read(text, 2, &byte))
            return PH_EINVAL;
        id[i] = (uint8_t)byte;
        text += 2;
    }
    if (*text)
        return PH_EINVAL;
    memcpy(ret_id, id, sizeof(id));
    return 0;
}

bool ph_id_is_zero(const uint8_t id[16])
{
    static const uint8_t zero[16];

    return memcmp(id, zero, sizeof(zero)) == 0;
}

ph_owner ph_owner_new(void)
{
    ph_owner owner;

    ph__random_bytes(owner.b, sizeof(owner.b));
    owner.b[6] = (uint8_t)((owner.b[6] & 0x0f) | 0x40); /* version 4 */
    owner.b[8] = (uint8_t)((owner.b[8] & 0x3f) | 0x80);
    return owner;
}
