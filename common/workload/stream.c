/* SPDX-License-Identifier: MIT */
/* One way: one end sends messages as fast as they go, the other takes them. */
#include "workload/workload.h"

static void send_next(struct connection *connection)
{
    if (!queue_has_room(&connection->queue, connection->outgoing->count) ||
        !connection_may_begin(connection, true))
        return;
    connection_append_message(connection);
    samples_count(connection->samples, 1, connection->outgoing->bytes);
    samples_reached(connection->samples, connection->now_ns);
}

static size_t nothing_wanted(const struct connection *connection)
{
    (void)connection;
    return 0;
}

static int nothing_expected(struct connection *connection, const uint8_t *data, size_t size)
{
    (void)data;
    problem_failure(&connection->problem, "%zu bytes came from the end that only receives", size);
    return -EBADMSG;
}

static void send_nothing(struct connection *connection)
{
    (void)connection;
}

static size_t all_wanted(const struct connection *connection)
{
    uint64_t stop = atomic_load_explicit(&connection->stop_bytes, memory_order_acquire);

    return connection->ended || connection->arrivals.bytes == stop ? 0 : connection->chunk_size;
}

static int stream_arrived(struct connection *connection, const uint8_t *data, size_t size)
{
    int64_t whole = connection_receive(connection, data, size);

    if (whole < 0)
        return (int)whole;
    if (whole)
        samples_reached(connection->samples, connection->now_ns);
    return 0;
}

static enum end sender_drives(const struct plan *plan)
{
    return plan->direction == DIRECTION_SEND ? END_CLIENT : END_SERVER;
}

const struct workload workload_stream = {
    .variant = {"stream", "one end sends messages as fast as they go, the other takes them"},
    .driver = {0, true, false, false, false, send_next, nothing_wanted, nothing_expected},
    .follower = {0, false, true, true, false, send_nothing, all_wanted, stream_arrived},
    .drives = sender_drives,
};
