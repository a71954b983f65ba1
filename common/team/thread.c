/* SPDX-License-Identifier: MIT */
#include "team/team.h"

#include "base/threads.h"
#include "placement/placement.h"

#include <errno.h>
#include <string.h>

int thread_set_up(struct team_thread *thread, const struct end_plan *own, struct problem *problem)
{
    int result = thread->pinned_to >= 0 ? cores_pin_thread(thread->pinned_to) : 0;
    if (result < 0)
        return problem_unsupported(
            problem, "place: a thread cannot be pinned to CPU %d here: %s", thread->pinned_to,
            result == -EOPNOTSUPP ? "the system reports success and runs it on another CPU"
                                  : strerror(-result));
    return scheduling_set_thread(&own->scheduling, problem);
}

void thread_read_state(struct thread_reading *reading)
{
    cpu_read_migrations(&reading->cpu);
    reading->cpu_number = affinity_works() ? cores_current() : -1;
    reading->scheduling_known = scheduling_read_thread(&reading->scheduling) == 0;
}

/* ---- the sender ---- */

static void sender_main(void *argument)
{
    struct sender *sender = argument;
    struct handover *handover = &sender->handover;
    const struct connection *connection = handover->connection;
    const struct end_plan *own = &connection->plan->ends[connection->end];

    handover->result = thread_set_up(&sender->own, own, &sender->problem);
    cpu_meter_open(&sender->own.meter, own->perf);
    uv_sem_post(&handover->done);
    for (enum handover_order order; (order = handover_serve(handover)) != HANDOVER_END;) {
        if (order == HANDOVER_END_TIME)
            cpu_meter_end(&sender->own.meter, &sender->own.after.cpu);
        thread_read_state(order == HANDOVER_END_TIME ? &sender->own.after : &sender->own.before);
        uv_sem_post(&handover->done);
        if (order == HANDOVER_BEGIN_TIME) /* the data thread reads it after the interval */
            cpu_meter_begin(&sender->own.meter, &sender->own.before.cpu);
    }
    cpu_meter_close(&sender->own.meter);
}

int sender_start(struct sender *sender, struct connection *connection, int cpu, struct problem *problem)
{
    handover_open(&sender->handover, connection);
    sender->own.pinned_to = cpu;
    sender->handover.is_pending = true; /* until it is set up */
    int result = uv_thread_create(&sender->own.handle, sender_main, sender);
    if (result < 0)
        return thread_failure(problem, result, "a sender thread");
    sender->own.started = true;
    if (handover_wait(&sender->handover) == 0)
        return 0;
    *problem = sender->problem;
    return -1;
}

void sender_execute(struct sender *sender, enum handover_order order)
{
    handover_post(&sender->handover, order);
    handover_wait(&sender->handover);
}

void sender_end(struct sender *sender)
{
    if (sender->own.started) {
        handover_wait(&sender->handover);
        handover_post(&sender->handover, HANDOVER_END);
        uv_thread_join(&sender->own.handle);
        sender->own.started = false;
    }
    handover_close(&sender->handover);
}
