/* SPDX-License-Identifier: MIT */
#include "base/absent.h"
#include "override/override.h"

int override_start(struct override *override, const char *text, const char *path, bool other_user,
                   struct problem *problem)
{
    return problem_unsupported(problem, "override=%s: " ABSENT_OVERRIDE, text);
}

void override_close(struct override *override)
{
}

NEVER_CALLED(int override_proof(const struct shared *shared, struct problem *problem))
NEVER_CALLED(int reach_check_process(pid_t pid, struct problem *problem))
NEVER_CALLED(json_t *report_make(const struct shared *shared, const char *subject, double call_ns,
                                 const char *limit))
