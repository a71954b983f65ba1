/* SPDX-License-Identifier: MIT */
#include "workload/exchange.h"

size_t asking_size(const struct plan *plan)
{
    return sizeof(struct asking) + plan_slots(plan) * sizeof(struct asked);
}

void asking_begin(struct connection *connection)
{
    struct asking *asking = connection->role_state;

    asking->mask = plan_slots(connection->plan) - 1;
    if (connection->plan->rate)
        schedule_begin(&asking->schedule, connection->plan, connection->number);
}

/* Open loop: a request is due at its time in the schedule. */
static uint64_t due_ns(const struct thread_shared *shared, const struct asking *asking)
{
    return shared->start_ns + asking->schedule.due_ns;
}

/* Closed loop: a request is due when the previous one was answered, at the last clock reading. */
void asking_note_begun(struct thread_shared *shared, struct asking *asking, uint64_t slot)
{
    struct asked *asked = &asking->in_flight[slot];

    asking->begun++;
    asked->intended_ns = asked->sent_ns = shared->now_ns;
    if (!shared->paced)
        return;
    asked->intended_ns = due_ns(shared, asking);
    asked->sent_ns = shared->now_ns = clock_now_ns();
    histogram_record(&shared->late_start, asked->sent_ns - asked->intended_ns);
    shared->due++;
    schedule_advance(&asking->schedule);
}

bool asking_is_due(const struct connection *connection, const struct asking *asking)
{
    const struct thread_shared *shared = connection->shared;

    return asking->begun - asking->answered < connection->plan->depth &&
           (!shared->paced || due_ns(shared, asking) <= shared->now_ns);
}

static void asking_fill(struct connection *connection)
{
    struct asking *asking = connection->role_state;
    struct thread_shared *shared = connection->shared;
    uint64_t room = connection_room(connection), count = 0;

    while (count < room && asking_is_due(connection, asking) && connection_may_begin(connection, false)) {
        asking_note_begun(shared, asking, asking->begun & asking->mask);
        count++;
    }
    if (count)
        connection_append(connection, count);
}

static size_t asking_wants(const struct connection *connection)
{
    const struct asking *asking = connection->role_state;

    return (asking->begun - asking->answered) * connection->incoming->bytes - connection->arrivals.partial;
}

void asking_note_answered(struct thread_shared *shared, struct asking *asking, uint64_t slot)
{
    const struct asked *asked = &asking->in_flight[slot];

    asking->answered++;
    histogram_record(&shared->latency, shared->now_ns - asked->intended_ns);
    if (shared->paced)
        histogram_record(&shared->service, shared->now_ns - asked->sent_ns);
}

static int asking_arrived(struct connection *connection, const uint8_t *data, size_t size)
{
    struct asking *asking = connection->role_state;
    size_t wanted = asking_wants(connection);
    int64_t whole;

    if (size > wanted) {
        problem_failure(&connection->shared->problem, "%zu bytes came of replies of which %zu were due", size,
                        wanted);
        return -EBADMSG;
    }
    whole = connection_process_bytes(connection, data, size);
    if (whole < 0)
        return (int)whole;
    while (whole--)
        asking_note_answered(connection->shared, asking, asking->answered & asking->mask);
    return 0;
}

/* Only the whole reply is proof: an echoing peer begins its reply before it has the message. */
bool asking_answered(const struct connection *connection)
{
    const struct asking *asking = connection->role_state;

    return asking->begun == asking->answered;
}

uint64_t asking_next(const struct connection *connection)
{
    const struct asking *asking = connection->role_state;
    const struct thread_shared *shared = connection->shared;

    if (asking->begun - asking->answered == connection->plan->depth || !connection_phase_lasts(connection))
        return NEVER;
    if (!shared->paced)
        return shared->now_ns;
    return due_ns(shared, asking) < shared->deadline_ns ? due_ns(shared, asking) : NEVER;
}

uint64_t asking_missed(const struct connection *connection)
{
    const struct asking *asking = connection->role_state;
    const struct thread_shared *shared = connection->shared;

    return shared->deadline_ns == UINT64_MAX
               ? 0
               : schedule_count_until(&asking->schedule, shared->deadline_ns - shared->start_ns);
}

const struct role asking_role = {
    .sends = true,
    .receives = true,
    .clocks = true,
    .times = true,
    .state_size = asking_size,
    .begin = asking_begin,
    .fill = asking_fill,
    .wants = asking_wants,
    .arrived = asking_arrived,
    .answered = asking_answered,
    .next = asking_next,
    .missed = asking_missed,
};

/* The server: a reply for every whole request. */
struct answering {
    uint64_t owed; /* replies that are not in the queue */
};

static size_t answering_size(const struct plan *plan)
{
    (void)plan;
    return sizeof(struct answering);
}

void answering_burn(const struct thread_shared *shared, uint64_t replies)
{
    uint64_t burnt_ns = replies * shared->plan->spin_ns, until = burnt_ns ? clock_now_ns() + burnt_ns : 0;

    while (burnt_ns && clock_now_ns() < until && !thread_shared_is_cancelled(shared))
        ;
}

static void answering_fill(struct connection *connection)
{
    struct answering *answering = connection->role_state;
    uint64_t room = connection_room(connection);
    uint64_t count = answering->owed < room ? answering->owed : room;

    if (!count)
        return;
    answering_burn(connection->shared, count);
    connection_append(connection, count);
    answering->owed -= count;
}

static int answering_arrived(struct connection *connection, const uint8_t *data, size_t size)
{
    struct answering *answering = connection->role_state;
    int64_t whole = connection_process_bytes(connection, data, size);

    if (whole < 0)
        return (int)whole;
    answering->owed += (uint64_t)whole;
    return 0;
}

/* A client sends the next request, or half-closes, only when it has the whole reply. */
bool answering_answered(const struct connection *connection)
{
    (void)connection;
    return true;
}

/* The end of one descriptor of many is not the end of the work. */
bool answering_is_over(const struct connection *connection)
{
    return connection_at_stop(connection) || (connection_has_ended(connection) && !connection->reconnects);
}

const struct role answering_role = {
    .sends = true,
    .receives = true,
    .state_size = answering_size,
    .fill = answering_fill,
    .wants = role_wants_all,
    .arrived = answering_arrived,
    .answered = answering_answered,
    .over = answering_is_over,
};

enum role_index exchange_role(const struct plan *plan, enum end end)
{
    (void)plan;
    return end == END_CLIENT ? ROLE_DRIVER : ROLE_FOLLOWER;
}
