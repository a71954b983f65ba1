/* SPDX-License-Identifier: MIT */
/*
 * A write strategy is a way to get a group of fragments onto the wire.
 *
 * It takes from the head of the connection's send queue and never waits. It never joins across a group end.
 * What it must remember between two calls lives in its state, whose size it declares and whose memory,
 * zeroed, the core owns.
 */
#ifndef UNCORK_STRATEGY_STRATEGY_H
#define UNCORK_STRATEGY_STRATEGY_H

#include "base/axis.h"
#include "connection/capability.h"
#include "connection/completion.h"
#include "connection/connection.h"

struct strategy {
    struct variant variant;
    const char
        *parameter; /* what a size after the colon means, completes "write=cork:SIZE "; NULL: takes none */
    uint64_t parameter_max; /* of that size, where it is a number; 0: bytes, as many as a message has */
    unsigned needs;         /* capabilities */
    unsigned joins;         /* more of them, by which it joins fragments where there are segments */
    bool nodelay;           /* TCP_NODELAY that belongs to it */
    bool corks;             /* holds a group back: in the layer that its choice names, which it needs too */
    bool from_file;         /* the memory that it sends from is a file */
    bool zerocopy;          /* SO_ZEROCOPY belongs to it */

    /* Bytes of state for groups of at most `longest_group` bytes; NULL: none. */
    size_t (*state_size)(size_t longest_group);

    /*
     * Moves what it can from the queue towards the wire and flushes at every group end. To be called again
     * until it returns 0, also when every fragment was accepted and something is still held back. Returns
     *
     * - 0: the queue is idle, everything is flushed;
     * - -EAGAIN: the descriptor is full, call again when it is writable;
     * - -EINPROGRESS: requests are under way, call again after completed(); or memory has to come back first,
     *   after reclaim();
     * - any other negative errno value: the connection is broken.
     */
    int (*push)(struct connection *connection);

    /* For strategies whose requests complete later (a ring): one completion. 0 or a negative errno value.
     * NULL: push() does all its work while it is called. */
    int (*completed)(struct connection *connection, const struct completion *completion);

    /* The other end has answered everything that was sent: what is under way without telling when it is done
     * has been taken (see connection_is_answered()). NULL: it has no such requests. */
    void (*answered)(struct connection *connection);

    /* How many buffers it provides to the ring of each connection, with this parameter: a power of two. NULL:
     * none. */
    uint32_t (*buffers)(uint64_t parameter);

    /* Windows whose memory may be lent at once. 0: what it has accepted it does not need any more. */
    uint32_t lends;

    /* For strategies whose memory comes back by the error queue of the descriptor, which then shows POLLERR:
     * takes all that is there, and releases. 1 when some has come back, 0 when none has, or a negative errno
     * value. Whoever waits for the descriptor calls it by engine_reclaim(). NULL: nothing comes back so. */
    int (*reclaim)(struct connection *connection);

    /* The connection has its next descriptor (workload=connect), and nothing of the last is lent any more.
     * NULL: it remembers nothing of a descriptor. */
    void (*renew)(struct connection *connection);
};

extern const struct axis strategy_axis;

#define PARAMETER_NONE UINT64_MAX

/* What this choice needs under this layer on this transport; where it holds a group back there: the segment
 * is TCP's. */
unsigned strategy_needs(const struct strategy_choice *choice, const struct security *security,
                        const struct transport *transport);
enum cork_layer strategy_cork_layer(const struct strategy_choice *choice, const struct security *security);

/* For the variants: sends the fragments of the group at the head with one send() each, with `more` as flags
 * on all but the last. 0 when the end of the group was accepted (or the queue is empty), else as push(). */
int strategy_send_group(struct connection *connection, int more);

/* For the variants: sends the group at the head as it stands by one sendmsg() (several where it has more than
 * IOV_MAX fragments, tied together by MSG_MORE). Returns as strategy_send_group(). */
int strategy_send_vector(struct connection *connection);

/* For the variants, when the end of a group was accepted and the strategy holds nothing back: lets the
 * security layer go of what it holds, and tells the queue. 0, or as push(). */
int strategy_flush(struct connection *connection);

/* push() of the strategies that hold nothing back themselves: each group by `send_group`, which returns 0
 * when the end of the group at the head was accepted, and is flushed. */
int strategy_push_groups(struct connection *connection, int (*send_group)(struct connection *connection));

/* push() of the strategies that send each fragment by itself and differ only in their options. */
int strategy_push_each(struct connection *connection);

#endif
