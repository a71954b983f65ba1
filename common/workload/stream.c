/* SPDX-License-Identifier: MIT */
/* One way: one end sends messages as fast as they go, the other takes them. Or both ways, at the same time.
 */
#include "workload/workload.h"

#include "base/clock.h"

static void send_next(struct connection *connection)
{
    struct samples *samples = &connection->bench->samples;
    uint64_t room = connection_room(connection), count = 0;

    while (count < room && connection_may_begin(connection, true))
        count++;
    if (!count)
        return;
    connection_append(connection, count);
    if (connection->incoming)
        return; /* what arrives is sampled */
    samples_count(samples, count, count * connection->outgoing->bytes);
    samples_reached(samples, connection->bench->now_ns);
}

static size_t nothing_wanted(const struct connection *connection)
{
    (void)connection;
    return 0;
}

static int nothing_expected(struct connection *connection, const uint8_t *data, size_t size)
{
    (void)data;
    problem_failure(&connection->bench->problem, "%zu bytes came from the end that only receives", size);
    return -EBADMSG;
}

static uint64_t next_message(const struct connection *connection)
{
    return connection_goes_on(connection) ? connection->bench->now_ns : NEVER;
}

static void send_nothing(struct connection *connection)
{
    (void)connection;
}

static size_t all_wanted(const struct connection *connection)
{
    return connection->ended || connection_at_stop(connection) ? 0 : connection->bench->pool.size;
}

static int stream_arrived(struct connection *connection, const uint8_t *data, size_t size)
{
    int64_t whole = connection_receive(connection, data, size);

    if (whole < 0)
        return (int)whole;
    if (whole)
        samples_reached(&connection->bench->samples, connection->bench->now_ns);
    return 0;
}

/* What comes in ends by itself: by the stop, or after the peer has half-closed, and then nothing is left to
 * wait for. */
static bool sent_all(const struct connection *connection)
{
    const struct workbench *bench = connection->bench;

    if (bench->stays && !connection->ended && !atomic_load_explicit(&bench->let_go, memory_order_acquire))
        return false;
    return !connection_goes_on(connection) &&
           (!connection->until_stop || connection->ended || connection_at_stop(connection));
}

/* What has come is not asked for: messages_left counts down as they come, and the time may be over in the
 * middle of one. */
static int taken(struct connection *connection, const uint8_t *data, size_t size)
{
    int64_t whole = connection_receive(connection, data, size);

    if (whole < 0)
        return (int)whole;
    if (!whole && connection->bench->deadline_ns != UINT64_MAX)
        connection->bench->now_ns = clock_now_ns();
    if (connection->messages_left != UINT64_MAX)
        connection->messages_left -=
            (uint64_t)whole < connection->messages_left ? (uint64_t)whole : connection->messages_left;
    if (whole)
        samples_reached(&connection->bench->samples, connection->bench->now_ns);
    return 0;
}

static size_t more_wanted(const struct connection *connection)
{
    return connection_goes_on(connection) ? connection->bench->pool.size : 0;
}

static enum role role(const struct plan *plan, enum end end)
{
    static const enum role roles[][END_COUNT] = {
        [DIRECTION_SEND] = {ROLE_DRIVER, ROLE_FOLLOWER},
        [DIRECTION_RECEIVE] = {ROLE_FOLLOWER, ROLE_DRIVER},
        [DIRECTION_BOTH] = {ROLE_BOTH, ROLE_BOTH},
    };

    if (plan_has_peer(plan) && plan->direction == DIRECTION_RECEIVE)
        return ROLE_TAKER;
    return roles[plan->direction][end];
}

const struct workload workload_stream = {
    .variant = {"stream", "one end sends messages as fast as they go, the other takes them; or both do"},
    .halves = {[ROLE_DRIVER] = {.sends = true,
                                .fill = send_next,
                                .wants = nothing_wanted,
                                .arrived = nothing_expected,
                                .next = next_message},
               [ROLE_FOLLOWER] = {.receives = true,
                                  .clocks = true,
                                  .fill = send_nothing,
                                  .wants = all_wanted,
                                  .arrived = stream_arrived},
               [ROLE_BOTH] = {.sends = true,
                              .receives = true,
                              .clocks = true,
                              .fill = send_next,
                              .wants = all_wanted,
                              .arrived = stream_arrived,
                              .next = next_message,
                              .over = sent_all},
               [ROLE_TAKER] = {.receives = true,
                               .clocks = true,
                               .fill = send_nothing,
                               .wants = more_wanted,
                               .arrived = taken}},
    .role = role,
};
