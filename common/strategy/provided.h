/* SPDX-License-Identifier: MIT */
/*
 * Sending from a ring of provided buffers: the fragments of the group at the head are added to it, as many as
 * fit, and requests take them from there.
 *
 * The group that comes next is added when this one has been sent, so nothing is joined across its end.
 */
#ifndef UNCORK_STRATEGY_PROVIDED_H
#define UNCORK_STRATEGY_PROVIDED_H

#include "strategy/request.h"

/* State of the two strategies. */
size_t provided_state_size(size_t longest_group);
uint32_t provided_buffers(uint64_t parameter);
int provided_completed(struct connection *connection, const struct completion *completion);
void provided_answered(struct connection *connection);

/* Queues one request: for the next buffer, or for all that are there as a bundle. 0 or a negative errno
 * value. */
int provided_submit(struct connection *connection, bool bundle);

#define PROVIDED_PARAMETER                                                                                   \
    "gives the ring of a connection so many buffers in place of 256, rounded up to a power of two"

#endif
