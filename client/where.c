/* SPDX-License-Identifier: MIT */
#include "where.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The option for the place of each of our own processes. */
static const char *const options[END_COUNT] = {
    [END_SERVER] = "--server-in",
    [END_PROXY] = "--proxy-in",
};

void where_here(struct where where[END_COUNT])
{
    for (int end = 0; end < END_COUNT; end++)
        where[end] = (struct where){.listen = "127.0.0.1:0"};
}

int where_parse(struct where where[END_COUNT], enum end end, const char *text, struct problem *problem)
{
    struct where *own = &where[end];
    const char *at = strchr(text, '@');

    if (at && at[1] && at - text < ADDRESS_MAX - 2 && strncmp(text, "unix:", 5) != 0) {
        *own = (struct where){.netns = at + 1};
        snprintf(own->host, sizeof own->host, "%.*s", (int)(at - text), text);
        snprintf(own->listen, sizeof own->listen, "%.*s:0", (int)(at - text), text);
        where[END_PROXY].sink = where[END_SERVER].netns ? where[END_SERVER].host : NULL;
        if (address_check(own->listen) == 0)
            return 0;
    }
    return problem_usage(problem, "%s %.80s: write ADDRESS@FILE like 198.18.2.3@/run/netns/uncork-c",
                         options[end], text);
}

static bool is_own(const char *netns)
{
    struct stat own, other;

    return stat("/proc/self/ns/net", &own) == 0 && stat(netns, &other) == 0 && own.st_dev == other.st_dev &&
           own.st_ino == other.st_ino;
}

/* Checks the place of one of our own processes that the plan needs. */
static int check_place(const struct where *where, const char *option, struct problem *problem)
{
    if (!where->netns)
        return problem_usage(problem,
                             "lab=on: there is no lab around this process (no %s); uncork run "
                             "makes one, by hand see uncork lab --help",
                             option);
    if (is_own(where->netns))
        return problem_usage(problem, "%s %s is the network namespace of this process: no lab lies between",
                             option, where->netns);
    return 0;
}

int where_check(const struct where where[END_COUNT], const struct plan *plan, struct problem *problem)
{
    for (int end = 0; end < END_COUNT; end++) {
        bool is_needed = options[end] && plan_has_lab(plan) && (end != END_PROXY || plan_has_proxy(plan));

        if (is_needed) {
            if (check_place(&where[end], options[end], problem) < 0)
                return -1;
        } else if (where[end].netns) {
            return problem_usage(problem, "%s is for a run in a lab%s: add lab=on%s", options[end],
                                 end == END_PROXY ? " with a proxy" : "",
                                 end == END_PROXY ? " workload=proxy" : "");
        }
    }
    return 0;
}
