/* SPDX-License-Identifier: MIT */
/* SHA-256 (FIPS 180-4) of a stream of bytes, by OpenSSL. A receiver with touch=checksum uses it. */
#pragma once

#include "base/problem.h"

#include <stddef.h>
#include <stdint.h>

#define DIGEST_SIZE 32u
#define DIGEST_TEXT_MAX (2 * DIGEST_SIZE + 1)

struct digest;

struct digest_library {
    struct digest *(*open)(void); /* NULL when memory is exhausted */
    void (*close)(struct digest *digest);
    void (*update)(struct digest *digest, const void *data, size_t size);

    /* The digest of all bytes so far; update() may follow. */
    void (*read)(struct digest *digest, uint8_t result[DIGEST_SIZE]);
};

/* NULL: this build has no OpenSSL, and digest_check() fails. */
extern const struct digest_library *const digest_library;

/* The sha256sum(1) of a file. 0, or -1 where it cannot be read or this build has no SHA-256. */
int digest_of_file(const char *path, char text[DIGEST_TEXT_MAX]);

/* 0 if this build has SHA-256, or -1 with an unsupported problem. */
int digest_check(struct problem *problem);
