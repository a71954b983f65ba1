/* SPDX-License-Identifier: MIT */
#include "connection/workbench.h"

#include "base/clock.h"
#include "connection/reading.h"
#include "connection/security.h"
#include "connection/sizes.h"
#include "connection/strategy.h"
#include "connection/workload.h"

#include <errno.h>

int workbench_open(struct workbench *bench, const struct plan *plan, enum end end, uint64_t connections)
{
    const struct end_plan *own = &plan->ends[end];
    const struct role *role = plan_role(plan, end);
    const struct shape *outgoing = role->relay_buffers ? NULL : plan_outgoing(plan, end);
    uint64_t numbers = role->relay_buffers ? connections / 2 : connections; /* a proxy has pairs */

    bench->plan = plan;
    bench->end = end;
    bench->connections = connections;
    workbench_restart(bench);
    samples_restart(&bench->samples, clock_now_ns());
    if (outgoing &&
        source_open(&bench->source,
                    (struct source_kind){.longest = outgoing->longest_span,
                                         .cold = own->source_bytes,
                                         .patterned = plan->verify,
                                         .as_file = plan_strategy(plan, end)->strategy->from_file}) < 0)
        return -ENOMEM;
    if (!plan_incoming(plan, end))
        return 0;
    return pool_open(&bench->pool, own->chunk_bytes, own->reading->headroom,
                     (uint32_t)plan_receive_buffers(plan, end, numbers));
}

void workbench_close(struct workbench *bench)
{
    for (int peer = 0; peer < END_COUNT; peer++)
        security_forget(bench, (enum end)peer);
    source_close(&bench->source);
    pool_close(&bench->pool);
}

void workbench_begin_phase(struct workbench *bench, uint64_t duration_ns, bool paced)
{
    bench->paced = paced;
    bench->unchecked = 0;
    bench->stride = 1;
    bench->now_ns = bench->start_ns = clock_now_ns();
    bench->deadline_ns = duration_ns == UINT64_MAX ? UINT64_MAX : bench->start_ns + duration_ns;
    samples_restart(&bench->samples, bench->start_ns);
}

void workbench_restart(struct workbench *bench)
{
    histogram_reset(&bench->latency);
    histogram_reset(&bench->handover);
    histogram_reset(&bench->handshake);
    histogram_reset(&bench->service);
    histogram_reset(&bench->late_start);
    bench->due = 0;
}
