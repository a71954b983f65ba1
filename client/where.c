/* SPDX-License-Identifier: MIT */
#include "where.h"

#include "base/netns.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void where_here(struct where *where)
{
    *where = (struct where){.listen = "127.0.0.1:0"};
}

int where_parse(struct where *where, const char *text, struct problem *problem)
{
    const char *at = strchr(text, '@');
    int length;

    *where = (struct where){0};
    if (at && at[1]) {
        length = snprintf(where->listen, sizeof where->listen, "%.*s:0", (int)(at - text), text);
        where->netns = at + 1;
        if (length < (int)sizeof where->listen && strncmp(text, "unix:", 5) != 0 &&
            address_check(where->listen) == 0)
            return 0;
    }
    return problem_usage(problem, "--server-in %.80s: write ADDRESS@FILE like 198.18.2.3@/run/netns/uncork-c",
                         text);
}

int where_enter(const struct where *where, struct problem *problem)
{
    int before = where->netns ? netns_enter(where->netns) : 0;

    if (before < 0)
        return problem_failure(problem, "cannot enter the network namespace %s: %s", where->netns,
                               strerror(-before));
    return before;
}

int where_leave(const struct where *where, int before, struct problem *problem)
{
    int result = where->netns ? netns_leave(before) : 0;

    if (result < 0)
        return problem_failure(problem, "cannot come back from the network namespace %s: %s", where->netns,
                               strerror(-result));
    return 0;
}

static bool is_own(const char *netns)
{
    struct stat own, other;

    return stat("/proc/self/ns/net", &own) == 0 && stat(netns, &other) == 0 && own.st_dev == other.st_dev &&
           own.st_ino == other.st_ino;
}

int where_check(const struct where *where, const struct plan *plan, struct problem *problem)
{
    if (plan_has_lab(plan) && !where->netns)
        return problem_usage(problem, "lab=on: there is no lab around this process; scripts/uncork run makes "
                                      "one, by hand see scripts/uncork lab --help");
    if (!plan_has_lab(plan) && where->netns)
        return problem_usage(problem, "--server-in is for a run in a lab: add lab=on");
    if (where->netns && is_own(where->netns))
        return problem_usage(problem,
                             "--server-in %s is the network namespace of this process: no lab lies between",
                             where->netns);
    return 0;
}
