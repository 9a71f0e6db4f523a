/* id.c - identifiers: text and back, and the number inside a work id. */
#include "harness.h"

#include "core/id.h"

TEST(text_is_lower_case_with_hyphens)
{
    const uint8_t id[16] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
                             0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10 };
    char text[PH_ID_TEXT_SIZE];

    CHECK_STR(ph_id_text(id, text), "01234567-89ab-cdef-fedc-ba9876543210");
}
