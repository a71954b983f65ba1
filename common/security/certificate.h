/* SPDX-License-Identifier: MIT */
/* A self-signed certificate for a server that cannot use a pre-shared key, with an Ed25519 key
 * (RFC 8410). Its private key is the key of the run. So a client, which has this key too, accepts
 * only the right certificate. */
#pragma once

#include "connection/security.h"

#define CERTIFICATE_DIFFERS "its certificate is not the one of this run"

/* Checks that this build can make a certificate. 0, or -1 with an unsupported problem. */
int certificate_check(struct problem *problem);

/* Returns the private key and the certificate as PEM text in new memory, which the caller wipes and
 * frees. NULL: it cannot be made. */
char *certificate_make(const uint8_t key[SECURITY_KEY_SIZE]);

/* Whether the certificate `der` has the public key that belongs to `key`. Only in a build with
 * GnuTLS. */
bool certificate_is_of(const void *der, size_t size, const uint8_t key[SECURITY_KEY_SIZE]);
