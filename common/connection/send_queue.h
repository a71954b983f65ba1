/* SPDX-License-Identifier: MIT */
/* The bytes that a connection must send: fragments in order, with marks where groups and messages
 * end. The queue keeps them as spans.
 *
 * A workload (or a proxy) appends whole groups at the tail; a strategy takes from the head. A span
 * becomes accepted, flushed and released. When and in which order depends on the strategy:
 *
 *   accepted   the kernel, a copy, a record layer or a ring has taken the bytes
 *   flushed    no cork, record layer or ring holds them back: only now is a message sent
 *   released   the memory may be used again: after send(2), or when lent pages are back
 *
 * One thread owns a queue. Only queue_open() allocates. */
#pragma once

#include "base/hot.h"
#include "base/memory.h"
#include "plan/message.h"

#include <stddef.h>
#include <sys/uio.h>

struct fragment {
    const uint8_t *data;
    uint32_t size;  /* bytes */
    uint32_t marks; /* FRAGMENT_ENDS_GROUP, FRAGMENT_ENDS_MESSAGE */
};

struct send_queue {
    struct span *ring;
    uint64_t mask; /* capacity - 1 */

    /* Numbers of spans since the beginning; released, flushed <= accepted <= appended. */
    uint64_t appended, accepted, flushed, released;
    uint32_t offset; /* accepted bytes of span number `accepted` */

    uint64_t accepted_bytes, flushed_bytes;
    uint64_t accepted_messages, flushed_messages;   /* whole messages */
    uint64_t accepted_fragments, flushed_fragments; /* fragments of whole spans */

    /* Called for each released span, in order. NULL: the memory has no owner. */
    void (*on_release)(void *owner, const struct span *span);
    void *owner;
};

/* Room for at least `capacity` spans. 0 or -ENOMEM. */
int queue_open(struct send_queue *queue, size_t capacity);
void queue_close(struct send_queue *queue);

static inline bool queue_has_room(const struct send_queue *queue, uint64_t spans)
{
    return queue->appended - queue->released + spans <= queue->mask + 1;
}

/* Appends one span, which the caller fills; there must be room. The caller appends whole groups
 * before the strategy pushes. */
static inline struct span *queue_append(struct send_queue *queue)
{
    return &queue->ring[queue->appended++ & queue->mask];
}

/* True if every appended span is accepted: the queue has no head. */
static inline bool queue_is_accepted(const struct send_queue *queue)
{
    return queue->accepted == queue->appended;
}

/* A position in the queue, for strategies that take the fragments of a span one by one. */
struct queue_cursor {
    uint64_t span;
    uint32_t before; /* bytes of the span before the fragment */
    uint32_t offset; /* bytes of the fragment that are accepted */
};

static inline struct queue_cursor queue_begin(const struct send_queue *queue)
{
    const struct span *span = &queue->ring[queue->accepted & queue->mask];
    struct queue_cursor cursor = {.span = queue->accepted, .offset = queue->offset};
    if (queue->offset && span->marks & SPAN_OF_MANY) {
        cursor.offset %= span->fragment;
        cursor.before = queue->offset - cursor.offset;
    }
    return cursor;
}

/* Returns what is not accepted of the fragment at the cursor, which must exist. Advances the
 * cursor. */
static inline struct fragment queue_next(const struct send_queue *queue, struct queue_cursor *cursor)
{
    const struct span *span = &queue->ring[cursor->span & queue->mask];
    uint32_t begin = cursor->before, end = span->size;

    if (span->marks & SPAN_OF_MANY && end - begin > span->fragment)
        end = begin + span->fragment;
    struct fragment fragment = {span->data + (span->repeats ? 0 : begin) + cursor->offset,
                                end - begin - cursor->offset,
                                end == span->size ? span->marks & ~SPAN_OF_MANY : 0};
    cursor->span += end == span->size;
    cursor->before = end == span->size ? 0 : end;
    cursor->offset = 0;
    return fragment;
}

/* True if every appended span is flushed: there is nothing to push. */
static inline bool queue_is_idle(const struct send_queue *queue)
{
    return queue->flushed == queue->appended;
}

/* True if a whole group is accepted and not flushed: the next must not begin. */
static inline bool queue_at_group_end(const struct send_queue *queue)
{
    return queue->accepted != queue->flushed && !queue->offset &&
           (queue->ring[(queue->accepted - 1) & queue->mask].marks & FRAGMENT_ENDS_GROUP);
}

/* True if no byte of the group at the head is accepted. */
static inline bool queue_at_group_begin(const struct send_queue *queue)
{
    return queue->accepted == queue->flushed && !queue->offset;
}

/* Takes `bytes` from the head, across spans. */
static inline void queue_accept(struct send_queue *queue, size_t bytes)
{
    queue->accepted_bytes += bytes;
    while (bytes) {
        const struct span *head = &queue->ring[queue->accepted & queue->mask];
        size_t rest = head->size - queue->offset;

        if (bytes < rest) {
            queue->offset += (uint32_t)bytes;
            return;
        }
        bytes -= rest;
        queue->offset = 0;
        queue->accepted_messages += (head->marks & FRAGMENT_ENDS_MESSAGE) != 0;
        queue->accepted_fragments += span_count(head);
        queue->accepted++;
    }
}

/* Marks all accepted spans as flushed. */
static inline void queue_flush(struct send_queue *queue)
{
    queue->flushed = queue->accepted;
    queue->flushed_bytes = queue->accepted_bytes;
    queue->flushed_messages = queue->accepted_messages;
    queue->flushed_fragments = queue->accepted_fragments;
}

/* Releases the spans before number `span`. */
void queue_release_to(struct send_queue *queue, uint64_t span);

/* Releases all wholly accepted spans: their bytes were copied. */
static inline void queue_release(struct send_queue *queue)
{
    if (queue->on_release)
        queue_release_to(queue, queue->accepted);
    else
        queue->released = queue->accepted;
}

/* Vectors of the group at the head, from its first byte that is not accepted. */
struct queue_group {
    int count;      /* vectors filled */
    size_t bytes;   /* in these vectors */
    uint32_t marks; /* of the last fragment in these vectors */
    bool complete;  /* the vectors reach the end of the group */
};

/* Fills at most `limit` vectors, and never crosses the end of the group. `vectors` NULL: measures
 * as many fragments. */
struct queue_group queue_gather(const struct send_queue *queue, struct iovec *vectors, int limit);

/* Bytes of the group at the head that are not accepted; 0: the queue is empty. */
size_t queue_group_bytes(const struct send_queue *queue);

/* ---- memory that zero-copy sends lend to the kernel ---- */

#define LOANS_WINDOWS 16u /* windows whose memory may be lent at once */
#define LOANS_MAX 32u     /* sends that may lend memory at once */

/* The kernel returns lent memory in any order; the queue releases it in the order of its spans. */
struct loans {
    uint32_t sends, returned; /* counters, which wrap at 2^32 */
    struct loan {
        uint64_t end; /* number of the first span behind the lent ones */
        bool back;    /* the kernel has returned the memory */
    } list[LOANS_MAX];
};

static inline bool loans_full(const struct loans *loans)
{
    return loans->sends - loans->returned == LOANS_MAX;
}

static inline bool loans_outstanding(const struct loans *loans)
{
    return loans->sends != loans->returned;
}

static inline struct loan *loans_of(struct loans *loans, uint32_t number)
{
    return &loans->list[number % LOANS_MAX];
}

/* Returns the number of the oldest outstanding send whose bits in `mask` are those of `low`. */
static inline uint32_t loans_number(const struct loans *loans, uint32_t low, uint32_t mask)
{
    return loans->returned + ((low - loans->returned) & mask);
}

/* Adds the next send, which lends the spans before span `end` (0: not known yet). Returns the
 * number of the send. */
static inline uint32_t loans_add(struct loans *loans, uint64_t end)
{
    *loans_of(loans, loans->sends) = (struct loan){.end = end};
    return loans->sends++;
}

/* Releases the memory of the oldest sends, up to the first that has not returned. */
static inline void loans_release(struct loans *loans, struct send_queue *queue)
{
    while (loans_outstanding(loans) && loans_of(loans, loans->returned)->back)
        queue_release_to(queue, loans_of(loans, loans->returned++)->end);
}
