/* SPDX-License-Identifier: MIT */
/* In place of a digest where the build has no OpenSSL. */
#include "base/digest.h"

int digest_check(struct problem *problem)
{
    return problem_unsupported(problem, "touch=checksum: this build has no OpenSSL, which computes it; "
                                        "install libssl-dev (Fedora: openssl-devel) and build again");
}

struct digest *digest_open(void)
{
    return NULL;
}

void digest_close(struct digest *digest)
{
    (void)digest;
}

void digest_update(struct digest *digest, const void *data, size_t size)
{
    (void)digest, (void)data, (void)size;
}

void digest_read(struct digest *digest, uint8_t result[DIGEST_SIZE])
{
    (void)digest, (void)result;
}
