/* SPDX-License-Identifier: MIT */
/* Sends from a ring of provided buffers. The strategy adds as many fragments of the group at the
 * head as fit; requests take them from the ring.
 *
 * It adds the next group only when this one has been sent. So no request joins two groups. */
#pragma once

#include "write/request.h"

/* For uring-ring and uring-bundle, the strategies that send from provided buffers. */
struct provided_request {
    uint64_t end;   /* of the provided buffers: accepted_bytes of the queue when all are sent */
    uint32_t added; /* fragments of the group at the head, when the buffers were filled */
    uint32_t marks; /* of the last of these fragments */
    bool restart;   /* the next request must empty the ring first */
};

uint32_t provided_buffers(uint64_t parameter);
int provided_completed(struct connection *connection, const struct completion *completion);

/* send_group(): queues one request, for the next buffer; with CAPABLE_SEND_BUNDLE for all
 * buffers. */
int provided_submit(struct connection *connection);

/* What both strategies declare. */
#define PROVIDED                                                                                             \
    .parameter =                                                                                             \
        "gives the ring of a connection that many buffers instead of 256, rounded up to a power of two",     \
    .parameter_max = RING_BUFFERS_MAX, .state_size = sizeof(struct provided_request),                        \
    .buffers = provided_buffers, .send_group = provided_submit, .completed = provided_completed
