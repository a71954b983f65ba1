/* SPDX-License-Identifier: MIT */
/* The filters that this build lacks: listed, but unsupported. The reason names the package. */
#include "connection/security.h"

#define ABSENT(name, layer, missing, package)                                                                \
    static int check_##name(struct problem *problem)                                                         \
    {                                                                                                        \
        return problem_unsupported(problem, "security=" #name ": this build has no " missing                 \
                                            "; install " package " and build again");                        \
    }                                                                                                        \
    const struct security security_##name = {                                                                \
        .variant = {#name, "TLS 1.3 by " layer ", which this build does not have"},                          \
        .encrypts = true,                                                                                    \
        .check = check_##name,                                                                               \
    };

#ifndef UNCORK_HAS_GNUTLS
ABSENT(gnutls, "GnuTLS", "GnuTLS", "libgnutls28-dev (gnutls-devel)")
#endif
#ifndef UNCORK_HAS_KTLS
ABSENT(ktls, "the kernel", "GnuTLS or no linux/tls.h",
       "libgnutls28-dev and linux-libc-dev (gnutls-devel and kernel-headers)")
#endif
#ifndef UNCORK_HAS_OPENSSL
ABSENT(openssl, "OpenSSL", "OpenSSL", "libssl-dev (openssl-devel)")
#endif
