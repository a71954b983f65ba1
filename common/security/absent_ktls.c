/* SPDX-License-Identifier: MIT */
#include "base/absent.h"
#include "connection/security.h"

static int check(struct problem *problem)
{
    return problem_unsupported(problem, "security=ktls: " ABSENT_KTLS);
}

const struct security security_ktls = {
    .variant = {"ktls", "TLS 1.3 by the kernel, which this build does not have"},
    .encrypts = true,
    .check = check,
};
