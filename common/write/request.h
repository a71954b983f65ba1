/* SPDX-License-Identifier: MIT */
/* The strategies of io_uring submit one request at a time. Completed bytes are accepted. */
#pragma once

#include "connection/strategy.h"

/* MSG_WAITALL against short sends, or 0 if the descriptor refuses it. Then the next request sends
 * the rest of a short send. */
int request_flags(const struct connection *connection);

/* Notes a request of `bytes` in flight, up to the end of a fragment with these marks. Returns
 * SEND_SILENT if it needs no completion, else 0. A request without MSG_WAITALL needs one. */
unsigned request_describe(struct connection *connection, size_t bytes, uint32_t marks);

/* Returns the bytes that were sent, or a negative errno value. 0: the kernel cancelled the request
 * before it sent a byte. That is no error: a request that has waited for room 128 times goes to a
 * worker thread, and the kernel cancels it if it cannot create that thread (Linux 6.18,
 * io_uring/io-wq.c). */
int request_sent(const struct completion *completion);

/* completed() of the strategies whose memory is free when a request is done. */
int request_completed(struct connection *connection, const struct completion *completion);

/* State of a strategy whose request sends the vectors of a group. */
struct vector_request {
    struct msghdr message;
    struct iovec vectors[]; /* must stay valid until the completion */
};

/* Fills in its message: the rest of the group at the head, or as much of it as the vectors hold. */
struct queue_group request_gather(struct connection *connection);

/* State of a strategy whose requests send from a ring of provided buffers. The strategy adds as
 * many fragments of the group at the head as fit; requests take them from the ring. It adds the
 * next group only when this one has been sent. So no request joins two groups. */
struct provided_request {
    uint64_t end;             /* accepted_bytes of the queue when all provided buffers are sent */
    struct queue_group group; /* what was provided of the group at the head */
    bool restart;             /* the next request must empty the ring first */
};

uint32_t provided_buffers(uint64_t parameter);
int provided_completed(struct connection *connection, const struct completion *completion);

/* send_group(): queues a request, for the next buffer or with CAPABLE_SEND_BUNDLE for all. */
int provided_submit(struct connection *connection);

/* What such a strategy declares. */
#define PROVIDED                                                                                             \
    .parameter =                                                                                             \
        "gives the ring of a connection that many buffers instead of 256, rounded up to a power of two",     \
    .parameter_max = RING_BUFFERS_MAX, .state_size = sizeof(struct provided_request),                        \
    .buffers = provided_buffers, .send_group = provided_submit, .completed = provided_completed
