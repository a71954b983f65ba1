/* SPDX-License-Identifier: MIT */
/* The text protocol of memcached 1.6: https://github.com/memcached/memcached, doc/protocol.txt. */
#include "protocol/text.h"

static const struct operation_kind kinds[] = {
    {.name = "get", .fetches = true}, {.name = "set", .stores = true}, {.name = NULL}};

/* The flags are 0. No value expires. */
static uint8_t *put_value(uint8_t *at, const struct call *call, const char *begin, const char *flags)
{
    at = text_put_key(text_put(at, begin), call);
    return text_put(text_put_number(text_put(at, flags), call->bytes), "\r\n");
}

static size_t ask(uint8_t *head, const struct call *call)
{
    if (call->kind->stores)
        return (size_t)(put_value(head, call, "set ", " 0 0 ") - head);
    return (size_t)(text_put(text_put_key(text_put(head, "get "), call), "\r\n") - head);
}

static size_t answer(uint8_t *head, const struct call *call)
{
    if (call->kind->stores)
        return (size_t)(text_put(head, "STORED\r\n") - head);
    return (size_t)(put_value(head, call, "VALUE ", " 0 ") - head);
}

const struct protocol protocol_memcached = {
    .variant = {"memcached", "text protocol of memcached: op=get:100, set:4K"},
    TEXT,
    .kinds = kinds,
    .ask = ask,
    .ask_end = "\r\n",
    .answer = answer,
    .answer_end = "\r\nEND\r\n",
    .missing = "END\r\n",
};
