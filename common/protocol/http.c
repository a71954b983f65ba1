/* SPDX-License-Identifier: MIT */
/* HTTP/1.1 (RFC 9112) on persistent connections. A request is a GET of a path that is a size in
 * bytes, "/4096". Its reply has status 200 and Content-Length. The content of each path is the
 * pattern from byte 0 on. Replies come in the order of the requests. */
#include "base/units.h"
#include "protocol/text.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#define VERSION "HTTP/1.1"
#define ENDS_HEAD "\r\n\r\n"

enum { GET, END, NOT_FOUND };

static const struct operation_kind kinds[] = {
    [GET] = {.name = "get", .fetches = true}, [NOT_FOUND] = {.name = "get"}};

static size_t write_request(uint8_t *head, const struct call *call)
{
    uint8_t *at = text_put_number(text_put(head, "GET /"), call->bytes);
    return (size_t)(text_put(at, " " VERSION "\r\nHost: uncork" ENDS_HEAD) - head);
}

static size_t write_reply(uint8_t *head, const struct call *call)
{
    if (!call->kind->fetches)
        return (size_t)(text_put(head, VERSION " 404 Not Found\r\nContent-Length: 0" ENDS_HEAD) - head);
    uint8_t *at =
        text_put(head, VERSION " 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: ");
    return (size_t)(text_put(text_put_number(at, call->bytes), ENDS_HEAD) - head);
}

/* The header fields that say how long the content is. */
struct fields {
    uint64_t length;
    bool has_length, has_transfer_encoding;
};

/* Refuses a line; `what` says what is wrong with it. */
static int refuse_line(struct connection *connection, const uint8_t *line, size_t size, const char *what)
{
    const uint8_t *end = memchr(line, '\r', size);
    return framing_refuse_text(connection, line, end ? (size_t)(end - line) : size, what);
}

/* The size of the head at `data`; if it is not whole, the least that it can have: above `size`. */
static size_t find_end(const uint8_t *data, size_t size)
{
    size_t part = size < PROTOCOL_HEAD_MAX ? size : PROTOCOL_HEAD_MAX, here = part < 3 ? part : 3;
    const uint8_t *end = memmem(data, part, ENDS_HEAD, strlen(ENDS_HEAD));
    if (end)
        return (size_t)(end - data) + strlen(ENDS_HEAD);
    while (memcmp(data + part - here, ENDS_HEAD, here) != 0)
        here--;
    return size + strlen(ENDS_HEAD) - here;
}

/* Stops at the end of the line at the latest: the head ends with CR LF. Not strspn(3), which takes
 * a string: these bytes have no NUL behind them. */
static const char *skip_blanks(const char *text)
{
    while (*text == ' ' || *text == '\t')
        text++;
    return text;
}

/* Whether the line is the header field `name`, with its colon. If so, sets `value` to its value. */
static bool is_field(const uint8_t *line, const uint8_t *end, const char *name, const char **value)
{
    if ((size_t)(end - line) < strlen(name) || strncasecmp((const char *)line, name, strlen(name)) != 0)
        return false;
    *value = skip_blanks((const char *)line + strlen(name));
    return true;
}

static bool has_word(const char *text, const char *end, const char *word)
{
    size_t size = strlen(word);
    while (text + size <= end && strncasecmp(text, word, size) != 0)
        text++;
    return text + size <= end;
}

/* Reads the fields behind the first line. 0, or -EBADMSG with the problem of the thread. */
static int read_fields(struct connection *connection, const uint8_t *data, size_t size, struct fields *fields)
{
    const uint8_t *last = data + size - 2, *line = memmem(data, size, "\r\n", 2), *end;
    const char *value;

    *fields = (struct fields){0};
    for (line += 2; line < last; line = end + 2) {
        end = memmem(line, (size_t)(data + size - line), "\r\n", 2);
        if (*line == ':' || *line == ' ' || !memchr(line, ':', (size_t)(end - line)))
            return refuse_line(connection, line, (size_t)(end - line), "which is not a header field");
        if (is_field(line, end, "transfer-encoding:", &value))
            fields->has_transfer_encoding = true;
        if (is_field(line, end, "connection:", &value) && has_word(value, (const char *)end, "close"))
            return framing_refuse(connection,
                                  "says \"Connection: close\"; the connections of a run have to stay open");
        if (!is_field(line, end, "content-length:", &value))
            continue;
        if (fields->has_length || units_take_number(&value, &fields->length) < 0 ||
            skip_blanks(value) != (const char *)end)
            return refuse_line(connection, line, (size_t)(end - line), "where one number would be right");
        fields->has_length = true;
    }
    return 0;
}

/* Whether `data` begins with `text`, as far as it has arrived. */
static bool begins(const uint8_t *data, size_t size, const char *text)
{
    return memcmp(data, text, size < strlen(text) ? size : strlen(text)) == 0;
}

static int read_reply(struct connection *connection, const uint8_t *data, size_t size, struct piece *piece)
{
    static const char good[] = VERSION " 200";
    struct call *call = framing_oldest(connection);
    size_t end = find_end(data, size);
    struct fields fields;

    if (!call)
        return -EBADMSG;
    if (!begins(data, size, VERSION " "))
        return refuse_line(connection, data, size, "which is not a reply of " VERSION);
    if (end > size)
        return (int)end;
    if (!begins(data, end, good) || (data[sizeof good - 1] != ' ' && data[sizeof good - 1] != '\r'))
        return refuse_line(connection, data, end, "where status 200 would be right");
    if (read_fields(connection, data, end, &fields) < 0)
        return -EBADMSG;
    if (fields.has_transfer_encoding || !fields.has_length)
        return framing_refuse(connection, "answered %s Content-Length, which a reply has to have",
                              fields.has_transfer_encoding ? "by Transfer-Encoding and not by" : "without");
    if (fields.length != call->bytes)
        return framing_refuse(connection, "answered %" PRIu64 " bytes to a get of %" PRIu64, fields.length,
                              call->bytes);
    *piece = (struct piece){.call = call, .payload = call->bytes, .is_last = true};
    return (int)end;
}

static int read_request(struct connection *connection, const uint8_t *data, size_t size, struct call *call)
{
    static const char right[] = "where \"GET /SIZE " VERSION "\" would be right";
    const char *path = (const char *)data + strlen("GET /");
    size_t end = find_end(data, size);
    struct fields fields;

    if (!begins(data, size, "GET /"))
        return refuse_line(connection, data, size, right);
    if (end > size)
        return (int)end;
    *call = (struct call){.kind = &kinds[GET], .key = call->key};
    if (units_take_number(&path, &call->bytes) < 0 || !call->bytes ||
        !begins((const uint8_t *)path, (size_t)((const char *)data + end - path), " " VERSION "\r\n")) {
        if (!call->key)
            return refuse_line(connection, data, end, right);
        *call = (struct call){.kind = &kinds[NOT_FOUND], .key = call->key};
    }
    if (read_fields(connection, data, end, &fields) < 0)
        return -EBADMSG;
    if (fields.has_transfer_encoding || fields.length)
        return framing_refuse(connection, "sent a GET with content, which has no meaning");
    return (int)end;
}

const struct protocol protocol_http = {
    .variant = {"http", "HTTP/1.1: op=get:4K asks for /4096"},
    .kinds = kinds,
    .write_request = write_request,
    .write_reply = write_reply,
    .read_request = read_request,
    .read_reply = read_reply,
};
