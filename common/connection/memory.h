/* SPDX-License-Identifier: MIT */
/* The memory that an end of a plan needs: sizes of its parts, their sum, and the limit. */
#pragma once

#include "base/problem.h"
#include "plan/plan.h"

#include <stddef.h>

/* Bytes of the longest group that `end` may send. A `window` joins messages into one group. */
size_t plan_longest_group(const struct plan *plan, enum end end);

/* The most vectors that one sendmsg(2) of that group takes: its fragments, but at most IOV_MAX. */
size_t plan_longest_vectors(const struct plan *plan, enum end end);

/* Capacity, in spans, of the send queue of one connection. */
uint64_t plan_queue_spans(const struct plan *plan, enum end end);

/* Bytes of state that the strategy, and the role of `end`, need for one connection. */
size_t plan_strategy_state(const struct plan *plan, enum end end);
size_t plan_role_state(const struct plan *plan, enum end end);

/* Number of receive buffers of a thread with so many connections. */
uint64_t plan_receive_buffers(const struct plan *plan, enum end end, uint64_t connections);

/* Bytes that `end` touches, in all its `threads` data threads: an upper bound for what the plan
 * decides, and an estimate for the rest. The kernel's socket buffers do not count. */
uint64_t plan_memory_bytes(const struct plan *plan, enum end end, uint64_t threads);

/* The most bytes that an end may have: the least of its own limit (8 GiB, or what
 * memory_bound_set() was called with), RLIMIT_AS, memory.max of its control group and half of the
 * memory of the machine. Whose: "half of the memory of its machine". */
struct memory_bound {
    uint64_t bytes;
    const char *whose;
};
struct memory_bound memory_bound(void);
void memory_bound_set(uint64_t bytes);

/* Checks that `end` may have this memory. 0, or -1 with an unsupported problem that names the
 * parameters to reduce. */
int plan_check_memory(const struct plan *plan, enum end end, uint64_t threads, struct problem *problem);

/* Checks that the requests in flight can be answered in the time that a server allows after a run.
 * Returns the same. */
int plan_check_in_flight(const struct plan *plan, struct problem *problem);

/* How many real clients fit into the limit: each has a thread and a connection, and all have one
 * content. */
uint64_t plan_clients_max(const struct plan *plan);
