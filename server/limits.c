/* SPDX-License-Identifier: MIT */
#include "limits.h"

#include "base/units.h"
#include "connection/send_queue.h"
#include "engine/engine.h"
#include "strategy/strategy.h"

#include <inttypes.h>

/* Of buffers; what a strategy copies into comes on top. */
static uint64_t memory_of(const struct plan *plan, enum end end)
{
    const struct end_plan *own = &plan->ends[end];
    const struct shape *outgoing = plan_outgoing(plan, end);
    uint64_t per_thread = 0, per_connection = 0;

    if (outgoing) {
        size_t longest = plan_longest_group(plan, end);
        size_t (*state_size)(size_t) = plan_strategy(plan, end)->strategy->state_size;

        per_thread += own->source_bytes + outgoing->longest_fragment;
        per_connection += sizeof(struct fragment) * outgoing->count * plan_window(plan, end) +
                          (state_size ? state_size(longest) : 0);
    }
    return engine_threads(plan, end) * per_thread + plan->connections * per_connection +
           plan_receive_bytes(plan, end);
}

int limits_check(const struct plan *plan, enum end end, struct problem *problem)
{
    uint64_t threads = engine_threads(plan, end);
    char text[UNITS_TEXT_MAX];

    if (threads > LIMIT_THREADS)
        return problem_failure(problem,
                               "connections=%" PRIu64 ": this server starts at most %" PRIu64
                               " threads a session; engine=poll needs fewer",
                               plan->connections, LIMIT_THREADS);
    units_format_size(text, LIMIT_MEMORY);
    if (memory_of(plan, end) > LIMIT_MEMORY)
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
