/* SPDX-License-Identifier: MIT */
/* TLS 1.3 with a pre-shared key, between a control channel and its stream. The channel owns the
 * socket and the timers: it passes in received bytes, and writes the bytes that come out. Only
 * this file of the control channel uses GnuTLS. */
#pragma once

#include "base/problem.h"
#include "control/psk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct channel_tls {
    bool is_established; /* the handshake is done: the other end has the key */
    struct tls_bytes {
        uint8_t *data;
        size_t size;
    } unsent; /* plain bytes to send after the handshake */

    /* Only channel_tls.c uses these. */
    const struct channel_tls_events *events;
    void *owner;
    struct tls_bytes arrived; /* borrowed: GnuTLS has not read them yet */
    struct gnutls_session_int *session;
    struct gnutls_psk_server_credentials_st *server; /* one of the two is used */
    struct gnutls_psk_client_credentials_st *client;
    const struct psk_list *keys;
    char identity[41]; /* of the client, cut for messages; "": not known yet */
    bool is_server, has_received, identity_is_unknown;
};

struct channel_tls_events {
    /* Writes bytes to the stream. 0, or -1. */
    int (*write)(void *owner, const uint8_t *bytes, size_t size);

    /* Takes decrypted bytes. A nonzero result ends receive(), which returns it. */
    int (*take)(void *owner, const uint8_t *bytes, size_t size, struct problem *problem);
};

struct channel_tls_library {
    /* A server accepts all keys. A client uses the first, and begins the handshake. The keys must
     * outlive the result. NULL with a failure. */
    struct channel_tls *(*create)(const struct psk_list *keys, bool is_server,
                                  const struct channel_tls_events *events, void *owner,
                                  struct problem *problem);
    void (*free)(struct channel_tls *tls);

    /* Decrypts received bytes. Returns 0, or -1 with a failure whose text follows the name of the
     * other end, like "speaks no TLS". */
    int (*receive)(struct channel_tls *tls, const uint8_t *bytes, size_t size, struct problem *problem);

    /* Encrypts bytes and writes them; before the end of the handshake, keeps them in `unsent`.
     * Returns 0, or -1 with a failure. */
    int (*send)(struct channel_tls *tls, const uint8_t *bytes, size_t size, struct problem *problem);

    void (*close_notify)(struct channel_tls *tls);
};

/* NULL: this build has no GnuTLS, and channel_tls_check() fails. */
extern const struct channel_tls_library *const channel_tls_library;

/* Returns 0 if this build has TLS. Else -1, with an unsupported problem that names `option` and the
 * missing package. */
int channel_tls_check(const char *option, struct problem *problem);
