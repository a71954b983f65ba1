/* SPDX-License-Identifier: MIT */
/* The control channel on a libuv loop: sends and receives messages, with or without TLS. Detects
 * within 5 s that the other end is gone. If this process was suspended for that long, the other end
 * has given up: that is then the reason. */
#pragma once

#include "control/codec.h"
#include "control/psk.h"

#include <uv.h>

/* ---- TLS 1.3 with a pre-shared key: channel_tls.c ---- */

/* Bytes go in and come out: the channel owns the socket and the timers. */
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

/* ---- the channel ---- */

#define CHANNEL_PING_MS 1000
#define CHANNEL_SILENCE_MS 4000 /* after so long without a byte the other end is gone */

struct channel_events {
    void (*message)(void *owner, enum control_type type, const json_t *body);
    void (*ended)(void *owner, const char *why); /* once; the owner then calls channel_close() */
    void (*closed)(void *owner);                 /* the owner may free the channel */
    bool is_server;                              /* the server of TLS; only a client takes long messages */
};

struct channel {
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
    };
    uv_timer_t timer;
    uv_shutdown_t shutdown;
    struct channel_tls *tls; /* NULL: no TLS */
    struct codec codec;
    char buffer[16384];
    const struct channel_events *events;
    void *owner;
    uint64_t received_ms; /* when the last bytes arrived; with TLS, those of a message */
    uint64_t turned_ns;   /* when the timer last ran: clock_read_ns(CLOCK_WITH_SLEEP) */
    bool has_received;    /* bytes have arrived */
    bool is_identified;   /* a valid message has arrived; with TLS: the other end has the key */
    bool ended, closing;
};

/* Opens a channel on the connected socket `fd`, which it owns from then on, also after a failure.
 * `keys` (NULL: no TLS) must outlive the channel: a server accepts all, a client uses the first.
 * Returns 0, or -1 with a failure; call channel_close() in both cases. */
int channel_open(struct channel *channel, uv_loop_t *loop, int fd, const struct psk_list *keys,
                 const struct channel_events *events, void *owner, struct problem *problem);

/* Reads the file of the option --psk into `keys`. If `keys` is not NULL, the option was given
 * twice: `once` says why that is wrong. Returns 0, or -1 with a problem. */
int channel_take_keys(struct psk_list **keys, const char *path, const char *once, struct problem *problem);

/* Whether no third party can read the channel, so that it may carry a key. 1 for TLS, for a Unix
 * socket, and for loopback at both ends; else 0. -1 with a failure if its addresses are unknown. */
int channel_is_private(const struct channel *channel, struct problem *problem);

/* Sends a message; steals `body` (NULL: none). A failure ends the channel. */
void channel_send(struct channel *channel, enum control_type type, json_t *body);

/* Sends CONTROL_FAILED with the problem and its phase; CONTROL_REFUSED if `phase` is NULL. */
void channel_send_problem(struct channel *channel, const char *phase, const struct problem *problem);

/* Waits for at most 1 s until all messages are sent (not after `ended`), closes, then calls
 * `closed`. May be called twice. */
void channel_close(struct channel *channel);
