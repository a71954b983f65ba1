/* SPDX-License-Identifier: MIT */
/* What the readings of a ring have in common: a request that goes on, and the thread's buffers, provided. */
#ifndef UNCORK_READING_MULTISHOT_H
#define UNCORK_READING_MULTISHOT_H

#include "connection/capability.h"
#include "reading/reading.h"

/* read(): begins the request. -EINPROGRESS or another negative errno value. */
ssize_t multishot_begin(struct connection *connection, size_t limit, const uint8_t **data, bool bundle);

int multishot_completed(struct connection *connection, const struct completion *completion,
                        int (*arrived)(struct connection *connection, const uint8_t *data, ssize_t size));

/* As many as take some megabytes, but enough that a receiver need not wait for itself. */
uint32_t multishot_buffers(size_t size);

#endif
