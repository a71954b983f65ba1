/* SPDX-License-Identifier: MIT */
/* One end sends messages as fast as it can, and the other receives them; or both ends do both. The
 * client and the server of a proxy have the same roles. */
#include "workload/roles.h"

#include <sys/param.h>

HOT static void send_messages(struct connection *connection)
{
    struct samples *samples = &connection->shared->samples;
    uint64_t room = connection_room(connection), count = 0;

    while (count < room && connection_may_begin(connection, true))
        count++;
    if (!count)
        return;
    connection_append(connection, count);
    if (connection->incoming)
        return; /* the samples count arrivals */
    samples_count(samples, count, count * connection->outgoing->bytes);
    samples_reached(samples, connection->shared->now_ns);
}

int one_way_refuse(struct connection *connection, const uint8_t *data, size_t size)
{
    return connection_refuse(connection, "%zu bytes came from the end that only receives", size);
}

static uint64_t next_message(const struct connection *connection)
{
    return connection_phase_lasts(connection) ? connection->shared->now_ns : NEVER;
}

HOT NO_CANARY int one_way_arrived(struct connection *connection, const uint8_t *data, size_t size)
{
    return connection_process_bytes(connection, data, size);
}

/* The incoming direction ends at the stop, or when the peer half-closes. */
static bool both_is_over(const struct connection *connection)
{
    const struct thread_shared *shared = connection->shared;
    if (atomic_load_explicit(&shared->until_released, memory_order_acquire) &&
        !connection_has_ended(connection))
        return false;
    return !connection_phase_lasts(connection) &&
           (!connection->until_stop || connection_has_ended(connection) || connection_at_stop(connection));
}

const struct role one_way_driver = {
    .fill = send_messages,
    .wants = role_wants_all, /* nothing: it has no buffer */
    .arrived = one_way_refuse,
    .next = next_message,
};

const struct role one_way_follower = {
    .receives = true,
    .clocks = true,
    .wants = role_wants_all,
    .arrived = one_way_arrived,
};

const struct role one_way_both = {
    .receives = true,
    .clocks = true,
    .fill = send_messages,
    .wants = role_wants_all,
    .arrived = one_way_arrived,
    .next = next_message,
    .over = both_is_over,
};

/* The taker sends no requests. So messages_left counts the messages that arrive, and the deadline
 * may pass in the middle of a message. */
static int taker_arrived(struct connection *connection, const uint8_t *data, size_t size)
{
    uint64_t before = connection->arrivals.messages;
    int result = connection_process_bytes(connection, data, size);
    uint64_t whole = connection->arrivals.messages - before;
    if (!whole && connection->shared->deadline_ns != UINT64_MAX)
        connection->shared->now_ns = clock_now_ns();
    if (connection->messages_left != UINT64_MAX)
        connection->messages_left -= MIN(whole, connection->messages_left);
    return result;
}

static size_t taker_wants(const struct connection *connection)
{
    return connection_phase_lasts(connection) ? connection->shared->pool.size : 0;
}

static const struct role taker = {
    .receives = true,
    .clocks = true,
    .wants = taker_wants,
    .arrived = taker_arrived,
};

const struct workload workload_stream = {
    .variant = {"stream",
                "one end sends messages as fast as it can, the other receives them; or both do both"},
    .has_direction = true,
    .roles = {[ROLE_DRIVER] = &one_way_driver,
              [ROLE_FOLLOWER] = &one_way_follower,
              [ROLE_BOTH] = &one_way_both,
              [ROLE_TAKER] = &taker},
};
