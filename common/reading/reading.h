/* SPDX-License-Identifier: MIT */
/* A reading is a way to take bytes out of a socket. It never waits. */
#ifndef UNCORK_READING_READING_H
#define UNCORK_READING_READING_H

#include "base/axis.h"
#include "connection/completion.h"
#include "connection/connection.h"

struct reading {
    struct variant variant;
    unsigned needs; /* capabilities */
    bool delivers;  /* the bytes can be looked at: verify and touch are possible */
    bool maps;      /* counts what it mapped and what it copied */

    /* Bytes of state for each connection, zeroed; NULL: none. */
    size_t (*state_size)(void);

    /* For readings with state that belongs to the descriptor: makes it, 0 or a negative errno value; ends it.
     * NULL: it has none. */
    int (*open)(struct connection *connection);
    void (*close)(struct connection *connection);

    /* Takes at most `limit` bytes. Returns how many and points `data` at them (NULL where it does not
     * deliver), valid until the next call; 0 when the peer has half-closed; -EAGAIN when there are none, on a
     * descriptor that waits only where the call that it makes never does;
     * -EINPROGRESS when they will be handed to completed(); else a negative errno value. */
    ssize_t (*read)(struct connection *connection, size_t limit, const uint8_t **data);

    /* For readings whose bytes come later (a ring): hands what one completion brought to `arrived`, piece by
     * piece (0 bytes: the peer has half-closed; or a negative errno value), and returns what that did. NULL
     * otherwise. */
    int (*completed)(struct connection *connection, const struct completion *completion,
                     int (*arrived)(struct connection *connection, const uint8_t *data, ssize_t size));

    /* It has taken bytes off the descriptor that read() has not delivered, or knows that more are there.
     * NULL: never. */
    bool (*has_more)(const struct connection *connection);

    /* Receive buffers that a thread needs, of `size` bytes each: a power of two. NULL: one. */
    uint32_t (*buffers)(size_t size);
};

extern const struct axis reading_axis;

#endif
