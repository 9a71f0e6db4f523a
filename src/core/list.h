/* list.h - what every list that a caller gets can do. */
#ifndef PH_CORE_LIST_H
#define PH_CORE_LIST_H

#include "core/call.h"
#include "core/error.h"
#include "util/alloc.h"
#include "util/assert.h"

/* Defines ph_NAME_count(), ph_NAME_at() and ph_NAME_free() of a struct ph_NAME { arena, items,
 * count }. */
/* clang-format off */
#define PH__LIST_FUNCTIONS(name, item)                                                             \
    size_t ph_##name##_count(const ph_##name *list)                                                \
    {                                                                                              \
        return list ? list->count : 0;                                                             \
    }                                                                                              \
    const item *ph_##name##_at(const ph_##name *list, size_t index)                                \
    {                                                                                              \
        return list && index < list->count ? &list->items[index] : NULL;                           \
    }                                                                                              \
    void ph_##name##_free(ph_##name *list)                                                         \
    {                                                                                              \
        if (!list)                                                                                 \
            return;                                                                                \
        ph__arena_free(&list->arena);                                                              \
        ph__dealloc(list);                                                                         \
    }

/* The end of a function that hands out a list: unless checked is an error, connects, makes the list,
 * has it filled by an expression that calls it list, and returns. */
#define PH__LIST_RETURN(name, call, checked, ret_list, fill)                                       \
    do {                                                                                           \
        int filled = ph__call_connect(call, checked);                                              \
        ph_##name *list = filled == 0 ? ph__alloc_zero(1, sizeof(*list)) : NULL;                   \
                                                                                                   \
        if (filled == 0)                                                                           \
            filled = list ? (fill) : ph__fail_memory((call)->err);                                 \
        PH__ASSERT(filled < 0 || list->items || list->count == 0);                                 \
        if (filled < 0)                                                                            \
            ph_##name##_free(list);                                                                \
        else                                                                                       \
            *(ret_list) = list;                                                                    \
        return filled;                                                                             \
    } while (0)
/* clang-format on */

#endif
