/* SPDX-License-Identifier: MIT */
/* RESP2, the protocol of Redis: https://redis.io/docs/latest/develop/reference/protocol-spec/. */
#include "protocol/text.h"

#include <string.h>
#include <strings.h>

#define STRINGS_MAX 16u                /* of a command */
#define SIZE_BOUND (UINT64_C(1) << 40) /* bytes; larger than any size */

enum { GET, SET, PING, END, CONFIG, UNKNOWN };

static const struct operation_kind kinds[] = {
    [GET] = {.name = "get", .fetches = true, .request = "*2\r\n$3\r\nGET\r\n", .reply = "$"},
    [SET] = {.name = "set", .stores = true, .request = "*3\r\n$3\r\nSET\r\n", .reply = "+OK\r\n"},
    [PING] = {.name = "ping", .request = "*1\r\n$4\r\nPING\r\n", .reply = "+PONG\r\n"},
    [CONFIG] = {.name = "config", .reply = "*0\r\n"},
    [UNKNOWN] = {.name = "unknown", .reply = "-ERR unknown command\r\n"}};

static uint8_t *put_size(uint8_t *at, const char *begin, uint64_t size)
{
    return text_put(text_put_number(text_put(at, begin), size), "\r\n");
}

static size_t write_request(uint8_t *head, const struct call *call)
{
    uint8_t *at = text_put(head, call->kind->request);
    if (call->kind->fetches || call->kind->stores)
        at = text_put(text_put_key(put_size(at, "$", TEXT_KEY_SIZE), call), "\r\n");
    if (call->kind->stores)
        at = put_size(at, "$", call->bytes);
    return (size_t)(at - head);
}

static size_t write_reply(uint8_t *head, const struct call *call)
{
    if (call->kind->fetches)
        return (size_t)(put_size(head, call->kind->reply, call->bytes) - head);
    return (size_t)(text_put(head, call->kind->reply) - head);
}

/* Reads a number between `mark` and CR LF, like "*2\r\n", at `*at`, and moves `*at` behind it.
 * 0; 1: it has not arrived whole; -1: it is not such a number. */
static int take_size(const uint8_t *data, size_t size, size_t *at, char mark, uint64_t *number)
{
    size_t end = *at + 1;

    if (*at < size && data[*at] != mark)
        return -1;
    for (*number = 0; end < size && data[end] >= '0' && data[end] <= '9' && *number < SIZE_BOUND; end++)
        *number = *number * 10 + (uint64_t)(data[end] - '0');
    if (end + 1 >= size)
        return 1;
    if (end == *at + 1 || data[end] != '\r' || data[end + 1] != '\n')
        return -1;
    *at = end + 2;
    return 0;
}

/* The kind of a command, or NULL. The value of SET is no string: the head ends with its size. */
static const struct operation_kind *kind_of(struct connection *connection, const char *const *strings,
                                            const uint64_t *sizes, uint64_t count, struct call *call)
{
    static const struct {
        const char *name;
        uint64_t count;
        int kind;
    } commands[] = {
        {"GET", 2, GET}, {"SET", 3, SET}, {"PING", 1, PING}, {"CONFIG", 3, CONFIG}, {"COMMAND", 2, CONFIG}};

    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (count == commands[i].count && sizes[0] == strlen(commands[i].name) &&
            !strncasecmp(strings[0], commands[i].name, sizes[0]) &&
            (commands[i].kind > SET || text_take_key(connection, strings[1], sizes[1], call)))
            return &kinds[commands[i].kind];
    return call->key ? &kinds[UNKNOWN] : NULL;
}

/* A request is an array of strings, or a line (an inline command). */
static int read_request(struct connection *connection, const uint8_t *data, size_t size, struct call *call)
{
    const char *strings[STRINGS_MAX];
    uint64_t sizes[STRINGS_MAX], count = 1, last = 0;
    char line[TEXT_LINE_MAX];
    size_t at = 0;
    int result = 0;

    if (*data != '*') {
        int head = text_read_line(connection, data, size, line);

        if (head < 0 || (size_t)head > size)
            return head;
        at = (size_t)head;
        strings[0] = line;
        sizes[0] = at - 2;
    } else if ((result = take_size(data, size, &at, '*', &count)) == 0 && (!count || count > STRINGS_MAX)) {
        result = -1;
    }
    for (uint64_t i = 0; *data == '*' && i < count && result == 0; i++) {
        result = take_size(data, size, &at, '$', &sizes[i]);
        last = sizes[i];
        if (result != 0 || (i == 2 && count == 3 && sizes[0] == 3 && !strncasecmp(strings[0], "SET", 3)))
            break;
        strings[i] = (const char *)data + at;
        at += sizes[i] + 2;
        result = sizes[i] > PROTOCOL_KEY_MAX ? -1 : at > size;
    }
    if (result > 0)
        return (int)(at > size ? at : size + 1);
    call->kind = result == 0 ? kind_of(connection, strings, sizes, count, call) : NULL;
    if (!call->kind)
        return framing_refuse_text(connection, data, size, NO_REQUEST);
    if (!call->kind->fetches)
        call->bytes = call->kind->stores ? last : 0;
    return (int)at;
}

const struct protocol protocol_resp = {
    .variant = {"resp", "protocol of Redis, version 2: op=get:100, set:4K, ping"},
    TEXT,
    .reply_end = "\r\n",
    .missing = "$-1\r\n",
};
