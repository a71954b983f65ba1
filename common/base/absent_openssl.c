/* SPDX-License-Identifier: MIT */
#include "base/absent.h"
#include "base/digest.h"

int digest_check(struct problem *problem)
{
    return problem_unsupported(problem, "touch=checksum: " ABSENT_OPENSSL);
}

int digest_of_file(const char *path, char text[DIGEST_TEXT_MAX])
{
    return -1;
}

NEVER_CALLED(struct digest *digest_open(void))
NEVER_CALLED(void digest_close(struct digest *digest))
NEVER_CALLED(void digest_update(struct digest *digest, const void *data, size_t size))
NEVER_CALLED(void digest_read(struct digest *digest, uint8_t result[DIGEST_SIZE]))
