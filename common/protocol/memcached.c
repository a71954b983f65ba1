/* SPDX-License-Identifier: MIT */
/* The text protocol of memcached 1.6: https://github.com/memcached/memcached, doc/protocol.txt. */
#include "base/units.h"
#include "protocol/text.h"

#include <string.h>

enum { GET, SET, END, VERSION, UNKNOWN };

static const struct operation_kind kinds[] = {
    [GET] = {.name = "get", .fetches = true, .request = "get ", .reply = "VALUE "},
    [SET] = {.name = "set", .stores = true, .request = "set ", .reply = "STORED\r\n"},
    [VERSION] = {.name = "version", .reply = "VERSION uncork\r\n"},
    [UNKNOWN] = {.name = "unknown", .reply = "ERROR\r\n"}};

/* The flags are 0, and no value expires. */
static size_t write_request(uint8_t *head, const struct call *call)
{
    uint8_t *at = text_put_key(text_put(head, call->kind->request), call);
    if (call->kind->stores)
        at = text_put_number(text_put(at, " 0 0 "), call->bytes);
    return (size_t)(text_put(at, "\r\n") - head);
}

static size_t write_reply(uint8_t *head, const struct call *call)
{
    uint8_t *at = text_put(head, call->kind->reply);
    if (call->kind->fetches)
        at = text_put(text_put_number(text_put(text_put_key(at, call), " 0 "), call->bytes), "\r\n");
    return (size_t)(at - head);
}

/* Reads a line: "get KEY", "set KEY FLAGS TIME BYTES", "version" or "quit". */
static int read_request(struct connection *connection, const uint8_t *data, size_t size, struct call *call)
{
    char line[TEXT_LINE_MAX], *rest = line, *words[6] = {0};
    int head = text_read_line(connection, data, size, line);

    if (head < 0 || (size_t)head > size)
        return head;
    for (size_t i = 0; i < 6 && rest; i++)
        words[i] = strsep(&rest, " ");
    if (!strcmp(line, "quit"))
        return -ESHUTDOWN;
    const char *number = words[4];
    uint64_t bytes = 0;
    if (!strcmp(line, "get") && words[1] && !words[2] &&
        text_take_key(connection, words[1], strlen(words[1]), call)) {
        call->kind = &kinds[GET];
        return head;
    }
    if (!strcmp(line, "set") && number && !words[5] && units_take_number(&number, &bytes) == 0 && !*number &&
        text_take_key(connection, words[1], strlen(words[1]), call))
        call->kind = &kinds[SET];
    else if (!call->key || !strcmp(line, "set"))
        return framing_refuse_text(connection, data, (size_t)head - 2, NO_REQUEST);
    else
        call->kind = &kinds[strcmp(line, "version") != 0 ? UNKNOWN : VERSION];
    call->bytes = bytes;
    return head;
}

const struct protocol protocol_memcached = {
    .variant = {"memcached", "text protocol of memcached: op=get:100, set:4K"},
    TEXT,
    .reply_end = "\r\nEND\r\n",
    .missing = "END\r\n",
};
