/* SPDX-License-Identifier: MIT */
/*
 * Pre-shared keys, and the file they are kept in, which is that of psktool(1) of GnuTLS: a line for each
 * identity,
 *
 *   IDENTITY:KEY
 *
 * the key in hexadecimal digits, the identity as it is or, behind a '#', in hexadecimal digits too. No
 * problem says a byte of what stands in a file, because what is wrong may be a key in the wrong place.
 */
#ifndef UNCORK_CONTROL_PSK_H
#define UNCORK_CONTROL_PSK_H

#include "base/problem.h"

#include <stddef.h>
#include <stdint.h>

#define PSK_IDENTITIES_MAX 256
#define PSK_IDENTITY_MAX 128u /* bytes */
#define PSK_KEY_MIN 16u       /* bytes: a shorter one can be guessed by whoever has heard a handshake */
#define PSK_KEY_MAX 64u       /* bytes */
#define PSK_LINE_MAX (1 + 2 * PSK_IDENTITY_MAX + 1 + 2 * PSK_KEY_MAX + 1) /* bytes, with the end of line */

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

/* Adds the identities of a text to the list. 0, or -1 with a usage problem that names the line of the file
 * called `name`. */
int psk_parse(struct psk_list *list, const char *text, size_t size, const char *name,
              struct problem *problem);

/* The keys of a file, at least one; psk_free() them. NULL with a usage problem: it cannot be read, others may
 * read or change it, or it is wrong. */
struct psk_list *psk_read(const char *path, struct problem *problem);

/* One random key that nobody has yet; psk_free() it. NULL with a failure. */
struct psk_list *psk_draw(struct problem *problem);

/* The entry of an identity, or NULL. */
const struct psk *psk_find(const struct psk_list *list, const uint8_t *identity, size_t size);

/* The line of an entry as a file has it, with the end of line and no NUL; gives its length in bytes. */
size_t psk_format(char line[PSK_LINE_MAX], const struct psk *psk);

/* Overwrites the keys and gives the memory back. NULL is harmless. */
void psk_free(struct psk_list *list);

#endif
