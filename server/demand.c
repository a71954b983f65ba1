/* SPDX-License-Identifier: MIT */
#include "demand.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/version.h"
#include "connection/memory.h"
#include "connection/security.h"
#include "connection/workload.h"
#include "engine/engine.h"
#include "measure/facts.h"
#include "transport/transport.h"
#include "words/word.h"

#include <inttypes.h>
#include <string.h>

#define LIMIT_THREADS UINT64_C(4096) /* of a session */

int demand_check_limits(const struct plan *plan, enum end end, struct problem *problem)
{
    if (engine_threads(plan, end) > LIMIT_THREADS)
        return problem_failure(problem,
                               "connections=%" PRIu64 ": this server starts at most %" PRIu64
                               " threads a session; engine=poll needs fewer",
                               plan->connections, LIMIT_THREADS);
    return plan_check_in_flight(plan, problem);
}

int demand_check_version(const json_t *body, struct problem *problem)
{
    const char *version = control_text(body, "version");

    if (!strcmp(version, UNCORK_VERSION))
        return 0;
    return problem_failure(problem,
                           "this server is uncork %s, the client is %.40s; use the same version on both ends",
                           UNCORK_VERSION, version);
}

int demand_check(const json_t *body, enum end own, struct problem *problem)
{
    if (demand_check_version(body, problem) < 0)
        return -1;
    if (end_parse(control_text(body, "end")) == own)
        return 0;
    return own == END_PROXY
               ? problem_failure(problem, "this is a proxy, not a server: give its address as via=")
               : problem_failure(problem,
                                 "this is a server, not a proxy: start one with uncork-server --proxy");
}

int demand_parse(struct plan *plan, const json_t *body, struct problem *problem)
{
    const json_t *words = json_object_get(body, "words");
    size_t count = json_array_size(words);
    CLEANUP_FREE const char **texts = calloc(count + 1, sizeof *texts);

    if (!texts)
        return problem_failure(problem, "no memory for a plan of %zu words", count);
    for (size_t i = 0; i < count; i++)
        texts[i] = json_string_value(json_array_get(words, i));
    return plan_parse(plan, texts, count, problem);
}

bool demand_is_of_this_host(const json_t *body)
{
    return !strcmp(control_text(body, "host"), facts_host_id());
}

int demand_check_plan(const struct plan *plan, enum end end, const struct channel *channel,
                      struct problem *problem)
{
    return exclusions_check(STAGE_session, plan, end, channel_is_private(channel) ? 0 : FACT_PUBLIC_CHANNEL,
                            problem);
}

int demand_sink(const struct options *options, const json_t *body, struct address *sink,
                struct problem *problem)
{
    const char *text = control_text(body, "address");

    if (address_parse_numeric(sink, text, problem) < 0)
        return -1;
    for (size_t i = 0; i < options->sink_count; i++)
        if (prefix_contains(&options->sinks[i], sink))
            return 0;
    return problem_failure(
        problem, "this proxy may not connect to %s; start it with an --allow-sink that contains it", text);
}

int demand_secrets(const json_t *body, const struct plan *plan, uint8_t token[TOKEN_SIZE],
                   uint8_t key[SECURITY_KEY_SIZE], struct problem *problem)
{
    if (hex_parse(token, TOKEN_SIZE, control_text(body, "token")) < 0)
        return problem_failure(problem, "the token of the server is not valid");
    if (plan->encrypts && hex_parse(key, SECURITY_KEY_SIZE, control_text(body, "key")) < 0)
        return problem_failure(problem, "the key of the server is not valid");
    return 0;
}
