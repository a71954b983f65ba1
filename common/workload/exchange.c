/* SPDX-License-Identifier: MIT */
#include "workload/roles.h"

#include <sys/param.h>

void requester_begin(struct connection *connection)
{
    struct requester *requester = connection->role_state;
    requester->mask = plan_slots(connection->plan) - 1;
    if (connection->plan->rate)
        schedule_begin(&requester->schedule, connection->plan, connection->number);
}

/* Open loop: when the next request is due. */
static uint64_t due_ns(const struct thread_shared *shared, const struct requester *requester)
{
    return shared->start_ns + requester->schedule.due_ns;
}

COLD static void note_paced(struct thread_shared *shared, struct requester *requester,
                            struct request_times *times)
{
    times->intended_ns = due_ns(shared, requester);
    times->sent_ns = shared->now_ns = clock_now_ns();
    histogram_record(&shared->late_start, times->sent_ns - times->intended_ns);
    shared->due++;
    schedule_advance(&requester->schedule);
}

/* Closed loop: a request is due when the previous one was answered, at shared->now_ns. */
HOT void requester_note_begun(struct thread_shared *shared, struct requester *requester, uint64_t slot)
{
    struct request_times *times = &requester->in_flight[slot];
    requester->begun++;
    if (UNLIKELY(shared->paced))
        note_paced(shared, requester, times);
    else
        times->intended_ns = shared->now_ns;
}

HOT bool requester_is_due(const struct connection *connection, const struct requester *requester)
{
    const struct thread_shared *shared = connection->shared;
    return requester->begun - requester->answered < connection->plan->depth &&
           (!UNLIKELY(shared->paced) || due_ns(shared, requester) <= shared->now_ns);
}

HOT static void requester_fill(struct connection *connection)
{
    struct requester *requester = connection->role_state;
    uint64_t room = connection_room(connection), count = 0;
    for (; count < room && requester_is_due(connection, requester) && connection_may_begin(connection, false);
         count++)
        requester_note_begun(connection->shared, requester, requester->begun & requester->mask);
    if (count)
        connection_append(connection, count);
}

HOT static size_t requester_wants(const struct connection *connection)
{
    const struct requester *requester = connection->role_state;
    return (requester->begun - requester->answered) * connection->incoming->bytes -
           connection->arrivals.partial;
}

HOT void requester_note_reply(struct thread_shared *shared, struct requester *requester, uint64_t slot)
{
    const struct request_times *times = &requester->in_flight[slot];
    requester->answered++;
    histogram_record(&shared->latency, shared->now_ns - times->intended_ns);
    if (UNLIKELY(shared->paced))
        histogram_record(&shared->service, shared->now_ns - times->sent_ns);
}

HOT NO_CANARY static int requester_arrived(struct connection *connection, const uint8_t *data, size_t size)
{
    struct requester *requester = connection->role_state;
    size_t wanted = requester_wants(connection);
    if (UNLIKELY(size > wanted))
        return connection_refuse(connection, "%zu bytes of replies came, and only %zu were due", size,
                                 wanted);
    int result = connection_process_bytes(connection, data, size);
    for (uint64_t replies = connection->arrivals.messages - requester->answered; replies; replies--)
        requester_note_reply(connection->shared, requester, requester->answered & requester->mask);
    return result;
}

uint64_t requester_next(const struct connection *connection)
{
    const struct requester *requester = connection->role_state;
    const struct thread_shared *shared = connection->shared;
    if (requester->begun - requester->answered == connection->plan->depth ||
        !connection_phase_lasts(connection))
        return NEVER;
    if (!shared->paced)
        return shared->now_ns;
    return due_ns(shared, requester) < shared->deadline_ns ? due_ns(shared, requester) : NEVER;
}

uint64_t requester_missed(const struct connection *connection)
{
    const struct requester *requester = connection->role_state;
    const struct thread_shared *shared = connection->shared;
    return shared->deadline_ns == UINT64_MAX
               ? 0
               : schedule_count_until(&requester->schedule, shared->deadline_ns - shared->start_ns);
}

const struct role requester_role = {
    REQUESTER,
    .fill = requester_fill,
    .wants = requester_wants,
    .arrived = requester_arrived,
};

void responder_spin(const struct thread_shared *shared, uint64_t replies)
{
    uint64_t until_ns = clock_now_ns() + replies * shared->plan->spin_ns;
    while (clock_now_ns() < until_ns && !thread_shared_is_cancelled(shared))
        ;
}

HOT NO_CANARY static void responder_fill(struct connection *connection)
{
    uint64_t *answered = connection->role_state; /* requests whose reply is in the queue */
    uint64_t room = connection_room(connection), count = MIN(room, connection->arrivals.messages - *answered);
    if (!count)
        return;
    if (UNLIKELY(connection->shared->plan->spin_ns))
        responder_spin(connection->shared, count);
    connection_append(connection, count);
    *answered += count;
}

/* With reconnects, the end of one descriptor is not the end of the work. */
bool responder_is_over(const struct connection *connection)
{
    return connection_at_stop(connection) || (connection_has_ended(connection) && !connection->reconnects);
}

/* A client sends its next request, or half-closes, only when it has the complete reply. */
const struct role responder_role = {
    .receives = true,
    .answers = true,
    .state_size = sizeof(uint64_t),
    .fill = responder_fill,
    .wants = role_wants_all,
    .arrived = one_way_arrived,
    .over = responder_is_over,
};
