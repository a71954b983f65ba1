/* SPDX-License-Identifier: MIT */
/* RESP2, the protocol of Redis: https://redis.io/docs/latest/develop/reference/protocol-spec/. */
#include "protocol/text.h"

enum { GET, SET, PING };

static const struct operation_kind kinds[] = {[GET] = {.name = "get", .fetches = true},
                                              [SET] = {.name = "set", .stores = true},
                                              [PING] = {.name = "ping"},
                                              {.name = NULL}};

/* A string says its size. */
static uint8_t *put_size(uint8_t *at, uint64_t size)
{
    return text_put(text_put_number(text_put(at, "$"), size), "\r\n");
}

static size_t ask(uint8_t *head, const struct call *call)
{
    static const char *const begins[] = {
        [GET] = "*2\r\n$3\r\nGET\r\n", [SET] = "*3\r\n$3\r\nSET\r\n", [PING] = "*1\r\n$4\r\nPING\r\n"};
    uint8_t *at = text_put(head, begins[call->kind - kinds]);

    if (call->kind->fetches || call->kind->stores)
        at = text_put(text_put_key(put_size(at, TEXT_KEY_SIZE), call), "\r\n");
    if (call->kind->stores)
        at = put_size(at, call->bytes);
    return (size_t)(at - head);
}

static size_t answer(uint8_t *head, const struct call *call)
{
    if (call->kind->fetches)
        return (size_t)(put_size(head, call->bytes) - head);
    return (size_t)(text_put(head, call->kind->stores ? "+OK\r\n" : "+PONG\r\n") - head);
}

const struct protocol protocol_resp = {
    .variant = {"resp", "protocol of Redis, version 2: op=get:100, set:4K, ping"},
    TEXT,
    .kinds = kinds,
    .ask = ask,
    .ask_end = "\r\n",
    .answer = answer,
    .answer_end = "\r\n",
    .missing = "$-1\r\n",
};
