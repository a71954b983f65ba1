/* SPDX-License-Identifier: MIT */
/* A libuv stream as the transport of a connection, for strategies that write through one
 * (CAPABLE_LIBUV).
 *
 * libuv does not let a uv_poll_t watch the descriptor of a stream. So the stream notifies the
 * engine of received bytes and of finished writes. The stream owns the descriptor. libuv makes the
 * system calls, and uncork cannot count them. */
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
    uint8_t byte; /* receive buffer of an end that only sends: for unexpected bytes */
};

/* Called in uv_run(). */
struct stream_events {
    /* Bytes or an end, as for engine_on_data(). */
    void (*arrived)(struct stream *stream, const uint8_t *data, ssize_t size);

    /* The request has completed; `result` is what strategy->completed() returned. */
    void (*written)(struct stream *stream, int result);
};

/* The stream owns the connection's descriptor then. 0 or a negative errno value. If
 * `uv.handle.loop` is set, call stream_close() in both cases. */
int stream_open(struct stream *stream, uv_loop_t *loop, struct connection *connection,
                const struct stream_events *events);

/* Closes the descriptor too, in the next iteration of the loop. */
void stream_close(struct stream *stream);

void stream_read(struct stream *stream, bool on);

bool stream_is_used_by(const struct connection *connection);
