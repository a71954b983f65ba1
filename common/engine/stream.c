/* SPDX-License-Identifier: MIT */
#include "engine/stream.h"

#include "engine/engine.h"

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct stream *stream = handle->data;
    const struct thread_shared *shared = stream->connection->shared;
    if (shared->pool.count)
        *buffer = uv_buf_init((char *)pool_next(&shared->pool), (unsigned)shared->pool.size);
    else
        *buffer = uv_buf_init((char *)&stream->byte, sizeof stream->byte);
}

static void on_read(uv_stream_t *handle, ssize_t size, const uv_buf_t *buffer)
{
    struct stream *stream = handle->data;
    if (size == 0) /* EAGAIN: uv_read_cb */
        return;
    if (size > 0)
        calls_note_moved(&stream->connection->calls, (uint64_t)size);
    engine_take_buffer(stream->connection, size);
    stream->events->arrived(stream, (const uint8_t *)buffer->base, size == UV_EOF ? 0 : size);
}

void stream_read(struct stream *stream, bool on)
{
    if (on)
        uv_read_start(&stream->uv.stream, on_alloc, on_read);
    else
        uv_read_stop(&stream->uv.stream);
}

/* uv_buf_t has the layout of struct iovec: libuv, uv_buf_t. */
static ssize_t try_write(struct connection *connection, struct iovec *vectors, int count, int flags)
{
    struct stream *stream = connection->transport_state;
    int taken = uv_try_write(&stream->uv.stream, (void *)vectors, (unsigned)count);
    if (taken > 0)
        calls_note_moved(&connection->calls, (uint64_t)taken);
    return taken;
}

static void on_written(uv_write_t *request, int status)
{
    struct stream *stream = request->handle->data;
    struct connection *connection = stream->connection;
    struct completion completion = {.result = status};
    if (status == UV_ECANCELED) /* closing */
        return;
    if (status == 0)
        calls_note_moved(&connection->calls, connection->request.bytes);
    stream->events->written(stream, connection->strategy->completed(connection, &completion));
}

/* The connection has one uv_write() in flight. */
static int submit(struct connection *connection, const struct send_request *request)
{
    struct stream *stream = connection->transport_state;
    return uv_write(&stream->request, &stream->uv.stream, (void *)request->message->msg_iov,
                    (unsigned)request->message->msg_iovlen, on_written);
}

static const struct layer layer_stream = {.send = socket_send, .sendv = try_write, .receive = socket_receive};

int stream_open(struct stream *stream, uv_loop_t *loop, struct connection *connection,
                const struct stream_events *events)
{
    int fd = connection->calls.fd;
    bool pipe = uv_guess_handle(fd) == UV_NAMED_PIPE;

    *stream = (struct stream){.connection = connection, .events = events};
    int result = pipe ? uv_pipe_init(loop, &stream->uv.pipe, 0) : uv_tcp_init(loop, &stream->uv.tcp);
    if (result == 0)
        result = pipe ? uv_pipe_open(&stream->uv.pipe, fd) : uv_tcp_open(&stream->uv.tcp, fd);
    stream->uv.handle.data = stream;
    if (result < 0)
        return result;
    connection->top = &layer_stream;
    connection->submit = submit;
    connection->transport_state = stream;
    return 0;
}

void stream_close(struct stream *stream)
{
    uv_close(&stream->uv.handle, NULL);
    stream->connection->calls.fd = -1;
    stream->connection->top = &layer_socket;
    stream->connection->submit = NULL;
    stream->connection->transport_state = NULL;
}

bool stream_is_used_by(const struct connection *connection)
{
    return connection->top == &layer_stream;
}
