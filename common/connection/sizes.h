/* SPDX-License-Identifier: MIT */
/* The resources that one end of a plan needs: groups, queues, buffers, memory. */
#ifndef UNCORK_CONNECTION_SIZES_H
#define UNCORK_CONNECTION_SIZES_H

#include "plan/plan.h"

/* Bytes of the longest group that `end` may send, joined by `window`. */
size_t plan_longest_group(const struct plan *plan, enum end end);

/* Capacity, in spans, of the send queue of one connection. */
uint64_t plan_queue_spans(const struct plan *plan, enum end end);

/* Bytes of state that the strategy of `end` has for one connection. */
size_t plan_strategy_state(const struct plan *plan, enum end end);

/* Receive buffers of a thread of `end` with `connections` connections; 0 if the end only sends. */
uint64_t plan_receive_buffers(const struct plan *plan, enum end end, uint64_t connections);

/* Bytes of memory for the data of `end` in `threads` data threads. */
uint64_t plan_memory_bytes(const struct plan *plan, enum end end, uint64_t threads);

#endif
