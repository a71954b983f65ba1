/* SPDX-License-Identifier: MIT */
#include "control/hello.h"

#include "base/bytes.h"

#include <string.h>
#include <uv.h>

void hello_make(uint8_t hello[HELLO_SIZE], const uint8_t token[TOKEN_SIZE], uint64_t number)
{
    memcpy(hello, token, TOKEN_SIZE);
    wire_put32(hello + TOKEN_SIZE, (uint32_t)number);
}

int64_t hello_read(const uint8_t hello[HELLO_SIZE], const uint8_t token[TOKEN_SIZE], uint64_t connections)
{
    uint32_t index = wire_get32(hello + TOKEN_SIZE);
    uint8_t difference = 0;

    for (size_t i = 0; i < TOKEN_SIZE; i++)
        difference |= hello[i] ^ token[i];
    return difference || index >= connections ? -1 : (int64_t)index;
}

/* ---- between proxy and sink ---- */

static void apply_mask(uint8_t hello[HELLO_SIZE], const uint8_t mask[SINK_ANSWER_SIZE])
{
    for (size_t i = 0; i < HELLO_SIZE; i++)
        hello[i] ^= mask[i % SINK_ANSWER_SIZE];
}

int sink_hello_make(uint8_t request[SINK_HELLO_SIZE], const uint8_t token[TOKEN_SIZE], uint64_t number)
{
    uint8_t *hello = request + SINK_ANSWER_SIZE;

    if (uv_random(NULL, NULL, request, SINK_ANSWER_SIZE, 0, NULL) < 0)
        return -1;
    hello_make(hello, token, number);
    apply_mask(hello, request);
    return 0;
}

int64_t sink_hello_read(const uint8_t request[SINK_HELLO_SIZE], const uint8_t token[TOKEN_SIZE],
                        uint64_t connections, uint8_t answer[SINK_ANSWER_SIZE])
{
    uint8_t hello[HELLO_SIZE];

    memcpy(hello, request + SINK_ANSWER_SIZE, sizeof hello);
    apply_mask(hello, request);
    for (size_t i = 0; i < SINK_ANSWER_SIZE; i++)
        answer[i] = (uint8_t)~request[i];
    return hello_read(hello, token, connections);
}

bool sink_has_accepted(const uint8_t answer[SINK_ANSWER_SIZE], const uint8_t request[SINK_HELLO_SIZE])
{
    bool accepted = true;

    for (size_t i = 0; i < SINK_ANSWER_SIZE; i++)
        accepted &= (answer[i] ^ request[i]) == 0xff;
    return accepted;
}
