/* SPDX-License-Identifier: MIT */
/*
 * What a connection has to send: fragments in order, with marks where groups and messages end.
 *
 * A workload (or a proxy) appends whole groups at the tail; a strategy takes from the head. Three facts are
 * kept apart, because they come at different moments and in different order for different strategies:
 *
 *   accepted   taken from the queue: by the kernel, a copy, a record layer or a ring
 *   flushed    nothing holds it back any more (no cork, no record layer, no ring): only now is a message sent
 *   released   its memory may be used again: at once after a copying send(2), later where pages are lent
 *
 * One thread owns a queue. Nothing here allocates after queue_open().
 */
#ifndef UNCORK_CONNECTION_SEND_QUEUE_H
#define UNCORK_CONNECTION_SEND_QUEUE_H

#include "plan/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct fragment {
    const uint8_t *data;
    uint32_t size;  /* bytes */
    uint32_t marks; /* FRAGMENT_ENDS_GROUP, FRAGMENT_ENDS_MESSAGE */
};

struct send_queue {
    struct fragment *ring;
    uint64_t mask; /* capacity - 1 */

    /* Numbers of fragments since the beginning; released, flushed <= accepted <= appended. */
    uint64_t appended, accepted, flushed, released;
    uint32_t offset; /* bytes of fragment number `accepted` that are taken already */

    uint64_t accepted_bytes, flushed_bytes;
    uint64_t accepted_messages, flushed_messages; /* whole ones */

    /* Called for every released fragment, in order. NULL: no owner wants its memory back. */
    void (*on_release)(void *owner, const struct fragment *fragment);
    void *owner;
};

/* Room for at least `capacity` fragments. 0 or -ENOMEM. */
int queue_open(struct send_queue *queue, size_t capacity);
void queue_close(struct send_queue *queue);

static inline bool queue_has_room(const struct send_queue *queue, uint64_t fragments)
{
    return queue->appended - queue->released + fragments <= queue->mask + 1;
}

/* Appends one fragment; there must be room. Groups are appended whole before a strategy is asked to push. */
static inline void queue_append(struct send_queue *queue, const uint8_t *data, uint32_t size, uint32_t marks)
{
    queue->ring[queue->appended++ & queue->mask] = (struct fragment){data, size, marks};
}

/* The first fragment that is not wholly accepted, of which queue->offset bytes are; NULL when there is none.
 */
static inline const struct fragment *queue_head(const struct send_queue *queue)
{
    return queue->accepted == queue->appended ? NULL : &queue->ring[queue->accepted & queue->mask];
}

/* What is left of the fragment that stands `index` places behind the head; there must be one. */
static inline struct fragment queue_fragment(const struct send_queue *queue, uint64_t index)
{
    struct fragment fragment = queue->ring[(queue->accepted + index) & queue->mask];

    if (index == 0) {
        fragment.data += queue->offset;
        fragment.size -= queue->offset;
    }
    return fragment;
}

/* True when everything that was appended has been flushed: there is nothing to push. */
static inline bool queue_is_idle(const struct send_queue *queue)
{
    return queue->flushed == queue->appended;
}

/* True when a whole group has been accepted and not been flushed: the next may not begin. */
static inline bool queue_at_group_end(const struct send_queue *queue)
{
    return queue->accepted != queue->flushed && !queue->offset &&
           (queue->ring[(queue->accepted - 1) & queue->mask].marks & FRAGMENT_ENDS_GROUP);
}

/* Takes `bytes` from the head, over as many fragments as they span. */
static inline void queue_accept(struct send_queue *queue, size_t bytes)
{
    queue->accepted_bytes += bytes;
    while (bytes) {
        const struct fragment *head = &queue->ring[queue->accepted & queue->mask];
        size_t rest = head->size - queue->offset;

        if (bytes < rest) {
            queue->offset += (uint32_t)bytes;
            return;
        }
        bytes -= rest;
        queue->offset = 0;
        queue->accepted_messages += (head->marks & FRAGMENT_ENDS_MESSAGE) != 0;
        queue->accepted++;
    }
}

/* Marks all accepted fragments as flushed. */
static inline void queue_flush(struct send_queue *queue)
{
    queue->flushed = queue->accepted;
    queue->flushed_bytes = queue->accepted_bytes;
    queue->flushed_messages = queue->accepted_messages;
}

/* The memory of the fragments before number `fragment` may be used again. */
void queue_release_to(struct send_queue *queue, uint64_t fragment);

/* The memory of all wholly accepted fragments may be used again: they have been copied. */
static inline void queue_release(struct send_queue *queue)
{
    if (queue->on_release)
        queue_release_to(queue, queue->accepted);
    else
        queue->released = queue->accepted;
}

/* What is left of the group at the head. */
struct queue_group {
    int count;      /* vectors filled */
    size_t bytes;   /* in these vectors */
    uint32_t marks; /* of the fragment with which they end */
    bool complete;  /* that is the end of the group */
};

/* Fills at most `limit` vectors with the rest of the group at the head; never goes across its end. */
struct queue_group queue_gather(const struct send_queue *queue, struct iovec *vectors, int limit);

/* Bytes that are left of the group at the head, 0 when the queue has none. */
size_t queue_group_bytes(const struct send_queue *queue);

#endif
