/* SPDX-License-Identifier: MIT */
/*
 * Three ends: the source sends, the proxy sends on what it received, the sink takes it. Source and sink are
 * client and server of a stream; `direction` says which is which, or that both are both.
 *
 * A proxy has two connections for each of the plan, twins: one towards the client, one towards the server.
 * What arrives on one is kept in the buffers that it came in, and sent on by the other from there: each chunk
 * is a fragment, and all that was kept when the other may send is a group, up to `window` chunks.
 */
#include "reading/reading.h"
#include "workload/one_way.h"

/* What arrived on a connection: kept, then in the queue of its twin, then its buffer is given back. A ring
 * brings what comes for as long as it has buffers: how much that is on one connection nobody knows. */
struct relay {
    uint64_t taken, appended, given; /* numbers of chunks since the beginning */
    uint32_t first, last;            /* numbers of the buffers of those that are not appended: struct kept */
};

/* Of what arrives on one connection: one window is filled while the other is sent. A reading of the ring that
 * goes on has one, which is filled anew when all of it has been sent: a ring carries out one request after
 * the other, and of two windows each would be sent when it is half full. */
static uint64_t chunks_kept(const struct plan *plan)
{
    return (plan->ends[END_PROXY].reading->buffers ? 1 : 2) * plan_window(plan, END_PROXY);
}

static size_t kept_by_pair(const struct plan *plan)
{
    return (plan->direction == DIRECTION_BOTH ? 2 : 1) * chunks_kept(plan);
}

static size_t relay_size(const struct plan *plan)
{
    (void)plan;
    return sizeof(struct relay);
}

static void send_on(struct connection *connection)
{
    struct relay *relay = connection->twin->role_state;
    const struct pool *pool = &connection->bench->pool;
    uint64_t count = relay->taken - relay->appended, room = connection_room(connection);

    count = count < room ? count : room;
    connection->groups += count != 0;
    while (count--) {
        const struct kept *kept = &pool->kept[relay->first];

        queue_append(&connection->queue, pool_buffer(pool, relay->first), kept->size,
                     count ? 0 : FRAGMENT_ENDS_GROUP);
        relay->first = kept->next;
        relay->appended++;
    }
}

/* One that nothing is to come on is listened to as well: its end is an error. */
static size_t relay_wants(const struct connection *connection)
{
    const struct relay *relay = connection->role_state;
    size_t size = connection->bench->pool.size;

    if (!connection->follows)
        return size;
    if (connection_has_ended(connection) || connection_at_stop(connection))
        return 0;
    return relay->taken - relay->given < chunks_kept(connection->plan) ? size : 0;
}

/* For a window. Where there is less, a reading that goes on would end again after a few chunks. */
static bool relay_has_room(const struct connection *connection)
{
    const struct relay *relay = connection->role_state;

    return !connection->follows ||
           relay->taken - relay->given + connection->window <= chunks_kept(connection->plan);
}

static void keep(struct relay *relay, const struct pool *pool, uint32_t number, uint32_t size)
{
    pool->kept[number].size = size;
    if (relay->taken == relay->appended)
        relay->first = number;
    else
        pool->kept[relay->last].next = number;
    relay->last = number;
    relay->taken++;
}

static int relay_arrived(struct connection *connection, const uint8_t *data, size_t size)
{
    struct relay *relay = connection->role_state;
    int64_t whole;

    if (!connection->follows)
        return one_way_refuse(connection, data, size);
    whole = connection_receive(connection, data, size);
    if (whole < 0)
        return (int)whole;
    keep(relay, &connection->bench->pool, pool_number(&connection->bench->pool, data), (uint32_t)size);
    return 0;
}

static void relay_released(void *owner, const struct fragment *fragment)
{
    struct connection *connection = owner;
    struct relay *relay = connection->twin->role_state;

    pool_give(&connection->bench->pool, fragment->data);
    relay->given++;
}

static bool has_come(const struct connection *connection)
{
    return !connection->follows || connection_has_ended(connection) || connection_at_stop(connection);
}

static bool sent_on(const struct connection *connection)
{
    const struct relay *relay = connection->twin->role_state;

    return has_come(connection) && has_come(connection->twin) && relay->taken == relay->appended;
}

const struct workload workload_proxy = {
    .variant = {"proxy", "client and server stream through a proxy that sends on what it receives"},
    .roles = {[ROLE_DRIVER] = {ONE_WAY_DRIVER},
              [ROLE_FOLLOWER] = {ONE_WAY_FOLLOWER},
              [ROLE_BOTH] = {ONE_WAY_BOTH},
              [ROLE_PROXY] = {.sends = true,
                              .receives = true,
                              .relay_buffers = kept_by_pair,
                              .state_size = relay_size,
                              .fill = send_on,
                              .wants = relay_wants,
                              .has_room = relay_has_room,
                              .arrived = relay_arrived,
                              .released = relay_released,
                              .over = sent_on}},
    .role = one_way_role,
};
