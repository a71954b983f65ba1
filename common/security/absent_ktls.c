/* SPDX-License-Identifier: MIT */
#include "base/absent.h"
#include "connection/security.h"

const struct security security_ktls = {
    .variant = {"ktls", "TLS 1.3 by the kernel, which this build does not have"},
    .encrypts = true,
    .absent = ABSENT_KTLS,
};
