/* SPDX-License-Identifier: MIT */
/* TLS 1.3 with a pre-shared key, between a control channel and its stream. It takes received
 * bytes and returns bytes to write; the channel owns socket and timers. Only this file of the
 * control channel uses GnuTLS. A build without it uses channel_tls_absent.c. */
#ifndef UNCORK_CONTROL_CHANNEL_TLS_H
#define UNCORK_CONTROL_CHANNEL_TLS_H

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
    struct tls_bytes arrived; /* borrowed: not pulled by GnuTLS yet */
    struct tls_bytes output;  /* to be written */
    struct gnutls_session_int *session;
    struct gnutls_psk_server_credentials_st *server; /* one of the two is used */
    struct gnutls_psk_client_credentials_st *client;
    const struct psk_list *keys;
    char identity[41]; /* ours or the other end's, as far as it is shown; "": none yet */
    bool is_server, has_heard, is_unknown;
};

/* Returns 0 if this build has TLS. Returns -1 with an unsupported problem that says what
 * `option` lacks and how to get it. */
int channel_tls_check(const char *option, struct problem *problem);

/* A server accepts all keys, a client uses the first. The keys must outlive the result. NULL
 * with a failure. */
struct channel_tls *channel_tls_create(const struct psk_list *keys, bool is_server, struct problem *problem);
void channel_tls_free(struct channel_tls *tls);

typedef int channel_tls_take(void *owner, const uint8_t *bytes, size_t size, struct problem *problem);

/* Decrypts received bytes and passes plain bytes to `take`. Returns 0, or -1 with a failure
 * whose text follows the name of the other end ("speaks no TLS"). A nonzero result of `take`
 * stops the loop and is returned. */
int channel_tls_receive(struct channel_tls *tls, const uint8_t *bytes, size_t size, channel_tls_take *take,
                        void *owner, struct problem *problem);

/* Encrypts bytes; keeps them until the handshake is over. Returns 0, or -1 with a failure. */
int channel_tls_send(struct channel_tls *tls, const uint8_t *bytes, size_t size, struct problem *problem);

/* Sends a close_notify. */
void channel_tls_end(struct channel_tls *tls);

/* Returns the size of the bytes to write, and the bytes in memory that the caller frees. 0 and
 * NULL: there are none. */
size_t channel_tls_take_output(struct channel_tls *tls, uint8_t **bytes);

/* The text for a connection that closes before the handshake is over; it follows the name of the
 * other end. */
const char *channel_tls_cut_text(const struct channel_tls *tls);

#endif
