/* SPDX-License-Identifier: MIT */
#include "engine/acceptor.h"

#define LATE_MORE 32 /* descriptors without a hello, beyond one for each connection */

/* The connection may still have its previous descriptor, which the driver has closed. */
static bool assign(void *owner, const uint8_t *hello, int fd)
{
    struct event_loop *loop = owner;
    const struct engine_job *job = loop->job;
    int64_t number = hello_read(hello, job->dial->token, job->count);

    if (number < 0 || loop->result < 0 || loop->tasks[number]->next_fd >= 0)
        return false;
    task_accepted(loop->tasks[number], fd);
    return true;
}

int acceptor_open(struct acceptor *acceptor, struct event_loop *loop, bool nonblocking)
{
    struct engine_job *job = loop->job;
    int result = uv_loop_init(&acceptor->uv_loop);

    if (result < 0)
        return result;
    acceptor->loop = loop;
    acceptor->fds[0] = job->dial->listener;
    acceptor->fds[1] = uv_backend_fd(&acceptor->uv_loop);
    acceptor->hellos = (struct hello_acceptor){.listener = job->dial->listener,
                                               .blocking = !nonblocking,
                                               .hello_size = HELLO_SIZE,
                                               .late_max = job->count + LATE_MORE,
                                               .loop = &acceptor->uv_loop,
                                               .counts = &job->shared->waits,
                                               .rejected = &job->dial->strangers,
                                               .on_hello = assign,
                                               .owner = loop};
    hello_acceptor_open(&acceptor->hellos);
    return 0;
}

void acceptor_readable(struct acceptor *acceptor, size_t index)
{
    if (index == 0 && !hello_acceptor_accept(&acceptor->hellos, acceptor->loop->job->count))
        return;
    acceptor->loop->job->shared->waits.made[CALL_EPOLL_WAIT]++;
    uv_run(&acceptor->uv_loop, UV_RUN_NOWAIT);
}

void acceptor_close(struct acceptor *acceptor)
{
    if (!acceptor->loop)
        return;
    hello_acceptor_close(&acceptor->hellos);
    uv_run(&acceptor->uv_loop, UV_RUN_NOWAIT);
    uv_loop_close(&acceptor->uv_loop);
    acceptor->loop = NULL;
}
