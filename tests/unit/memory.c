/* memory.c - arena and buffer, and what happens when memory runs out. */
#include "harness.h"

#include "util/alloc.h"
#include "util/arena.h"
#include "util/buffer.h"

#include <stdalign.h>

TEST(arena_hands_out_zeroed_aligned_memory)
{
    struct ph__arena arena = { 0 };

    for (size_t size = 0; size < 3000; size += 37) {
        unsigned char *memory = ph__arena_alloc(&arena, size);

        CHECK(memory != NULL);
        CHECK_INT((uintptr_t)memory % alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++)
            CHECK(memory[i] == 0);
        memset(memory, 0xff, size);
    }
    ph__arena_free(&arena);
    CHECK(arena.chunks == NULL);
    ph__arena_free(&arena);
}

TEST(arena_takes_large_pieces_and_goes_on)
{
    struct ph__arena arena = { 0 };
    char *small = ph__arena_copy(&arena, "small", 5);
    char *large = ph__arena_alloc(&arena, 1000000);
    char *after = ph__arena_copy(&arena, "after", 5);

    CHECK(large != NULL);
    memset(large, 1, 1000000);
    CHECK_STR(small, "small");
    CHECK_STR(after, "after");
    ph__arena_free(&arena);
}

TEST(arena_copies_end_with_nul)
{
    struct ph__arena arena = { 0 };

    CHECK_STR(ph__arena_copy(&arena, "abcdef", 3), "abc");
    CHECK_STR(ph__arena_copy(&arena, NULL, 0), "");
    ph__arena_free(&arena);
}

TEST(arena_refuses_impossible_sizes)
{
    struct ph__arena arena = { 0 };

    CHECK(ph__arena_alloc(&arena, SIZE_MAX) == NULL);
    CHECK(ph__arena_alloc(&arena, SIZE_MAX - alignof(max_align_t)) == NULL);
    CHECK(ph__arena_copy(&arena, "", SIZE_MAX) == NULL);
    ph__arena_free(&arena);
}

TEST(arena_reports_when_memory_is_out)
{
    struct ph__arena arena = { 0 };

    ph__alloc_fail_after = 1;
    CHECK(ph__arena_alloc(&arena, 10) != NULL);
    CHECK(ph__arena_alloc(&arena, 100000) == NULL);
    CHECK(ph__arena_copy(&arena, "still room here", 15) != NULL);
    ph__alloc_fail_after = -1;
    ph__arena_free(&arena);
}

TEST(buffer_grows)
{
    struct ph__buffer buffer = { 0 };

    for (int i = 0; i < 10000; i++)
        ph__buffer_printf(&buffer, "%d,", i % 10);
    CHECK(!buffer.failed);
    CHECK_INT(buffer.length, 20000);
    CHECK_INT(strlen(buffer.data), 20000);
    ph__buffer_free(&buffer);
    CHECK(buffer.data == NULL);
    ph__buffer_free(&buffer);
}

TEST(buffer_writes_big_endian)
{
    struct ph__buffer buffer = { 0 };

    ph__buffer_be16(&buffer, 0x0102);
    ph__buffer_be32(&buffer, 0x03040506);
    ph__buffer_be64(&buffer, UINT64_C(0x0708090a0b0c0d0e));
    CHECK_INT(buffer.length, 14);
    CHECK(memcmp(buffer.data, "\1\2\3\4\5\6\7\x08\x09\x0a\x0b\x0c\x0d\x0e", 14) == 0);
    ph__buffer_put_be32(&buffer, 10, 0xfffefdfc);
    CHECK_INT(buffer.length, 14);
    CHECK(memcmp(buffer.data + 9, "\x0a\xff\xfe\xfd\xfc", 5) == 0);
    ph__buffer_free(&buffer);
}

TEST(buffer_empty_appends_give_an_empty_text)
{
    struct ph__buffer buffer = { 0 };

    ph__buffer_bytes(&buffer, NULL, 0);
    CHECK_STR(buffer.data, "");
    ph__buffer_text(&buffer, "");
    CHECK_INT(buffer.length, 0);
    ph__buffer_free(&buffer);
}

TEST(buffer_stays_failed_once_memory_was_out)
{
    struct ph__buffer buffer = { 0 };

    ph__buffer_text(&buffer, "kept");
    ph__alloc_fail_after = 0;
    ph__buffer_printf(&buffer, "%01000d", 1);
    ph__alloc_fail_after = -1;
    CHECK(buffer.failed);
    ph__buffer_text(&buffer, "x");
    CHECK(buffer.failed);
    CHECK_STR(buffer.data, "kept");
    ph__buffer_free(&buffer);
}

TEST(the_nth_allocation_can_be_made_to_fail)
{
    void *first, *grown;
    char *text;

    ph__alloc_fail_after = 2;
    first = ph__alloc(0);
    text = ph__strdup("text");
    CHECK(first && text);
    CHECK(ph__alloc_zero(1, 1) == NULL);
    CHECK(ph__strdup("more") == NULL);
    CHECK(ph__realloc(first, 100) == NULL);
    ph__alloc_fail_after = -1;
    grown = ph__realloc(first, 0);
    CHECK(grown != NULL);
    ph__dealloc(grown);
    ph__dealloc(text);
    ph__dealloc(NULL);
}
