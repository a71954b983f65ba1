/* SPDX-License-Identifier: MIT */
#include "control/channel.h"

#include "base/cleanup.h"
#include "transport/address.h"

#include <stdlib.h>
#include <string.h>

#define PIECE_SIZE 8192u /* bytes of text; JSON may spell each in up to six */
#define LONG_VALUE_MAX (128u << 20)
#define UNREAD_MAX (2u * LONG_VALUE_MAX) /* bytes that wait for an end that does not read */

static void end(struct channel *channel, const char *why)
{
    if (channel->ended || channel->closing)
        return;
    channel->ended = true;
    channel->events->ended(channel->owner, why);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct channel *channel = handle->data;

    (void)suggested;
    *buffer = uv_buf_init(channel->buffer, sizeof channel->buffer);
}

static int on_message(void *owner, enum control_type type, const json_t *body)
{
    struct channel *channel = owner;

    if (type != CONTROL_PING)
        channel->events->message(channel->owner, type, body);
    return channel->closing || channel->ended; /* the owner has had enough */
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    struct channel *channel = stream->data;
    struct problem problem = {0};

    if (size == 0)
        return;
    if (size < 0) {
        end(channel, size == UV_EOF ? "closed the control channel" : uv_strerror((int)size));
        return;
    }
    channel->heard_ms = uv_now(stream->loop);
    if (codec_feed(&channel->codec, (const uint8_t *)buffer->base, (size_t)size, on_message, channel,
                   &problem) < 0)
        end(channel, problem.text);
}

static void on_timer(uv_timer_t *timer)
{
    struct channel *channel = timer->data;

    if (uv_now(timer->loop) - channel->heard_ms > CHANNEL_SILENCE_MS)
        end(channel, "has been silent for 4 s");
    else
        channel_send(channel, CONTROL_PING, NULL);
}

int channel_open(struct channel *channel, uv_loop_t *loop, int fd, const struct channel_events *events,
                 void *owner)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    int result;

    memset(channel, 0, sizeof *channel);
    channel->events = events;
    channel->owner = owner;
    memset(&address, 0, sizeof address);
    getsockname(fd, (struct sockaddr *)&address, &size);
    if (address.ss_family == AF_UNIX) {
        uv_pipe_init(loop, &channel->pipe, 0);
        result = uv_pipe_open(&channel->pipe, fd);
    } else {
        uv_tcp_init(loop, &channel->tcp);
        result = uv_tcp_open(&channel->tcp, fd);
        uv_tcp_nodelay(&channel->tcp, 1);
    }
    if (result < 0)
        close(fd);
    channel->handle.data = channel;
    uv_timer_init(loop, &channel->timer);
    channel->timer.data = channel;
    channel->open_handles = 2;
    uv_update_time(loop);
    channel->heard_ms = uv_now(loop);
    if (result == 0)
        result = uv_read_start(&channel->stream, on_alloc, on_read);
    if (result == 0)
        result = uv_timer_start(&channel->timer, on_timer, CHANNEL_PING_MS, CHANNEL_PING_MS);
    return result;
}

bool channel_is_private(const struct channel *channel)
{
    struct address peer = {.size = sizeof peer.storage};
    uv_os_fd_t fd;

    return uv_fileno(&channel->handle, &fd) == 0 &&
           getpeername(fd, (struct sockaddr *)&peer.storage, &peer.size) == 0 && address_is_local(&peer);
}

struct outgoing {
    uv_write_t request;
    uint8_t *bytes;
};

static void on_written(uv_write_t *request, int status)
{
    struct outgoing *outgoing = (struct outgoing *)request;
    struct channel *channel = request->handle->data;

    free(outgoing->bytes);
    free(outgoing);
    if (status < 0 && status != UV_ECANCELED)
        end(channel, uv_strerror(status));
}

void channel_send(struct channel *channel, enum control_type type, json_t *body)
{
    CLEANUP_JSON json_t *stolen = body;
    struct problem problem = {0};
    struct outgoing *outgoing;
    uv_buf_t buffer;
    size_t size;

    if (channel->ended || channel->closing)
        return;
    if (uv_stream_get_write_queue_size(&channel->stream) > UNREAD_MAX) {
        end(channel, "does not read what it is sent");
        return;
    }
    outgoing = calloc(1, sizeof *outgoing);
    if (!outgoing || control_encode(type, stolen, &outgoing->bytes, &size, &problem) < 0) {
        free(outgoing);
        end(channel, problem.kind ? problem.text : "out of memory");
        return;
    }
    buffer = uv_buf_init((char *)outgoing->bytes, (unsigned)size);
    if (uv_write(&outgoing->request, &channel->stream, &buffer, 1, on_written) < 0) {
        free(outgoing->bytes);
        free(outgoing);
        end(channel, "the control channel broke");
    }
}

void channel_send_long(struct channel *channel, enum control_type type, const json_t *value)
{
    CLEANUP_FREE char *text = json_dumps(value, JSON_COMPACT | JSON_ENSURE_ASCII);
    size_t size = text ? strlen(text) : 0;

    for (size_t done = 0, part; done < size; done += part) {
        part = size - done < PIECE_SIZE ? size - done : PIECE_SIZE;
        channel_send(
            channel, type,
            json_pack("{s:I, s:s%}", "left", (json_int_t)(size - done - part), "text", text + done, part));
    }
}

static void on_closed(uv_handle_t *handle)
{
    struct channel *channel = handle->data;

    if (--channel->open_handles == 0)
        channel->events->closed(channel->owner);
}

static void close_handles(struct channel *channel)
{
    if (!uv_is_closing(&channel->handle))
        uv_close(&channel->handle, on_closed);
    if (!uv_is_closing((uv_handle_t *)&channel->timer))
        uv_close((uv_handle_t *)&channel->timer, on_closed);
}

static void on_shutdown(uv_shutdown_t *request, int status)
{
    struct channel *channel = request->data;

    (void)status;
    free(request);
    close_handles(channel);
}

static void on_close_timeout(uv_timer_t *timer)
{
    close_handles(timer->data);
}

void channel_close(struct channel *channel)
{
    uv_shutdown_t *request;

    if (channel->closing)
        return;
    channel->closing = true;
    uv_read_stop(&channel->stream);
    request = channel->ended ? NULL : calloc(1, sizeof *request);
    if (request) {
        request->data = channel;
        if (uv_shutdown(request, &channel->stream, on_shutdown) == 0 &&
            uv_timer_start(&channel->timer, on_close_timeout, CHANNEL_PING_MS, 0) == 0)
            return;
        free(request);
    }
    close_handles(channel);
}

int long_value_add(struct long_value *value, const json_t *piece, json_t **whole, struct problem *problem)
{
    const json_t *text = json_object_get(piece, "text");
    size_t size = json_string_length(text);
    char *grown;

    if (value->size + size > LONG_VALUE_MAX)
        return problem_failure(problem, "a report of more than 128 MiB");
    grown = realloc(value->text, value->size + size + 1);
    if (!grown)
        return problem_failure(problem, "out of memory for a report");
    value->text = grown;
    memcpy(value->text + value->size, json_string_value(text), size + 1);
    value->size += size;
    if (json_integer_value(json_object_get(piece, "left")) > 0)
        return 0;
    *whole = json_loadb(value->text, value->size, 0, NULL);
    return *whole ? 1 : problem_failure(problem, "a report that is no JSON");
}
