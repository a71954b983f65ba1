/* SPDX-License-Identifier: MIT */
/* A connection over a non-blocking socket pair with the smallest buffers, and its other end. */
#pragma once

#include "connection/connection.h"
#include "transport/transport.h"

struct pair {
    struct plan plan;
    struct thread_shared shared;
    struct connection connection; /* the driver's */
    int other;                    /* descriptor of the other end */
    uint64_t received;            /* bytes read there; all agreed with the pattern */
};

/* A stream of `message` by `write` over `transport`, whose content is the pattern. */
void pair_open(struct pair *pair, const char *transport, const char *write, const char *message);
void pair_close(struct pair *pair);

/* Reads at most `limit` bytes at the other end and checks them. Returns how many there were. */
size_t pair_read(struct pair *pair, size_t limit);
