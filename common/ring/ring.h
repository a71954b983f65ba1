/* SPDX-License-Identifier: MIT */
/* An io_uring of one data thread: requests, completions, rings of provided buffers. A request is
 * only queued; the next ring_enter() submits all. Only the open functions allocate memory. Only
 * ring.c uses liburing; strategies and readings compile without it: engine/absent_liburing.c. */
#pragma once

#include "base/calls.h"
#include "base/memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct ring;
struct io_uring_buf_ring;

/* ---- sends and receives, and their completions ---- */

/* Options of a send on a ring; they may be combined. */
enum send_option {
    SEND_LINK = 1,     /* the next request starts after this one completes: IOSQE_IO_LINK */
    SEND_SILENT = 2,   /* success posts no completion: IOSQE_CQE_SKIP_SUCCESS, Linux 5.17 */
    SEND_ZEROCOPY = 4, /* the memory is free after two completions; Linux 6.0, many vectors 6.1 */
    SEND_PROVIDED = 8, /* sends the next provided buffer (Linux 6.10) */
    SEND_BUNDLE = 16,  /* with SEND_PROVIDED: sends all provided buffers */
    SEND_RESTART = 32, /* removes the provided buffers first */
};

struct send_request {
    const struct msghdr *message; /* valid with its vectors until the completion; or NULL: `data` */
    const void *data;             /* `size` bytes, valid until the completion */
    size_t size;
    int flags;        /* of send(2) */
    unsigned options; /* enum send_option */
    uint32_t token;   /* the completion carries it; at most REQUEST_TOKEN_MAX */
    uint32_t chain;   /* first request of a chain: number of requests to submit together */
    uint32_t provide; /* number of fragments of the queue to provide as buffers first */
};

#define REQUEST_TOKEN_MAX 0xffffffu
#define RING_BUFFERS_MAX 32768u /* provided buffers in one buffer ring */

/* Options of a multishot receive (Linux 6.0). */
enum receive_option {
    RECEIVE_BUNDLE = 1,  /* a completion may fill several buffers (Linux 6.10) */
    RECEIVE_MESSAGE = 2, /* as recvmsg(2): a header precedes the bytes in each buffer. This is also
                            the token of completions with a header */
};

#define RECEIVE_HEADER 16u /* bytes: struct io_uring_recvmsg_out */

struct completion {
    int result;           /* bytes, or a negative errno value */
    uint32_t token;       /* of the request */
    bool more;            /* more completions of the request follow (IORING_CQE_F_MORE) */
    bool is_notification; /* of SEND_ZEROCOPY: the memory may be reused (IORING_CQE_F_NOTIF) */
    bool copied;          /* with is_notification: it was copied (IORING_NOTIF_USAGE_ZC_COPIED) */
    uint16_t buffer;      /* number of the first provided buffer that was used */
};

/* ---- a ring ---- */

struct ring_setup {
    bool defer_taskrun;   /* IORING_SETUP_DEFER_TASKRUN, Linux 6.1: enter(2) posts completions */
    bool single_issuer;   /* IORING_SETUP_SINGLE_ISSUER, Linux 6.0; defer_taskrun needs it */
    bool registered_ring; /* io_uring_register_ring_fd(3), Linux 5.18: saves a lookup in enter(2) */
    uint32_t completions; /* least size of the completion queue; the kernel keeps the overflow */
};

/* Opens a ring in the thread that will use it. `counts` counts every enter(2), request and
 * completion. 0 or a negative errno value. */
int ring_open(struct ring **ring, const struct ring_setup *setup, struct call_counts *counts);

/* Any thread may close the ring after the thread that used it has ended or has no request in
 * flight. NULL is allowed. */
void ring_close(struct ring *ring);

/* Registers descriptors (Linux 5.1): requests use their index. 0 or a negative errno value. */
int ring_register_files(struct ring *ring, const int *fds, uint32_t count);

/* Posts a RING_WAKE completion. Any thread may call it. */
void ring_wake(struct ring *ring);

/* Submits the queued requests. Unless a completion is there, waits for one until `due_ns`
 * (CLOCK_MONOTONIC; UINT64_MAX: no limit). Calls io_uring_enter(2) once, or not at all if there is
 * nothing to do. 0 or a negative errno value; a signal or a timeout is 0. */
int ring_enter(struct ring *ring, uint64_t due_ns);

/* As ring_enter() without waiting, for rings that post completions only inside enter(2). */
int ring_poll(struct ring *ring);

enum ring_kind {
    RING_SEND,
    RING_RECEIVE,
    RING_READABLE,
    RING_WRITABLE,
    RING_HALF_CLOSED,
    RING_ERROR,
    RING_CONNECT,
    RING_CANCEL,
    RING_WAKE
};

struct ring_event {
    enum ring_kind kind;
    uint32_t number;    /* of the slot */
    uint64_t user_data; /* of the request */
    struct completion completion;
};

/* Takes the oldest completion. Returns false when there is none. */
bool ring_next(struct ring *ring, struct ring_event *event);

/* ---- requests ---- */

#define RING_BUFFER_BYTES 16u /* size of an entry in a buffer ring */
#define RECV_GROUP 0u         /* the buffer group of the thread */

/* A buffer ring in memory that is shared with the kernel. The kernel takes buffers from its head
 * (for receives since Linux 5.19, for sends since 6.10). */
struct ring_buffers {
    struct io_uring_buf_ring *ring; /* NULL: not open */
    uint32_t count;                 /* a power of two */
    uint16_t group;                 /* RECV_GROUP, or that of a slot: its number + 1 */
    uint16_t added;                 /* since the last ring_buffers_publish() */
};

struct ring_slot {
    struct ring *ring;
    uint32_t number;
    int file;                          /* descriptor, or index among the registered */
    bool registered;                   /* `file` is an index */
    bool ending;                       /* the peer has half-closed: receives are single-shot */
    uint32_t receives;                 /* token of the receive in flight */
    struct recv_buffers *recv_buffers; /* receive buffers of the thread */
    struct ring_buffers outgoing;      /* send buffers, where the strategy uses them */
};

/* Size of the submission queue. A full queue is submitted at once. A chain must fit. */
#define RING_REQUESTS 256u

/* Requests return 0, or a negative errno value of the enter(2) that emptied a full queue. */

/* A send; MSG_NOSIGNAL is added to its flags. A chain has at most RING_REQUESTS requests, which are
 * submitted together. The caller handles `provide` and SEND_RESTART. */
int ring_send(struct ring_slot *slot, const struct send_request *request);

/* Multishot receive (Linux 6.0) into the buffers of the thread, with enum receive_option. It ends
 * with a completion without `more`. On a slot that is `ending` it is single-shot. */
int ring_receive(struct ring_slot *slot, unsigned options);

/* Posts one completion when the descriptor is readable or writable, when its peer has half-closed,
 * or on an error. All kinds report errors, too. The result is the set of events of poll(2). */
int ring_watch(struct ring_slot *slot, enum ring_kind kind);

/* connect(2) (Linux 5.5). `address` must stay valid until the completion. */
int ring_connect(struct ring_slot *slot, const struct sockaddr *address, socklen_t size);

/* Cancels a ring_receive() or a ring_watch(RING_READABLE); its last completion is -ECANCELED. */
int ring_cancel(struct ring_slot *slot, enum ring_kind kind);

/* ---- provided buffers ---- */

/* Registers a ring for `count` buffers (a power of two, at most RING_BUFFERS_MAX). 0 or a negative
 * errno value; call ring_buffers_close() in both cases. */
int ring_buffers_open(struct ring *ring, struct ring_buffers *buffers, uint16_t group, uint32_t count);
void ring_buffers_close(struct ring_buffers *buffers);

/* Removes all buffers; none may be in use. 0 or a negative errno value. */
int ring_buffers_empty(struct ring *ring, struct ring_buffers *buffers);

/* Adds `count` buffers of `size` bytes, adjacent in memory and numbered from `number` on, at the
 * tail, which must have room. The kernel sees them after ring_buffers_publish(). */
void ring_buffers_add(struct ring_buffers *buffers, const void *data, uint32_t size, uint16_t number,
                      uint32_t count);
void ring_buffers_publish(struct ring_buffers *buffers);

/* ---- receive buffers of a thread, provided to the kernel ---- */

/* The kernel uses the buffers in the order in which they were added. A completion has the number of
 * the first buffer that was filled. A bundle continues in the buffers that were added next. */
struct recv_buffers {
    struct ring_buffers ring;
    struct pool *pool;
    uint16_t *order;       /* buffer numbers, in the order in which they were added */
    uint16_t *places;      /* the index of each buffer in `order`; in the same memory */
    uint32_t added, taken; /* counters; the kernel has the difference */
};

/* Adds all buffers of the pool to the ring. The next recv_buffers_publish() adds released buffers
 * again. The number of buffers is a power of two, at most RING_BUFFERS_MAX. 0 or a negative errno
 * value; call recv_buffers_close() in both cases. */
int recv_buffers_open(struct recv_buffers *buffers, struct ring *ring, struct pool *pool);
void recv_buffers_close(struct recv_buffers *buffers);

/* Makes released buffers visible to the kernel. The engine calls it before each ring_enter(). */
static inline void recv_buffers_publish(struct recv_buffers *buffers)
{
    if (buffers->ring.added)
        ring_buffers_publish(&buffers->ring);
}

/* Returns false if the kernel has no buffer to receive into. */
static inline bool recv_buffers_left(const struct recv_buffers *buffers)
{
    return buffers->added != buffers->taken;
}

/* `order` has twice as many entries as the kernel has buffers. Completions of several connections
 * may come in another order than their buffers were used. So the buffers of a later completion may
 * be added again while an older completion is still unread. */
static inline uint32_t recv_buffers_place(const struct recv_buffers *buffers, uint32_t index)
{
    return index & (2 * buffers->pool->count - 1);
}

/* The number of the buffer that was added after buffer `number`. */
static inline uint16_t recv_buffers_after(const struct recv_buffers *buffers, uint16_t number)
{
    return buffers->order[recv_buffers_place(buffers, buffers->places[number] + 1u)];
}

/* Moves the bytes of a completion to the beginning of its buffer, behind the headroom, and sets
 * `result` to their number. At the end of a stream there is only a header: releases the buffer. */
void recv_buffers_align(struct recv_buffers *buffers, struct completion *completion);

/* Adds to `event` the next completions of its receive, as long as each one has filled its buffer
 * and the next has its bytes in the buffer after it. Many chunks then cost as much as a bundle. */
void ring_merge(struct ring *ring, struct ring_event *event, const struct recv_buffers *buffers);

/* Takes a span of buffers that are adjacent in memory, from the `size` bytes that begin in buffer
 * `number`. Sets `data` to its bytes and `number` to the next buffer. Returns the size of the span
 * in bytes. The kernel no longer owns these buffers. */
size_t recv_buffers_take(struct recv_buffers *buffers, uint16_t *number, size_t size, const uint8_t **data);

/* Tests these options by effect on a connected pair: of a send at `from`, or a multishot receive at
 * `to`. 1; 0, also without a ring; or a negative errno value if memory or descriptors run out. */
int ring_has(bool sends, unsigned options, int from, int to);
