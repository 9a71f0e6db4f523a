/* map.h - from texts to pointers. The texts are borrowed, and none is ever taken out. */
#ifndef PH_SET_MAP_H
#define PH_SET_MAP_H

#include <stdbool.h>
#include <stddef.h>

struct ph__map {
    struct ph__map_slot *slots;
    size_t count, room;
};

/* NULL: not there. */
void *ph__map_get(const struct ph__map *map, const char *text);
/* Makes room for one more; false when memory is out. */
bool ph__map_reserve(struct ph__map *map);
/* Puts a text in that is not there; there is room. */
void ph__map_put(struct ph__map *map, const char *text, void *value);
void ph__map_free(struct ph__map *map);

#endif
