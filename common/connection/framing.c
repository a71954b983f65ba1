/* SPDX-License-Identifier: MIT */
#include "connection/protocol.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

bool plan_fetches(const struct plan *plan)
{
    bool fetches = false;

    for (uint32_t i = 0; i < plan->operations.count; i++)
        fetches |= plan->operations.list[i].kind->fetches;
    return fetches;
}

uint64_t framing_bytes(const struct plan *plan, uint64_t spans, bool has_keys)
{
    uint64_t of_slot = sizeof(struct call) + sizeof(uint32_t) + (has_keys ? PROTOCOL_KEY_MAX + 1 : 0);

    return sizeof(struct framing) + plan_slots(plan) * of_slot + spans * PROTOCOL_SENT_MAX;
}

int framing_open(struct connection *connection)
{
    const struct plan *plan = connection->plan;
    uint64_t slots = plan_slots(plan), spans = connection->queue.mask + 1;
    bool has_keys = connection->shared->content;
    struct framing *framing = connection->framing = calloc(1, framing_bytes(plan, spans, has_keys));

    if (!framing)
        return -ENOMEM;
    framing->slots = (uint32_t)plan->depth;
    framing->mask = slots - 1;
    framing->calls = (struct call *)(framing + 1);
    framing->spare = (uint32_t *)(framing->calls + slots);
    framing->heads = (uint8_t *)(framing->spare + slots);
    framing->keys = has_keys ? (char *)framing->heads + spans * PROTOCOL_SENT_MAX : NULL;
    for (uint32_t slot = 0; slot < framing->slots; slot++) {
        framing->calls[slot].cookie = slot;
        framing->spare[framing->freed++] = slot;
    }
    return 0;
}

void framing_set_size(struct connection *connection, uint64_t size)
{
    struct framing *framing = connection->framing;

    framing->size = size;
    framing->share = size / connection->plan->connections;
    framing->first = framing->share * connection->number;
    if (connection->plan->verify && framing->share > FRAMING_CHECKED_MAX)
        framing->share = FRAMING_CHECKED_MAX;
}

static struct call *call_at(const struct framing *framing, uint64_t number)
{
    return &framing->calls[framing->spare[number & framing->mask]];
}

/* A slot gets a new cookie for each request, so a second reply to the same request is detected. */
struct call *framing_take(struct framing *framing)
{
    struct call *call = call_at(framing, framing->taken++);

    *call = (struct call){.cookie = call->cookie + (UINT64_C(1) << 32), .under_way = true};
    return call;
}

void framing_release(struct framing *framing, struct call *call)
{
    call->under_way = false;
    framing->spare[framing->freed++ & framing->mask] = (uint32_t)(call - framing->calls);
}

/* Replies come in order, so slots are freed in the order in which they were taken. */
struct call *framing_oldest(struct connection *connection)
{
    const struct framing *framing = connection->framing;
    struct call *call = call_at(framing, framing->freed - framing->slots);

    if (call->under_way)
        return call;
    framing_refuse(connection, "sent a reply for which no request waits");
    return NULL;
}

struct call *framing_find(struct connection *connection, uint64_t cookie)
{
    const struct framing *framing = connection->framing;
    uint32_t slot = (uint32_t)cookie;

    if (slot < framing->slots && framing->calls[slot].under_way && framing->calls[slot].cookie == cookie)
        return &framing->calls[slot];
    framing_refuse(connection, "sent a reply for which no request waits: cookie 0x%" PRIx64, cookie);
    return NULL;
}

int framing_refuse(struct connection *connection, const char *format, ...)
{
    const struct plan *plan = connection->plan;
    char text[400];
    va_list values;

    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    problem_failure(&connection->shared->problem, "protocol=%s: the %s %s", plan->protocol->variant.name,
                    plan_name_of(plan, connection->peer), text);
    return -EBADMSG;
}
