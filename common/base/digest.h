/* SPDX-License-Identifier: MIT */
/* SHA-256 (FIPS 180-4) of a stream of bytes, by OpenSSL. A receiver with touch=checksum uses it. */
#pragma once

#include "base/problem.h"

#include <stddef.h>
#include <stdint.h>

#define DIGEST_SIZE 32u
#define DIGEST_TEXT_MAX (2 * DIGEST_SIZE + 1)

struct digest;

/* 0 if this build has SHA-256, or -1 with an unsupported problem. */
int digest_check(struct problem *problem);

struct digest *digest_open(void); /* NULL when memory is exhausted */
void digest_close(struct digest *digest);
void digest_update(struct digest *digest, const void *data, size_t size);

/* The digest of all bytes so far; digest_update() may follow. */
void digest_read(struct digest *digest, uint8_t result[DIGEST_SIZE]);

/* The sha256sum(1) of a file. 0, or -1 if it cannot be read or this build has no SHA-256. */
int digest_of_file(const char *path, char text[DIGEST_TEXT_MAX]);
