/* SPDX-License-Identifier: MIT */
#include "control/hello.h"

#include "base/bytes.h"
#include "net/address.h"

#include <stdlib.h>
#include <unistd.h>

void hello_make(uint8_t hello[HELLO_SIZE], const uint8_t token[TOKEN_SIZE], uint64_t number)
{
    memcpy(hello, token, TOKEN_SIZE);
    wire_put32(hello + TOKEN_SIZE, (uint32_t)number);
}

int64_t hello_read(const uint8_t hello[HELLO_SIZE], const uint8_t token[TOKEN_SIZE], uint64_t connections)
{
    uint32_t index = wire_get32(hello + TOKEN_SIZE);
    uint8_t difference = 0;
    for (size_t i = 0; i < TOKEN_SIZE; i++)
        difference |= hello[i] ^ token[i];
    return difference || index >= connections ? -1 : (int64_t)index;
}

/* ---- between proxy and sink ---- */

void sink_greeting_make(uint8_t greeting[SINK_GREETING_SIZE], const uint8_t token[TOKEN_SIZE])
{
    static const uint8_t start[SINK_GREETING_SIZE - TOKEN_SIZE / 2] = {0, 'u', 'n', 'c', 'o', 'r', 'k', 0xff};
    memcpy(greeting, start, sizeof start);
    memcpy(greeting + sizeof start, token, TOKEN_SIZE / 2);
}

bool sink_has_greeted(const uint8_t greeting[SINK_GREETING_SIZE], const uint8_t token[TOKEN_SIZE])
{
    uint8_t expected[SINK_GREETING_SIZE];
    sink_greeting_make(expected, token);
    return !memcmp(greeting, expected, sizeof expected);
}

static void apply_mask(uint8_t hello[HELLO_SIZE], const uint8_t mask[SINK_ANSWER_SIZE])
{
    for (size_t i = 0; i < HELLO_SIZE; i++)
        hello[i] ^= mask[i % SINK_ANSWER_SIZE];
}

int sink_hello_make(uint8_t request[SINK_HELLO_SIZE], const uint8_t token[TOKEN_SIZE], uint64_t number)
{
    uint8_t *hello = request + SINK_ANSWER_SIZE;
    if (uv_random(NULL, NULL, request, SINK_ANSWER_SIZE, 0, NULL) < 0)
        return -1;
    hello_make(hello, token, number);
    apply_mask(hello, request);
    return 0;
}

int64_t sink_hello_read(const uint8_t request[SINK_HELLO_SIZE], const uint8_t token[TOKEN_SIZE],
                        uint64_t connections, uint8_t answer[SINK_ANSWER_SIZE])
{
    uint8_t hello[HELLO_SIZE];
    memcpy(hello, request + SINK_ANSWER_SIZE, sizeof hello);
    apply_mask(hello, request);
    for (size_t i = 0; i < SINK_ANSWER_SIZE; i++)
        answer[i] = (uint8_t)~request[i];
    return hello_read(hello, token, connections);
}

bool sink_has_accepted(const uint8_t answer[SINK_ANSWER_SIZE], const uint8_t request[SINK_HELLO_SIZE])
{
    bool accepted = true;
    for (size_t i = 0; i < SINK_ANSWER_SIZE; i++)
        accepted &= (answer[i] ^ request[i]) == 0xff;
    return accepted;
}

/* ---- the acceptor ---- */

struct late_hello {
    uv_poll_t poll; /* first: libuv passes it to the callbacks */
    struct hello_acceptor *acceptor;
    TAILQ_ENTRY(late_hello) others;
    int fd;
    size_t size;
    uint8_t hello[SINK_HELLO_SIZE]; /* its first `size` bytes have arrived */
};

static void reject(struct hello_acceptor *acceptor, int fd)
{
    ++*acceptor->rejected;
    close(fd);
}

/* Returns 1 if the hello is whole, 0 if bytes are missing, -1 after an error or the end of the
 * stream. */
static int read_hello(struct late_hello *late)
{
    const struct hello_acceptor *acceptor = late->acceptor;
    size_t whole = acceptor->sink_token ? SINK_HELLO_SIZE : HELLO_SIZE;
    acceptor->counts->made[CALL_RECVFROM]++;
    ssize_t size = recv(late->fd, late->hello + late->size, whole - late->size, MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (size <= 0)
        return -1;
    late->size += (size_t)size;
    return late->size == whole;
}

/* A new connection has room for these bytes. If it is broken, read_hello() finds that out. */
static void greet(int fd, const uint8_t token[TOKEN_SIZE])
{
    uint8_t greeting[SINK_GREETING_SIZE];
    sink_greeting_make(greeting, token);
    send(fd, greeting, sizeof greeting, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* `result` of read_hello(): 1 or -1. */
static void decide(struct hello_acceptor *acceptor, const struct late_hello *late, int result)
{
    if (result < 0 || !acceptor->on_hello(acceptor->owner, late->hello, late->fd))
        reject(acceptor, late->fd);
}

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

/* The entry lives until the loop runs again. The caller owns its descriptor. */
static void unwatch(struct late_hello *late)
{
    TAILQ_REMOVE(&late->acceptor->late, late, others);
    late->acceptor->late_count--;
    uv_close((uv_handle_t *)&late->poll, on_closed);
}

/* uv_poll_init() has made the descriptor nonblocking. */
static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct late_hello *late = (struct late_hello *)poll;
    int result = status < 0 ? -1 : read_hello(late);
    if (result == 0)
        return;
    unwatch(late); /* before an engine watches the descriptor */
    if (late->acceptor->blocking)
        sockets_set_blocking(late->fd, true);
    decide(late->acceptor, late, result);
}

/* Connections of the run send their hello soon, so the oldest entry is none of them. */
static void watch(struct hello_acceptor *acceptor, const struct late_hello *accepted)
{
    struct late_hello *late = malloc(sizeof *late), *oldest = TAILQ_FIRST(&acceptor->late);

    if (acceptor->late_count >= acceptor->late_max) {
        unwatch(oldest);
        reject(acceptor, oldest->fd);
    }
    if (late)
        *late = *accepted;
    if (!late || !sockets_can_watch(late->fd) || uv_poll_init(acceptor->loop, &late->poll, late->fd) < 0) {
        free(late);
        reject(acceptor, accepted->fd);
        return;
    }
    TAILQ_INSERT_TAIL(&acceptor->late, late, others);
    acceptor->late_count++;
    uv_poll_start(&late->poll, UV_READABLE, on_readable);
}

void hello_acceptor_open(struct hello_acceptor *acceptor)
{
    TAILQ_INIT(&acceptor->late);
    acceptor->late_count = 0;
}

bool hello_acceptor_accept(struct hello_acceptor *acceptor, size_t most)
{
    bool is_late = false;

    for (size_t i = 0; i < most && acceptor->listener >= 0; i++) {
        struct late_hello accepted = {.acceptor = acceptor,
                                      .fd = sockets_accept(acceptor->listener, acceptor->blocking)};

        acceptor->counts->made[CALL_ACCEPT]++;
        if (accepted.fd < 0)
            break;
        if (acceptor->sink_token)
            greet(accepted.fd, acceptor->sink_token);
        int result = read_hello(&accepted);
        is_late |= result == 0;
        if (result == 0)
            watch(acceptor, &accepted);
        else
            decide(acceptor, &accepted, result);
    }
    return is_late;
}

void hello_acceptor_close(struct hello_acceptor *acceptor)
{
    struct late_hello *late;
    acceptor->listener = -1;
    while ((late = TAILQ_FIRST(&acceptor->late))) {
        unwatch(late);
        close(late->fd);
    }
}
