/* SPDX-License-Identifier: MIT */
/* What fuzz_PROTOCOL.c includes after it defines PROTOCOLS, values of protocol=,
 * and OPS, operations of uncork clients and of others.
 *
 * A protocol reads or refuses any bytes of the other end, in pieces of any size. A foreign client
 * gets the same replies for pieces of any size. */
#pragma once

#include "fuzz.h"

#include "connection/protocol.h"
#include "connection/workload.h"
#include "words/word.h"

#define CONTENT_SIZE 4096u
#define PIECE_MAX 512u /* chunk=512 */
#define FNV UINT64_C(0x100000001b3)

static const char *const protocols[] = {PROTOCOLS}, *const ops[] = {OPS};

struct outcome {
    bool refuses;
    uint64_t bytes, digest; /* of all replies; FNV-1a */
};

/* Takes all bytes out of the send queue, and reads their memory. */
static void send_all(struct connection *connection, struct outcome *outcome)
{
    struct send_queue *queue = &connection->queue;
    struct iovec vectors[8];

    for (connection->role->fill(connection); !queue_is_accepted(queue); connection->role->fill(connection)) {
        while (!queue_is_accepted(queue)) {
            struct queue_group group = queue_gather(queue, vectors, 8);

            for (int i = 0; i < (int)group.count; i++)
                for (size_t at = 0; at < vectors[i].iov_len; at++)
                    outcome->digest = (outcome->digest ^ ((uint8_t *)vectors[i].iov_base)[at]) * FNV;
            outcome->bytes += group.bytes;
            queue_accept(queue, group.bytes);
        }
        queue_flush(queue);
        queue_release(queue);
    }
}

/* Parses each plan only once, because that takes longer than an input. */
static const struct plan *plan_of(size_t protocol, bool foreign, bool verify)
{
    static struct plan plans[sizeof protocols / sizeof *protocols][2][2];
    struct plan *plan = &plans[protocol][foreign][verify];
    const char *words[] = {protocols[protocol], ops[foreign], foreign ? "depth=64" : "depth=4",
                           verify ? "verify=on" : "verify=off", "chunk=512"};
    struct problem problem = {0};

    abort_if(!plan->protocol && plan_parse(plan, words, sizeof words / sizeof *words, &problem) < 0);
    return plan;
}

/* Feeds the input in pieces of at most `step` bytes, and of a size that the role accepts. */
static struct outcome run(const struct plan *plan, enum end end, bool foreign, const uint8_t *data,
                          size_t size, size_t step)
{
    struct source content = {
        .memory = {malloc(CONTENT_SIZE), CONTENT_SIZE, -1}, .period = CONTENT_SIZE, .patterned = true};
    struct thread_shared shared = {.content = foreign ? &content : NULL};
    struct connection connection = {.calls.fd = -1};
    struct outcome outcome = {0};
    int result = 0;

    abort_if(!content.memory.bytes);
    pattern_fill(content.memory.bytes, CONTENT_SIZE, 0);
    abort_if(thread_shared_open(&shared, plan, end, 1) < 0 || connection_open(&connection, &shared) < 0);
    thread_shared_begin_phase(&shared, UINT64_MAX, false);
    connection.messages_left = UINT64_MAX;
    framing_set_size(&connection, CONTENT_SIZE);
    connection.framing->structured = size & 1; /* nbd-structured */
    if (connection.role->begin)
        connection.role->begin(&connection);
    for (size_t at = 0, part; at < size && result == 0; at += part) {
        send_all(&connection, &outcome);
        size_t wanted = connection.role->wants(&connection);
        abort_if(foreign && !wanted && !connection.framing->quits); /* the connection would wait for ever */
        part = step < size - at ? step : size - at;
        if (foreign && part > wanted)
            part = wanted;
        if (!part)
            break;
        uint8_t *piece = malloc(part);
        abort_if(!piece);
        memcpy(piece, data + at, part);
        result = connection.role->arrived(&connection, piece, part);
        free(piece);
    }
    abort_if((result < 0) != (shared.problem.kind == PROBLEM_FAILURE) &&
             !(foreign && connection.framing->quits)); /* an error was the last reply */
    if (result == 0)
        send_all(&connection, &outcome);
    outcome.refuses = result < 0;
    connection_close(&connection);
    thread_shared_close(&shared);
    free(content.memory.bytes);
    return outcome;
}

/* The first byte chooses the end, one of the protocols, whether content is verified, and whether the
 * client is foreign. The second byte is the size of the pieces in which the other bytes arrive. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3)
        return 0;
    size_t protocol = (data[0] >> 1 & 1) % (sizeof protocols / sizeof *protocols);
    enum end end = data[0] & 1 ? END_SERVER : END_CLIENT;
    bool foreign = data[0] & 128 && end == END_SERVER;
    const struct plan *plan = plan_of(protocol, foreign, data[0] & 4 && !foreign);
    struct outcome outcome = run(plan, end, foreign, data + 2, size - 2, 1 + data[1] % 64), whole;

    if (!foreign)
        return 0;
    whole = run(plan, end, foreign, data + 2, size - 2, PIECE_MAX);
    abort_if(whole.refuses != outcome.refuses || (!whole.refuses && whole.bytes != outcome.bytes));
    /* nbd: a read during a write of the same bytes returns old or new ones */
    abort_if(!whole.refuses && !plan->protocol->server_dialogue && whole.digest != outcome.digest);
    return 0;
}
