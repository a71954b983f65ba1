/* SPDX-License-Identifier: MIT */
#include "engine/event_loop.h"

#include "base/clock.h"

#include <stdlib.h>
#include <unistd.h>

void *event_loop_open(struct engine_job *job, const struct event_loop_backend *backend, size_t state_size,
                      size_t watch_size, size_t task_offset)
{
    struct connection *first = job->connections;
    struct event_loop *loop = job->state =
        calloc(1, state_size + job->count * (watch_size + sizeof *loop->tasks + sizeof(struct timer)));

    if (!loop)
        return NULL;
    loop->job = job;
    loop->backend = backend;
    loop->watches = (char *)loop + state_size;
    loop->tasks = (struct task **)((char *)loop->watches + job->count * watch_size);
    loop->timers.list = (struct timer *)(loop->tasks + job->count);
    for (size_t i = 0; i < job->count; i++) {
        loop->tasks[i] = (struct task *)((char *)loop->watches + i * watch_size + task_offset);
        *loop->tasks[i] = (struct task){.loop = loop, .connection = &first[i], .next_fd = -1};
    }
    for (size_t i = 0; i < job->count; i++)
        if (first[i].twin)
            loop->tasks[i]->twin = loop->tasks[first[i].twin - first];
    return loop;
}

void event_loop_close(struct engine_job *job)
{
    struct event_loop *loop = job->state;

    if (!loop)
        return;
    for (size_t i = 0; i < job->count; i++)
        if (loop->tasks[i]->next_fd >= 0)
            close(loop->tasks[i]->next_fd);
    free(loop);
    job->state = NULL;
}

/* Runs the ready tasks. Takes bytes that the security layer has buffered: no event reports them. */
static void run_ready(struct event_loop *loop)
{
    struct task *task = loop->ready;

    loop->ready = NULL;
    loop->last_ready = &loop->ready;
    while (task && loop->result == 0) {
        struct task *next = task->next_ready;

        task->ready = false;
        if (engine_has_pending(task->connection))
            task_received(task, loop->backend->take(task->connection));
        else
            task_continue(task, 0);
        task = next;
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

static void begin(struct event_loop *loop)
{
    loop->result = 0;
    loop->unfinished = loop->job->count;
    loop->ready = NULL;
    loop->last_ready = &loop->ready;
    loop->timers.count = 0;
    for (size_t i = 0; i < loop->job->count; i++) {
        struct task *task = loop->tasks[i];

        task->over = task->ready = task->has_timer = false;
    }
    for (size_t i = 0; i < loop->job->count && loop->result == 0; i++) {
        loop->job->shared->now_ns = clock_now_ns();
        task_send_due(loop->tasks[i]);
    }
}

int engine_run(struct engine_job *job)
{
    struct event_loop *loop = job->state;

    if (thread_shared_is_cancelled(job->shared))
        return -ECANCELED;
    begin(loop);
    while (loop->unfinished && loop->result == 0) {
        run_ready(loop);
        run_due(loop);
        if (loop->unfinished && loop->result == 0)
            loop->backend->wait(loop);
    }
    return loop->result;
}

static int half_close_all(struct event_loop *loop, bool drives)
{
    for (size_t i = 0; i < loop->job->count && loop->result == 0; i++)
        if (loop->tasks[i]->connection->drives == drives) {
            loop->tasks[i]->over = false;
            loop->unfinished++;
            task_half_close(loop->tasks[i]);
        }
    while (loop->unfinished && loop->result == 0)
        loop->backend->wait(loop);
    return loop->result;
}

int engine_finish(struct engine_job *job)
{
    struct event_loop *loop = job->state;
    int result;

    job->shared->finishing = true;
    loop->unfinished = 0;
    result = half_close_all(loop, true);
    return result < 0 ? result : half_close_all(loop, false);
}

void event_loop_wake(struct event_loop *loop)
{
    if (thread_shared_is_cancelled(loop->job->shared))
        loop->result = -ECANCELED;
    for (size_t i = 0; !event_loop_is_finishing(loop) && i < loop->job->count && loop->result == 0; i++) {
        struct task *task = loop->tasks[i];

        if (!task->over && queue_is_idle(&task->connection->queue))
            task_send_due(task);
    }
}
