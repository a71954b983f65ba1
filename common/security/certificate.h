/* SPDX-License-Identifier: MIT */
/*
 * The certificate of a server that knows no pre-shared key: for Ed25519 (RFC 8410), self-signed.
 * Its private key is the key of the run. So a client that has this key knows which certificate it
 * must see.
 */
#pragma once

#include "connection/security.h"

/* That a server has another certificate, in the words of an error. */
#define CERTIFICATE_DIFFERS "it shows a certificate that is not that of this run"

/* Whether this build can make one: 0, or -1 with an unsupported problem. */
int certificate_check(struct problem *problem);

/* The private key and the certificate as PEM, in new memory with a NUL; the caller wipes it. NULL:
 * it cannot be made. */
char *certificate_make(const uint8_t key[SECURITY_KEY_SIZE]);

/* Whether the certificate `der` has the public key that belongs to `key`. By GnuTLS, where the
 * build has it. */
bool certificate_is_of(const void *der, size_t size, const uint8_t key[SECURITY_KEY_SIZE]);
