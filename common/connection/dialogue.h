/* SPDX-License-Identifier: MIT */
/* What two ends say to each other before the first request, in calls that wait. By the security
 * layer once it is open, else by the transport. 0, or a negative errno value with the problem of
 * the thread. An end that is silent for 5 s, and 5 ms for each connection, is a
 * failure. */
#pragma once

#include "connection/connection.h"

struct call;

int dialogue_send(struct connection *connection, const void *data, size_t size);

/* Receives exactly `size` bytes. */
int dialogue_receive(struct connection *connection, void *data, size_t size);

/* Has the server store `what->bytes` of the pattern from byte `what->offset` on: a request of the
 * protocol and its reply. */
int dialogue_store(struct connection *connection, const struct call *what);
