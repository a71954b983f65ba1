/* SPDX-License-Identifier: MIT */
#include "connection/capability.h"
#include "security/security.h"

static ssize_t plain_send(struct connection *connection, const void *data, size_t size, int flags)
{
    return calls_send(&connection->calls, data, size, flags);
}

static ssize_t plain_sendv(struct connection *connection, struct iovec *vectors, int count, int flags)
{
    struct msghdr message = {.msg_iov = vectors, .msg_iovlen = (size_t)count};

    return calls_sendmsg(&connection->calls, &message, flags);
}

static ssize_t plain_recv(struct connection *connection, void *data, size_t size, int flags)
{
    return calls_recv(&connection->calls, data, size, flags);
}

const struct security security_plain = {
    .variant = {"plain", "no encryption: the descriptor itself"},
    .gives = CAPABLE_DESCRIPTOR | CAPABLE_NODELAY | CAPABLE_CORK | CAPABLE_MORE | CAPABLE_TRUNCATE |
             CAPABILITIES_OF_RINGS,
    .send = plain_send,
    .sendv = plain_sendv,
    .recv = plain_recv,
};
