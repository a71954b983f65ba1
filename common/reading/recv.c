/* SPDX-License-Identifier: MIT */
#include "reading/reading.h"
#include "security/security.h"

static ssize_t read_chunk(struct connection *connection, size_t limit, const uint8_t **data)
{
    size_t size = limit < connection->bench->chunk_size ? limit : connection->bench->chunk_size;

    *data = connection->bench->chunk;
    return connection->security->recv(connection, connection->bench->chunk, size, 0);
}

const struct reading reading_recv = {
    .variant = {"recv", "recv() into one buffer of chunk bytes"},
    .delivers = true,
    .read = read_chunk,
};
