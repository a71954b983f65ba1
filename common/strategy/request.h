/* SPDX-License-Identifier: MIT */
/*
 * One request under way at a time: what the strategies of a ring have in common.
 *
 * A request takes what it can of the group at the head. While it is under way nothing else of this connection
 * is submitted, so that bytes stay in order; its bytes are accepted when it completes.
 */
#ifndef UNCORK_STRATEGY_REQUEST_H
#define UNCORK_STRATEGY_REQUEST_H

#include "ring/ring.h"
#include "strategy/strategy.h"

/* Begins the state of such a strategy. */
struct request {
    bool under_way;
    bool silent;  /* it completes without telling: the other end's answer proves it */
    size_t bytes; /* that it has still to send */
};

/* push(): calls `submit`, which describes the request that it queued and returns 0 or a negative errno value,
 * whenever none is under way. */
int request_push(struct connection *connection, int (*submit)(struct connection *connection));

/* Flags of a send that is not to be cut short: MSG_WAITALL, or 0 where the descriptor refuses that. Then the
 * rest of what was cut short is the next request. */
int request_flags(const struct connection *connection);

/* The request takes `bytes`, up to the end of a fragment with these marks: RING_SILENT where it need not tell
 * that it is done, else 0. One that may be cut short tells. */
unsigned request_describe(struct connection *connection, size_t bytes, uint32_t marks);

/* Bytes that were sent, or a negative errno value. 0 where the kernel gave the request up before it sent
 * anything, which is no error: one that has waited for room 128 times goes to a thread of its own, and is
 * cancelled if that cannot be made (Linux 6.18, io_uring/io-wq.c). */
int request_sent(const struct completion *completion);

/* completed() of the strategies whose memory is free again when a request is done. */
int request_completed(struct connection *connection, const struct completion *completion);

/* How many vectors a request of a group of so many bytes may have: sendmsg(2) takes IOV_MAX. */
size_t request_vectors_most(size_t longest_group);

/* answered() of all. */
void request_answered(struct connection *connection);

#endif
