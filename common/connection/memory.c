/* SPDX-License-Identifier: MIT */
#include "connection/memory.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/threads.h"
#include "base/units.h"
#include "connection/protocol.h"
#include "connection/security.h"
#include "connection/strategy.h"
#include "connection/workload.h"
#include "measure/tcp_info.h"
#include "ring/ring.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/param.h>
#include <uv.h>

#define LIMIT_IN_FLIGHT (UINT64_C(64) << 30) /* bytes: a minute at 1 GB/s, to drain after the run */

/* Measured with glibc 2.36, libuv 1.44, GnuTLS 3.7 and OpenSSL 3.0. */
#define THREAD_BYTES UINT64_C(49152)  /* stack, histograms, memory of malloc(3) */
#define WATCH_BYTES UINT64_C(512)     /* of a connection, in its engine: watch, task, timer */
#define SESSION_BYTES UINT64_C(24576) /* of TLS */
#define DIGEST_BYTES UINT64_C(2048)

/* ---- sizes of the parts ---- */

size_t plan_longest_group(const struct plan *plan, enum end end)
{
    const struct shape *shape = plan_outgoing(plan, end);
    uint64_t window = plan_window(plan, end);
    if (plan_role(plan, end)->relay_buffers)
        return plan->ends[end].chunk_bytes * window;
    if (shape->groups == 1)
        return shape->bytes * window;
    return window == 1 ? shape->longest_group : 2 * shape->longest_group;
}

size_t plan_longest_vectors(const struct plan *plan, enum end end)
{
    size_t longest = plan_longest_group(plan, end);
    return MIN(longest, IOV_MAX);
}

uint64_t plan_queue_spans(const struct plan *plan, enum end end)
{
    const struct role *role = plan_role(plan, end);
    uint64_t windows = plan_strategy(plan, end)->strategy->lends,
             spans = role->relay_buffers ? role->relay_buffers(plan)
                                         : plan_outgoing(plan, end)->span_count * plan_window(plan, end);
    return windows ? spans * windows : spans;
}

size_t plan_strategy_state(const struct plan *plan, enum end end)
{
    const struct strategy *strategy = plan_strategy(plan, end)->strategy;
    return strategy->state_size + strategy->byte_size * plan_longest_group(plan, end) +
           strategy->vector_size * plan_longest_vectors(plan, end);
}

size_t plan_role_state(const struct plan *plan, enum end end)
{
    return plan_role(plan, end)->state_size + plan_role(plan, end)->slot_size * plan_slots(plan);
}

/* As many buffers of `size` bytes as fit in 4 MiB, but 16 to 1024: the kernel must not run out of
 * them. */
static uint64_t ring_buffers_of(size_t size)
{
    uint64_t buffers = 16;
    while (buffers < 1024 && 2 * buffers * size <= 4u << 20)
        buffers *= 2;
    return buffers;
}

/* One, plus those of a relay. A ring has a power of two, and needs no extra buffer. If its relay
 * would need more than RING_BUFFERS_MAX, the connections share that many. */
uint64_t plan_receive_buffers(const struct plan *plan, enum end end, uint64_t connections)
{
    const struct role *role = plan_role(plan, end);
    const struct end_plan *own = &plan->ends[end];
    uint64_t relayed = role->relay_buffers ? role->relay_buffers(plan) * connections : 0;
    if (!role->receives)
        return 0;
    if (own->reading->read)
        return relayed + 1;
    if (!relayed)
        return ring_buffers_of(own->chunk_bytes);
    return power_of_two(relayed < RING_BUFFERS_MAX ? relayed : RING_BUFFERS_MAX);
}

/* ---- the sum ---- */

enum { RECEIVING, SENDING, REQUESTS, SOURCE, THREADS, CONNECTIONS, PART_COUNT };

/* The bytes of each part, and the parameters on which they depend most. */
struct memory_parts {
    struct part {
        uint64_t bytes;
        const char *parameters;
    } list[PART_COUNT];
    uint64_t sum;
};

/* Bytes of the receive buffers of all threads. */
static uint64_t receiving_bytes(const struct plan *plan, enum end end, uint64_t threads)
{
    const struct reading *reading = plan->ends[end].reading;
    uint64_t each = (plan->connections + threads - 1) / threads;
    uint64_t buffer = plan->ends[end].chunk_bytes + reading->headroom + sizeof(uint32_t) +
                      sizeof(struct kept) + (reading->read ? 0 : RING_BUFFER_BYTES);
    return threads * plan_receive_buffers(plan, end, each) * buffer;
}

/* Bytes of the send queue, with the heads in it, and the strategy of one connection. */
static uint64_t sending_bytes(const struct plan *plan, enum end end)
{
    const struct strategy_choice *choice = plan_strategy(plan, end);
    const struct strategy *strategy = choice->strategy;
    uint64_t spans = power_of_two(plan_queue_spans(plan, end));
    return spans * (sizeof(struct span) + (plan->frames ? PROTOCOL_SENT_MAX : 0)) +
           plan_strategy_state(plan, end) + (strategy->lends ? sizeof(struct loans) : 0) +
           (strategy->buffers ? RING_BUFFER_BYTES * (uint64_t)strategy->buffers(choice->parameter) : 0);
}

/* Bytes of one connection that no parameter changes. */
static uint64_t connection_bytes(const struct plan *plan, enum end end)
{
    return sizeof(struct connection) + 2 * sizeof(struct tcp_reading) + WATCH_BYTES +
           (plan->encrypts ? plan->ends[end].security->state_size + SESSION_BYTES : 0) +
           (plan->ends[end].touch == TOUCH_CHECKSUM ? DIGEST_BYTES : 0);
}

/* No product exceeds 2^63: see the ranges of the parameters. */
static struct memory_parts measure(const struct plan *plan, enum end end, uint64_t threads)
{
    const struct shape *outgoing = plan_outgoing(plan, end);
    bool is_relay = plan_role(plan, end)->relay_buffers;
    uint64_t count = plan->connections * (is_relay ? 2 : 1); /* a proxy has pairs */
    uint64_t requests = plan_role_state(plan, end) + (plan->frames ? framing_bytes(plan, 0, false) : 0);
    uint64_t source = outgoing && !is_relay ? plan->ends[end].source_bytes + outgoing->longest_span : 0;
    struct memory_parts parts = {
        .list = {
            [RECEIVING] = {plan_incoming(plan, end) ? receiving_bytes(plan, end, threads) : 0,
                           is_relay ? "connections=, window= or chunk=" : "connections=, threads= or chunk="},
            [SENDING] = {outgoing ? count * sending_bytes(plan, end) : 0,
                         "connections=, window= or the size of a message"},
            [REQUESTS] = {count * requests, "connections= or depth="},
            [SOURCE] = {threads * source, "connections=, threads=, source= or the size of a message"},
            [THREADS] = {threads * THREAD_BYTES * (plan->ends[end].hands_over ? 2 : 1),
                         "connections= or threads="},
            [CONNECTIONS] = {count * connection_bytes(plan, end), "connections="}}};

    for (int i = 0; i < PART_COUNT; i++)
        parts.sum += parts.list[i].bytes;
    return parts;
}

uint64_t plan_memory_bytes(const struct plan *plan, enum end end, uint64_t threads)
{
    return measure(plan, end, threads).sum;
}

uint64_t plan_clients_max(const struct plan *plan)
{
    struct memory_parts parts = measure(plan, END_SERVER, 1);
    uint64_t bytes = parts.sum - parts.list[SOURCE].bytes;
    return memory_bound().bytes / (bytes + plan_slots(plan) * (PROTOCOL_KEY_MAX + 1));
}

/* ---- the limits ---- */

/* In whole GiB, or MiB if it is less than 4 GiB. What is needed is rounded up, and a limit down, so
 * that they differ. */
static const char *size_text(char text[UNITS_TEXT_MAX], uint64_t bytes, bool round_up)
{
    uint64_t unit = bytes < UINT64_C(4) << 30 ? UINT64_C(1) << 20 : UINT64_C(1) << 30;
    snprintf(text, UNITS_TEXT_MAX, "%" PRIu64 "%c", (bytes + (round_up ? unit - 1 : 0)) / unit,
             unit >> 30 ? 'G' : 'M');
    return text;
}

/* The least memory.max of the control group of this process and of those above it (version 2 of
 * control groups); UINT64_MAX without one. libuv 1.44 knows only version 1. */
static uint64_t group_bytes(void)
{
    char line[512], path[1024];
    uint64_t bytes = uv_get_constrained_memory(), most = bytes ? bytes : UINT64_MAX;
    CLEANUP_FILE FILE *groups = fopen("/proc/self/cgroup", "re");

    while (groups && fgets(line, sizeof line, groups)) {
        if (strncmp(line, "0::/", 4) != 0)
            continue;
        line[strcspn(line, "\n")] = '\0';
        for (char *end = line + strlen(line); end; end = strrchr(line + 3, '/')) {
            *end = '\0';
            snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.max", line + 3);
            CLEANUP_FILE FILE *file = fopen(path, "re");
            if (file && fscanf(file, "%" SCNu64, &bytes) == 1)
                most = MIN(most, bytes);
        }
    }
    return most;
}

static struct memory_bound own_bound = {UINT64_C(8) << 30, "the limit of an end"};

void memory_bound_set(uint64_t bytes)
{
    own_bound = (struct memory_bound){bytes, "the limit of an end here (--max-memory)"};
}

struct memory_bound memory_bound(void)
{
    const struct memory_bound bounds[] = {
        {address_space_limit(), "its ulimit -v"},
        {group_bytes(), "memory.max of its control group"},
        {uv_get_total_memory() / 2, "half of the memory of its machine"},
    };
    struct memory_bound least = own_bound;

    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
        if (bounds[i].bytes && bounds[i].bytes < least.bytes)
            least = bounds[i];
    return least;
}

int plan_check_memory(const struct plan *plan, enum end end, uint64_t threads, struct problem *problem)
{
    struct memory_parts parts = measure(plan, end, threads);
    const struct part *largest = parts.list;
    struct memory_bound bound = memory_bound();
    char needed[UNITS_TEXT_MAX], allowed[UNITS_TEXT_MAX];

    if (parts.sum <= bound.bytes)
        return 0;
    for (int i = 0; i < PART_COUNT; i++)
        if (parts.list[i].bytes > largest->bytes)
            largest = &parts.list[i];
    return problem_unsupported(
        problem, "the %s needs %s of memory for %" PRIu64 " connections, and %s is %s: reduce %s",
        end_names[end], size_text(needed, parts.sum, true), plan->connections,
        size_text(allowed, bound.bytes, false), bound.whose, largest->parameters);
}

int plan_check_in_flight(const struct plan *plan, struct problem *problem)
{
    bool has_requests = plan_role(plan, END_CLIENT)->times;
    uint64_t bytes = plan->connections * plan->depth * (plan->message.bytes + plan->reply.bytes);
    char needed[UNITS_TEXT_MAX], allowed[UNITS_TEXT_MAX];
    if (!has_requests || bytes <= LIMIT_IN_FLIGHT)
        return 0;
    return problem_unsupported(
        problem,
        "depth=%" PRIu64 " with connections=%" PRIu64
        " is %s in flight, and %s is the limit: reduce connections=, depth= or the size of a request",
        plan->depth, plan->connections, size_text(needed, bytes, true),
        size_text(allowed, LIMIT_IN_FLIGHT, false));
}
