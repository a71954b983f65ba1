/* SPDX-License-Identifier: MIT */
#include "connection/capability.h"
#include "security/security.h"

static ssize_t plain_recv(struct connection *connection, void *data, size_t size, int flags)
{
    return calls_recv(&connection->calls, data, size, flags);
}

const struct security security_plain = {
    .variant = {"plain", "no encryption: the descriptor itself"},
    .gives = CAPABLE_DESCRIPTOR | CAPABLE_NODELAY | CAPABLE_CORK | CAPABLE_MORE | CAPABLE_TRUNCATE |
             CAPABLE_WHOLE | CAPABLE_STREAM | CAPABLE_SENDFILE | CAPABLE_ZEROCOPY | CAPABLE_MAP |
             CAPABILITIES_OF_RINGS,
    .send = security_send,
    .sendv = security_sendv,
    .recv = plain_recv,
};
