/* SPDX-License-Identifier: MIT */
#include "control/codec.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/json_memory.h"

#define FIELDS_MAX 6

struct field {
    const char *key;
    json_type type;
    json_type items; /* of an array */
};

/* clang-format off */
#define TEXT(key) {key, JSON_STRING, 0}
#define NUMBER(key) {key, JSON_INTEGER, 0}
/* clang-format on */

static const struct {
    const char *name;
    struct field fields[FIELDS_MAX];
} schemas[CONTROL_TYPE_COUNT] = {
    [CONTROL_PLAN] = {"plan",
                      {TEXT("version"), TEXT("end"), TEXT("host"), {"words", JSON_ARRAY, JSON_STRING}}},
    [CONTROL_ASK] = {"ask", {TEXT("version")}},
    [CONTROL_WAIT] = {"wait", {{0}}},
    [CONTROL_READY] = {"ready",
                       {NUMBER("port"), TEXT("path"), TEXT("token"), TEXT("key"), TEXT("handshake"),
                        TEXT("host")}},
    [CONTROL_SINK] = {"sink", {TEXT("address"), TEXT("token"), TEXT("key"), TEXT("host")}},
    [CONTROL_REFUSED] = {"refused", {TEXT("kind"), TEXT("text")}},
    [CONTROL_JOINED] = {"joined", {{0}}},
    [CONTROL_DRAIN] = {"drain", {TEXT("end"), {"bytes", JSON_ARRAY, JSON_INTEGER}}},
    [CONTROL_DRAINING] = {"draining", {TEXT("end")}},
    [CONTROL_MARKED] = {"marked", {{0}}},
    [CONTROL_FAILED] = {"failed", {TEXT("kind"), TEXT("phase"), TEXT("text")}},
    [CONTROL_REPORT] = {"report", {{"value", JSON_OBJECT, 0}}},
    [CONTROL_FACTS] = {"facts", {{"value", JSON_OBJECT, 0}}},
    [CONTROL_PING] = {"ping", {{0}}},
};

static int refuse_memory(struct problem *problem)
{
    return problem_failure(problem, "has no memory left for control messages");
}

static int check_fields(enum control_type type, const json_t *body, struct problem *problem)
{
    size_t count = 0, i;

    for (; count < FIELDS_MAX && schemas[type].fields[count].key; count++) {
        const struct field *field = &schemas[type].fields[count];
        const json_t *value = json_object_get(body, field->key), *item;
        bool is_kind = !strcmp(field->key, "kind"); /* that of a problem, so not "ok" */

        if (!value || json_typeof(value) != field->type ||
            (is_kind && problem_kind_parse(json_string_value(value)) == PROBLEM_NONE))
            return problem_failure(problem, "sent a control message '%s' without a valid '%s'",
                                   schemas[type].name, field->key);
        json_array_foreach(value, i, item)
            if (json_typeof(item) != field->items)
                return problem_failure(problem,
                                       "sent a control message in which item %zu of '%s' has the wrong type",
                                       i, field->key);
    }
    if (json_object_size(body) != count + 1)
        return problem_failure(problem, "sent a control message '%s' with fields that do not belong to it",
                               schemas[type].name);
    return 0;
}

/* ---- text from other ends ---- */

/* The number of printable characters with which the text begins. */
static size_t printable(const char *text)
{
    size_t count = 0;
    while ((text[count] >= ' ' && text[count] <= '~') || text[count] == '\t')
        count++;
    return count;
}

int control_clean(json_t *value, struct problem *problem)
{
    const char *text = json_string_value(value), *key;
    json_t *item;
    size_t i;

    if (text && text[printable(text)]) {
        CLEANUP_FREE char *clean = strdup(text);
        for (char *at = clean; at && *(at += printable(at));)
            *at = '?';
        if (!clean || json_string_set_nocheck(value, clean) < 0)
            return refuse_memory(problem);
    }
    json_array_foreach(value, i, item)
        if (control_clean(item, problem) < 0)
            return -1;
    json_object_foreach(value, key, item) {
        if (key[printable(key)])
            return problem_failure(problem, "sent the name '%.40s', which is not printable", key);
        if (control_clean(item, problem) < 0)
            return -1;
    }
    return 0;
}

/* ---- bytes ---- */

int bytes_append(struct bytes *bytes, const void *data, size_t size)
{
    if (size > bytes->room - bytes->size) {
        size_t room = 2 * (bytes->size + size);
        uint8_t *grown = malloc(room); /* realloc(3) would leave a copy behind */
        if (!grown)
            return -1;
        if (bytes->size)
            memcpy(grown, bytes->data, bytes->size);
        size_t kept = bytes->size;
        bytes_free(bytes);
        *bytes = (struct bytes){.size = kept, .room = room, .data = grown};
    }
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
    return 0;
}

void bytes_free(struct bytes *bytes)
{
    secret_wipe(bytes->data, bytes->room);
    free(bytes->data);
    *bytes = (struct bytes){0};
}

int control_encode(enum control_type type, const json_t *body, struct bytes *bytes, struct problem *problem)
{
    CLEANUP_JSON json_t *whole = body ? json_copy((json_t *)(uintptr_t)body) : json_object();
    size_t limit = type == CONTROL_REPORT || type == CONTROL_FACTS ? CONTROL_LONG_MAX : CONTROL_BODY_MAX;
    size_t before = bytes->size;
    uint8_t header[CONTROL_HEADER_SIZE];

    json_object_set_new(whole, "type", json_string(schemas[type].name));
    if (json_memory_lacked())
        return refuse_memory(problem);
    if (check_fields(type, whole, problem) < 0)
        return -1;
    CLEANUP_FREE char *text = json_dumps(whole, JSON_COMPACT);
    size_t length = text ? strlen(text) : 0;
    if (json_memory_lacked())
        return refuse_memory(problem);
    if (!length || length > limit)
        return problem_failure(problem, "control message '%s' does not fit into %zu KiB", schemas[type].name,
                               limit >> 10);
    wire_put32(header, (uint32_t)length);
    bool is_appended =
        bytes_append(bytes, header, sizeof header) == 0 && bytes_append(bytes, text, length) == 0;
    secret_wipe(text, length);
    if (is_appended)
        return 0;
    bytes->size = before;
    return refuse_memory(problem);
}

static int take_message(const uint8_t *text, size_t length, codec_take *take, void *owner,
                        struct problem *problem)
{
    CLEANUP_JSON json_t *body = json_loadb((const char *)text, length, JSON_REJECT_DUPLICATES, NULL);
    enum control_type type = 0;

    if (json_memory_lacked())
        return refuse_memory(problem);
    if (!json_is_object(body))
        return problem_failure(problem, "sent a control message that is not a JSON object");
    if (control_clean(body, problem) < 0)
        return -1;
    const char *name = json_string_value(json_object_get(body, "type"));
    while (name && type < CONTROL_TYPE_COUNT && strcmp(name, schemas[type].name) != 0)
        type++;
    if (!name || type == CONTROL_TYPE_COUNT)
        return problem_failure(problem, "sent a control message of unknown type '%.40s'",
                               name ? name : "(none)");
    return check_fields(type, body, problem) < 0 ? -1 : take(owner, type, body);
}

int codec_feed(struct codec *codec, const uint8_t *bytes, size_t size, codec_take *take, void *owner,
               struct problem *problem)
{
    size_t done = 0, longest = codec->takes_long ? CONTROL_LONG_MAX : CONTROL_BODY_MAX;
    struct bytes *received = &codec->received;
    int result = 0;

    if (codec->broken)
        return problem_failure(problem, "sent a control message after an invalid one");
    if (!size)
        return 0;
    if (bytes_append(received, bytes, size) < 0)
        return refuse_memory(problem);
    while (result == 0 && received->size - done >= CONTROL_HEADER_SIZE) {
        const uint8_t *header = received->data + done;
        size_t length = wire_get32(header);

        /* The first TLS record is a handshake or an alert (RFC 8446, 5.1). Read as a length, its
         * header exceeds that of any message. */
        if ((header[0] == 22 || header[0] == 21) && header[1] == 3)
            result = problem_failure(problem, "speaks TLS, but this end has no key: give --psk FILE");
        else if (length == 0 || length > longest)
            result = problem_failure(problem, "sent a control message of a length that no message has: "
                                              "this is not uncork's channel");
        if (result < 0 || received->size - done - CONTROL_HEADER_SIZE < length)
            break;
        done += CONTROL_HEADER_SIZE + length;
        result = take_message(header + CONTROL_HEADER_SIZE, length, take, owner, problem);
    }
    if (result != 0)
        done = received->size; /* the owner wants no more */
    received->size -= done;
    if (done) { /* musl moves all bytes even by nothing */
        memmove(received->data, received->data + done, received->size);
        secret_wipe(received->data + received->size, done);
    }
    codec->broken = result < 0;
    return result;
}
