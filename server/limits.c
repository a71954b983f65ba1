/* SPDX-License-Identifier: MIT */
#include "limits.h"

#include "base/units.h"
#include "connection/sizes.h"
#include "engine/engine.h"

#include <inttypes.h>

int limits_check(const struct plan *plan, enum end end, struct problem *problem)
{
    uint64_t threads = engine_threads(plan, end);
    char text[UNITS_TEXT_MAX];

    if (threads > LIMIT_THREADS)
        return problem_failure(problem,
                               "connections=%" PRIu64 ": this server starts at most %" PRIu64
                               " threads a session; engine=poll needs fewer",
                               plan->connections, LIMIT_THREADS);
    units_format(&units_size, text, LIMIT_MEMORY);
    if (plan_memory_bytes(plan, end, threads) > LIMIT_MEMORY)
        return problem_failure(
            problem, "the buffers of %" PRIu64 " connections take more than %s, the limit of a session",
            plan->connections, text);
    return 0;
}

uint64_t limits_run_ms(const struct plan *plan)
{
    bool fixed = plan->messages || plan->bytes;

    return LIMIT_SLACK_MS + (fixed ? LIMIT_TIME_MS : 2 * (plan->warmup_ns + plan->duration_ns) / 1000000);
}
