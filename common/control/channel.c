/* SPDX-License-Identifier: MIT */
#include "control/channel.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "net/address.h"

#define UNREAD_MAX (2u * CONTROL_LONG_MAX) /* queued bytes for an end that does not read */

/* How long the loop has not run. More than CHANNEL_SILENCE_MS: this process was suspended. */
static uint64_t stopped_ms(const struct channel *channel)
{
    return (clock_read_ns(CLOCK_WITH_SLEEP) - channel->turned_ns) / NS_PER_MS;
}

static void report_end(struct channel *channel, const char *why)
{
    uint64_t ms = stopped_ms(channel);
    char suspended[64];
    if (channel->ended || channel->closing)
        return;
    channel->ended = true;
    snprintf(suspended, sizeof suspended, "is gone: this process was suspended for %d s", (int)(ms / 1000));
    channel->events->ended(channel->owner, ms > CHANNEL_SILENCE_MS ? suspended : why);
}

/* ---- writing ---- */

struct written {
    uv_write_t request; /* first: libuv passes it to the callback */
    struct bytes bytes;
};

static void on_written(uv_write_t *request, int status)
{
    struct channel *channel = request->handle->data;
    struct written *written = (struct written *)request;
    bytes_free(&written->bytes);
    free(written);
    /* If the peer has closed, the channel ends when all data is read: it may hold the reason. */
    if (status < 0 && status != UV_ECANCELED && status != UV_EPIPE && status != UV_ECONNRESET)
        report_end(channel, uv_strerror(status));
}

/* Writes the bytes, and takes their memory. Call it with `output` after each function of the TLS
 * below the channel. */
static void write_bytes(struct channel *channel, struct bytes *bytes)
{
    uv_buf_t buffer = uv_buf_init((char *)bytes->data, (unsigned)bytes->size);
    struct written *written = buffer.len ? malloc(sizeof *written) : NULL;

    if (written) {
        written->bytes = *bytes;
        if (uv_write(&written->request, &channel->stream, &buffer, 1, on_written) == 0) {
            *bytes = (struct bytes){0};
            return;
        }
    }
    if (buffer.len)
        report_end(channel,
                   written ? "broke the control channel" : "has no memory left for control messages");
    bytes_free(bytes);
    free(written);
}

void channel_send(struct channel *channel, enum control_type type, json_t *body)
{
    CLEANUP_JSON json_t *stolen = body;
    struct channel_tls *tls = channel->tls;
    struct problem problem = {0};
    struct bytes plain = {0};

    if (channel->ended || channel->closing)
        return;
    if (uv_stream_get_write_queue_size(&channel->stream) > UNREAD_MAX)
        problem_failure(&problem, "does not read its control messages");
    else if (control_encode(type, stolen, tls ? &tls->unsent : &plain, &problem) == 0 && tls)
        channel_tls_flush(tls, &problem);
    write_bytes(channel, tls ? &tls->output : &plain);
    if (problem.kind != PROBLEM_NONE)
        report_end(channel, problem.text);
}

/* ---- closing ---- */

static void on_timer_closed(uv_handle_t *handle)
{
    struct channel *channel = handle->data;
    if (channel->tls)
        channel_tls_free(channel->tls);
    bytes_free(&channel->codec.received);
    secret_wipe(channel->buffer, sizeof channel->buffer);
    channel->events->closed(channel->owner);
}

static void on_stream_closed(uv_handle_t *handle)
{
    struct channel *channel = handle->data;
    uv_close((uv_handle_t *)&channel->timer, on_timer_closed);
}

static void close_handles(struct channel *channel)
{
    if (!uv_is_closing(&channel->handle))
        uv_close(&channel->handle, on_stream_closed);
}

static void on_shutdown(uv_shutdown_t *request, int status)
{
    close_handles(request->handle->data);
}

static void on_close_timeout(uv_timer_t *timer)
{
    close_handles(timer->data);
}

static void shut_down(struct channel *channel)
{
    uv_read_stop(&channel->stream);
    if (channel->tls) {
        channel_tls_close_notify(channel->tls);
        write_bytes(channel, &channel->tls->output);
    }
    if (uv_shutdown(&channel->shutdown, &channel->stream, on_shutdown) < 0)
        close_handles(channel);
}

/* If messages wait for the end of the TLS handshake, take_tls() sends them and then shuts down. */
void channel_close(struct channel *channel)
{
    if (channel->closing)
        return;
    channel->closing = true;
    if (channel->ended) {
        close_handles(channel);
        return;
    }
    uv_timer_start(&channel->timer, on_close_timeout, CHANNEL_PING_MS, 0);
    if (!channel->tls || !channel->tls->unsent.size)
        shut_down(channel);
}

/* ---- reading ---- */

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct channel *channel = handle->data;
    *buffer = uv_buf_init(channel->buffer, sizeof channel->buffer);
}

static int on_message(void *owner, enum control_type type, const json_t *body)
{
    struct channel *channel = owner;
    channel->is_identified = true;
    if (type != CONTROL_PING && !channel->closing)
        channel->events->message(channel->owner, type, body);
    return channel->closing || channel->ended; /* the owner has closed the channel */
}

static int take_plain(struct channel *channel, const uint8_t *bytes, size_t size, struct problem *problem)
{
    channel->received_ms = uv_now(channel->timer.loop);
    return codec_feed(&channel->codec, bytes, size, on_message, channel, problem);
}

/* Bytes of a TLS handshake do not restart the timeout. Else a slow handshake would never time out.
 * What was decrypted before a failure may say why the other end failed. */
static int take_tls(struct channel *channel, const uint8_t *bytes, size_t size, struct problem *problem)
{
    bool closes = channel->closing; /* messages wait for the end of the handshake */
    struct channel_tls *tls = channel->tls;
    uint8_t plain[TLS_PLAIN_MAX];
    ssize_t part = 0;
    int taken = 0;

    tls->arrived = bytes;
    tls->arrived_size = size;
    while ((part = channel_tls_read(tls, plain, problem)) > 0) /* to the last record of these bytes */
        if (taken == 0)
            taken = take_plain(channel, plain, (size_t)part, problem);
    secret_wipe(plain, sizeof plain);
    write_bytes(channel, &tls->output);
    channel->is_identified = tls->is_established;
    if (closes && channel->is_identified)
        shut_down(channel);
    return part < 0 || taken < 0 ? -1 : 0;
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    struct channel *channel = stream->data;
    const uint8_t *bytes = (const uint8_t *)buffer->base;
    bool in_handshake = channel->tls && !channel->is_identified;
    struct problem problem = {0};

    if (in_handshake && (size == UV_EOF || size == UV_ECONNRESET))
        report_end(channel, channel->events->is_server || channel->has_received
                                ? "closed the connection in the middle of the TLS handshake"
                                : "closed the connection at the first bytes of TLS, so it speaks none: "
                                  "start it with --psk FILE, or leave --psk out here");
    else if (size < 0)
        report_end(channel, size == UV_EOF ? "closed the control channel" : uv_strerror((int)size));
    channel->has_received |= size > 0;
    if (size > 0 && (channel->tls ? take_tls : take_plain)(channel, bytes, (size_t)size, &problem) < 0)
        report_end(channel, problem.text);
}

/* ---- timeouts ---- */

static void on_timer(uv_timer_t *timer)
{
    struct channel *channel = timer->data;
    bool is_in_handshake = channel->tls && !channel->is_identified;
    if (stopped_ms(channel) > CHANNEL_SILENCE_MS ||
        uv_now(timer->loop) - channel->received_ms > CHANNEL_SILENCE_MS)
        report_end(channel, is_in_handshake ? "did not finish the TLS handshake within 4 s"
                                            : "has been silent for 4 s");
    else if (!is_in_handshake)
        channel_send(channel, CONTROL_PING, NULL);
    channel->turned_ns = clock_read_ns(CLOCK_WITH_SLEEP);
}

/* ---- opening ---- */

int channel_open(struct channel *channel, uv_loop_t *loop, int fd, const struct psk_list *keys,
                 const struct channel_events *events, void *owner, struct problem *problem)
{
    *channel = (struct channel){.events = events, .owner = owner, .codec.takes_long = !events->is_server};
    uv_tcp_init(loop, &channel->tcp);
    uv_timer_init(loop, &channel->timer);
    channel->handle.data = channel->timer.data = channel;
    int result = uv_tcp_open(&channel->tcp, fd); /* takes any stream socket, also a Unix one */
    uv_tcp_nodelay(&channel->tcp, 1);
    uv_update_time(loop);
    channel->received_ms = uv_now(loop);
    channel->turned_ns = clock_read_ns(CLOCK_WITH_SLEEP);
    if (result < 0) {
        close(fd);
        return problem_failure(problem, "control channel: %s", uv_strerror(result));
    }
    if (keys && !(channel->tls = channel_tls_create(keys, events->is_server, problem)))
        return -1; /* the channel must not read without the TLS that is required */
    if (channel->tls)
        write_bytes(channel, &channel->tls->output);
    uv_read_start(&channel->stream, on_alloc, on_read);
    uv_timer_start(&channel->timer, on_timer, CHANNEL_PING_MS, CHANNEL_PING_MS);
    return 0;
}

void channel_send_problem(struct channel *channel, const char *phase, const struct problem *problem)
{
    enum problem_kind kind = problem->is_symptom ? PROBLEM_SYMPTOM : problem->kind;
    channel_send(channel, phase ? CONTROL_FAILED : CONTROL_REFUSED,
                 json_pack("{s:s, s:s*, s:s}", "kind", problem_kind_names[kind], "phase", phase, "text",
                           problem->text));
}

int channel_take_keys(struct psk_list **keys, const char *path, const char *once, struct problem *problem)
{
    if (*keys)
        return problem_usage(problem, "--psk is given twice; %s", once);
    if (channel_tls_check("--psk", problem) == 0)
        *keys = psk_read(path, problem);
    return *keys ? 0 : -1;
}

int channel_is_private(const struct channel *channel, struct problem *problem)
{
    struct address own, peer;
    uv_os_fd_t fd;
    if (channel->tls)
        return 1;
    if (uv_fileno(&channel->handle, &fd) < 0 || address_of_socket(&own, fd) < 0 ||
        address_of_peer(&peer, fd) < 0)
        return problem_failure(problem, "the addresses of the control channel cannot be read");
    return address_is_local(&own) && address_is_local(&peer);
}
