/* SPDX-License-Identifier: MIT */
#include "net/connector.h"

#include <errno.h>
#include <unistd.h>

#define PAUSE_MS 5 /* between two attempts */

static void attempt(uv_timer_t *timer);

static void on_part_closed(uv_handle_t *handle)
{
    struct connector *connector = handle->data;
    if (--connector->open_parts == 0)
        connector->closed(connector->owner);
}

static void finish(struct connector *connector, int fd)
{
    uv_timer_stop(&connector->timer);
    connector->done(connector->owner, fd, &connector->problem);
}

static void begin(struct connector *connector)
{
    uv_update_time(connector->timer.loop);
    connector->until_ms = uv_now(connector->timer.loop) + connector->within_ms;
    uv_timer_start(&connector->timer, attempt, 0, 0); /* `done` comes from the loop */
}

/* The attempt has ended with this errno value; 0: the socket is connected. A Unix socket whose
 * backlog is full refuses with EAGAIN, and no event reports that the backlog has room (unix(7)). */
static void conclude(struct connector *connector, int error)
{
    bool is_full = error == EAGAIN, waits = is_full && uv_now(connector->timer.loop) < connector->until_ms;
    struct problem problem = {0};
    int fd = connector->fd;

    connector->fd = -1;
    if (!error) {
        finish(connector, fd);
        return;
    }
    if (fd >= 0)
        close(fd);
    if (connector->is_persistent || waits) {
        uv_timer_start(&connector->timer, attempt, PAUSE_MS, 0);
        return;
    }
    address_refused(&connector->addresses[connector->at], is_full ? ETIMEDOUT : error, &problem);
    if (connector->problem.kind == PROBLEM_NONE)
        connector->problem = problem;
    else
        problem_add(&connector->problem, problem.text);
    if (++connector->at < connector->count)
        begin(connector);
    else
        finish(connector, -1);
}

static void on_poll_closed(uv_handle_t *handle)
{
    struct connector *connector = handle->data;
    bool is_in_time = uv_is_active((uv_handle_t *)&connector->timer);
    if (connector->is_closing)
        close(connector->fd);
    else
        conclude(connector, is_in_time ? -sockets_error(connector->fd) : ETIMEDOUT);
    on_part_closed(handle);
}

static void on_writable(uv_poll_t *poll, int status, int events)
{
    uv_close((uv_handle_t *)poll, on_poll_closed);
}

/* The timer is no longer active, which on_poll_closed() reads as a time-out. */
static void on_timeout(uv_timer_t *timer)
{
    struct connector *connector = timer->data;
    if (!uv_is_closing((uv_handle_t *)&connector->poll))
        uv_close((uv_handle_t *)&connector->poll, on_poll_closed);
}

static void attempt(uv_timer_t *timer)
{
    struct connector *connector = timer->data;
    const struct address *address = &connector->addresses[connector->at];

    if (connector->check && connector->check(connector->owner, address, &connector->problem) < 0) {
        finish(connector, -1);
        return;
    }
    connector->fd = sockets_make(address->any.sa_family, SOCK_STREAM, 0, false);
    int error = connector->fd < 0 || connect(connector->fd, &address->any, address->size) < 0 ? errno : 0;
    bool is_pending = error == EINPROGRESS;
    if (is_pending)
        error = -uv_poll_init(timer->loop, &connector->poll, connector->fd);
    if (!is_pending || error) {
        conclude(connector, error);
        return;
    }
    connector->poll.data = connector;
    connector->open_parts++;
    uv_timer_start(timer, on_timeout, connector->within_ms, 0);
    uv_poll_start(&connector->poll, UV_WRITABLE, on_writable);
}

static void look_up(uv_work_t *work)
{
    struct connector *connector = work->data;
    connector->count =
        address_find(connector->addresses, CONNECTOR_ADDRESSES_MAX, connector->name, &connector->problem);
}

static void on_looked_up(uv_work_t *work, int status)
{
    struct connector *connector = work->data;
    if (!connector->is_closing && connector->count > 0)
        begin(connector);
    else if (!connector->is_closing)
        finish(connector, -1);
    on_part_closed((uv_handle_t *)&connector->timer);
}

void connector_open(struct connector *connector, uv_loop_t *loop)
{
    uv_timer_init(loop, &connector->timer);
    connector->timer.data = connector->lookup.data = connector;
    connector->fd = -1;
    connector->open_parts = 1;
}

void connector_find(struct connector *connector, const char *text, uint64_t within_ms)
{
    connector->name = text;
    connector->within_ms = within_ms;
    connector->open_parts++;
    uv_queue_work(connector->timer.loop, &connector->lookup, look_up, on_looked_up);
}

void connector_begin(struct connector *connector, const struct address *address, uint64_t within_ms,
                     bool is_persistent)
{
    connector->addresses[0] = *address;
    connector->count = 1;
    connector->within_ms = within_ms;
    connector->is_persistent = is_persistent;
    begin(connector);
}

void connector_close(struct connector *connector)
{
    if (connector->is_closing || !connector->open_parts)
        return;
    connector->is_closing = true;
    if (connector->fd >= 0 && !uv_is_closing((uv_handle_t *)&connector->poll))
        uv_close((uv_handle_t *)&connector->poll, on_poll_closed);
    uv_close((uv_handle_t *)&connector->timer, on_part_closed);
}
