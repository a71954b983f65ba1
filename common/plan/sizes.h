/* SPDX-License-Identifier: MIT */
/* What a plan takes at one of its ends: groups, queues, buffers, memory. */
#ifndef UNCORK_PLAN_SIZES_H
#define UNCORK_PLAN_SIZES_H

#include "plan/plan.h"

/* Bytes of the longest group that `end` may have to send, joined by `window`. */
size_t plan_longest_group(const struct plan *plan, enum end end);

/* Fragments that the send queue of one of its connections has to hold. */
uint64_t plan_queue_fragments(const struct plan *plan, enum end end);

/* Receive buffers of a thread of `end` that has so many connections of the plan; 0 where nothing comes. */
uint64_t plan_receive_buffers(const struct plan *plan, enum end end, uint64_t connections);

/* Memory of `end` for what it sends and receives, in bytes, that of all its threads together. */
uint64_t plan_memory_bytes(const struct plan *plan, enum end end);

#endif
