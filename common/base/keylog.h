/* SPDX-License-Identifier: MIT */
/* The option --keylog: the secrets of TLS connections go to a file, in the format of NSS, so that a
 * packet capture can be decrypted. The file is opened once: later the process may have no right to
 * open it. */
#pragma once

#include "base/problem.h"

#include <stddef.h>
#include <stdint.h>

#define KEYLOG_RANDOM_SIZE 32u /* bytes of a client's random number: RFC 8446, 4.1.2 */

/* Opens the file. Call it before with NULL: then TLS libraries write keys nowhere, whatever the
 * environment says. 0, or -1 with a failure: the file cannot be written, or others can read it. */
int keylog_set(const char *path, struct problem *problem);

/* The file; -1: there is none, and the functions below do nothing. */
int keylog_descriptor(void);

/* Appends a line, given without its end. */
void keylog_write(const char *line);

/* Appends a secret of at most 64 bytes, by the name that the format has for it. */
void keylog_secret(const char *label, const uint8_t random[KEYLOG_RANDOM_SIZE], const uint8_t *secret,
                   size_t size);
