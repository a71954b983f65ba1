/* SPDX-License-Identifier: MIT */
/* Clients that have connected, and have not shown yet who they are. They never keep others out: if
 * there are too many, a random one of them goes. A client that means it is known within
 * milliseconds, so it is rarely that one. */
#include "modes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* It has sent nothing: no more than a descriptor and its watch. */
struct stranger {
    uv_poll_t poll; /* first: libuv passes it to the callbacks */
    struct listener *listener;
    TAILQ_ENTRY(stranger) others;
    int fd;
    struct address peer;
    uint64_t until_ms; /* loop time */
};

/* A client of a Unix socket has no address: that of the server is logged. */
void listener_rejected(struct listener *listener, const struct address *peer, const char *why)
{
    bool has_address = peer->storage.ss_family != AF_UNIX;
    char text[800];

    if (!listener->is_ready) {
        problem_failure(&listener->first_rejected, "%s", why);
        return;
    }
    listener->strangers.rejected++;
    snprintf(text, sizeof text, "rejected a client at %s (%s)",
             address_text(has_address ? peer : &listener->address), why);
    listener_log_rarely(listener, text);
}

#define NO_ROOM                                                                                              \
    "{\"type\":\"refused\",\"kind\":\"failed\",\"text\":\"this server has no room for one more client\"}"

/* Without memory and without a wait. With keys: a fatal alert of TLS, internal_error (RFC 8446, 6). */
void listener_refuse(const struct listener *listener, int fd)
{
    static const struct {
        uint8_t size[4];
        char text[sizeof NO_ROOM];
    } message = {{0, 0, 0, sizeof NO_ROOM - 1}, NO_ROOM};
    static const uint8_t alert[] = {21, 3, 3, 0, 2, 2, 80};

    if (listener->options->keys)
        send(fd, alert, sizeof alert, MSG_NOSIGNAL | MSG_DONTWAIT);
    else if (!listener->options->serve)
        send(fd, &message, sizeof message - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

const struct address *listener_peer(struct address *peer, int fd)
{
    *peer = (struct address){0};
    if (address_of_peer(peer, fd) < 0)
        peer->storage.ss_family = AF_UNIX;
    return peer;
}

bool address_is_of_source(const struct address *address, const struct address *source)
{
    uint8_t hosts[2][16];
    return !source || (address_host(hosts[0], address) == address_host(hosts[1], source) &&
                       !memcmp(hosts[0], hosts[1], 8));
}

/* ---- clients that have sent nothing ---- */

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

/* The entry lives until the loop runs again. The caller owns its descriptor. */
static void unwatch(struct stranger *stranger)
{
    TAILQ_REMOVE(&stranger->listener->strangers.list, stranger, others);
    uv_close((uv_handle_t *)&stranger->poll, on_closed);
}

static void reject(struct stranger *stranger, const char *why)
{
    listener_rejected(stranger->listener, &stranger->peer, why);
    unwatch(stranger);
    close(stranger->fd);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct stranger *stranger = (struct stranger *)poll;
    struct listener *listener = stranger->listener;
    int arrived = 0;

    unwatch(stranger);
    if (ioctl(stranger->fd, FIONREAD, &arrived) == 0 && arrived == 0) /* the end of the stream */
        close(stranger->fd);
    else
        listener->accepted(listener->owner, stranger->fd);
    listener_settle(listener);
}

static void on_timer(uv_timer_t *timer)
{
    struct listener *listener = timer->data;
    struct stranger *oldest;
    uint64_t now_ms = uv_now(timer->loop);

    while ((oldest = TAILQ_FIRST(&listener->strangers.list)) && oldest->until_ms <= now_ms)
        reject(oldest, "it sent no valid message within 3 s");
    if (oldest)
        uv_timer_start(timer, on_timer, oldest->until_ms - now_ms, 0);
    listener_settle(listener);
}

/* ---- making room ---- */

/* Rejects number `victim` of those of `source` (NULL: of all). Returns how many there are, at most
 * `victim` + 1. */
static size_t reject_one(struct listener *listener, const struct address *source, size_t victim,
                         const char *why)
{
    size_t count = 0;
    struct stranger *stranger;

    TAILQ_FOREACH(stranger, &listener->strangers.list, others)
        if (address_is_of_source(&stranger->peer, source) && count++ == victim) {
            listener_refuse(listener, stranger->fd);
            reject(stranger, why);
            return count;
        }
    return count + listener->reject_unknown(listener->owner, source, victim - count, why);
}

/* If there are `most` strangers of `source` (NULL: of all), rejects a random one of them. */
static void make_room(struct listener *listener, const struct address *source, uint64_t most,
                      const char *says)
{
    size_t count = reject_one(listener, source, SIZE_MAX, "");
    uint32_t number = 0;
    char why[160];

    if (count < most)
        return;
    uv_random(NULL, NULL, &number, sizeof number, 0, NULL);
    snprintf(why, sizeof why, "to make room: %s are at most %" PRIu64, says, most);
    reject_one(listener, source, number % count, why);
}

void strangers_take(struct listener *listener, int fd)
{
    const uint64_t *limits = listener->options->limits;
    struct address peer;

    make_room(listener, listener_peer(&peer, fd), limits[LIMIT_SOURCE_STRANGERS],
              "strangers of its host (--max-strangers-per-source)");
    make_room(listener, NULL, limits[LIMIT_STRANGERS], "strangers (--max-strangers)");
    if (listener->speaks_first) {
        listener->accepted(listener->owner, fd);
        return;
    }
    struct stranger *stranger = calloc(1, sizeof *stranger);
    if (!stranger || !sockets_can_watch(fd) || uv_poll_init(&listener->loop, &stranger->poll, fd) < 0) {
        listener_rejected(listener, &peer, "no memory");
        free(stranger);
        close(fd);
        return;
    }
    stranger->listener = listener;
    stranger->fd = fd;
    stranger->peer = peer;
    stranger->until_ms = uv_now(&listener->loop) + STRANGER_MS;
    TAILQ_INSERT_TAIL(&listener->strangers.list, stranger, others);
    uv_poll_start(&stranger->poll, UV_READABLE, on_readable);
    if (!uv_is_active((uv_handle_t *)&listener->strangers.timer))
        uv_timer_start(&listener->strangers.timer, on_timer, STRANGER_MS, 0);
}

void strangers_open(struct listener *listener)
{
    TAILQ_INIT(&listener->strangers.list);
    uv_timer_init(&listener->loop, &listener->strangers.timer);
    listener->strangers.timer.data = listener;
}

void strangers_close(struct listener *listener)
{
    struct stranger *stranger;
    uv_close((uv_handle_t *)&listener->strangers.timer, NULL);
    while ((stranger = TAILQ_FIRST(&listener->strangers.list))) {
        unwatch(stranger);
        close(stranger->fd);
    }
}
