/* SPDX-License-Identifier: MIT */
#include "reading/multishot.h"

#include "ring/intake.h"
#include "security/security.h"
#include "workload/workload.h"

#define BYTES (4u << 20)
#define BUFFERS_LEAST 16u
#define BUFFERS_MOST 1024u

ssize_t multishot_begin(struct connection *connection, size_t limit, const uint8_t **data, bool bundle)
{
    int result = ring_receive(connection->slot, INTAKE_GROUP, bundle);

    (void)limit;
    *data = NULL;
    return result < 0 ? result : -EINPROGRESS;
}

/* Unless the relay owns it, a buffer returns to the kernel at once. */
int multishot_completed(struct connection *connection, const struct completion *completion,
                        int (*arrived)(struct connection *connection, const uint8_t *data, ssize_t size))
{
    struct ring_intake *intake = connection->slot->intake;
    uint16_t number = completion->buffer;
    size_t left = completion->result > 0 ? (size_t)completion->result : 0;
    int result = 0;
    uint8_t byte = 0;

    if (completion->result == -ENOBUFS || completion->result == -ECANCELED)
        return -EAGAIN; /* read() begins again with free buffers; when `ending`, single-shot */
    if (!left)
        return arrived(connection, &byte, security_explain(connection, completion->result, &byte));
    while (left && result == 0) {
        const uint8_t *data;
        size_t size = intake_take(intake, &number, left, &data);

        left -= size;
        result = arrived(connection, data, (ssize_t)size);
        if (!connection->role->relay_buffers)
            pool_give(intake->pool, data);
    }
    return result;
}

uint32_t multishot_buffers(size_t size)
{
    uint32_t buffers = BUFFERS_LEAST;

    while (buffers < BUFFERS_MOST && 2 * buffers * size <= BYTES)
        buffers *= 2;
    return buffers;
}
