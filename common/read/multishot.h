/* SPDX-License-Identifier: MIT */
/* The io_uring readings: a multishot receive into the provided buffers of the thread. */
#pragma once

#include "connection/reading.h"

/* read(): submits the request. Returns -EINPROGRESS or another negative errno value. */
ssize_t multishot_begin(struct connection *connection, size_t limit, const uint8_t **data);
int multishot_completed(struct connection *connection, const struct completion *completion,
                        int (*arrived)(struct connection *connection, const uint8_t *data, ssize_t size));

/* As many buffers as fit in 4 MiB, but 16 to 1024: the kernel must not run out of them. */
uint32_t multishot_buffers(size_t size);

#define MULTISHOT .read = multishot_begin, .completed = multishot_completed, .buffers = multishot_buffers
