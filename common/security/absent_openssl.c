/* SPDX-License-Identifier: MIT */
#include "base/absent.h"
#include "connection/security.h"

static int check(struct problem *problem)
{
    return problem_unsupported(problem, "security=openssl: " ABSENT_OPENSSL);
}

const struct security security_openssl = {
    .variant = {"openssl", "TLS 1.3 by OpenSSL, which this build does not have"},
    .encrypts = true,
    .check = check,
};
