/* SPDX-License-Identifier: MIT */
#include "engine/acceptor.h"

#include "base/cleanup.h"
#include "net/sockets.h"

#include <unistd.h>

#define PENDING_SPARE 32 /* pending descriptors beyond one for each connection */

struct pending {
    uv_poll_t poll; /* first */
    struct acceptor *acceptor;
    TAILQ_ENTRY(pending) others;
    int fd;
    size_t size;
    uint8_t hello[HELLO_SIZE];
};

int acceptor_open(struct acceptor *acceptor, struct event_loop *loop, bool nonblocking)
{
    *acceptor = (struct acceptor){.nonblocking = nonblocking};
    TAILQ_INIT(&acceptor->waiting);
    if (uv_loop_init(&acceptor->uv_loop) < 0)
        return -ENOMEM;
    acceptor->loop = loop;
    acceptor->fds[0] = loop->job->dial->listener;
    acceptor->fds[1] = uv_backend_fd(&acceptor->uv_loop);
    return 0;
}

static void reject(struct acceptor *acceptor, int fd)
{
    acceptor->loop->job->dial->strangers++;
    close(fd);
}

/* Reads no byte beyond the hello. Returns 1 if it is complete, 0 if bytes are missing, -1 after an
 * error or the end of the stream. */
static int read_hello(struct acceptor *acceptor, struct pending *pending)
{
    ssize_t size;

    acceptor->loop->job->shared->waits.made[CALL_RECVFROM]++;
    size = recv(pending->fd, pending->hello + pending->size, HELLO_SIZE - pending->size, MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (size <= 0)
        return -1;
    pending->size += (size_t)size;
    return pending->size == HELLO_SIZE;
}

/* The connection may still have its previous descriptor, which the driver has closed. */
static void assign(struct acceptor *acceptor, const struct pending *pending)
{
    struct event_loop *loop = acceptor->loop;
    const struct engine_job *job = loop->job;
    int64_t number = hello_read(pending->hello, job->dial->token, job->count);

    if (number < 0 || loop->result < 0 || loop->tasks[number]->next_fd >= 0) {
        reject(acceptor, pending->fd);
        return;
    }
    task_accepted(loop->tasks[number], pending->fd);
}

/* ---- descriptors with an incomplete hello ---- */

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

/* Removes the entry. Returns its descriptor, which the caller then owns. */
static int remove_pending(struct pending *pending)
{
    TAILQ_REMOVE(&pending->acceptor->waiting, pending, others);
    pending->acceptor->count--;
    uv_close((uv_handle_t *)&pending->poll, on_closed);
    return pending->fd;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct pending *pending = (struct pending *)poll;
    int result = read_hello(pending->acceptor, pending);

    (void)status, (void)events;
    if (result == 0)
        return;
    remove_pending(pending); /* before an engine watches the descriptor */
    if (result > 0)
        assign(pending->acceptor, pending);
    else
        reject(pending->acceptor, pending->fd);
}

static void read_pending(struct acceptor *acceptor)
{
    acceptor->loop->job->shared->waits.made[CALL_EPOLL_WAIT]++;
    uv_run(&acceptor->uv_loop, UV_RUN_NOWAIT);
}

/* If the list is full, rejects the oldest entry: connections of the run send their hello soon. */
static void add_pending(struct acceptor *acceptor, const struct pending *accepted)
{
    struct pending *pending = needed(malloc(sizeof *pending));

    if (acceptor->count >= acceptor->loop->job->count + PENDING_SPARE)
        reject(acceptor, remove_pending(TAILQ_FIRST(&acceptor->waiting)));
    *pending = *accepted;
    if (uv_poll_init(&acceptor->uv_loop, &pending->poll, pending->fd) < 0) {
        free(pending);
        reject(acceptor, accepted->fd);
        return;
    }
    TAILQ_INSERT_TAIL(&acceptor->waiting, pending, others);
    acceptor->count++;
    uv_poll_start(&pending->poll, UV_READABLE, on_readable);
}

/* Accepts until the backlog is empty, at most one descriptor for each connection. libuv watches a
 * new descriptor only when its loop runs. */
static void accept_all(struct acceptor *acceptor)
{
    struct engine_job *job = acceptor->loop->job;
    bool added = false;

    for (size_t i = 0; i < job->count; i++) {
        struct pending pending = {.acceptor = acceptor};
        int result;

        job->shared->waits.made[CALL_ACCEPT]++;
        pending.fd = sockets_accept(job->dial->listener, !acceptor->nonblocking);
        if (pending.fd < 0)
            break;
        result = read_hello(acceptor, &pending);
        if (result > 0)
            assign(acceptor, &pending);
        else if (result < 0)
            reject(acceptor, pending.fd);
        else
            add_pending(acceptor, &pending);
        added |= result == 0;
    }
    if (added)
        read_pending(acceptor);
}

void acceptor_readable(struct acceptor *acceptor, size_t index)
{
    if (index == 0)
        accept_all(acceptor);
    else
        read_pending(acceptor);
}

void acceptor_close(struct acceptor *acceptor)
{
    if (!acceptor->loop)
        return;
    while (!TAILQ_EMPTY(&acceptor->waiting))
        close(remove_pending(TAILQ_FIRST(&acceptor->waiting)));
    uv_run(&acceptor->uv_loop, UV_RUN_NOWAIT);
    uv_loop_close(&acceptor->uv_loop);
    acceptor->loop = NULL;
}
