/* SPDX-License-Identifier: MIT */
/* The dialogue of a protocol before its first request, in blocking calls. Bytes go through the
 * security layer if it is open, else through the transport. Each function returns 0, or a negative
 * errno value with the problem of the thread. A peer that is silent for 5 s, plus 5 ms for each
 * connection, is a failure. */
#pragma once

#include "connection/connection.h"

struct operation_kind;

int dialogue_send(struct connection *connection, const void *data, size_t size);

/* Receives exactly `size` bytes. */
int dialogue_receive(struct connection *connection, void *data, size_t size);

/* Sends a request that stores the pattern at the server, and receives its reply. The pattern fills
 * `bytes` bytes of the content from byte `offset` on. */
int dialogue_store(struct connection *connection, const struct operation_kind *kind, uint64_t offset,
                   uint64_t bytes);
