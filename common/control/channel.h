/* SPDX-License-Identifier: MIT */
/* The control channel on a libuv loop: sends and receives messages, with or without TLS. Detects
 * within 5 s that the other end is gone. If this process was suspended for that long, the other end
 * has given up: that is then the reason. */
#pragma once

#include "control/channel_tls.h"

#include <uv.h>

#define CHANNEL_PING_MS 1000
#define CHANNEL_SILENCE_MS 4000 /* after so long without a byte the other end is gone */

struct channel;

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

/* Whether no third party can read the channel, so that it may carry a key. True for TLS, for a Unix
 * socket, and for loopback at both ends. */
bool channel_is_private(const struct channel *channel);

/* Sends a message; steals `body` (NULL: none). A failure ends the channel. */
void channel_send(struct channel *channel, enum control_type type, json_t *body);

/* Sends CONTROL_FAILED with the problem and its phase; CONTROL_REFUSED if `phase` is NULL. */
void channel_send_problem(struct channel *channel, const char *phase, const struct problem *problem);

/* Waits for at most 1 s until all messages are sent (not after `ended`), closes, then calls
 * `closed`. May be called twice. */
void channel_close(struct channel *channel);
