/* reset.h - the same beginning for every permutation. */
#ifndef ISO_RESET_H
#define ISO_RESET_H

#include "engine.h"

/* Connects the setup and all sessions; for a bare spec to a place of this
 * round's own, without a schema. */
void iso_actors_open(struct iso_engine *engine);
/* Also fine if they are not connected. */
void iso_actors_close(struct iso_engine *engine);

/* Removes all messages, turns the clock to a new day and gives the round a
 * namespace (and with it a queue with default settings) of its own. */
void iso_reset(struct iso_engine *engine);

#endif
