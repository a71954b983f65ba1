/* SPDX-License-Identifier: MIT */
/* Three ends: the source sends, the proxy forwards, the sink receives. Source and sink are the
 * client and the server of a stream. `direction` decides which is which; with `both`, each is both.
 *
 * For each connection of the plan, a proxy has two twins: one to the client, one to the server.
 * Bytes that arrive on one twin stay in their receive buffers; the other twin sends them from
 * there. Each chunk is a fragment. All waiting chunks, at most `window`, are one group. */
#include "connection/strategy.h"
#include "workload/roles.h"

/* The chunks that arrived on a connection. A chunk waits here, then in the queue of the twin; then
 * its buffer is released. A ring delivers as long as it has buffers, so the number of chunks on one
 * connection has no bound. */
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

/* Appends the first `count` chunks of the first waiting span. The rest of the span waits. */
static void append_kept(struct connection *connection, struct relay *relay, uint32_t count, uint32_t marks)
{
    const struct pool *pool = &connection->shared->pool;
    const struct kept kept = pool->kept[relay->first];
    uint32_t chunk = (uint32_t)pool->size, size = count < kept.count ? count * chunk : kept.size;

    *queue_append(&connection->queue) = (struct span){.data = pool_buffer(pool, relay->first),
                                                      .size = size,
                                                      .marks = marks | (count > 1 ? SPAN_OF_MANY : 0),
                                                      .fragment = chunk};
    relay->appended += count;
    if (count == kept.count) {
        relay->first = kept.next;
        return;
    }
    if (relay->last == relay->first)
        relay->last += count;
    relay->first += count;
    pool->kept[relay->first] = (struct kept){kept.size - size, kept.count - count, kept.next};
}

static void relay_fill(struct connection *connection)
{
    struct relay *relay = connection->twin->role_state;
    uint64_t count = relay->arrived - relay->appended, room = connection_room(connection);

    count = count < room ? count : room;
    connection->groups += count != 0;
    while (count) {
        uint32_t kept = connection->shared->pool.kept[relay->first].count;
        uint32_t part = kept < count ? kept : (uint32_t)count;

        count -= part;
        append_kept(connection, relay, part, count ? 0 : FRAGMENT_ENDS_GROUP);
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

/* Returns true if there is room for a window. With less, a multishot receive would end after a few
 * chunks. */
static bool relay_has_room(const struct connection *connection)
{
    const struct relay *relay = connection->role_state;
    return !connection->follows ||
           relay->arrived - relay->released + connection->window <= chunks_max(connection->plan);
}

/* Adds a received chunk. It extends the last span if its buffer follows in memory, up to
 * SPAN_BYTES_MAX. */
static void add_chunk(struct relay *relay, const struct pool *pool, const uint8_t *data, uint32_t size)
{
    uint32_t number = pool_number(pool, data), count = pool_count(pool, size);
    struct kept *last = &pool->kept[relay->last];

    if (relay->arrived != relay->appended && !pool->headroom && number == relay->last + last->count &&
        last->size == last->count * pool->size && last->size + size <= SPAN_BYTES_MAX) {
        last->size += size;
        last->count += count;
    } else {
        pool->kept[number] = (struct kept){.size = size, .count = count};
        if (relay->arrived == relay->appended)
            relay->first = number;
        else
            last->next = number;
        relay->last = number;
    }
    relay->arrived += count;
}

static int relay_arrived(struct connection *connection, const uint8_t *data, size_t size)
{
    if (!connection->follows)
        return one_way_refuse(connection, data, size);
    int result = connection_process_bytes(connection, data, size);
    if (result == 0)
        add_chunk(connection->role_state, &connection->shared->pool, data, (uint32_t)size);
    return result;
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
