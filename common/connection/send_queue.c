/* SPDX-License-Identifier: MIT */
#include "connection/send_queue.h"

#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>

int queue_open(struct send_queue *queue, size_t capacity)
{
    size_t size = power_of_two(capacity);
    *queue = (struct send_queue){.ring = calloc(size, sizeof *queue->ring), .mask = size - 1};
    return queue->ring ? 0 : -ENOMEM;
}

void queue_close(struct send_queue *queue)
{
    free(queue->ring);
    *queue = (struct send_queue){0};
}

void queue_release_to(struct send_queue *queue, uint64_t span)
{
    if (queue->on_release)
        for (uint64_t i = queue->released; i < span; i++)
            queue->on_release(queue->owner, &queue->ring[i & queue->mask]);
    queue->released = span;
}

HOT struct queue_group queue_gather(const struct send_queue *queue, struct iovec *vectors, int limit)
{
    struct queue_cursor cursor = queue_begin(queue);
    struct queue_group group = {0};

    while (cursor.span != queue->appended && group.count < limit && !group.complete) {
        struct fragment fragment = queue_next(queue, &cursor);

        if (vectors)
            vectors[group.count] =
                (struct iovec){.iov_base = (void *)(uintptr_t)fragment.data, .iov_len = fragment.size};
        group.count++;
        group.bytes += fragment.size;
        group.marks = fragment.marks;
        group.complete = fragment.marks & FRAGMENT_ENDS_GROUP;
    }
    return group;
}

size_t queue_group_bytes(const struct send_queue *queue)
{
    size_t bytes = 0;
    for (uint64_t i = queue->accepted; i < queue->appended; i++) {
        const struct span *span = &queue->ring[i & queue->mask];

        bytes += span->size;
        if (span->marks & FRAGMENT_ENDS_GROUP)
            break;
    }
    return bytes ? bytes - queue->offset : 0;
}
