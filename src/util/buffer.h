/* buffer.h - a byte string that grows. One failed append makes it failed for
 * good, so that callers check once, at the end. */
#ifndef PH_UTIL_BUFFER_H
#define PH_UTIL_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ph__buffer {
    char *data; /* NULL while empty; else data[length] is NUL */
    size_t length, capacity;
    bool failed; /* memory ran out */
};

void ph__buffer_bytes(struct ph__buffer *buffer, const void *bytes, size_t length);
void ph__buffer_text(struct ph__buffer *buffer, const char *text);
void ph__buffer_printf(struct ph__buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Big-endian, as PostgreSQL's binary formats want them. */
void ph__buffer_be16(struct ph__buffer *buffer, uint16_t value);
void ph__buffer_be32(struct ph__buffer *buffer, uint32_t value);
void ph__buffer_be64(struct ph__buffer *buffer, uint64_t value);
/* In place of the four bytes from there on, which were appended before. */
void ph__buffer_put_be32(struct ph__buffer *buffer, size_t at, uint32_t value);
void ph__buffer_free(struct ph__buffer *buffer);

#endif
