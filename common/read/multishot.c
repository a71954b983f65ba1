/* SPDX-License-Identifier: MIT */
#include "read/multishot.h"

#include "connection/security.h"
#include "connection/workload.h"

#define BYTES (4u << 20)
#define BUFFERS_MIN 16u
#define BUFFERS_MAX 1024u

ssize_t multishot_begin(struct connection *connection, size_t limit, const uint8_t **data)
{
    int result = connection->bottom->submit_receive(connection, connection->reading->options);

    (void)limit;
    *data = NULL;
    return result < 0 ? result : -EINPROGRESS;
}

/* Unless a relay owns it, a buffer returns to the kernel at once. */
int multishot_completed(struct connection *connection, const struct completion *completion,
                        int (*arrived)(struct connection *connection, const uint8_t *data, ssize_t size))
{
    struct completion rest = *completion;
    const uint8_t *data;
    uint8_t byte = 0;
    int result = 0;
    size_t size;

    if (completion->result == -ENOBUFS || completion->result == -ECANCELED)
        return -EAGAIN; /* read() begins again with free buffers; single-shot if `ending` */
    if (completion->result <= 0)
        return arrived(connection, &byte,
                       security_receive_control_record(connection, completion->result, &byte));
    while (result == 0 && (size = connection->bottom->take(connection, &rest, &data))) {
        result = arrived(connection, data, (ssize_t)size);
        if (!connection->role->relay_buffers)
            pool_release(&connection->shared->pool, data, size);
    }
    return result;
}

uint32_t multishot_buffers(size_t size)
{
    uint32_t buffers = BUFFERS_MIN;

    while (buffers < BUFFERS_MAX && 2 * buffers * size <= BYTES)
        buffers *= 2;
    return buffers;
}
