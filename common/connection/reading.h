/* SPDX-License-Identifier: MIT */
/* A reading is a way to take bytes out of a socket. It never blocks. */
#pragma once

#include "base/axis.h"
#include "connection/layer.h"

struct reading {
    struct variant variant;
    unsigned needs; /* capabilities */
    bool discards;  /* the program does not see the bytes: neither verify nor touch is possible */
    bool maps;      /* counts mapped and copied bytes */

    /* For readings with state: open() allocates it as reading_state and returns 0 or a negative
     * errno value. close() frees what it has of the descriptor; connection_close() frees the state.
     * NULL: it has none. */
    int (*open)(struct connection *connection);
    void (*close)(struct connection *connection);

    /* Takes at most `limit` bytes. Returns
     *
     * - their number; `data` points at them (NULL if it does not deliver), valid until the next
     *   call;
     * - 0: the peer has half-closed;
     * - -EAGAIN: there are none. On a blocking descriptor, only a reading whose call never blocks
     *   returns this;
     * - -EINPROGRESS: completed() will deliver them;
     * - another negative errno value. */
    ssize_t (*read)(struct connection *connection, size_t limit, const uint8_t **data);

    /* For readings with completions (a ring). Delivers the bytes of one completion to
     * `arrived`, piece by piece, and returns its result. 0 bytes: the peer has half-closed.
     * `arrived` also takes a negative errno value. NULL: read() delivers all. */
    int (*completed)(struct connection *connection, const struct completion *completion,
                     int (*arrived)(struct connection *connection, const uint8_t *data, ssize_t size));

    /* Returns true if it holds bytes that read() has not delivered, or knows that the descriptor
     * has more. NULL: never. */
    bool (*has_more)(const struct connection *connection);

    unsigned options; /* of its multishot receive: enum receive_option */

    /* Bytes that the kernel fills before the bytes in each receive buffer. */
    size_t headroom;

    /* Number of receive buffers of `size` bytes that a thread needs: a power of two. NULL: one. */
    uint32_t (*buffers)(size_t size);
};

extern const struct axis reading_axis; /* reading/list.def */
