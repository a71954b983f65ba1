/* SPDX-License-Identifier: MIT */
#include "base/absent.h"
#include "connection/security.h"

const struct security security_openssl = {
    .variant = {"openssl", "TLS 1.3 by OpenSSL, which this build does not have"},
    .encrypts = true,
    .absent = ABSENT_OPENSSL,
};
