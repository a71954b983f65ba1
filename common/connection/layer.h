/* SPDX-License-Identifier: MIT */
/* The stack on which strategies and readings stand. connection->top is the filter (TLS of a library
 * or of the kernel); without one, it is the transport, which makes counted calls.
 *
 * A filter calls the functions of the socket, on which every transport stands. A function that a
 * layer lacks is NULL. The capabilities of the layer say so, and no strategy or reading calls it
 * then. Only a transport has connection->submit(): a filter that gives its capabilities leaves the
 * bytes to the transport.
 *
 * Unless said otherwise a function returns bytes or 0, or a negative errno value. -EAGAIN: the
 * socket buffer is full (send) or empty (receive); call again when the descriptor is writable or
 * readable. After -EAGAIN of a send the caller must offer the same bytes again, because a filter
 * may have sent some of them. */
#pragma once

#include "connection/capability.h"
#include "connection/connection.h"
#include "ring/ring.h"

struct layer {
    ssize_t (*send)(struct connection *connection, const void *data, size_t size, int flags);

    /* Sends several pieces at once. NULL: the layer takes one piece at a time. */
    ssize_t (*sendv)(struct connection *connection, struct iovec *vectors, int count, int flags);

    ssize_t (*receive)(struct connection *connection, void *data, size_t size, int flags);

    /* Returns true if the layer has buffered bytes that receive() has not delivered. They do not
     * make the descriptor readable. NULL: it buffers none. */
    bool (*pending)(const struct connection *connection);

    /* On: corks a record layer, which then holds sends back. Off: sends what it holds; 0 when all
     * is sent. */
    int (*hold)(struct connection *connection, bool on);
};

/* A socket, by the counted calls. Filters and streams use these functions too. */
extern const struct layer layer_socket;
ssize_t socket_send(struct connection *connection, const void *data, size_t size, int flags);
ssize_t socket_sendv(struct connection *connection, struct iovec *vectors, int count, int flags);
ssize_t socket_receive(struct connection *connection, void *data, size_t size, int flags);

/* What the top of the stack does. A socket is the most frequent top, and is called directly. */
static inline ssize_t layer_send(struct connection *connection, const void *data, size_t size, int flags)
{
    if (connection->top == &layer_socket)
        return calls_send(&connection->calls, data, size, flags);
    return connection->top->send(connection, data, size, flags);
}

static inline ssize_t layer_sendv(struct connection *connection, struct iovec *vectors, int count, int flags)
{
    if (connection->top == &layer_socket)
        return calls_sendv(&connection->calls, vectors, count, flags);
    return connection->top->sendv(connection, vectors, count, flags);
}

static inline ssize_t layer_receive(struct connection *connection, void *data, size_t size, int flags)
{
    if (connection->top == &layer_socket)
        return calls_recv(&connection->calls, data, size, flags);
    return connection->top->receive(connection, data, size, flags);
}

/* Reads the zero-copy notifications of a socket, and calls connection_returned() for each. Returns
 * 1 if lent memory came back, 0 if none did. */
int socket_reclaim(struct connection *connection);
