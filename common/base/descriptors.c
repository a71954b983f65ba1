/* SPDX-License-Identifier: MIT */
#include "base/descriptors.h"

#include <inttypes.h>
#include <sys/resource.h>

static int raise_to(struct rlimit limit, uint64_t needed)
{
    limit.rlim_cur = (rlim_t)needed;
    if ((uint64_t)limit.rlim_max < needed)
        limit.rlim_max = (rlim_t)needed;
    return setrlimit(RLIMIT_NOFILE, &limit);
}

int descriptors_reserve(uint64_t needed, const char *what, struct problem *problem)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || (uint64_t)limit.rlim_cur >= needed ||
        raise_to(limit, needed) == 0)
        return 0;
    return problem_unsupported(problem,
                               "%s needs %" PRIu64 " open files, and %" PRIu64
                               " are allowed: as root, prlimit --pid $$ --nofile=%" PRIu64 ":%" PRIu64
                               " in the shell that starts it",
                               what, needed, (uint64_t)limit.rlim_max, needed, needed);
}
