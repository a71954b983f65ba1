/* SPDX-License-Identifier: MIT */
#include "plan/plan.h"

#include "base/memory.h"

#include <string.h>

#define SLACK_MS UINT64_C(60000)

const char *const end_names[END_COUNT] = {"client", "server", "proxy"};

const char *const cork_layer_names[] = {
    [CORK_BY_SECURITY] = "", [CORK_RECORD] = "record", [CORK_SEGMENT] = "segment", NULL};

const char *const cipher_names[] = {[CIPHER_AES_128_GCM] = "aes-128-gcm",
                                    [CIPHER_CHACHA20_POLY1305] = "chacha20-poly1305",
                                    [CIPHER_AES_256_GCM] = "aes-256-gcm",
                                    NULL};
const char *const handshake_names[] = {[HANDSHAKE_PSK_ECDHE] = "psk-ecdhe",
                                       [HANDSHAKE_PSK] = "psk",
                                       [HANDSHAKE_TICKET] = "ticket",
                                       [HANDSHAKE_CHOICES] = NULL,
                                       [HANDSHAKE_CERTIFICATE] = "certificate"};

enum end end_parse(const char *name)
{
    int end = 0;
    while (end < END_COUNT && strcmp(end_names[end], name) != 0)
        end++;
    return (enum end)end;
}

void plan_free(struct plan *plan)
{
    shape_free(&plan->message);
    shape_free(&plan->reply);
}

static const struct shape *shape_of(const struct plan *plan, enum shape_index index)
{
    return index == SHAPE_NONE ? NULL : index == SHAPE_MESSAGE ? &plan->message : &plan->reply;
}

const struct shape *plan_outgoing(const struct plan *plan, enum end end)
{
    return shape_of(plan, plan->ends[end].outgoing);
}

const struct shape *plan_incoming(const struct plan *plan, enum end end)
{
    return shape_of(plan, plan->ends[end].incoming);
}

/* How the client and the server of a proxy send. */
extern const struct strategy strategy_coalesce;
static const struct strategy_choice feed = {.strategy = &strategy_coalesce,
                                            .parameter = UINT64_MAX /* none */};

const struct strategy_choice *plan_strategy(const struct plan *plan, enum end end)
{
    bool second = plan->ends[END_CLIENT].drives ? end == END_SERVER : end == END_CLIENT;
    if (plan->relays)
        return end == END_PROXY ? &plan->write : &feed;
    return second ? &plan->reply_write : &plan->write;
}

uint64_t plan_messages_of(const struct plan *plan, uint64_t index)
{
    uint64_t messages = plan->messages;
    if (plan->bytes)
        messages = (plan->bytes - 1) / plan->message.bytes + 1;
    if (!messages)
        return UINT64_MAX;
    return messages / plan->connections + (index < messages % plan->connections);
}

uint64_t plan_slots(const struct plan *plan)
{
    return power_of_two(plan->depth);
}

int plan_cpus(const struct plan *plan, enum end end, bool remote, struct place_list *cpus,
              struct problem *problem)
{
    return place_cpus(&plan->place, (int)end, end == plan_second_end(plan), remote, cpus, problem);
}

bool plan_is_timed(const struct plan *plan)
{
    return !plan->messages && !plan->bytes && !plan->runs_command;
}

uint64_t plan_limit_ms(const struct plan *plan)
{
    uint64_t without_duration_ms = plan->longest_ms ? plan->longest_ms : PLAN_LIMIT_MS;
    return SLACK_MS +
           (plan_is_timed(plan) ? 2 * (plan->warmup_ns + plan->duration_ns) / 1000000 : without_duration_ms);
}

const char *plan_name_of(const struct plan *plan, enum end end)
{
    if (plan_is_subject(plan, end))
        return plan->subject.name;
    return plan_has_peer(plan) && end == END_SERVER ? "peer" : end_names[end];
}

enum end plan_neighbour(const struct plan *plan, enum end end)
{
    if (plan_has_proxy(plan) && !plan_has_subject(plan))
        return END_PROXY;
    return end == END_CLIENT ? END_SERVER : END_CLIENT;
}
