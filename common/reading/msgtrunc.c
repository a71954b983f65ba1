/* SPDX-License-Identifier: MIT */
#include "connection/capability.h"
#include "reading/reading.h"
#include "security/security.h"

/* Linux discards the bytes of a TCP stream that are asked for with MSG_TRUNC instead of copying them: tcp(7).
 */
static ssize_t read_nothing(struct connection *connection, size_t limit, const uint8_t **data)
{
    size_t size = limit < connection->bench->chunk_size ? limit : connection->bench->chunk_size;

    *data = NULL;
    return connection->security->recv(connection, connection->bench->chunk, size, MSG_TRUNC);
}

const struct reading reading_msgtrunc = {
    .variant = {"msgtrunc", "recv(MSG_TRUNC): bytes are taken out without being copied"},
    .needs = CAPABLE_TRUNCATE,
    .read = read_nothing,
};
