/* SPDX-License-Identifier: MIT */
/* HTTP/1.1 (RFC 9110, 9112) on persistent connections. A request is a GET of a path that is a size
 * in bytes, "/4096". Its reply has status 200 and Content-Length. The content of each path is the
 * pattern from byte 0 on. Replies come in the order of the requests.
 *
 * Foreign clients may also send HEAD, and any other request gets the status of an error. */
#include "base/units.h"
#include "protocol/text.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include <sys/param.h>

#define VERSION "HTTP/1.1"
#define ENDS_HEAD "\r\n\r\n"
#define ENDS "Connection: close\r\n"
#define STAYS "Connection: keep-alive\r\n"

enum { GET, END, HEAD, NOT_FOUND, BAD, BAD_METHOD, LONG_HEAD, NO_METHOD, BAD_VERSION };

/* `reply`: the status and the fields of a reply without content. */
static const struct operation_kind kinds[] = {
    [GET] = {.name = "get", .fetches = true},
    [HEAD] = {.name = "head"},
    [NOT_FOUND] = {.name = "get", .reply = "404 Not Found\r\n"},
    [BAD] = {.name = "request", .reply = "400 Bad Request\r\n" ENDS},
    [BAD_METHOD] = {.name = "request",
                    .stores = true,
                    .refused = true,
                    .reply = "405 Method Not Allowed\r\nAllow: GET, HEAD\r\n"},
    [LONG_HEAD] = {.name = "request", .reply = "431 Request Header Fields Too Large\r\n" ENDS},
    [NO_METHOD] = {.name = "request", .stores = true, .refused = true, .reply = "501 Not Implemented\r\n"},
    [BAD_VERSION] = {.name = "request", .reply = "505 HTTP Version Not Supported\r\n" ENDS}};

static size_t write_request(uint8_t *head, const struct call *call)
{
    uint8_t *at = text_put_number(text_put(head, "GET /"), call->bytes);
    return (size_t)(text_put(at, " " VERSION "\r\nHost: uncork" ENDS_HEAD) - head);
}

static size_t write_reply(uint8_t *head, const struct call *call)
{
    const char *error = call->kind->reply;
    uint8_t *at =
        text_put(head, error ? VERSION " " : VERSION " 200 OK\r\nContent-Type: application/octet-stream\r\n");
    if (error)
        at = text_put(at, error);
    if (call->field)
        at = text_put(at, call->field);
    at = text_put_number(text_put(at, "Content-Length: "), error ? 0 : call->bytes);
    return (size_t)(text_put(at, ENDS_HEAD) - head);
}

/* What the header fields say. */
struct fields {
    uint64_t length;
    unsigned hosts;
    bool has_length, has_transfer_encoding, closes, stays, expects;
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
    if ((*line | ' ') != *name || (size_t)(end - line) < strlen(name) ||
        strncasecmp((const char *)line, name, strlen(name)) != 0)
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

/* Reads one header field. 0, or -EBADMSG with the problem of the thread. */
static int read_field(struct connection *connection, const uint8_t *line, const uint8_t *end,
                      struct fields *fields)
{
    const char *value;

    if (*line == ':' || *line == ' ' || !memchr(line, ':', (size_t)(end - line)))
        return refuse_line(connection, line, (size_t)(end - line), "which is not a header field");
    if (is_field(line, end, "host:", &value)) {
        fields->hosts++;
    } else if (is_field(line, end, "transfer-encoding:", &value)) {
        fields->has_transfer_encoding = true;
    } else if (is_field(line, end, "expect:", &value)) {
        fields->expects = true;
    } else if (is_field(line, end, "connection:", &value)) {
        fields->closes |= has_word(value, (const char *)end, "close");
        fields->stays |= has_word(value, (const char *)end, "keep-alive");
    } else if (is_field(line, end, "content-length:", &value)) {
        if (fields->has_length || units_take_number(&value, &fields->length) < 0 ||
            skip_blanks(value) != (const char *)end)
            return refuse_line(connection, line, (size_t)(end - line), "where one number would be right");
        fields->has_length = true;
    }
    return 0;
}

/* Reads the fields behind the first line. 0, or -EBADMSG with the problem of the thread. */
static int read_fields(struct connection *connection, const uint8_t *data, size_t size, struct fields *fields)
{
    const uint8_t *last = data + size - 2, *line = memmem(data, size, "\r\n", 2), *end;

    *fields = (struct fields){0};
    for (line += 2; line < last; line = end + 2) {
        end = memmem(line, (size_t)(data + size - line), "\r\n", 2);
        if (read_field(connection, line, end, fields) < 0)
            return -EBADMSG;
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
    if (fields.closes)
        return framing_refuse(connection,
                              "says \"Connection: close\"; the connections of a run have to stay open");
    if (fields.has_transfer_encoding || !fields.has_length)
        return framing_refuse(connection, "answered %s Content-Length, which a reply has to have",
                              fields.has_transfer_encoding ? "by Transfer-Encoding and not by" : "without");
    if (fields.length != call->bytes)
        return framing_refuse(connection, "answered %" PRIu64 " bytes to a get of %" PRIu64, fields.length,
                              call->bytes);
    *piece = (struct piece){.call = call, .payload = call->bytes, .is_last = true};
    return (int)end;
}

/* ---- requests ---- */

/* Returns how many bytes of a line are a token (RFC 9110, 5.6.2): a method, the name of a field. */
static size_t token_size(const uint8_t *line, const uint8_t *end)
{
    const uint8_t *at = line;
    while (at<end && * at> ' ' && *at <= '~' && !strchr("\"(),/:;<=>?@[\\]{}", *at))
        at++;
    return (size_t)(at - line);
}

/* Whether each line between `line` and the empty one that ends at `end` is "NAME:...\r\n". Else two
 * parsers could disagree about the end of a request. */
static bool has_clean_fields(const uint8_t *line, const uint8_t *end)
{
    for (const uint8_t *last; line < end - 2; line = last + 1) {
        last = memchr(line, '\n', (size_t)(end - line));
        size_t name = token_size(line, last);
        if (last[-1] != '\r' || !name || line[name] != ':')
            return false;
    }
    return true;
}

#define RIGHT "where \"GET /SIZE " VERSION "\" would be right"

/* The request of a client of uncork. */
static int read_own(struct connection *connection, const uint8_t *data, size_t size, struct call *call)
{
    const char *path = (const char *)data + strlen("GET /");
    size_t end = find_end(data, size);
    struct fields fields;

    if (!begins(data, size, "GET /"))
        return refuse_line(connection, data, size, RIGHT);
    if (end > size)
        return (int)end;
    *call = (struct call){.kind = &kinds[GET]};
    if (units_take_number(&path, &call->bytes) < 0 || !call->bytes ||
        !begins((const uint8_t *)path, (size_t)((const char *)data + end - path), " " VERSION "\r\n"))
        return refuse_line(connection, data, end, RIGHT);
    if (read_fields(connection, data, end, &fields) < 0)
        return -EBADMSG;
    if (fields.closes)
        return framing_refuse(connection,
                              "says \"Connection: close\"; the connections of a run have to stay open");
    if (fields.has_transfer_encoding || fields.length)
        return framing_refuse(connection, "sent a GET with content, which has no meaning");
    return (int)end;
}

/* The first line of a request: METHOD TARGET HTTP/1.MINOR. */
struct request_line {
    const uint8_t *method, *target, *version;
    size_t method_size, target_size;
    unsigned minor;
};

/* The last request of this connection: its reply is an error. Drops all bytes. */
static int end_by(struct connection *connection, struct call *call, int kind, size_t size)
{
    call->kind = &kinds[kind];
    connection->framing->quits = true;
    if (kind == LONG_HEAD)
        framing_refuse(connection, "sent a head of more than %u bytes", PROTOCOL_HEAD_MAX);
    else
        framing_refuse(connection, "sent a request of another version than HTTP/1");
    return (int)size;
}

/* Reads the line up to `end`, which has no CR LF. */
static bool split_line(const uint8_t *line, const uint8_t *end, struct request_line *parts)
{
    const uint8_t *first = memchr(line, ' ', (size_t)(end - line));
    const uint8_t *second = first ? memchr(first + 1, ' ', (size_t)(end - first - 1)) : NULL;

    if (!second || second == first + 1)
        return false;
    *parts = (struct request_line){
        line, first + 1, second + 1, (size_t)(first - line), (size_t)(second - first - 1), 0};
    const uint8_t *version = parts->version;
    if (end - version != (ptrdiff_t)strlen(VERSION) || memcmp(version, VERSION, 5) != 0 || version[5] < '0' ||
        version[5] > '9' || version[6] != '.' || version[7] < '0' || version[7] > '9')
        return false;
    parts->minor = version[7] - (unsigned)'0';
    return parts->method_size && token_size(line, first) == parts->method_size;
}

static bool is_one_of(const uint8_t *text, size_t size, const char *const *names)
{
    while (*names && (strlen(*names) != size || memcmp(text, *names, size) != 0))
        names++;
    return *names;
}

/* The kind of a request, and the size of the content that it asks for. */
static const struct operation_kind *kind_of(const struct connection *connection,
                                            const struct request_line *parts, struct call *call)
{
    static const char *const gets[] = {"GET", "HEAD", NULL};
    static const char *const others[] = {"POST",    "PUT",   "DELETE", "CONNECT",
                                         "OPTIONS", "TRACE", "PATCH",  NULL};
    const uint8_t *path = parts->target, *end = path + parts->target_size;

    if (!is_one_of(parts->method, parts->method_size, gets))
        return &kinds[is_one_of(parts->method, parts->method_size, others) ? BAD_METHOD : NO_METHOD];
    if (parts->target_size > 7 && !strncasecmp((const char *)path, "http://", 7))
        path = memchr(path + 7, '/', parts->target_size - 7);
    const char *number = path ? (const char *)path + 1 : NULL;
    if (!number || *path != '/' || units_take_number(&number, &call->bytes) < 0 || !call->bytes ||
        number != (const char *)end || call->bytes > connection->outgoing->longest_span)
        return &kinds[NOT_FOUND];
    return &kinds[*parts->method == 'G' ? GET : HEAD];
}

/* Says how the body of a request is framed, and whether the connection ends. Returns false if the
 * request is a bad one. Without "100 Continue", a client that waits for it may or may not send its
 * body, so the connection ends. */
static bool apply_fields(struct connection *connection, const struct request_line *parts,
                         const struct fields *fields, struct call *call)
{
    bool has_body = fields->has_transfer_encoding || fields->length;

    if (fields->hosts > 1 || (parts->minor && !fields->hosts) ||
        (fields->has_transfer_encoding && (fields->has_length || !parts->minor)) ||
        (has_body && !call->kind->refused))
        return false;
    bool ends = fields->closes || (!parts->minor && !fields->stays) || fields->has_transfer_encoding ||
                (has_body && fields->expects);
    call->field = ends ? ENDS : parts->minor ? NULL : STAYS;
    if (call->kind->refused)
        call->bytes = ends ? 0 : fields->length;
    connection->framing->quits = ends;
    return true;
}

/* The request of any client. */
static int read_foreign(struct connection *connection, const uint8_t *data, size_t size, struct call *call)
{
    size_t blank = size < 2 || memcmp(data, "\r\n", 2) != 0 ? 0 : 2; /* RFC 9112, 2.2 */
    const uint8_t *line = data + blank, *end = memchr(line, '\n', MIN(size, PROTOCOL_HEAD_MAX) - blank);
    struct request_line parts;
    struct fields fields;

    *call = (struct call){.key = call->key};
    if (!end && size < PROTOCOL_HEAD_MAX)
        return (int)size + 1;
    if (!end)
        return end_by(connection, call, LONG_HEAD, size);
    if (end == line || end[-1] != '\r' || !split_line(line, end - 1, &parts))
        return refuse_line(connection, line, (size_t)(end - line), RIGHT);
    if (parts.version[5] != '1')
        return end_by(connection, call, BAD_VERSION, size);
    size_t head = blank + find_end(line, size - blank);
    if (head > PROTOCOL_HEAD_MAX)
        return end_by(connection, call, LONG_HEAD, size);
    if (head > size)
        return (int)head;
    call->kind = kind_of(connection, &parts, call);
    if (!has_clean_fields(end + 1, line + head - blank))
        return framing_refuse(connection, "sent a head with a line that is not a header field");
    if (read_fields(connection, line, head - blank, &fields) < 0)
        return -EBADMSG;
    if (!apply_fields(connection, &parts, &fields, call))
        return refuse_line(connection, line, (size_t)(end - line), "whose Host or body is not right");
    return (int)head;
}

static int read_request(struct connection *connection, const uint8_t *data, size_t size, struct call *call)
{
    return call->key ? read_foreign(connection, data, size, call) : read_own(connection, data, size, call);
}

const struct protocol protocol_http = {
    .variant = {"http", "HTTP/1.1: op=get:4K asks for /4096"},
    .kinds = kinds,
    .write_request = write_request,
    .write_reply = write_reply,
    .read_request = read_request,
    .read_reply = read_reply,
    .violation = &kinds[BAD],
};
