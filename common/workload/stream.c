/* SPDX-License-Identifier: MIT */
/* One end sends messages as fast as it can, and the other receives them; or both ends do both. */
#include "workload/roles.h"

#include <sys/param.h>

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
