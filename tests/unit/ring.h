/* SPDX-License-Identifier: MIT */
/* A simulated ring: it executes requests later and in part, and returns their memory later still.
 * And a strategy that uses it as it would use an io_uring: one request at a time for each
 * connection. */
#pragma once

#include "connection/strategy.h"

/* Sends a group by one request: accepted when submitted, flushed when the last byte is sent,
 * released when the ring returns the memory. */
extern const struct strategy strategy_late;

void ring_reset(uint64_t seed);

/* Executes a part of each request and calls the strategy for completions. Returns 0 or the error of
 * completed(). */
int ring_turn(void);

/* Returns true if no request is in flight and no memory is lent. */
bool ring_is_empty(void);
