/* SPDX-License-Identifier: MIT */
#include "connection/connection.h"

#include "base/clock.h"
#include "reading/reading.h"
#include "strategy/strategy.h"
#include "transport/transport.h"
#include "workload/workload.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Two looks at the clock are to lie 50 to 500 us apart, and at most 64 messages. */
#define STRIDE_MAX 64u
#define STRIDE_SHORT_NS (50 * NS_PER_US)
#define STRIDE_LONG_NS (500 * NS_PER_US)

static int open_sending(struct connection *connection)
{
    const struct strategy_choice *choice = plan_strategy(connection->plan, connection->end);
    const struct shape *shape = connection->outgoing;
    size_t state = choice->strategy->state_size ? choice->strategy->state_size(shape) : 0;

    connection->strategy = choice->strategy;
    connection->strategy_parameter = choice->parameter;
    if (state && !(connection->strategy_state = calloc(1, state)))
        return -ENOMEM;
    if (queue_open(&connection->queue, shape->count) < 0)
        return -ENOMEM;
    return source_open(&connection->source, shape->longest_fragment,
                       connection->plan->ends[connection->end].source_bytes, connection->plan->verify);
}

static int open_receiving(struct connection *connection)
{
    const struct end_plan *own = &connection->plan->ends[connection->end];

    connection->reading = own->reading;
    connection->chunk_size = own->chunk_bytes;
    connection->chunk = malloc(own->chunk_bytes);
    if (!connection->chunk)
        return -ENOMEM;
    memset(connection->chunk, 0, own->chunk_bytes); /* makes the pages present */
    return 0;
}

int connection_open(struct connection *connection, const struct plan *plan, enum end end, int fd)
{
    int result = 0;

    connection->plan = plan;
    connection->end = end;
    connection->drives = plan_driver(plan) == end;
    connection->calls.table = plan->transport->calls;
    if (fd >= 0)
        connection->calls.fd = fd;
    connection->security = plan->security;
    connection->half = plan_half(plan, end);
    connection->outgoing = plan_outgoing(plan, end);
    connection->incoming = plan_incoming(plan, end);
    atomic_store(&connection->stop_bytes, UINT64_MAX);
    if (connection->half->state_size && !(connection->half_state = calloc(1, connection->half->state_size)))
        return -ENOMEM;
    if (connection->outgoing)
        result = open_sending(connection);
    if (result == 0 && connection->incoming)
        result = open_receiving(connection);
    return result;
}

void connection_close(struct connection *connection)
{
    queue_close(&connection->queue);
    source_close(&connection->source);
    free(connection->strategy_state);
    free(connection->half_state);
    free(connection->chunk);
    connection->strategy_state = connection->half_state = connection->chunk = NULL;
}

void connection_restart_arrivals(struct connection *connection)
{
    connection->arrivals.first_ns = connection->arrivals.last_ns = connection->arrivals.first_bytes = 0;
}

/* Fletcher's checksum over 64 bits of state (RFC 1146, appendix, with wider sums): reads every byte, never
 * optimised away. */
static uint64_t checksum(uint64_t sum, const uint8_t *data, size_t size)
{
    uint32_t a = (uint32_t)sum, b = (uint32_t)(sum >> 32);

    for (size_t i = 0; i < size; i++) {
        a += data[i];
        b += a;
    }
    return (uint64_t)b << 32 | a;
}

static int inspect(struct connection *connection, const uint8_t *data, size_t size)
{
    struct arrivals *arrivals = &connection->arrivals;

    if (connection->plan->verify) {
        size_t agree = pattern_compare(data, size, arrivals->bytes);

        if (agree != size) {
            problem_failure(&connection->problem,
                            "the %s received wrong content at byte %" PRIu64 " of the stream",
                            end_names[connection->end], arrivals->bytes + agree);
            return -EBADMSG;
        }
    }
    if (connection->plan->ends[connection->end].touch == TOUCH_CHECKSUM)
        arrivals->checksum = checksum(arrivals->checksum, data, size);
    return 0;
}

int64_t connection_receive(struct connection *connection, const uint8_t *data, size_t size)
{
    struct arrivals *arrivals = &connection->arrivals;
    uint64_t whole = 0;

    if (data && inspect(connection, data, size) < 0)
        return -EBADMSG;
    arrivals->bytes += size;
    arrivals->partial += size;
    if (arrivals->partial >= connection->incoming->bytes) {
        whole = arrivals->partial / connection->incoming->bytes;
        arrivals->partial %= connection->incoming->bytes;
        arrivals->messages += whole;
    }
    samples_count(connection->samples, whole, size);
    if (connection->half->clocks && (whole || !arrivals->first_ns)) {
        connection->now_ns = clock_now_ns();
        if (!arrivals->first_ns) {
            arrivals->first_ns = connection->now_ns;
            arrivals->first_bytes = size;
        }
        arrivals->last_ns = connection->now_ns;
    }
    return (int64_t)whole;
}

void connection_append_message(struct connection *connection)
{
    const struct shape *shape = connection->outgoing;

    for (uint32_t i = 0; i < shape->count; i++) {
        const struct shape_fragment *fragment = &shape->fragments[i];

        queue_append(&connection->queue, source_take(&connection->source, fragment->size), fragment->size,
                     fragment->marks);
    }
}

void connection_set_budget(struct connection *connection, uint64_t deadline_ns, uint64_t messages)
{
    connection->budget = (struct budget){.deadline_ns = deadline_ns, .messages = messages, .stride = 1};
    connection->now_ns = clock_now_ns();
}

static void look_at_clock(struct connection *connection)
{
    struct budget *budget = &connection->budget;
    uint64_t now = clock_now_ns(), passed = now - connection->now_ns;

    if (passed < STRIDE_SHORT_NS && budget->stride < STRIDE_MAX)
        budget->stride *= 2;
    else if (passed > STRIDE_LONG_NS)
        budget->stride = 1;
    budget->unchecked = 0;
    connection->now_ns = now;
}

bool connection_may_begin(struct connection *connection, bool read_clock)
{
    struct budget *budget = &connection->budget;

    if (!budget->messages)
        return false;
    if (read_clock && budget->deadline_ns != UINT64_MAX && ++budget->unchecked >= budget->stride)
        look_at_clock(connection);
    if (connection->now_ns >= budget->deadline_ns)
        return false;
    budget->messages--;
    return true;
}
