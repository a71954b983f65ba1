/* SPDX-License-Identifier: MIT */
/* Any bytes, cut anywhere, are messages of the control channel or are refused. A message has no
 * byte that controls a terminal. Encoded again, it is the same message. */
#include "fuzz.h"

#include "control/codec.h"

static int compare(void *owner, enum control_type type, const json_t *body)
{
    abort_if(!json_equal(owner, body));
    return 1;
}

static void check_encoding(enum control_type type, const json_t *body)
{
    static struct codec codec;
    struct problem problem = {0};
    struct bytes bytes = {0};

    /* a message of 256 KiB may become longer when it is encoded again, and is then refused */
    if (control_encode(type, body, &bytes, &problem) < 0)
        return;
    codec.received.size = 0;
    codec.broken = false;
    abort_if(codec_feed(&codec, bytes.data, bytes.size, compare, (void *)(uintptr_t)body, &problem) != 1);
    free(bytes.data);
}

static void check_text(const char *text)
{
    for (; *text; text++)
        abort_if(*text != '\t' && (*text < ' ' || *text > '~'));
}

/* Checks any JSON, because a report may hold any. */
static void check_clean(const json_t *value)
{
    const char *key;
    json_t *item;
    size_t i;

    if (json_is_string(value))
        check_text(json_string_value(value));
    json_array_foreach(value, i, item)
        check_clean(item);
    json_object_foreach((json_t *)(uintptr_t)value, key, item) {
        check_text(key);
        check_clean(item);
    }
}

static void check_report(const uint8_t *data, size_t size)
{
    CLEANUP_JSON json_t *value = json_loadb((const char *)data, size, JSON_DECODE_ANY, NULL);
    struct problem problem = {0};

    if (value && control_clean(value, &problem) == 0)
        check_clean(value);
}

static int take(void *owner, enum control_type type, const json_t *body)
{
    check_clean(body);
    check_encoding(type, body);
    ++*(size_t *)owner;
    return 0;
}

static int feed(const uint8_t *data, size_t size, size_t step, size_t *messages)
{
    struct codec *codec = calloc(1, sizeof *codec);
    struct problem problem = {0}, again = {0};
    int result = 0;

    *messages = 0;
    for (size_t done = 0, part; done < size && result == 0; done += part) {
        part = size - done < step ? size - done : step;
        result = codec_feed(codec, data + done, part, take, messages, &problem);
    }
    abort_if((result != 0) != (problem.kind != PROBLEM_NONE));
    abort_if(result != 0 && codec_feed(codec, data, size, take, messages, &again) != -1);
    free(codec->received.data);
    free(codec);
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t whole, cut;
    int result = feed(data, size, size ? size : 1, &whole);

    check_report(data, size);
    abort_if(feed(data, size, 1, &cut) != result || cut != whole);
    abort_if(size && (feed(data, size, 2 + data[size - 1] % 64u, &cut) != result || cut != whole));
    return 0;
}
