/* SPDX-License-Identifier: MIT */
#include "engine/event_loop.h"

#include "base/program.h"

#include <stdlib.h>
#include <unistd.h>

void *event_loop_open(struct engine_job *job, size_t state_size, size_t watch_size)
{
    size_t watches_size = job->count * watch_size;
    struct event_loop *loop = job->state =
        calloc(1, state_size + watches_size + job->count * sizeof(struct timer));

    if (!loop)
        return NULL;
    loop->job = job;
    loop->engine = job->shared->plan->ends[job->shared->end].engine;
    loop->watches = (char *)loop + state_size;
    loop->watch_size = watch_size;
    loop->timers.list = (struct timer *)((char *)loop->watches + watches_size);
    for (size_t i = 0; i < job->count; i++) {
        struct connection *connection = &job->connections[i], *twin = connection->twin;
        struct task *task = event_loop_task(loop, i);
        *task = (struct task){.loop = loop, .connection = connection, .next_fd = -1};
        if (twin)
            task->twin = event_loop_task(loop, (size_t)(twin - job->connections));
    }
    return loop;
}

void event_loop_close(struct engine_job *job)
{
    struct event_loop *loop = job->state;

    if (!loop)
        return;
    if (loop->acceptor.count) {
        hello_acceptor_close(&loop->acceptor.hellos);
        uv_run(&loop->acceptor.uv_loop, UV_RUN_NOWAIT);
        uv_loop_close(&loop->acceptor.uv_loop);
    }
    for (size_t i = 0; i < job->count; i++)
        if (event_loop_task(loop, i)->next_fd >= 0)
            close(event_loop_task(loop, i)->next_fd);
    free(loop);
    job->state = NULL;
}

/* ---- the acceptor ---- */

#define LATE_MORE 32 /* descriptors without a hello, beyond one for each connection */

int event_loop_open_acceptor(struct event_loop *loop)
{
    struct engine_job *job = loop->job;
    struct acceptor *acceptor = &loop->acceptor;

    if (!job->dial || job->dial->listener < 0)
        return 0;
    int result = loop_init(&acceptor->uv_loop);
    if (result < 0)
        return result;
    acceptor->count = 2;
    acceptor->fds[0] = job->dial->listener;
    acceptor->fds[1] = uv_backend_fd(&acceptor->uv_loop);
    acceptor->hellos = (struct hello_acceptor){.listener = job->dial->listener,
                                               .blocking = !loop->engine->nonblocking,
                                               .late_max = job->count + LATE_MORE,
                                               .loop = &acceptor->uv_loop,
                                               .counts = &job->shared->waits,
                                               .rejected = &job->dial->strangers,
                                               .on_hello = task_accepted,
                                               .owner = loop};
    hello_acceptor_open(&acceptor->hellos);
    return 0;
}

void event_loop_accept(struct event_loop *loop, size_t index)
{
    if (index == 0 && !hello_acceptor_accept(&loop->acceptor.hellos, loop->job->count))
        return;
    loop->job->shared->waits.made[CALL_EPOLL_WAIT]++;
    uv_run(&loop->acceptor.uv_loop, UV_RUN_NOWAIT);
}

/* ---- the loop ---- */

/* Runs the ready tasks. A blocking descriptor may have no more than the bytes that are pending. */
static void run_ready(struct event_loop *loop)
{
    TAILQ_HEAD(, task) batch = TAILQ_HEAD_INITIALIZER(batch);
    struct task *task;

    TAILQ_CONCAT(&batch, &loop->ready, others);
    while (loop->result == 0 && (task = TAILQ_FIRST(&batch))) {
        struct connection *connection = task->connection;
        TAILQ_REMOVE(&batch, task, others);
        task->ready = false;
        if (!engine_has_pending(connection))
            task_continue(task, 0);
        else if (loop->engine->thread_per_connection)
            task_received(task, engine_receive(connection, connection->role->wants(connection)));
        else
            task_received(task, engine_receive_ready(connection));
    }
}

static void run_due(struct event_loop *loop)
{
    struct thread_shared *shared = loop->job->shared;
    struct task *task;
    if (!loop->timers.count)
        return;
    shared->now_ns = clock_now_ns();
    while (loop->result == 0 && (task = timers_take(&loop->timers, shared->now_ns))) {
        task->has_timer = false;
        if (!task->over && !task->connection->awaits && !task->ready)
            task_send_due(task);
    }
}

int engine_run(struct engine_job *job)
{
    struct event_loop *loop = job->state;

    if (thread_shared_is_cancelled(job->shared))
        return -ECANCELED;
    loop->result = 0;
    loop->unfinished = job->count;
    TAILQ_INIT(&loop->ready);
    loop->timers.count = 0;
    for (size_t i = 0; i < job->count; i++) {
        struct task *task = event_loop_task(loop, i);
        task->over = task->ready = task->has_timer = false;
    }
    for (size_t i = 0; i < job->count && loop->result == 0; i++) {
        job->shared->now_ns = clock_now_ns();
        task_send_due(event_loop_task(loop, i));
    }
    while (loop->unfinished && loop->result == 0) {
        run_ready(loop);
        run_due(loop);
        if (loop->unfinished && loop->result == 0)
            loop->engine->wait(loop);
    }
    return loop->result;
}

static int half_close_all(struct event_loop *loop, bool drives)
{
    for (size_t i = 0; i < loop->job->count && loop->result == 0; i++) {
        struct task *task = event_loop_task(loop, i);
        if (task->connection->drives != drives)
            continue;
        task->over = false;
        loop->unfinished++;
        task_half_close(task);
    }
    while (loop->unfinished && loop->result == 0)
        loop->engine->wait(loop);
    return loop->result;
}

int engine_finish(struct engine_job *job)
{
    struct event_loop *loop = job->state;
    job->shared->finishing = true;
    loop->unfinished = 0;
    int result = half_close_all(loop, true);
    return result < 0 ? result : half_close_all(loop, false);
}

void event_loop_wake(struct event_loop *loop)
{
    if (thread_shared_is_cancelled(loop->job->shared))
        loop->result = -ECANCELED;
    for (size_t i = 0; !event_loop_is_finishing(loop) && i < loop->job->count && loop->result == 0; i++) {
        struct task *task = event_loop_task(loop, i);
        if (!task->over && queue_is_idle(&task->connection->queue))
            task_send_due(task);
    }
}

/* ---- timers ---- */

void timers_add(struct timers *timers, uint64_t due_ns, void *item)
{
    size_t at = timers->count++;
    while (at && timers->list[(at - 1) / 2].due_ns > due_ns) {
        timers->list[at] = timers->list[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    timers->list[at] = (struct timer){due_ns, item};
}

/* The last timer takes the place of the first, and sifts down. */
void *timers_take(struct timers *timers, uint64_t now_ns)
{
    if (!timers->count || timers_next(timers) > now_ns)
        return NULL;
    void *item = timers->list[0].item;
    struct timer last = timers->list[--timers->count];
    size_t at = 0, child;

    while ((child = 2 * at + 1) < timers->count) {
        child += child + 1 < timers->count && timers->list[child + 1].due_ns < timers->list[child].due_ns;
        if (timers->list[child].due_ns >= last.due_ns)
            break;
        timers->list[at] = timers->list[child];
        at = child;
    }
    timers->list[at] = last;
    return item;
}
