/* SPDX-License-Identifier: MIT */
#include "connection/thread_shared.h"

#include "base/clock.h"
#include "connection/memory.h"
#include "connection/security.h"
#include "connection/strategy.h"
#include "connection/workload.h"

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
                     (uint32_t)plan_receive_buffers(plan, end, numbers));
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
