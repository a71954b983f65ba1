/* SPDX-License-Identifier: MIT */
/* TLS 1.3 with a pre-shared key, between a control channel and its stream. It takes received
 * bytes and gives bytes to write to the channel, which owns socket and timers. Only this file of
 * the control channel uses GnuTLS. */
#pragma once

#include "base/problem.h"
#include "control/psk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct channel_tls {
    bool is_up; /* the handshake is over: the other end has proved that it has the key */
    struct tls_bytes {
        uint8_t *data;
        size_t size;
    } waiting; /* plain bytes that wait for the end of the handshake */

    /* Of channel_tls.c. */
    const struct channel_tls_events *events;
    void *owner;
    struct tls_bytes arrived; /* borrowed: not pulled by GnuTLS yet */
    struct gnutls_session_int *session;
    struct gnutls_psk_server_credentials_st *server; /* one of the two is used */
    struct gnutls_psk_client_credentials_st *client;
    const struct psk_list *keys;
    char identity[41]; /* ours or the other end's, as far as it is shown; "": none yet */
    bool is_server, has_heard, is_unknown;
};

struct channel_tls_events {
    /* Writes bytes to the stream. 0, or -1. */
    int (*write)(void *owner, const uint8_t *bytes, size_t size);

    /* Takes received plain bytes. A nonzero result stops receive() and is returned by it. */
    int (*take)(void *owner, const uint8_t *bytes, size_t size, struct problem *problem);
};

struct channel_tls_library {
    /* A server accepts all keys, a client uses the first and begins the handshake. The keys must
     * outlive the result. NULL with a failure. */
    struct channel_tls *(*create)(const struct psk_list *keys, bool is_server,
                                  const struct channel_tls_events *events, void *owner,
                                  struct problem *problem);
    void (*free)(struct channel_tls *tls);

    /* Decrypts received bytes. Returns 0, or -1 with a failure whose text follows the name of the
     * other end ("speaks no TLS"). */
    int (*receive)(struct channel_tls *tls, const uint8_t *bytes, size_t size, struct problem *problem);

    /* Encrypts bytes; keeps them until the handshake is over. Returns 0, or -1 with a failure. */
    int (*send)(struct channel_tls *tls, const uint8_t *bytes, size_t size, struct problem *problem);

    /* Sends a close_notify. */
    void (*end)(struct channel_tls *tls);
};

/* NULL: this build has no GnuTLS, and channel_tls_check() fails. */
extern const struct channel_tls_library *const channel_tls_library;

/* Returns 0 if this build has TLS. Returns -1 with an unsupported problem that says what
 * `option` lacks and how to get it. */
int channel_tls_check(const char *option, struct problem *problem);
