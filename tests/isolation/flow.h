/* flow.h - after a round: streams must not stand still. */
#ifndef ISO_FLOW_H
#define ISO_FLOW_H

#include "engine.h"

/* Lets time pass, claims and acks whatever comes, and checks that every stream of the round is
 * worked off in the order of its numbers, but for those that a dead head blocks. False: *ret_why
 * says what is wrong. Without a stream it does nothing. */
bool iso_streams_flow(struct iso_engine *engine, char *ret_why, size_t size);

#endif
