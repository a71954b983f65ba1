/* SPDX-License-Identifier: MIT */
/* RESP2, the protocol of Redis: https://redis.io/docs/latest/develop/reference/protocol-spec/. */
#include "protocol/text.h"

#include <string.h>
#include <strings.h>

#define STRINGS_MAX 16u                /* of a command that is read as a whole */
#define COUNT_MAX (UINT64_C(1) << 20)  /* of any command, as Redis limits it */
#define SIZE_BOUND (UINT64_C(1) << 40) /* bytes; larger than any size */

enum { GET, SET, PING, END, ECHO, LARGE, OK, EMPTY, NO_TEXT, HELLO, QUIT, SKIP, SKIP_STRING };
enum { LAST_SET = SKIP_STRING + 1, LAST_GET, LAST_UNKNOWN, UNKNOWN, BAD_HELLO, BAD_COUNT, ERRORS };
enum { BAD_ARRAY = ERRORS, BAD_MARK, BAD_SIZE, LONG_LINE, BAD_END };

#define FAULT "-ERR Protocol error: "

/* The kinds behind END are those of foreign clients. */
static const struct operation_kind kinds[] = {
    [GET] = {.name = "get", .fetches = true, .request = "*2\r\n$3\r\nGET\r\n", .reply = "$"},
    [SET] = {.name = "set", .stores = true, .request = "*3\r\n$3\r\nSET\r\n", .reply = "+OK\r\n"},
    [PING] = {.name = "ping", .request = "*1\r\n$4\r\nPING\r\n", .reply = "+PONG\r\n"},
    [ECHO] = {.name = "echo", .reply = "$"},
    [LARGE] = {.name = "set",
               .stores = true,
               .refused = true,
               .reply = "-ERR string exceeds maximum allowed size\r\n"},
    [OK] = {.name = "other", .reply = "+OK\r\n"},
    [EMPTY] = {.name = "other", .reply = "*0\r\n"},
    [NO_TEXT] = {.name = "other", .reply = "$0\r\n\r\n"},
    [HELLO] = {.name = "hello", .reply = "*4\r\n$6\r\nserver\r\n$6\r\nuncork\r\n$5\r\nproto\r\n:2\r\n"},
    [QUIT] = {.name = "quit", .reply = "+OK\r\n"},
    [SKIP] = {.name = "other", .silent = true},
    [SKIP_STRING] = {.name = "other", .stores = true, .refused = true, .silent = true},
    [LAST_SET] = {.name = "set", .stores = true, .refused = true, .reply = "+OK\r\n"},
    [LAST_GET] = {.name = "get", .stores = true, .refused = true, .reply = "$-1\r\n"},
    [LAST_UNKNOWN] = {.name = "unknown",
                      .stores = true,
                      .refused = true,
                      .reply = "-ERR unknown command\r\n"},
    [UNKNOWN] = {.name = "unknown", .reply = "-ERR unknown command\r\n"},
    [BAD_HELLO] = {.name = "hello", .reply = "-NOPROTO unsupported protocol version\r\n"},
    [BAD_COUNT] = {.name = "unknown", .reply = "-ERR wrong number of arguments\r\n"},
    [BAD_ARRAY] = {.name = "unknown", .reply = FAULT "invalid multibulk length\r\n"},
    [BAD_MARK] = {.name = "unknown", .reply = FAULT "expected '$'\r\n"},
    [BAD_SIZE] = {.name = "unknown", .reply = FAULT "invalid bulk length\r\n"},
    [LONG_LINE] = {.name = "unknown", .reply = FAULT "too big inline request\r\n"},
    [BAD_END] = {.name = "unknown", .reply = FAULT "a string does not end with CR LF\r\n"}};

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
    if (call->kind == &kinds[ECHO])
        return (size_t)(text_put(text_put(put_size(head, "$", strlen(call->key)), call->key), "\r\n") - head);
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

/* A command of strings. */
struct command {
    const char *strings[STRINGS_MAX];
    uint64_t sizes[STRINGS_MAX], count;
};

static bool is_string(const struct command *command, size_t i, const char *text)
{
    return i < command->count && command->sizes[i] == strlen(text) &&
           !strncasecmp(command->strings[i], text, command->sizes[i]);
}

/* The kind of a command. */
static int kind_of(struct connection *connection, const struct command *command, bool is_inline,
                   struct call *call)
{
    static const struct {
        const char *name;
        uint64_t least, most;
        int kind;
    } known[] = {{"GET", 2, 2, GET},
                 {"SET", 3, 3, SET},
                 {"PING", 1, 1, PING},
                 {"PING", 2, 2, ECHO},
                 {"ECHO", 2, 2, ECHO},
                 {"SET", 4, STRINGS_MAX, OK},
                 {"CONFIG", 2, STRINGS_MAX, EMPTY},
                 {"COMMAND", 1, STRINGS_MAX, EMPTY},
                 {"CLIENT", 2, STRINGS_MAX, OK},
                 {"SELECT", 2, 2, OK},
                 {"INFO", 1, STRINGS_MAX, NO_TEXT},
                 {"HELLO", 1, STRINGS_MAX, HELLO},
                 {"QUIT", 1, STRINGS_MAX, QUIT}};
    int kind = UNKNOWN;

    for (size_t i = 0; i < sizeof known / sizeof *known && (kind == UNKNOWN || kind == BAD_COUNT); i++)
        if (is_string(command, 0, known[i].name))
            kind =
                command->count < known[i].least || command->count > known[i].most ? BAD_COUNT : known[i].kind;
    if (kind == HELLO && command->count > 1 && !is_string(command, 1, "2"))
        return BAD_HELLO;
    if ((kind == GET || kind == SET || kind == ECHO) &&
        !text_take_key(connection, command->strings[1], command->sizes[1], call))
        return UNKNOWN;
    return kind == SET && is_inline ? OK : kind;
}

/* The last request of a foreign client, or of any other that breaks the protocol. */
static int refuse(struct connection *connection, const uint8_t *data, size_t size, int kind,
                  struct call *call)
{
    int result = framing_refuse_text(connection, data, size, NO_REQUEST);
    if (!call->key)
        return result;
    call->kind = &kinds[kind];
    connection->framing->quits = true;
    return (int)size;
}

/* A command that is too long to be read as a whole: its strings are dropped, and the reply, of the
 * kind call->offset, follows the last one. call->moved is the number of strings that are left. */
static void drop_string(struct call *call)
{
    call->kind = &kinds[--call->moved ? SKIP_STRING : call->offset];
}

static int skip_string(struct connection *connection, const uint8_t *data, size_t size, struct call *call)
{
    size_t at = 0;
    int result = take_size(data, size, &at, '$', &call->bytes);

    if (result < 0)
        return refuse(connection, data, size, *data == '$' ? BAD_SIZE : BAD_MARK, call);
    if (result > 0)
        return (int)size + 1;
    drop_string(call);
    return (int)at;
}

/* `read` strings were read; the last of them, of `bytes`, is only announced. */
static void drop_rest(const struct command *command, uint64_t read, uint64_t bytes, struct call *call)
{
    bool has_name = read > 1;
    call->offset = has_name && command->count > 2 && is_string(command, 0, "SET")    ? LAST_SET
                   : has_name && command->count == 2 && is_string(command, 0, "GET") ? LAST_GET
                                                                                     : LAST_UNKNOWN;
    call->moved = command->count - read + (read > 0);
    call->bytes = bytes;
    call->kind = &kinds[SKIP];
    if (read)
        drop_string(call);
}

/* Reads a command that is a line. */
static int read_inline(struct connection *connection, const uint8_t *data, size_t size, struct call *call)
{
    char line[TEXT_LINE_MAX], *words[TEXT_WORDS];
    int head = text_read_line(connection, data, size, line);
    struct command command;

    if (head < 0)
        return refuse(connection, data, size, LONG_LINE, call);
    if ((size_t)head > size)
        return head;
    command.count = text_split(line, words);
    for (size_t i = 0; i < command.count && i < TEXT_WORDS; i++) {
        command.strings[i] = words[i];
        command.sizes[i] = strlen(words[i]);
    }
    int kind = command.count ? kind_of(connection, &command, true, call) : SKIP;
    if (!call->key && kind != PING)
        return refuse(connection, data, size, UNKNOWN, call);
    call->kind = &kinds[kind];
    connection->framing->quits |= kind == QUIT;
    return head;
}

/* A request is an array of strings, or a line. The value of SET is no string: the head ends with
 * its size. */
static int read_request(struct connection *connection, const uint8_t *data, size_t size, struct call *call)
{
    uint64_t last = 0, i = 0;
    struct command command;
    size_t at = 0;

    if (call->moved)
        return skip_string(connection, data, size, call);
    if (*data != '*')
        return read_inline(connection, data, size, call);
    int result = take_size(data, size, &at, '*', &command.count);
    if (result < 0 || (result == 0 && (command.count > COUNT_MAX || (!command.count && !call->key))))
        return refuse(connection, data, size, BAD_ARRAY, call);
    bool is_long = result == 0 && command.count > STRINGS_MAX;
    while (result == 0 && i < command.count && !is_long) {
        size_t begin = at;
        result = take_size(data, size, &at, '$', &last);
        if (result < 0)
            return refuse(connection, data, size, data[begin] == '$' ? BAD_SIZE : BAD_MARK, call);
        if (result > 0 || (i == 2 && command.count == 3 && is_string(&command, 0, "SET")))
            break;
        command.strings[i] = (const char *)data + at;
        command.sizes[i++] = last;
        is_long = last > PROTOCOL_KEY_MAX || at + last + 2 > PROTOCOL_HEAD_MAX;
        at += is_long ? 0 : last + 2;
        result = at > size;
    }
    if (result > 0)
        return (int)(at > size ? at : size + 1);
    if (is_long && !call->key)
        return refuse(connection, data, size, BAD_ARRAY, call);
    if (is_long) {
        drop_rest(&command, i, last, call);
        return (int)at;
    }
    int kind = command.count ? kind_of(connection, &command, false, call) : SKIP;
    if (!call->key && kind > PING)
        return refuse(connection, data, size, UNKNOWN, call);
    call->kind = &kinds[kind];
    connection->framing->quits |= kind == QUIT;
    if (!call->kind->fetches)
        call->bytes = call->kind->stores ? last : 0;
    return (int)at;
}

static void reject(const struct connection *connection, struct call *call)
{
    (void)connection;
    call->kind = &kinds[LARGE];
}

const struct protocol protocol_resp = {
    .variant = {"resp", "protocol of Redis, version 2: op=get:100, set:4K, ping"},
    TEXT,
    .reply_end = "\r\n",
    .missing = "$-1\r\n",
    .reject = reject,
    .violation = &kinds[BAD_END],
};
