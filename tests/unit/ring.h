/* SPDX-License-Identifier: MIT */
/*
 * A ring that is none: requests are carried out later, in part, and their memory is given back later still.
 * And a strategy that uses it, as one with a real ring would: one request at a time for each connection.
 */
#pragma once

#include "connection/strategy.h"

/* A group goes as one request; accepted when it is submitted, flushed when the last byte is sent, released
 * when the ring gives the memory back. */
extern const struct strategy strategy_late;

void ring_reset(uint64_t seed);

/* Carries out, in part, what can be carried out, and hands completions to the strategy. 0 or what completed()
 * returned. */
int ring_turn(void);

/* Nothing is under way: no request, no memory lent. */
bool ring_is_empty(void);
