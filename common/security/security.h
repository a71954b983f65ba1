/* SPDX-License-Identifier: MIT */
/*
 * The layer between a strategy and the descriptor: nothing (plain), or records.
 *
 * It says what it gives: a raw descriptor, on which every socket flag works, or records that can be held
 * back. Each verb returns bytes taken or delivered, or a negative errno value; -EAGAIN never loses what was
 * taken.
 */
#ifndef UNCORK_SECURITY_SECURITY_H
#define UNCORK_SECURITY_SECURITY_H

#include "base/axis.h"
#include "connection/connection.h"

struct security {
    struct variant variant;
    unsigned gives; /* capabilities that it lets through from the transport, or adds */

    ssize_t (*send)(struct connection *connection, const void *data, size_t size, int flags);
    ssize_t (*sendv)(struct connection *connection, struct iovec *vectors, int count, int flags);
    ssize_t (*recv)(struct connection *connection, void *data, size_t size, int flags);

    /* Lets go of what was taken and is held back. 0 when nothing is any more; -EAGAIN: again when the
     * descriptor is writable. NULL: it never holds anything. */
    int (*flush)(struct connection *connection);

    /* Ends the outgoing direction: shutdown(2), under TLS after close_notify. */
    int (*finish)(struct connection *connection);
};

extern const struct axis security_axis;

#endif
