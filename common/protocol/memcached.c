/* SPDX-License-Identifier: MIT */
/* The text protocol of memcached 1.6: https://github.com/memcached/memcached, doc/protocol.txt. */
#include "base/units.h"
#include "protocol/text.h"

#include <string.h>
#include <sys/param.h>

enum { GET, SET, END, GETS, GET_PART, GETS_PART, NO_KEY, LARGE, ADD, SILENT_SET, SILENT };
enum {
    OTHERS = SILENT + 1,
    VERSION = OTHERS,
    OK,
    STATS,
    DELETED,
    TOUCHED,
    UNKNOWN,
    BAD_LINE,
    LONG_LINE,
    BAD_DATA
};

/* The kinds behind END are those of foreign clients. */
static const struct operation_kind kinds[] = {
    [GET] = {.name = "get", .fetches = true, .request = "get ", .reply = "VALUE "},
    [SET] = {.name = "set", .stores = true, .request = "set ", .reply = "STORED\r\n"},
    [GETS] = {.name = "gets", .fetches = true, .reply = "VALUE "},
    [GET_PART] = {.name = "get", .fetches = true, .reply = "VALUE ", .reply_end = "\r\n"},
    [GETS_PART] = {.name = "gets", .fetches = true, .reply = "VALUE ", .reply_end = "\r\n"},
    [NO_KEY] = {.name = "get", .reply = "END\r\n"},
    [LARGE] = {.name = "set",
               .stores = true,
               .refused = true,
               .reply = "SERVER_ERROR object too large for cache\r\n"},
    [ADD] = {.name = "add", .stores = true, .reply = "NOT_STORED\r\n"}, /* there is every key */
    [SILENT_SET] = {.name = "set", .stores = true, .silent = true},
    [SILENT] = {.name = "other", .silent = true},
    [VERSION] = {.name = "version", .reply = "VERSION 1.6.0-uncork\r\n"},
    [OK] = {.name = "other", .reply = "OK\r\n"},
    [STATS] = {.name = "stats", .reply = "END\r\n"},
    [DELETED] = {.name = "delete", .reply = "DELETED\r\n"},
    [TOUCHED] = {.name = "touch", .reply = "TOUCHED\r\n"},
    [UNKNOWN] = {.name = "unknown", .reply = "ERROR\r\n"},
    [BAD_LINE] = {.name = "unknown", .reply = "CLIENT_ERROR bad command line format\r\n"},
    [LONG_LINE] = {.name = "unknown", .reply = "CLIENT_ERROR line too long\r\n"},
    [BAD_DATA] = {.name = "set", .reply = "CLIENT_ERROR bad data chunk\r\n"}};

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
    if (call->kind->fetches) {
        at = text_put_number(text_put(text_put_key(at, call), " 0 "), call->bytes);
        at = text_put(at, call->kind == &kinds[GETS] || call->kind == &kinds[GETS_PART] ? " 1\r\n" : "\r\n");
    }
    return (size_t)(at - head);
}

/* Reads a line of a client of uncork: "get KEY" or "set KEY FLAGS TIME BYTES". */
static int read_own(struct connection *connection, const uint8_t *data, size_t size, struct call *call)
{
    char line[TEXT_LINE_MAX], *words[TEXT_WORDS];
    int head = text_read_line(connection, data, size, line);

    if (head < 0 || (size_t)head > size)
        return head;
    size_t count = text_split(line, words);
    const char *number = count == 5 ? words[4] : "";
    uint64_t bytes = 0;
    if (count == 2 && !strcmp(words[0], "get") &&
        text_take_key(connection, words[1], strlen(words[1]), call)) {
        call->kind = &kinds[GET];
        return head;
    }
    if (count != 5 || strcmp(words[0], "set") != 0 || units_take_number(&number, &bytes) < 0 || *number ||
        !text_take_key(connection, words[1], strlen(words[1]), call))
        return framing_refuse_text(connection, data, (size_t)head - MIN(head, 2), NO_REQUEST);
    call->kind = &kinds[SET];
    call->bytes = bytes;
    return head;
}

/* Reads one key of "get KEY..." up to the space or the end of the line behind it; `at` is where the
 * key may begin. Each key is a request of its own, and only the reply to the last one has an end.
 * So a line may have any number of keys. */
static int read_key(struct connection *connection, const uint8_t *data, size_t size, size_t at, bool is_gets,
                    struct call *call)
{
    size_t part = MIN(size, PROTOCOL_HEAD_MAX);
    while (at < part && data[at] == ' ')
        at++;
    size_t end = at;
    while (end < part && data[end] != ' ' && data[end] != '\n')
        end++;
    if (end == part)
        return size < PROTOCOL_HEAD_MAX ? (int)size + 1
                                        : framing_refuse_text(connection, data, size, NO_REQUEST);
    bool is_last = data[end] == '\n';
    size_t key = end - at - (is_last && end > at && data[end - 1] == '\r');
    call->kind = &kinds[is_gets ? is_last ? GETS : GETS_PART : is_last ? GET : GET_PART];
    if (key > PROTOCOL_KEY_MAX)
        return framing_refuse_text(connection, data + at, key, "a key that is too long");
    if (key)
        text_take_key(connection, (const char *)data + at, key, call);
    else
        call->kind = &kinds[NO_KEY];
    return (int)end + 1;
}

/* A command that a client has sent as a line of words. */
static const struct command {
    const char *name;
    size_t least, most; /* words, without "noreply" */
    int kind;
} commands[] = {{"set", 5, 5, SET},
                {"replace", 5, 5, SET},
                {"append", 5, 5, SET},
                {"prepend", 5, 5, SET},
                {"cas", 6, 6, SET},
                {"add", 5, 5, ADD},
                {"version", 1, TEXT_WORDS, VERSION},
                {"verbosity", 2, 3, OK},
                {"flush_all", 1, 2, OK},
                {"cache_memlimit", 2, 2, OK},
                {"stats", 1, 4, STATS},
                {"delete", 2, 2, DELETED},
                {"touch", 3, 3, TOUCHED},
                {NULL, 0, TEXT_WORDS, UNKNOWN}};

/* The kind of a line. Sets the key and the bytes of what it stores. */
static int kind_of(const struct connection *connection, char *words[TEXT_WORDS], size_t count,
                   struct call *call)
{
    const struct command *command = commands;
    bool is_silent = count > 1 && count <= TEXT_WORDS && !strcmp(words[count - 1], "noreply");

    while (command->name && (!count || strcmp(words[0], command->name) != 0))
        command++;
    is_silent &= command->name && command->kind != VERSION && command->kind != STATS;
    count -= is_silent;
    if (count < command->least || count > command->most)
        return is_silent && command->kind >= OTHERS ? SILENT : UNKNOWN;
    if (command->kind >= OTHERS)
        return is_silent ? SILENT : command->kind;
    uint64_t value = 0, bytes = 0;
    for (size_t i = 2; i < count; i++) { /* flags, time, bytes; for cas its number */
        const char *number = words[i] + (i == 3 && *words[i] == '-');
        if (units_take_number(&number, &value) < 0 || *number)
            return BAD_LINE;
        bytes = i == 4 ? value : bytes;
    }
    if (strlen(words[1]) > PROTOCOL_KEY_MAX)
        return BAD_LINE;
    text_take_key(connection, words[1], strlen(words[1]), call);
    call->bytes = bytes;
    return is_silent ? SILENT_SET : command->kind;
}

/* Reads a line of any client. */
static int read_foreign(struct connection *connection, const uint8_t *data, size_t size, struct call *call)
{
    const struct framing *framing = connection->framing;
    const struct operation_kind *last = framing->calls[(framing->received - 1) & framing->mask].kind;
    char line[TEXT_LINE_MAX], *words[TEXT_WORDS];

    if (framing->received && (last == &kinds[GET_PART] || last == &kinds[GETS_PART]))
        return read_key(connection, data, size, 0, last == &kinds[GETS_PART], call);
    for (size_t name = 4; name <= 5; name++)
        if (size > name && !memcmp(data, "gets ", name - 1) && data[name - 1] == ' ' && data[name] != '\r')
            return read_key(connection, data, size, name, name == 5, call);
    int head = text_read_line(connection, data, size, line);
    if (head < 0 || (size_t)head > size)
        return head;
    size_t count = text_split(line, words);
    if (count == 1 && !strcmp(words[0], "quit"))
        return -ESHUTDOWN;
    /* HEAD_MIN: a lone LF must not cost a reply */
    call->kind = &kinds[head == 1 ? SILENT : kind_of(connection, words, count, call)];
    return head;
}

static int read_request(struct connection *connection, const uint8_t *data, size_t size, struct call *call)
{
    if (!call->key)
        return read_own(connection, data, size, call);
    int head = read_foreign(connection, data, size, call);
    if (head != -EBADMSG)
        return head;
    call->kind = &kinds[LONG_LINE];
    connection->framing->quits = true;
    return (int)size;
}

static void reject(const struct connection *connection, struct call *call)
{
    (void)connection;
    if (!call->kind->silent)
        call->kind = &kinds[LARGE];
}

const struct protocol protocol_memcached = {
    .variant = {"memcached", "text protocol of memcached: op=get:100, set:4K"},
    TEXT,
    .reply_end = "\r\nEND\r\n",
    .missing = "END\r\n",
    .reject = reject,
    .violation = &kinds[BAD_DATA],
};
