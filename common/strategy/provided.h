/* SPDX-License-Identifier: MIT */
/*
 * Sends from a ring of provided buffers. As many fragments of the group at the head as fit are
 * added to the ring; requests take them from there.
 *
 * The next group is added when this one has been sent. So no request joins two groups.
 */
#ifndef UNCORK_STRATEGY_PROVIDED_H
#define UNCORK_STRATEGY_PROVIDED_H

#include "strategy/request.h"

/* For uring-ring and uring-bundle, the strategies that send from provided buffers. */
size_t provided_state_size(size_t longest_group);
uint32_t provided_buffers(uint64_t parameter);
int provided_completed(struct connection *connection, const struct completion *completion);
void provided_answered(struct connection *connection);

/* Queues one request: for the next buffer, or for all buffers as a bundle. 0 or a negative errno
 * value. */
int provided_submit(struct connection *connection, bool bundle);

#define PROVIDED_PARAMETER                                                                                   \
    "gives the ring of a connection so many buffers in place of 256, rounded up to a power of two"

#endif
