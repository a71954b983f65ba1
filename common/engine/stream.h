/* SPDX-License-Identifier: MIT */
/*
 * A libuv stream on a connection, for strategies that write through one (CAPABLE_LOOP).
 *
 * libuv does not let a uv_poll_t watch the descriptor of a stream. So the stream notifies the
 * engine of received bytes and of finished writes. The stream owns the descriptor. libuv makes the
 * system calls, and uncork cannot count them.
 */
#ifndef UNCORK_ENGINE_STREAM_H
#define UNCORK_ENGINE_STREAM_H

#include "connection/connection.h"

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
    size_t lent;  /* bytes of the request under way */
    uint8_t byte; /* where an end that only sends takes in what it does not expect */
};

/* Called in uv_run(). */
struct stream_events {
    /* As engine_arrived() has it. */
    void (*arrived)(struct stream *stream, const uint8_t *data, ssize_t size);

    /* The request has completed; `result` is what strategy->completed() returned. */
    void (*written)(struct stream *stream, int result);
};

/* Takes the connection's descriptor over. 0 or a negative errno value; where `uv.handle.loop` is
 * set, stream_close() it in both cases. */
int stream_open(struct stream *stream, uv_loop_t *loop, struct connection *connection,
                const struct stream_events *events);

/* Closes the descriptor too, when the loop turns. */
void stream_close(struct stream *stream);

/* Lets bytes arrive, or no more. */
void stream_read(struct stream *stream, bool on);

/* ---- for the strategies ---- */

/* uv_try_write(): bytes taken, or a negative errno value. */
ssize_t stream_try_write(struct connection *connection, const struct iovec *vectors, int count);

/* uv_write(): completed() follows, with 0 or a negative errno value, when all of it is written;
 * `request` and the memory of the vectors are lent until then. One at a time. 0 or a negative errno
 * value. */
int stream_write(struct connection *connection, uv_write_t *request, const struct iovec *vectors, int count);

#endif
