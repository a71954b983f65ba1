/* SPDX-License-Identifier: MIT */
/* A reading is a way to receive bytes from a socket. */
#pragma once

#include "base/axis.h"
#include "connection/layer.h"

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
