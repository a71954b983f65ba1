/* SPDX-License-Identifier: MIT */
#include "limits.h"

#include "base/units.h"

#include <inttypes.h>

static uint64_t memory_per_connection(const struct plan *plan)
{
    const struct end_plan *own = &plan->ends[END_SERVER];
    const struct shape *outgoing = plan_outgoing(plan, END_SERVER);
    uint64_t bytes = plan_incoming(plan, END_SERVER) ? own->chunk_bytes : 0;

    if (outgoing)
        bytes += own->source_bytes + outgoing->longest_fragment + outgoing->longest_group +
                 16 * (uint64_t)outgoing->count;
    return bytes;
}

int limits_check(const struct plan *plan, struct problem *problem)
{
    uint64_t memory = memory_per_connection(plan);
    char text[UNITS_TEXT_MAX];

    if (plan->connections > LIMIT_THREADS)
        return problem_failure(
            problem, "connections=%" PRIu64 ": this server starts at most %" PRIu64 " threads a session",
            plan->connections, LIMIT_THREADS);
    units_format_size(text, LIMIT_MEMORY);
    if (memory > LIMIT_MEMORY / plan->connections)
        return problem_failure(
            problem, "the buffers of %" PRIu64 " connections take more than %s, the limit of a session",
            plan->connections, text);
    return 0;
}

uint64_t limits_run_ms(const struct plan *plan)
{
    bool fixed = plan->messages || plan->bytes;
    uint64_t ns = fixed ? LIMIT_TIME_NS : 2 * (plan->warmup_ns + plan->duration_ns);

    return LIMIT_SLACK_MS + ns / 1000000;
}
