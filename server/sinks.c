/* SPDX-License-Identifier: MIT */
#include "sinks.h"

int sinks_allow(struct sinks *sinks, const char *text, struct problem *problem)
{
    if (sinks->count == SINKS_MAX)
        return problem_usage(problem, "--allow-sink is given more than %d times", SINKS_MAX);
    return prefix_parse(&sinks->prefixes[sinks->count++], text, problem);
}

void sinks_allow_local(struct sinks *sinks)
{
    static const char *const local[] = {"127.0.0.0/8", "::1", "unix"};
    struct problem ignored = {0};

    for (size_t i = 0; i < sizeof local / sizeof *local; i++)
        sinks_allow(sinks, local[i], &ignored);
}

int sinks_check(const struct sinks *sinks, const char *text, struct address *sink, struct problem *problem)
{
    if (address_parse_numeric(sink, text, problem) < 0)
        return -1;
    for (size_t i = 0; i < sinks->count; i++)
        if (prefix_holds(&sinks->prefixes[i], sink))
            return 0;
    return problem_failure(
        problem, "this proxy may not connect to %s; start it with an --allow-sink that holds it", text);
}
