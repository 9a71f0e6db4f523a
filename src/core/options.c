#include "core/options.h"

#include "core/error.h"
#include "util/assert.h"

#include <string.h>

int ph__options_check(size_t caller_size, const char *what, ph_error *err)
{
    /* Structs are aligned: any other size would end within a member, and cut a pointer in two. */
    if (caller_size < sizeof(size_t) || caller_size > PH__OPTIONS_SIZE_MAX ||
        caller_size % sizeof(size_t) != 0)
        return ph__fail(
            err, PH_EINVAL,
            "%s: the member size is not set; initialise the struct with its _INIT macro", what);
    return 0;
}

int ph__options_load(void *to, size_t to_size, const void *from, const char *what, ph_error *err)
{
    const unsigned char *bytes = from;
    size_t size;
    int r;

    /* A struct of ours that ended within a word could not be checked by its size. */
    PH__ASSERT(to_size >= sizeof(size) && to_size <= PH__OPTIONS_SIZE_MAX &&
               to_size % sizeof(size) == 0);
    if (!from)
        return 0;
    memcpy(&size, from, sizeof(size));
    r = ph__options_check(size, what, err);
    if (r < 0)
        return r;
    for (size_t i = to_size; i < size; i++) {
        if (bytes[i] != 0)
            return ph__fail(err, PH_EINVAL,
                            "%s: sets a member that this version of the library (%s) does not know",
                            what, ph_version());
    }
    memcpy(to, from, size < to_size ? size : to_size);
    return 0;
}

void ph__options_store(void *to, const void *from, size_t from_size)
{
    size_t size;

    memcpy(&size, to, sizeof(size));
    PH__ASSERT(size <= PH__OPTIONS_SIZE_MAX && size % sizeof(size) == 0);
    if (from_size > sizeof(size))
        memcpy((char *)to + sizeof(size), (const char *)from + sizeof(size),
               (size < from_size ? size : from_size) - sizeof(size));
}
