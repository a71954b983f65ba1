/* SPDX-License-Identifier: MIT */
#include "protocol/text.h"

#include "connection/dialogue.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KEY_BEGINS "uncork-"
#define BYTES_DIGITS 8u
#define NUMBER_DIGITS 2u
#define SHOWN_MAX 60u /* bytes of a message that text_show() shows */
#define LINE_MAX_SIZE 200u

/* ---- heads ---- */

uint8_t *text_put(uint8_t *at, const char *text)
{
    return (uint8_t *)stpcpy((char *)at, text);
}

static uint8_t *put_digits(uint8_t *at, uint64_t number, size_t digits)
{
    for (size_t i = digits; i--; number /= 10)
        at[i] = (uint8_t)('0' + number % 10);
    return at + digits;
}

uint8_t *text_put_number(uint8_t *at, uint64_t number)
{
    size_t digits = 1;

    for (uint64_t rest = number; rest >= 10; rest /= 10)
        digits++;
    return put_digits(at, number, digits);
}

uint8_t *text_put_key(uint8_t *at, const struct call *call)
{
    at = put_digits(text_put(at, KEY_BEGINS), call->bytes, BYTES_DIGITS);
    *at++ = '-';
    return put_digits(at, call->bytes ? call->offset / call->bytes : 0, NUMBER_DIGITS);
}

static bool take_digits(const uint8_t *text, size_t digits, uint64_t *number)
{
    for (*number = 0; digits--; text++) {
        if (*text < '0' || *text > '9')
            return false;
        *number = *number * 10 + (uint64_t)(*text - '0');
    }
    return true;
}

/* The caller compares the rest of the key. */
static bool take_key(const uint8_t *key, struct call *call)
{
    const uint8_t *digits = key + strlen(KEY_BEGINS);
    uint64_t number;

    if (!take_digits(digits, BYTES_DIGITS, &call->bytes) || !call->bytes ||
        !take_digits(digits + BYTES_DIGITS + 1, NUMBER_DIGITS, &number))
        return false;
    call->offset = number * call->bytes;
    return number < PROTOCOL_KEYS(call->bytes);
}

/* ---- what is wrong ---- */

void text_show(char shown[TEXT_SHOWN_MAX], const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size && i < SHOWN_MAX; i++) {
        if (data[i] == '\r' || data[i] == '\n')
            shown += sprintf(shown, data[i] == '\r' ? "\\r" : "\\n");
        else
            shown += sprintf(shown, data[i] < ' ' || data[i] > '~' ? "\\x%02x" : "%c", data[i]);
    }
    *shown = '\0';
}

/* Waits for the line that came in place of `right`, and refuses it. */
static int refuse_line(struct connection *connection, const uint8_t *data, size_t size,
                       const struct call *call, const uint8_t *right, size_t right_size)
{
    const char *missing = connection->plan->protocol->missing;
    const uint8_t *end = memchr(data, '\n', size);
    size_t line = end ? (size_t)(end - data) + 1 : size;
    bool is_missing = line == strlen(missing) && !memcmp(data, missing, line);
    char sent[TEXT_SHOWN_MAX], expected[TEXT_SHOWN_MAX];

    if (!end && size < LINE_MAX_SIZE)
        return (int)size + 1;
    text_show(sent, data, line);
    text_show(expected, right, right_size);
    return framing_refuse(connection, "answered \"%s\" to a %s of %" PRIu64 " bytes; \"%s\" would be right%s",
                          sent, call->kind->name, call->bytes, expected,
                          is_missing ? ": it no longer has a value that the run stored" : "");
}

/* ---- readers ---- */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The piece that a reader found: a head, or what follows the payload of the call. */
static int found(struct piece *piece, struct call *call, size_t size, bool carries)
{
    uint64_t payload = carries && !call->moved ? call->bytes : 0;

    *piece = (struct piece){size, call, payload, call->offset, !payload};
    call->moved = payload;
    return 0;
}

int text_reply(struct connection *connection, const uint8_t *data, size_t size, struct piece *piece)
{
    const struct protocol *protocol = connection->plan->protocol;
    struct call *call = framing_oldest(connection->framing);
    uint8_t right[PROTOCOL_SENT_MAX];
    size_t expected;

    if (!call)
        return framing_refuse(connection, "answered a request that it was not asked");
    expected =
        call->moved ? (size_t)(text_put(right, protocol->answer_end) - right) : protocol->answer(right, call);
    if (memcmp(data, right, smaller(size, expected)) != 0)
        return refuse_line(connection, data, size, call, right, expected);
    return size < expected ? (int)expected : found(piece, call, expected, call->kind->fetches);
}

static int refuse_request(struct connection *connection, const uint8_t *data, size_t size)
{
    char sent[TEXT_SHOWN_MAX];

    text_show(sent, data, size);
    return framing_refuse(connection, "sent \"%s\", which is no request of op=", sent);
}

/* Up to its key a head says its kind; the key says the rest. */
int text_request(struct connection *connection, const uint8_t *data, size_t size, struct piece *piece)
{
    const struct protocol *protocol = connection->plan->protocol;
    struct call *call = piece->call;
    uint8_t right[PROTOCOL_SENT_MAX];
    size_t expected = 0;

    if (call->moved) {
        expected = (size_t)(text_put(right, protocol->ask_end) - right);
    } else {
        for (const struct operation_kind *kind = protocol->kinds; kind->name && !expected; kind++) {
            *call = (struct call){.kind = kind};
            size_t whole = protocol->ask(right, call);
            const char *key = strstr((char *)right, KEY_BEGINS);
            size_t begins = key ? (size_t)(key - (char *)right) : whole;

            if (memcmp(data, right, smaller(size, begins)) != 0)
                continue;
            if (size < begins + (key ? TEXT_KEY_SIZE : 0))
                return (int)size + 1;
            if (key && !take_key(data + begins, call))
                break;
            expected = protocol->ask(right, call);
        }
    }
    if (!expected || memcmp(data, right, smaller(size, expected)) != 0)
        return refuse_request(connection, data, size);
    return size < expected ? (int)expected : found(piece, call, expected, call->kind->stores);
}

/* ---- content ---- */

int text_greet(struct connection *connection, bool secured)
{
    const struct plan *plan = connection->plan;
    const struct operation_kind *stores = plan->protocol->kinds;
    int result = 0;

    if (connection->number || !plan_is_foreign(plan) || (plan->encrypts && !secured))
        return 0;
    while (!stores->stores)
        stores++;
    for (uint32_t i = 0; i < plan->operations.count; i++) {
        const struct operation *operation = &plan->operations.list[i];
        uint64_t keys = operation->kind->fetches ? PROTOCOL_KEYS(operation->bytes) : 0;

        for (uint64_t number = 0; number < keys && result == 0; number++)
            result = dialogue_store(connection, &(struct call){.kind = stores,
                                                               .bytes = operation->bytes,
                                                               .offset = number * operation->bytes});
    }
    return result;
}
