/* SPDX-License-Identifier: MIT */
/*
 * The control channel on a libuv loop: sends and receives messages, in the clear or by TLS, and notices
 * within 5 s that the other end has gone.
 */
#ifndef UNCORK_CONTROL_CHANNEL_H
#define UNCORK_CONTROL_CHANNEL_H

#include "control/channel_tls.h"
#include "control/codec.h"

#include <stdbool.h>
#include <uv.h>

#define CHANNEL_PING_MS 1000
#define CHANNEL_SILENCE_MS 4000 /* nothing heard for so long: gone */

struct channel;

struct channel_events {
    void (*message)(void *owner, enum control_type type, const json_t *body);
    void (*ended)(void *owner, const char *why); /* once; the owner then calls channel_close() */
    void (*closed)(void *owner);                 /* the memory of the channel may go */
};

struct channel {
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    };
    uv_timer_t timer;
    struct channel_tls *tls; /* NULL: in the clear */
    struct codec codec;
    char buffer[16384];
    const struct channel_events *events;
    void *owner;
    uint64_t heard_ms;
    int open_handles;
    bool has_heard; /* something has come */
    bool is_known;  /* and shown that the other end belongs here: a message, by TLS that it has the key */
    bool ended, closing;
};

/* Takes over the connected socket `fd`, and `tls` (NULL: in the clear), also where it fails. 0 or a negative
 * errno value; channel_close() it in both cases. */
int channel_open(struct channel *channel, uv_loop_t *loop, int fd, struct channel_tls *tls,
                 const struct channel_events *events, void *owner);

/* Whether nobody else can read along, so that a key may cross: TLS, a Unix socket, or loopback at both ends.
 */
bool channel_is_private(const struct channel *channel);

/* Sends a message; `body` is stolen (NULL: none). What cannot be sent ends the channel. */
void channel_send(struct channel *channel, enum control_type type, json_t *body);

/* Sends a long JSON value in pieces of `type` (report or facts): {"left": bytes that follow, "text": piece}.
 */
void channel_send_long(struct channel *channel, enum control_type type, const json_t *value);

/* Flushes what was sent (for at most 1 s, not at all after `ended`) and closes; `closed` follows. May be
 * called twice. */
void channel_close(struct channel *channel);

/* Puts the pieces of a long value together. Zero it before use, free(text) after. */
struct long_value {
    char *text;
    size_t size;
};

/* 1 and the value (new reference, clean) when the last piece has come, 0 before. -1 with a failure, whose
 * text stands behind the name of the other end, if it is no JSON object or over 128 MiB. */
int long_value_add(struct long_value *value, const json_t *piece, json_t **whole, struct problem *problem);

#endif
