#include "util/buffer.h"

#include "util/alloc.h"
#include "util/assert.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool reserve(struct ph__buffer *buffer, size_t more)
{
    size_t need, capacity;
    char *data;

    PH__ASSERT(buffer->data ? buffer->length < buffer->capacity : buffer->capacity == 0);
    PH__ASSERT(buffer->data || buffer->length == 0);
    if (buffer->failed || more > SIZE_MAX / 2 - buffer->length) {
        buffer->failed = true;
        return false;
    }
    need = buffer->length + more + 1;
    if (need <= buffer->capacity)
        return true;
    capacity = buffer->capacity ? buffer->capacity * 2 : 256;
    if (capacity < need)
        capacity = need;
    data = ph__realloc(buffer->data, capacity);
    if (!data) {
        buffer->failed = true;
        return false;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    PH__ASSERT(buffer->length + more < buffer->capacity);
    return true;
}

void ph__buffer_bytes(struct ph__buffer *buffer, const void *bytes, size_t length)
{
    PH__ASSERT(bytes || length == 0);
    if (!reserve(buffer, length))
        return;
    if (length)
        memcpy(buffer->data + buffer->length, bytes, length);
    buffer->length += length;
    buffer->data[buffer->length] = '\0';
}

void ph__buffer_text(struct ph__buffer *buffer, const char *text)
{
    ph__buffer_bytes(buffer, text, strlen(text));
}

void ph__buffer_printf(struct ph__buffer *buffer, const char *format, ...)
{
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0 || !reserve(buffer, (size_t)length)) {
        buffer->failed = true;
        return;
    }
    va_start(args, format);
    vsnprintf(buffer->data + buffer->length, (size_t)length + 1, format, args);
    va_end(args);
    buffer->length += (size_t)length;
    PH__ASSERT(buffer->data[buffer->length] == '\0');
}

void ph__buffer_be16(struct ph__buffer *buffer, uint16_t value)
{
    uint8_t bytes[2] = { (uint8_t)(value >> 8), (uint8_t)value };

    ph__buffer_bytes(buffer, bytes, sizeof(bytes));
}

void ph__buffer_be32(struct ph__buffer *buffer, uint32_t value)
{
    ph__buffer_be16(buffer, (uint16_t)(value >> 16));
    ph__buffer_be16(buffer, (uint16_t)value);
}

void ph__buffer_be64(struct ph__buffer *buffer, uint64_t value)
{
    ph__buffer_be32(buffer, (uint32_t)(value >> 32));
    ph__buffer_be32(buffer, (uint32_t)value);
}

void ph__buffer_put_be32(struct ph__buffer *buffer, size_t at, uint32_t value)
{
    if (buffer->failed)
        return;
    PH__ASSERT(at + 4 <= buffer->length);
    for (size_t i = 0; i < 4; i++)
        buffer->data[at + i] = (char)(value >> (24 - 8 * i));
}

void ph__buffer_free(struct ph__buffer *buffer)
{
    ph__dealloc(buffer->data);
    *buffer = (struct ph__buffer){ 0 };
}
