/* SPDX-License-Identifier: MIT */
/* A write strategy is a way to send a group of fragments; a reading is a way to receive bytes.
 *
 * A strategy takes fragments from the head of the connection's send queue and never blocks. It
 * never joins fragments across the end of a group. strategy_push() calls it for each group, and
 * flushes. A strategy declares the size of its state. The connection owns that memory, which is
 * zeroed at first. */
#pragma once

#include "base/axis.h"
#include "connection/layer.h"

struct strategy {
    struct variant variant;
    const char *parameter;  /* meaning of SIZE, completes "write=cork:SIZE "; NULL: none */
    uint64_t parameter_max; /* largest SIZE, a number; 0: bytes, at most a message */
    unsigned needs;         /* capabilities */
    unsigned joins;         /* needed only if the transport has segments: to join fragments */
    int flags;              /* of send(2), on all fragments but the last of a group */
    bool nagle;             /* leaves Nagle's algorithm on: does not set TCP_NODELAY */
    bool corks;             /* corks the layer that its strategy_choice names */
    bool from_file;         /* sends from memory that is a file */
    bool zerocopy;          /* sets SO_ZEROCOPY; memory returns by the error queue of the
                               descriptor, which then has POLLERR */

    /* Bytes of state: state_size, plus byte_size for each byte of the longest group, plus
     * vector_size for each of plan_longest_vectors(). */
    size_t state_size, byte_size, vector_size;

    /* Sends the rest of the group at the head. 0: the whole group is accepted, or a request is in
     * flight, which sends as much of the group as it can. Else as strategy_push(). */
    int (*send_group)(struct connection *connection);

    /* The whole group is accepted: sends what the strategy holds back. 0, or as strategy_push().
     * NULL: it holds nothing back. */
    int (*finish_group)(struct connection *connection);

    /* Handles the completion of a submitted send. 0 or a negative errno value. NULL: it submits
     * none. */
    int (*completed)(struct connection *connection, const struct completion *completion);

    /* Number of buffers that each connection provides to the ring, with this parameter: a power of
     * two. NULL: it provides none. */
    uint32_t (*buffers)(uint64_t parameter);

    /* Windows whose memory may be lent at once; the connection has `loans` then. 0: none. */
    uint32_t lends;
};

extern const struct axis strategy_axis; /* write/list.def */

#define PARAMETER_NONE UINT64_MAX

/* Sends as much of the queue as the strategy can, and flushes at each group end. The engine calls
 * it again until it returns 0, even if all spans are accepted and bytes are only held back. Returns
 *
 * - 0: the queue is idle, everything is flushed;
 * - -EAGAIN: the socket buffer is full; call again when the descriptor is writable;
 * - -EINPROGRESS: a request is in flight, or memory must return first; call again after
 *   completed() or connection_returned();
 * - any other negative errno value: the connection is broken. */
int strategy_push(struct connection *connection);

/* The capabilities that this choice needs with this security layer on this transport, and the layer
 * that it corks. CORK_SEGMENT is TCP's cork. */
unsigned strategy_needs(const struct strategy_choice *choice, const struct security *security,
                        const struct transport *transport);
enum cork_layer strategy_cork_layer(const struct strategy_choice *choice, const struct security *security);

/* ---- readings ---- */

struct reading {
    struct variant variant;
    unsigned needs; /* capabilities */
    bool discards;  /* the program does not get the bytes: neither verify nor touch is possible */
    bool maps;      /* counts mapped and copied bytes */

    /* For readings with state. open() allocates connection->reading_state; 0 or a negative errno
     * value. close() frees what the state owns; connection_close() frees the state itself. NULL:
     * the reading has no state. */
    int (*open)(struct connection *connection);
    void (*close)(struct connection *connection);

    /* Takes at most `limit` bytes. Returns
     *
     * - their number; `data` points at them until the next call (NULL if the reading discards);
     * - 0: the peer has half-closed;
     * - -EAGAIN: there are none. On a blocking descriptor, only a reading whose call never blocks
     *   returns this;
     * - another negative errno value.
     *
     * NULL: the engine receives by multishot requests to its ring, into its receive buffers. */
    ssize_t (*read)(struct connection *connection, size_t limit, const uint8_t **data);

    /* Returns true if the reading has bytes that read() has not delivered, or knows that the
     * descriptor has more. NULL: never. */
    bool (*has_more)(const struct connection *connection);

    unsigned options; /* of these requests: enum receive_option */

    /* Bytes of the header that the kernel writes before the data in each receive buffer. */
    size_t headroom;
};

extern const struct axis reading_axis; /* read/list.def */
