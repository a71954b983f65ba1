/* SPDX-License-Identifier: MIT */
/* A libuv stream as the transport of a connection, for strategies that need CAPABLE_LIBUV. It owns
 * the descriptor, which no uv_poll_t may watch: so it reports received bytes and finished writes.
 * libuv makes the system calls, and uncork cannot count them. */
#pragma once

#include "connection/layer.h"

#include <uv.h>

struct stream {
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } uv;
    struct connection *connection;
    const struct stream_events *events;
    uv_write_t request;
    uint8_t byte; /* receive buffer for unexpected bytes, at an end that only sends */
};

/* uv_run() calls these: for bytes or an end, as engine_on_data(); and when the request has
 * completed, with what strategy->completed() returned. */
struct stream_events {
    void (*arrived)(struct stream *stream, const uint8_t *data, ssize_t size);
    void (*written)(struct stream *stream, int result);
};

/* Takes over the descriptor of the connection. 0, or a negative errno value: the loop may have the
 * handle, but not the descriptor. */
int stream_open(struct stream *stream, uv_loop_t *loop, struct connection *connection,
                const struct stream_events *events);

/* Also closes the descriptor, in the next iteration of the loop. */
void stream_close(struct stream *stream);

/* Starts or stops receiving. */
void stream_read(struct stream *stream, bool on);

bool stream_is_used_by(const struct connection *connection);
