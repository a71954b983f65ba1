/* SPDX-License-Identifier: MIT */
/* The reasons for what a build lacks. Where a library or a system is missing, CMakeLists.txt
 * compiles absent_NAME.c of a folder in place of the files that need it (that of engine/ for ring/
 * too), with the functions that others call: those that check or start fail with a reason of this
 * header; no others are called then. A filter has its reason as `absent`. */
#pragma once

#include <stdlib.h>

#define ABSENT(name, packages) "this build has no " name "; install " packages " and build again"

#define ABSENT_GNUTLS ABSENT("GnuTLS", "libgnutls28-dev (gnutls-devel)")
#define ABSENT_KTLS                                                                                          \
    ABSENT("GnuTLS or no linux/tls.h", "libgnutls28-dev and linux-libc-dev (gnutls-devel and "               \
                                       "kernel-headers)")
#define ABSENT_LIBPCAP ABSENT("libpcap", "libpcap-dev (libpcap-devel)")
#define ABSENT_LIBSECCOMP                                                                                    \
    "this build has a sanitizer, no libseccomp, or another processor than x86-64 and ARM64; install "        \
    "libseccomp-dev (libseccomp-devel) and build again"
#define ABSENT_LIBURING ABSENT("liburing", "liburing-dev (liburing-devel)")
#define ABSENT_OPENSSL ABSENT("OpenSSL", "libssl-dev (openssl-devel)")
#define ABSENT_OVERRIDE "other systems than Linux lack the library of overrides"

/* Defines a function that is not called where its check fails, so it uses no parameter. */
#define NEVER_CALLED(function)                                                                               \
    function                                                                                                 \
    {                                                                                                        \
        abort();                                                                                             \
    }
