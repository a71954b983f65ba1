/* SPDX-License-Identifier: MIT */
/* Pre-shared keys and their file, in the format of psktool(1) of GnuTLS: a line for each identity,
 *
 *   IDENTITY:KEY
 *
 * The key is in hexadecimal digits. The identity is plain text, or hexadecimal digits after a '#'.
 * No problem text repeats a byte of the file, because that byte may be part of a key. */
#pragma once

#include "base/problem.h"

#include <stddef.h>
#include <stdint.h>

#define PSK_IDENTITIES_MAX 256
#define PSK_IDENTITY_MAX 128u /* bytes */
#define PSK_KEY_MIN 16u       /* bytes: a shorter key can be guessed from a captured handshake */
#define PSK_KEY_MAX 64u       /* bytes */
#define PSK_LINE_MAX (1 + 2 * PSK_IDENTITY_MAX + 1 + 2 * PSK_KEY_MAX + 1) /* with NUL or end */

struct psk {
    uint8_t identity[PSK_IDENTITY_MAX];
    size_t identity_size;
    uint8_t key[PSK_KEY_MAX];
    size_t key_size;
};

struct psk_list {
    size_t count;
    struct psk entries[PSK_IDENTITIES_MAX];
};

/* Adds the identities of a text to the list. Returns 0, or -1 with a usage problem that names the
 * file `name` and the line. */
int psk_parse(struct psk_list *list, const char *text, size_t size, const char *name,
              struct problem *problem);

/* Reads the keys of a file, at least one; free with psk_free(). Returns NULL with a usage
 * problem: another user owns, may read or may change the file, or it is unreadable or invalid. */
struct psk_list *psk_read(const char *path, struct problem *problem);

/* Generates a random key, and the line of a file for it; free with psk_free(). NULL: a failure. */
struct psk_list *psk_generate(char line[PSK_LINE_MAX], struct problem *problem);

const struct psk *psk_find(const struct psk_list *list, const uint8_t *identity, size_t size);

/* Overwrites the keys and frees the list. NULL is harmless. */
void psk_free(struct psk_list *list);
