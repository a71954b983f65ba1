/* SPDX-License-Identifier: MIT */
#include "connection/layer.h"

#include "connection/security.h"
#include "transport/transport.h"

/* ---- a socket ---- */

ssize_t socket_send(struct connection *connection, const void *data, size_t size, int flags)
{
    return calls_send(&connection->calls, data, size, flags);
}

ssize_t socket_sendv(struct connection *connection, struct iovec *vectors, int count, int flags)
{
    return calls_sendv(&connection->calls, vectors, count, flags);
}

ssize_t socket_receive(struct connection *connection, void *data, size_t size, int flags)
{
    return calls_recv(&connection->calls, data, size, flags);
}

HOT int socket_hold(struct connection *connection, bool on)
{
    return options_set_cork(&connection->calls, on);
}

/* Reads the error queue until it is empty or no memory is lent. */
int socket_reclaim(struct connection *connection)
{
    struct zerocopy_notification notification;
    int found = 0, result;

    while (loans_outstanding(connection->loans) &&
           (result = calls_take_notification(&connection->calls, &notification)) != -EAGAIN) {
        if (result < 0)
            return result;
        connection_returned(connection, notification.first, notification.last, notification.copied);
        found = 1;
    }
    return found;
}

const struct layer layer_socket = {
    .send = socket_send,
    .sendv = socket_sendv,
    .receive = socket_receive,
    .hold = socket_hold,
};

/* ---- the stack ---- */

void layer_set_transport(struct connection *connection, const struct layer *bottom, void *state)
{
    const struct layer *filter = &connection->security->layer;

    connection->bottom = bottom;
    connection->bottom_state = state;
    connection->top = filter->receive ? filter : bottom;
}

ssize_t below_send(struct connection *connection, const void *data, size_t size, int flags)
{
    return connection->bottom->send(connection, data, size, flags);
}

ssize_t below_sendv(struct connection *connection, struct iovec *vectors, int count, int flags)
{
    return connection->bottom->sendv(connection, vectors, count, flags);
}

ssize_t below_receive(struct connection *connection, void *data, size_t size, int flags)
{
    return connection->bottom->receive(connection, data, size, flags);
}
