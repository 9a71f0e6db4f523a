/* id.c - identifiers: text and back, and the number inside a work id. */
#include "harness.h"

#include "core/id.h"

static const uint8_t sample[16] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
                                    0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10 };

TEST(text_is_lower_case_with_hyphens)
{
    char text[PH_ID_TEXT_SIZE];

    CHECK_STR(ph_id_text(sample, text), "01234567-89ab-cdef-fedc-ba9876543210");
    CHECK(ph_id_text(sample, text) == text);
}

TEST(parse_takes_either_case_with_or_without_hyphens)
{
    static const char *const spellings[] = { "01234567-89ab-cdef-fedc-ba9876543210",
                                             "01234567-89AB-CDEF-FEDC-BA9876543210",
                                             "0123456789abcdeffedcba9876543210",
                                             "0123456789ABCDEFfedcBA9876543210" };

    for (size_t i = 0; i < sizeof(spellings) / sizeof(*spellings); i++) {
        uint8_t id[16] = { 0 };

        CHECK_INT(ph_id_parse(spellings[i], id), 0);
        CHECK(memcmp(id, sample, 16) == 0);
    }
}

TEST(parse_refuses_anything_else_and_leaves_the_result_alone)
{
    static const char *const wrong[] = {
        "",
        "0",
        "0123456789abcdeffedcba987654321",
        "0123456789abcdeffedcba98765432100",
        "01234567-89ab-cdef-fedc-ba987654321",
        "01234567-89ab-cdef-fedc-ba98765432100",
        "0123456-789ab-cdef-fedc-ba9876543210",
        "01234567-89ab-cdeffedcba9876543210",
        "g1234567-89ab-cdef-fedc-ba9876543210",
        "0123456789abcdeffedcba987654321g",
        " 1234567-89ab-cdef-fedc-ba9876543210",
        "{01234567-89ab-cdef-fedc-ba987654321",
        "01234567_89ab_cdef_fedc_ba9876543210",
        "0123456789abcdef-fedcba9876543210",
    };
    uint8_t id[16], untouched[16];

    memset(id, 0x5a, sizeof(id));
    memcpy(untouched, id, sizeof(id));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        CHECK_INT(ph_id_parse(wrong[i], id), PH_EINVAL);
        CHECK(memcmp(id, untouched, sizeof(id)) == 0);
    }
    CHECK_INT(ph_id_parse(NULL, id), PH_EINVAL);
    CHECK_INT(ph_id_parse("0123456789abcdeffedcba9876543210", NULL), PH_EINVAL);
}

TEST(zero_is_recognised)
{
    uint8_t id[16] = { 0 };

    CHECK(ph_id_is_zero(id));
    for (int i = 0; i < 16; i++) {
        id[i] = 1;
        CHECK(!ph_id_is_zero(id));
        id[i] = 0;
    }
}

TEST(owners_are_random_version_4_uuids)
{
    ph_owner before = ph_owner_new();

    for (int i = 0; i < 1000; i++) {
        ph_owner owner = ph_owner_new();

        CHECK(memcmp(owner.b, before.b, 16) != 0);
        CHECK_INT(owner.b[6] >> 4, 4);
        CHECK_INT(owner.b[8] >> 6, 2);
        before = owner;
    }
}

TEST(work_ids_give_their_number_and_salt_back)
{
    static const int64_t numbers[] = { 0, 1, 255, 256, INT64_C(1) << 40, PH__NUMBER_MAX };

    for (int door = 0; door < 4; door++) {
        for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
            uint64_t salt = ph__id_salt(door, PH__STORE_ID_MAX, UINT32_MAX - (uint32_t)i), got_salt;
            int64_t got;

            CHECK(ph__id_split(ph__id_make(numbers[i], salt), &got, &got_salt));
            CHECK_INT(got, numbers[i]);
            CHECK(got_salt == salt);
            CHECK_INT(salt >> 60 & 3, door);
        }
    }
}

TEST(work_ids_sort_by_number_and_are_version_8)
{
    ph_work_id low = ph__id_make(255, ph__id_salt(3, PH__STORE_ID_MAX, UINT32_MAX));
    ph_work_id high = ph__id_make(256, ph__id_salt(0, 0, 0));

    CHECK(memcmp(low.b, high.b, 16) < 0);
    CHECK_INT(low.b[6] >> 4, 8);
    CHECK_INT(low.b[8] >> 6, 2);
}

TEST(store_ids_above_28_bits_do_not_touch_the_door)
{
    CHECK(ph__id_salt(1, UINT32_MAX, 7) == ph__id_salt(1, PH__STORE_ID_MAX, 7));
}

TEST(foreign_ids_are_not_split)
{
    ph_work_id good = ph__id_make(7, ph__id_salt(0, 1, 2));
    uint64_t salt;
    int64_t number;

    for (int i = 0; i < 4; i++) {
        static const int at[] = { 0, 6, 7, 8 };
        static const uint8_t wrong[] = { 0x80, 0x40, 0x01, 0x00 };
        ph_work_id bad = good;

        bad.b[at[i]] = wrong[i];
        CHECK(!ph__id_split(bad, &number, &salt));
    }
    CHECK(!ph__id_split((ph_work_id){ { 0 } }, &number, &salt));
}
