/* SPDX-License-Identifier: MIT */
#include "connection/thread_shared.h"

#include "base/clock.h"
#include "connection/reading.h"
#include "connection/security.h"
#include "connection/send_queue.h"
#include "connection/strategy.h"
#include "connection/workload.h"
#include "ring/ring.h"

#include <errno.h>

/* Number of receive buffers of a thread with so many connections: one, plus those of a relay. A
 * ring has a power of two, and needs no extra buffer. If its relay would need more than
 * RING_BUFFERS_MAX, the connections share that many. */
static uint64_t receive_buffers(const struct plan *plan, enum end end, uint64_t connections)
{
    const struct role *role = plan_role(plan, end);
    const struct end_plan *own = &plan->ends[end];
    uint64_t relayed = role->relay_buffers ? role->relay_buffers(plan) * connections : 0, buffers = 1;

    if (!role->receives)
        return 0;
    if (!own->reading->buffers)
        return relayed + 1;
    if (!relayed)
        return own->reading->buffers(own->chunk_bytes);
    while (buffers < relayed && buffers < RING_BUFFERS_MAX)
        buffers *= 2;
    return buffers;
}

int thread_shared_open(struct thread_shared *shared, const struct plan *plan, enum end end,
                       uint64_t connections)
{
    const struct end_plan *own = &plan->ends[end];
    const struct role *role = plan_role(plan, end);
    const struct shape *outgoing = role->relay_buffers ? NULL : plan_outgoing(plan, end);
    uint64_t numbers = role->relay_buffers ? connections / 2 : connections; /* a proxy has pairs */

    shared->plan = plan;
    shared->end = end;
    thread_shared_restart(shared);
    samples_restart(&shared->samples, clock_now_ns());
    if (shared->content)
        shared->source = *shared->content;
    else if (outgoing &&
             source_open(&shared->source,
                         (struct source_kind){.longest = outgoing->longest_span,
                                              .cold = own->source_bytes,
                                              .patterned = plan->verify,
                                              .as_file = plan_strategy(plan, end)->strategy->from_file}) < 0)
        return -ENOMEM;
    if (!plan_incoming(plan, end))
        return 0;
    return pool_open(&shared->pool, own->chunk_bytes, own->reading->headroom,
                     (uint32_t)receive_buffers(plan, end, numbers));
}

void thread_shared_close(struct thread_shared *shared)
{
    for (int peer = 0; peer < END_COUNT; peer++)
        security_close_context(shared, (enum end)peer);
    if (!shared->content)
        source_close(&shared->source);
    pool_close(&shared->pool);
}

void thread_shared_begin_phase(struct thread_shared *shared, uint64_t duration_ns, bool paced)
{
    shared->paced = paced;
    shared->unchecked = 0;
    shared->stride = 1;
    shared->now_ns = shared->start_ns = clock_now_ns();
    shared->deadline_ns = duration_ns == UINT64_MAX ? UINT64_MAX : shared->start_ns + duration_ns;
    samples_restart(&shared->samples, shared->start_ns);
}

void thread_shared_restart(struct thread_shared *shared)
{
    histogram_reset(&shared->latency);
    histogram_reset(&shared->handover);
    histogram_reset(&shared->handshake);
    histogram_reset(&shared->service);
    histogram_reset(&shared->late_start);
    shared->due = 0;
}

/* ---- sizes ---- */

size_t plan_longest_group(const struct plan *plan, enum end end)
{
    const struct shape *shape = plan_outgoing(plan, end);
    uint64_t window = plan_window(plan, end);

    if (plan_role(plan, end)->relay_buffers)
        return plan->ends[end].chunk_bytes * window;
    if (shape->groups == 1)
        return shape->bytes * window;
    return window == 1 ? shape->longest_group : 2 * shape->longest_group;
}

uint64_t plan_queue_spans(const struct plan *plan, enum end end)
{
    const struct role *role = plan_role(plan, end);
    uint64_t windows = plan_strategy(plan, end)->strategy->lends,
             spans = role->relay_buffers ? role->relay_buffers(plan)
                                         : plan_outgoing(plan, end)->span_count * plan_window(plan, end);

    return windows ? spans * windows : spans;
}

size_t plan_strategy_state(const struct plan *plan, enum end end)
{
    const struct strategy *strategy = plan_strategy(plan, end)->strategy;
    size_t longest = plan_longest_group(plan, end);

    return strategy->state_size + (strategy->group_state_size ? strategy->group_state_size(longest) : 0);
}

/* Bytes of the receive buffers of all threads: an upper bound. */
static uint64_t receive_bytes(const struct plan *plan, enum end end, uint64_t threads)
{
    uint64_t each = (plan->connections + threads - 1) / threads;

    return threads * receive_buffers(plan, end, each) *
           (plan->ends[end].chunk_bytes + plan->ends[end].reading->headroom);
}

/* Bytes of the send queue and the strategy of one connection. */
static uint64_t sending_bytes(const struct plan *plan, enum end end)
{
    const struct strategy_choice *choice = plan_strategy(plan, end);
    const struct strategy *strategy = choice->strategy;
    uint64_t bytes = sizeof(struct span) * plan_queue_spans(plan, end) + plan_strategy_state(plan, end);

    if (strategy->buffers)
        bytes += (uint64_t)RING_BUFFER_BYTES * strategy->buffers(choice->parameter);
    return bytes;
}

/* A proxy has two connections of each number, and sends from its receive buffers. */
uint64_t plan_memory_bytes(const struct plan *plan, enum end end, uint64_t threads)
{
    const struct shape *outgoing = plan_outgoing(plan, end);
    bool is_relay = plan_role(plan, end)->relay_buffers;
    uint64_t bytes = receive_bytes(plan, end, threads);

    if (outgoing)
        bytes += plan->connections * (is_relay ? 2 : 1) * sending_bytes(plan, end);
    if (outgoing && !is_relay)
        bytes += threads * (plan->ends[end].source_bytes + outgoing->longest_span);
    return bytes;
}
