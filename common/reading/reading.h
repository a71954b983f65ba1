/* SPDX-License-Identifier: MIT */
/* A reading is a way to take bytes out of a socket. It never waits. */
#ifndef UNCORK_READING_READING_H
#define UNCORK_READING_READING_H

#include "base/axis.h"
#include "connection/connection.h"

struct reading {
    struct variant variant;
    unsigned needs; /* capabilities */
    bool delivers;  /* the bytes can be looked at: verify and touch are possible */

    /* Takes at most `limit` bytes. Returns how many and points `data` at them (NULL where it does not
     * deliver), valid until the next call; 0 when the peer has half-closed; -EAGAIN when there are none;
     * -EINPROGRESS when they will be handed to completed(); else a negative errno value. */
    ssize_t (*read)(struct connection *connection, size_t limit, const uint8_t **data);

    /* For readings whose bytes come later (a ring): one completion, returns as read(). NULL otherwise. */
    ssize_t (*completed)(struct connection *connection, int result, unsigned flags, const uint8_t **data);
};

extern const struct axis reading_axis;

#endif
