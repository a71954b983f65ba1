/* SPDX-License-Identifier: MIT */
#include "base/descriptors.h"

#include <inttypes.h>
#include <sys/resource.h>

int descriptors_reserve(uint64_t needed, const char *what, struct problem *problem)
{
    struct rlimit limit, raised = {.rlim_cur = (rlim_t)needed};

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || (uint64_t)limit.rlim_cur >= needed)
        return 0;
    raised.rlim_max = (uint64_t)limit.rlim_max < needed ? (rlim_t)needed : limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
        return 0;
    return problem_unsupported(problem,
                               "%s needs %" PRIu64 " open files, and %" PRIu64
                               " are allowed: as root, prlimit --pid $$ --nofile=%" PRIu64 ":%" PRIu64
                               " in the shell that starts it",
                               what, needed, (uint64_t)limit.rlim_max, needed, needed);
}
