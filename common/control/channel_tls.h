/* SPDX-License-Identifier: MIT */
/* TLS 1.3 with a pre-shared key, for a control channel. Bytes go in and come out: the channel owns
 * the socket and the timers. Only channel_tls.c uses GnuTLS for the control channel. */
#pragma once

#include "control/codec.h"
#include "control/psk.h"

#include <sys/types.h>

#define TLS_PLAIN_MAX 16384 /* bytes of plain text in a record */

struct channel_tls {
    bool is_established;    /* the handshake is done: the other end has the key */
    struct bytes unsent;    /* plain bytes to send; the caller appends them */
    struct bytes output;    /* for the stream; the caller writes and frees it */
    const uint8_t *arrived; /* from the stream; the caller keeps them until all are read */
    size_t arrived_size;

    /* Only channel_tls.c uses these. */
    struct gnutls_session_int *session;
    struct gnutls_psk_server_credentials_st *server; /* one of the two is used */
    struct gnutls_psk_client_credentials_st *client;
    const struct psk_list *keys;
    char identity[41]; /* of the client, cut for messages; "": not known yet */
    bool is_server, has_received, identity_is_unknown;
};

/* Returns 0 if this build has TLS. Else -1, with an unsupported problem that names `option` and the
 * missing package. */
int channel_tls_check(const char *option, struct problem *problem);

/* A server accepts all keys. A client uses the first, and begins the handshake. The keys must
 * outlive the result. NULL with a failure. */
struct channel_tls *channel_tls_create(const struct psk_list *keys, bool is_server, struct problem *problem);
void channel_tls_free(struct channel_tls *tls);

/* All of these append to `output`, also when they fail: an alert. -1 with a failure whose text
 * follows the name of the other end, like "speaks no TLS".
 *
 * channel_tls_read() decrypts what has arrived: the bytes of a record, whose number it returns; 0:
 * there are no more. channel_tls_flush() encrypts what was appended to `unsent`; no effect before
 * the end of the handshake, which calls it. */
ssize_t channel_tls_read(struct channel_tls *tls, uint8_t plain[TLS_PLAIN_MAX], struct problem *problem);
int channel_tls_flush(struct channel_tls *tls, struct problem *problem);
void channel_tls_close_notify(struct channel_tls *tls);
