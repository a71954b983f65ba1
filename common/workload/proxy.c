/* SPDX-License-Identifier: MIT */
/* Three ends: the source sends, the proxy forwards, the sink receives. `direction` decides which of
 * client and server is which, or that each is both. For each connection of the plan, a proxy has
 * two twins: one to the client, one to the server. Bytes that arrive on one twin stay in their
 * receive buffers; the other twin sends them from there. Each chunk is a fragment. All waiting
 * chunks, at most `window`, are one group. */
#include "connection/strategy.h"
#include "workload/roles.h"

/* The chunks that arrived on a connection. A chunk waits here, then in the queue of the twin; then
 * its buffer is released. A ring delivers as long as it has buffers: chunks have no bound. */
struct relay {
    uint64_t arrived, appended, released; /* counters of chunks */
    uint32_t first, last;                 /* list of spans of waiting chunks: struct kept */
};

/* The most chunks of one connection: two windows, so that one fills while the other is sent. A
 * multishot reading has one window, which fills again when all of it has been sent. The reason: a
 * ring runs one request after the other, so it would send each of two windows half full. */
static uint64_t chunks_max(const struct plan *plan)
{
    return (plan->ends[END_PROXY].reading->read ? 2 : 1) * plan_window(plan, END_PROXY);
}

static size_t buffers_of_pair(const struct plan *plan)
{
    return (plan->direction == DIRECTION_BOTH ? 2 : 1) * chunks_max(plan);
}

/* Appends waiting chunks, span by span. If there is no room for all of a span, its rest waits. */
static void relay_fill(struct connection *connection)
{
    const struct pool *pool = &connection->shared->pool;
    struct relay *relay = connection->twin->role_state;
    uint32_t chunk = (uint32_t)pool->size;
    uint64_t waiting = relay->arrived - relay->appended, room = connection_room(connection);
    uint64_t left = waiting < room ? waiting : room;

    connection->groups += left != 0;
    while (left) {
        const struct kept kept = pool->kept[relay->first];
        uint32_t count = kept.count < left ? kept.count : (uint32_t)left;
        uint32_t size = count < kept.count ? count * chunk : kept.size;
        left -= count;
        *queue_append(&connection->queue) =
            (struct span){.data = pool_buffer(pool, relay->first),
                          .size = size,
                          .marks = (left ? 0 : FRAGMENT_ENDS_GROUP) | (count > 1 ? SPAN_OF_MANY : 0),
                          .fragment = chunk};
        relay->appended += count;
        if (count == kept.count) {
            relay->first = kept.next;
            continue;
        }
        if (relay->last == relay->first)
            relay->last += count;
        relay->first += count;
        pool->kept[relay->first] = (struct kept){kept.size - size, kept.count - count, kept.next};
    }
}

static bool received_all(const struct connection *connection)
{
    return !connection->follows || connection_has_ended(connection) || connection_at_stop(connection);
}

/* A connection that must not receive is read too, because the end of its stream is an error. */
static size_t relay_wants(const struct connection *connection)
{
    const struct relay *relay = connection->role_state;
    if (connection->follows &&
        (received_all(connection) || relay->arrived - relay->released >= chunks_max(connection->plan)))
        return 0;
    return connection->shared->pool.size;
}

/* There is room for a window: with less, a multishot receive would end after a few chunks. */
static bool relay_has_room(const struct connection *connection)
{
    const struct relay *relay = connection->role_state;
    return !connection->follows ||
           relay->arrived - relay->released + connection->window <= chunks_max(connection->plan);
}

/* A chunk extends the last span if its buffer follows in memory, up to SPAN_BYTES_MAX. */
static int relay_arrived(struct connection *connection, const uint8_t *data, size_t size)
{
    struct relay *relay = connection->role_state;
    const struct pool *pool = &connection->shared->pool;

    if (!connection->follows)
        return one_way_refuse(connection, data, size);
    if (connection_process_bytes(connection, data, size) < 0)
        return -EBADMSG;
    uint32_t number = pool_number(pool, data), count = pool_count(pool, size);
    struct kept *last = &pool->kept[relay->last];
    if (relay->arrived != relay->appended && !pool->headroom && number == relay->last + last->count &&
        last->size == last->count * pool->size && last->size + size <= SPAN_BYTES_MAX) {
        last->size += (uint32_t)size;
        last->count += count;
    } else {
        pool->kept[number] = (struct kept){.size = (uint32_t)size, .count = count};
        if (relay->arrived == relay->appended)
            relay->first = number;
        else
            last->next = number;
        relay->last = number;
    }
    relay->arrived += count;
    return 0;
}

static void relay_released(void *owner, const struct span *span)
{
    struct connection *connection = owner;
    struct relay *relay = connection->twin->role_state;
    pool_release(&connection->shared->pool, span->data, span->size);
    relay->released += span_count(span);
}

static bool relayed_all(const struct connection *connection)
{
    const struct relay *relay = connection->twin->role_state;
    return received_all(connection) && received_all(connection->twin) && relay->arrived == relay->appended;
}

static const struct role relay = {
    .receives = true,
    .relay_buffers = buffers_of_pair,
    .state_size = sizeof(struct relay),
    .fill = relay_fill,
    .wants = relay_wants,
    .has_room = relay_has_room,
    .arrived = relay_arrived,
    .released = relay_released,
    .over = relayed_all,
};

const struct workload workload_proxy = {
    .variant = {"proxy", "client and server stream through a proxy that forwards what it receives"},
    .has_direction = true,
    .roles = {[ROLE_DRIVER] = &one_way_driver,
              [ROLE_FOLLOWER] = &one_way_follower,
              [ROLE_BOTH] = &one_way_both,
              [ROLE_PROXY] = &relay},
};
