/* SPDX-License-Identifier: MIT */
#include "protocol/text.h"

#include <inttypes.h>
#include <string.h>
#include <sys/param.h>

#define KEY_PREFIX "uncork-"
#define BYTES_DIGITS 8u
#define NUMBER_DIGITS 2u

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
    if (call->key)
        return text_put(at, call->key);
    at = put_digits(text_put(at, KEY_PREFIX), call->bytes, BYTES_DIGITS);
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

/* Whether text_put_key() wrote this key. If so, sets the size and the offset of its value. */
static bool take_own_key(const char *key, size_t size, struct call *call)
{
    const uint8_t *digits = (const uint8_t *)key + strlen(KEY_PREFIX);
    uint64_t number;
    if (size != TEXT_KEY_SIZE || memcmp(key, KEY_PREFIX, strlen(KEY_PREFIX)) != 0 ||
        !take_digits(digits, BYTES_DIGITS, &call->bytes) || !call->bytes || digits[BYTES_DIGITS] != '-' ||
        !take_digits(digits + BYTES_DIGITS + 1, NUMBER_DIGITS, &number))
        return false;
    call->offset = number * call->bytes;
    return number < PROTOCOL_KEYS(call->bytes);
}

bool text_take_key(const struct connection *connection, const char *key, size_t size, struct call *call)
{
    const struct operation *operation = connection->plan->operations.list;
    bool is_own = take_own_key(key, size, call);

    if (!call->key || size > PROTOCOL_KEY_MAX)
        return is_own;
    memcpy(call->key, key, size);
    call->key[size] = '\0';
    uint64_t longest = MIN(connection->outgoing->longest_span, connection->shared->content->period);
    if (is_own && call->bytes <= longest && call->offset <= connection->shared->content->period - call->bytes)
        return true;
    while (!operation->kind->fetches)
        operation++;
    call->bytes = operation->bytes;
    call->offset = 0;
    return true;
}

/* Refuses the line that arrived in place of `right`. Asks for more bytes until it is whole. */
static int refuse_line(struct connection *connection, const uint8_t *data, size_t size,
                       const struct call *call, const uint8_t *right, size_t right_size)
{
    const char *missing = connection->plan->protocol->missing;
    const uint8_t *end = memchr(data, '\n', size);
    size_t line = end ? (size_t)(end - data) + 1 : size;
    bool is_missing = line == strlen(missing) && !memcmp(data, missing, line);
    char sent[FRAMING_SHOWN_MAX], expected[FRAMING_SHOWN_MAX];

    if (!end && size < TEXT_LINE_MAX)
        return (int)size + 1;
    framing_show(sent, data, line);
    framing_show(expected, right, right_size);
    return framing_refuse(connection, "answered \"%s\" to a %s of %" PRIu64 " bytes; \"%s\" would be right%s",
                          sent, call->kind->name, call->bytes, expected,
                          is_missing ? ": it no longer has a value that the run stored" : "");
}

int text_read_reply(struct connection *connection, const uint8_t *data, size_t size, struct piece *piece)
{
    const struct protocol *protocol = connection->plan->protocol;
    struct call *call = framing_oldest(connection);
    uint8_t right[PROTOCOL_SENT_MAX];

    if (!call)
        return -EBADMSG;
    size_t expected = call->moved ? (size_t)(text_put(right, protocol->reply_end) - right)
                                  : protocol->write_reply(right, call);
    if (memcmp(data, right, MIN(size, expected)) != 0)
        return refuse_line(connection, data, size, call, right, expected);
    if (size >= expected) {
        uint64_t payload = call->kind->fetches && !call->moved ? call->bytes : 0;

        *piece = (struct piece){call, payload, call->offset, !payload};
        call->moved = payload;
    }
    return (int)expected;
}

int text_read_line(struct connection *connection, const uint8_t *data, size_t size, char line[TEXT_LINE_MAX])
{
    const uint8_t *end = memchr(data, '\n', MIN(size, TEXT_LINE_MAX));
    if (!end)
        return size < TEXT_LINE_MAX ? (int)size + 1 : framing_refuse_text(connection, data, size, NO_REQUEST);
    size_t length = (size_t)(end - data);
    memcpy(line, data, length);
    line[length - (length && data[length - 1] == '\r')] = '\0';
    return (int)length + 1;
}

size_t text_split(char *line, char *words[TEXT_WORDS])
{
    size_t count = 0;
    for (char *word; (word = strsep(&line, " "));)
        if (*word && count++ < TEXT_WORDS)
            words[count - 1] = word;
    return count;
}

int text_store_values(struct connection *connection, bool secured)
{
    const struct plan *plan = connection->plan;
    const struct operation_kind *stores = plan->protocol->kinds;

    if (connection->number || !plan_is_foreign(plan) || (plan->encrypts && !secured))
        return 0;
    while (!stores->stores)
        stores++;
    for (uint32_t i = 0; i < plan->operations.count; i++) {
        const struct operation *operation = &plan->operations.list[i];
        uint64_t keys = operation->kind->fetches ? PROTOCOL_KEYS(operation->bytes) : 0;

        for (uint64_t number = 0; number < keys; number++)
            if (dialogue_store(connection, stores, number * operation->bytes, operation->bytes) < 0)
                return -EBADMSG;
    }
    return 0;
}
