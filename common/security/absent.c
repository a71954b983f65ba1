/* SPDX-License-Identifier: MIT */
/* The layers whose library this build does not have: they are listed, and say which package to install. */
#include "security/security.h"

#define ABSENT(name, library, package)                                                                       \
    static int check_##name(struct problem *problem)                                                         \
    {                                                                                                        \
        return problem_unsupported(problem, "security=" #name ": this build has no " library                 \
                                            "; install " package " and build again");                        \
    }                                                                                                        \
    const struct security security_##name = {                                                                \
        .variant = {#name, "TLS by " library ", which this build does not have"},                            \
        .encrypts = true,                                                                                    \
        .check = check_##name,                                                                               \
    };

#ifndef UNCORK_HAS_GNUTLS
ABSENT(gnutls, "GnuTLS", "libgnutls28-dev (gnutls-devel)")
#endif
#ifndef UNCORK_HAS_OPENSSL
ABSENT(openssl, "OpenSSL", "libssl-dev (openssl-devel)")
#endif
