#include "set/map.h"

#include "util/alloc.h"
#include "util/assert.h"
#include "util/hash.h"

#include <stdint.h>
#include <string.h>

#define ROOM_MIN 16

struct ph__map_slot {
    const char *text; /* NULL: free */
    void *value;
};

/* Where the text is, or belongs. room is a power of two, and not all of it is taken. */
static struct ph__map_slot *slot_of(const struct ph__map *map, const char *text)
{
    size_t at;

    PH__ASSERT(map->room > 0 && (map->room & (map->room - 1)) == 0);
    PH__ASSERT(map->count < map->room); /* so the walk comes to an end */
    at = (size_t)ph__hash64_text(PH__HASH64, text) & (map->room - 1);

    while (map->slots[at].text && strcmp(map->slots[at].text, text) != 0)
        at = (at + 1) & (map->room - 1);
    return &map->slots[at];
}

void *ph__map_get(const struct ph__map *map, const char *text)
{
    return map->count ? slot_of(map, text)->value : NULL;
}

bool ph__map_reserve(struct ph__map *map)
{
    struct ph__map larger = { .count = map->count, .room = map->room ? 2 * map->room : ROOM_MIN };

    if (map->room && (map->count + 1) * 2 <= map->room)
        return true;
    larger.slots = ph__alloc_zero(larger.room, sizeof(*larger.slots));
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < map->room; i++) {
        if (map->slots[i].text)
            *slot_of(&larger, map->slots[i].text) = map->slots[i];
    }
    ph__dealloc(map->slots);
    *map = larger;
    return true;
}

void ph__map_put(struct ph__map *map, const char *text, void *value)
{
    PH__ASSERT((map->count + 1) * 2 <= map->room); /* as ph__map_reserve() has made it */
    PH__ASSERT(!slot_of(map, text)->text);
    *slot_of(map, text) = (struct ph__map_slot){ text, value };
    map->count++;
}

void ph__map_free(struct ph__map *map)
{
    ph__dealloc(map->slots);
    *map = (struct ph__map){ 0 };
}
