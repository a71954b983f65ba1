/* SPDX-License-Identifier: MIT */
#include "rights.h"

#include "base/absent.h"

int sandbox_check(struct problem *problem)
{
    return problem_usage(problem, "--sandbox on: %s", ABSENT_LIBSECCOMP);
}

int sandbox_enter(const struct rights *rights, struct problem *problem)
{
    return sandbox_check(problem);
}
