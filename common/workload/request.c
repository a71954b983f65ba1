/* SPDX-License-Identifier: MIT */
/* Request and reply: the client sends `message`, the server answers each with `reply`. */
#include "workload/workload.h"

#include "base/clock.h"

/* The client: one request at a time. */
struct asking {
    uint64_t reply_left; /* bytes of the reply that are still to come; 0: nothing is outstanding */
    uint64_t begun_ns;
};

static void ask(struct connection *connection)
{
    struct asking *asking = connection->half_state;

    if (asking->reply_left || !queue_has_room(&connection->queue, connection->outgoing->count) ||
        !connection_may_begin(connection, false))
        return;
    connection_append_message(connection);
    asking->reply_left = connection->incoming->bytes;
    asking->begun_ns = connection->now_ns;
}

static size_t reply_wanted(const struct connection *connection)
{
    const struct asking *asking = connection->half_state;

    return asking->reply_left;
}

static int reply_arrived(struct connection *connection, const uint8_t *data, size_t size)
{
    struct asking *asking = connection->half_state;
    int64_t whole;

    if (size > asking->reply_left) {
        problem_failure(&connection->problem, "%zu bytes came of a reply of which %llu were due", size,
                        (unsigned long long)asking->reply_left);
        return -EBADMSG;
    }
    whole = connection_receive(connection, data, size);
    if (whole < 0)
        return (int)whole;
    asking->reply_left -= size;
    if (whole) {
        histogram_record(connection->latency, connection->now_ns - asking->begun_ns);
        samples_reached(connection->samples, connection->now_ns);
    }
    return 0;
}

/* The server: a reply for every whole request. */
struct answering {
    uint64_t owed; /* replies that are not in the queue yet */
};

static void burn(uint64_t ns)
{
    uint64_t until = clock_now_ns() + ns;

    while (clock_now_ns() < until)
        ;
}

static void answer(struct connection *connection)
{
    struct answering *answering = connection->half_state;

    while (answering->owed && queue_has_room(&connection->queue, connection->outgoing->count)) {
        if (connection->plan->spin_ns)
            burn(connection->plan->spin_ns);
        connection_append_message(connection);
        answering->owed--;
    }
}

static size_t request_wanted(const struct connection *connection)
{
    uint64_t stop = atomic_load_explicit(&connection->stop_bytes, memory_order_acquire);

    return connection->ended || connection->arrivals.bytes == stop ? 0 : connection->chunk_size;
}

static int request_arrived(struct connection *connection, const uint8_t *data, size_t size)
{
    struct answering *answering = connection->half_state;
    int64_t whole = connection_receive(connection, data, size);

    if (whole < 0)
        return (int)whole;
    answering->owed += (uint64_t)whole;
    return 0;
}

static enum end client_drives(const struct plan *plan)
{
    (void)plan;
    return END_CLIENT;
}

const struct workload workload_request = {
    .variant = {"request", "the client sends message, the server answers each with reply"},
    .driver = {sizeof(struct asking), true, true, true, true, ask, reply_wanted, reply_arrived},
    .follower = {sizeof(struct answering), true, true, false, false, answer, request_wanted, request_arrived},
    .drives = client_drives,
};
