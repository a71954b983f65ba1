/* SPDX-License-Identifier: MIT */
/* SHA-256 (FIPS 180-4) of a stream of bytes, by OpenSSL: what a receiver with
 * touch=checksum computes. */
#ifndef UNCORK_BASE_DIGEST_H
#define UNCORK_BASE_DIGEST_H

#include "base/problem.h"

#include <stddef.h>
#include <stdint.h>

#define DIGEST_SIZE 32u

struct digest;

/* Whether this build has one. 0, or -1 with an unsupported problem. */
int digest_check(struct problem *problem);

/* NULL when memory is short. */
struct digest *digest_open(void);
void digest_close(struct digest *digest); /* also of NULL */

void digest_update(struct digest *digest, const void *data, size_t size);

/* Of everything so far; more may follow. */
void digest_read(const struct digest *digest, uint8_t result[DIGEST_SIZE]);

#endif
