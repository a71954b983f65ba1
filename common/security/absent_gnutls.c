/* SPDX-License-Identifier: MIT */
#include "base/absent.h"
#include "security/tls.h"

const struct security security_gnutls = {
    .variant = {"gnutls", "TLS 1.3 by GnuTLS, which this build does not have"},
    .encrypts = true,
    .absent = ABSENT_GNUTLS,
};

int certificate_check(struct problem *problem)
{
    return problem_unsupported(problem, "the certificate of a subject: " ABSENT_GNUTLS);
}

NEVER_CALLED(char *certificate_make(const uint8_t key[SECURITY_KEY_SIZE]))
