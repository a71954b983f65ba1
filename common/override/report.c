/* SPDX-License-Identifier: MIT */
#include "override/override.h"

#include "base/units.h"

#include <inttypes.h>
#include <string.h>
#include <sys/param.h>
#include <sys/socket.h>

#define SHAPES_SHOWN 4
#define SHAPE_TEXT_MAX 512
#define MORE_LEAST 64
#define MORE_MOST 4096 /* a larger first part is no header: `join` is the advice */
#define LINE_MOST 100

#define CALL_NAME(name) #name,
static const char *const call_names[COUNTED_COUNT] = {SHARED_CALLS(CALL_NAME)};

static const char *const role_names[] = {
    [ROLE_INHERITED] = "inherited", [ROLE_ACCEPTED] = "accepted", [ROLE_CONNECTED] = "connected"};

/* The sum of counts of the program, which may write any number into the memory that it shares. */
static uint64_t count_sum(uint64_t sum, uint64_t count)
{
    return count < INT64_MAX - sum ? sum + count : INT64_MAX;
}

static json_t *count_json(uint64_t count)
{
    return json_integer((json_int_t)count_sum(0, count));
}

static uint32_t known_fragments(const struct shared_shape *shape)
{
    return shape->sends < SHARED_FRAGMENTS ? shape->sends : SHARED_FRAGMENTS;
}

/* Formats of a shape. AS_WORD: a value of message= and reply=, "38+4118" or "16x1100". AS_SIZES:
 * for people, "16 MSG_MORE, 4096" or "16 x 1100". AS_CALLS: the same with the calls. */
enum form { AS_WORD, AS_SIZES, AS_CALLS };

/* Writes a shape to `text` and returns it. */
static const char *shape_text(char text[SHAPE_TEXT_MAX], const struct shared_shape *shape, enum form form)
{
    FILE *file = fmemopen(text, SHAPE_TEXT_MAX, "w");
    uint32_t count = known_fragments(shape), same = 1;

    if (!file)
        return "";
    while (same < count && shape->fragments[same] == shape->fragments[0])
        same++;
    bool is_repeated = shape->sends > 2 && same == count;
    if (is_repeated)
        fprintf(file, "%" PRIu32 "%s", shape->sends, form == AS_WORD ? "x" : " x ");
    for (uint32_t i = 0; i < (is_repeated ? 1 : count); i++) {
        uint64_t one = shape->fragments[i];
        if (i)
            fputs(form == AS_WORD ? "+" : ", ", file);
        if (form == AS_CALLS)
            fprintf(file, "%s ", call_names[FRAGMENT_CALL(one) % COUNTED_COUNT]);
        fprintf(file, "%" PRIu64, FRAGMENT_BYTES(one));
        if (form != AS_WORD)
            fprintf(file, "%s%s", one & FRAGMENT_MORE ? " MSG_MORE" : "",
                    one & FRAGMENT_CORKED ? " corked" : "");
    }
    if (form != AS_WORD && !is_repeated && count < shape->sends)
        fprintf(file, ", ... (%" PRIu32 " in all)", shape->sends);
    fclose(file);
    return text;
}

/* ---- advice ---- */

/* The sentence of a finding: sizes, `how`, a stall, `before`, the override, `after`. `writes`: the
 * values of write= that measure it without the program. */
enum finding { SINGLE, SINGLE_NAGLE, UNIX_SOCKET, JOINED_BY_MORE, JOINED_BY_CORK, SEPARATE, SEPARATE_NAGLE };
static const struct {
    const char *how, *before, *override, *after, *writes;
} findings[] = {
    [SINGLE] = {"", "nothing to join", "", "", ""},
    [SINGLE_NAGLE] = {", no TCP_NODELAY", "nothing to join; try override=", "nodelay", "", "nagle,nodelay"},
    [UNIX_SOCKET] = {"", "on a Unix socket no override joins them; one writev(2) would", "", "",
                     "nodelay,writev,coalesce"},
    [JOINED_BY_MORE] = {", joined by MSG_MORE", "override=", "nomore", " shows what that saves",
                        "nodelay,more"},
    [JOINED_BY_CORK] = {", joined by TCP_CORK", "override=", "nocork", " shows what that saves",
                        "nodelay,cork"},
    [SEPARATE] = {"", "they would join; try override=", "join", "", "nodelay,more"},
    [SEPARATE_NAGLE] = {", no TCP_NODELAY", "they would join; try override=", "join", "", "nagle,more"},
};

static enum finding classify(const struct shared_kind *kind, const struct shared_shape *shape)
{
    bool stalls = (kind->waits_40ms + kind->waits_200ms) * 2 > kind->turns;
    uint64_t joining = FRAGMENT_MORE | FRAGMENT_CORKED; /* flags that join each send with the next one */
    for (uint32_t i = 0; i < known_fragments(shape) && i + 1 < shape->sends; i++)
        joining &= shape->fragments[i];
    if (shape->sends == 1)
        return kind->nodelay == 0 && stalls ? SINGLE_NAGLE : SINGLE;
    if (kind->name.family == AF_UNIX)
        return UNIX_SOCKET;
    if (joining)
        return joining & FRAGMENT_MORE ? JOINED_BY_MORE : JOINED_BY_CORK;
    return kind->nodelay ? SEPARATE : SEPARATE_NAGLE;
}

/* The size of more:SIZE that joins the sends of a shape. 0: only `join` does, because the sends
 * before the last are no short headers. */
static uint64_t more_bytes(const struct shared_shape *shape)
{
    uint32_t last = known_fragments(shape) - 1;
    uint64_t most = MORE_LEAST;
    for (uint32_t i = 0; i < last; i++)
        while (most < FRAGMENT_BYTES(shape->fragments[i]))
            most *= 2;
    bool joins = shape->sends <= SHARED_FRAGMENTS && most < FRAGMENT_BYTES(shape->fragments[last]);
    return joins && most <= MORE_MOST ? most : 0;
}

/* Adds what the most frequent shape means, the override to try, and the command that measures it:
 * on the subject, else on messages of this shape. */
static void add_advice(json_t *report, const struct shared_kind *kind, const struct shared_shape *shape,
                       const char *subject)
{
    enum finding found = classify(kind, shape);
    uint64_t most = found == SEPARATE || found == SEPARATE_NAGLE ? more_bytes(shape) : 0;
    bool sends_first = kind->name.role == ROLE_CONNECTED;
    const char *stall = found == SINGLE                        ? ""
                        : kind->waits_40ms * 2 > kind->turns   ? ", and a wait of about 40 ms after each"
                        : kind->waits_200ms * 2 > kind->turns  ? ", and a wait of about 200 ms after each"
                        : kind->waits_40ms + kind->waits_200ms ? ", and now and then a wait of 40 or 200 ms"
                                                               : "";
    char sends[48] = "single sends", text[SHAPE_TEXT_MAX], override[32];
    json_t *measure = NULL;

    if (shape->sends > 1)
        snprintf(sends, sizeof sends, "groups of %" PRIu32 " sends", shape->sends);
    snprintf(override, sizeof override, "%s", findings[found].override);
    if (most)
        snprintf(override, sizeof override, "more:%" PRIu64, most);
    if (subject && *override)
        measure = json_sprintf("uncork run subject=%s override=none,%s", subject, override);
    else if (*findings[found].writes)
        measure = json_sprintf(
            "uncork run %s%s%s%s%s",
            sends_first ? "message=" : "workload=request message=64 reply=", shape_text(text, shape, AS_WORD),
            sends_first ? " reply=64 write=" : " reply_write=", findings[found].writes,
            kind->name.family == AF_UNIX ? " transport=unix" : "");
    json_t *says =
        json_sprintf("Messages are %s (%s)%s%s: %s%s%s.", sends, shape_text(text, shape, AS_SIZES),
                     findings[found].how, stall, findings[found].before, override, findings[found].after);
    json_object_update_new(report,
                           json_pack("{s:o*, s:s*, s:o*}", "says", says, "try", *override ? override : NULL,
                                     "measure", measure)); /* a subject that is not UTF-8 has none */
}

/* ---- JSON ---- */

static json_t *calls_json(const _Atomic uint64_t calls[COUNTED_COUNT])
{
    json_t *counts = json_object();
    for (size_t call = 0; call < COUNTED_COUNT; call++)
        if (calls[call])
            json_object_set_new(counts, call_names[call], count_json(calls[call]));
    return counts;
}

static json_t *shape_json(const struct shared_shape *shape)
{
    json_t *fragments = json_array();
    char text[SHAPE_TEXT_MAX];

    for (uint32_t i = 0; i < known_fragments(shape); i++) {
        uint64_t one = shape->fragments[i];
        json_array_append_new(fragments,
                              json_pack("{s:I, s:s, s:b, s:b}", "bytes", (json_int_t)FRAGMENT_BYTES(one),
                                        "call", call_names[FRAGMENT_CALL(one) % COUNTED_COUNT], "more",
                                        !!(one & FRAGMENT_MORE), "corked", !!(one & FRAGMENT_CORKED)));
    }
    return json_pack("{s:o, s:I, s:b, s:s, s:o}", "groups", count_json(shape->groups), "sends",
                     (json_int_t)shape->sends, "rounded", !!shape->rounded, "text",
                     shape_text(text, shape, AS_CALLS), "fragments", fragments);
}

static json_t *kind_json(const struct shared_kind *kind, const char *subject)
{
    const struct shared_shape *sorted[SHARED_SHAPES];
    size_t count = 0, path_size = strnlen(kind->name.path, sizeof kind->name.path);
    uint16_t family = kind->name.family, port = kind->name.port;
    const char *family_name = family == AF_UNIX ? "unix" : family ? "tcp" : "other";
    json_t *shapes = json_array();
    bool is_read = kind->read_back;

    /* Most frequent first. Not by qsort(3): the program may count groups at the same time. */
    for (const struct shared_shape *shape = kind->shapes; shape < kind->shapes + SHARED_SHAPES; shape++) {
        if (!shape->groups || !shape->sends)
            continue;
        size_t at = count++;
        for (; at > 0 && sorted[at - 1]->groups < shape->groups; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = shape;
    }
    for (size_t i = 0; i < count; i++)
        json_array_append_new(shapes, shape_json(sorted[i]));
    json_t *report = json_pack(
        "{s:s, s:s, s:o*, s:o*, s:o, s:o*, s:o*, s:o*, s:o}", "family", family_name, "role",
        role_names[kind->name.role % 3], "path", path_size ? json_stringn(kind->name.path, path_size) : NULL,
        "port", port ? json_integer(port) : NULL, "calls", calls_json(kind->calls), "nodelay",
        is_read && kind->nodelay >= 0 ? json_boolean(kind->nodelay) : NULL, "sndbuf_bytes",
        is_read ? json_integer(MAX(kind->sndbuf_bytes, 0)) : NULL, "rcvbuf_bytes",
        is_read ? json_integer(MAX(kind->rcvbuf_bytes, 0)) : NULL, "shapes", shapes);
    if (count)
        add_advice(report, kind, sorted[0], subject);
    else
        json_object_set_new(report, "says", json_string("The library saw no send."));
#define SET_COUNT(name) json_object_set_new(report, #name, count_json(kind->name));
    KIND_COUNTS(SET_COUNT)
    return report;
}

/* Of a copy: the program may still write, and what was checked must not change. */
json_t *report_make(const struct shared *written, const char *subject, double call_ns, const char *limit)
{
    static struct shared copy;
    const struct shared *shared = memcpy(&copy, written, sizeof copy);
    json_t *kinds = json_array();
    uint64_t calls = 0;
    char change[128];

    for (size_t i = 0; i < SHARED_KINDS; i++)
        if (shared->kinds[i].connections)
            json_array_append_new(kinds, kind_json(&shared->kinds[i], subject));
    for (size_t call = 0; call < COUNTED_COUNT; call++) {
        calls = count_sum(calls, shared->calls[call]);
        for (size_t i = 0; i < SHARED_KINDS; i++)
            calls = count_sum(calls, shared->kinds[i].calls[call]);
    }
    override_format(&shared->change, change, sizeof change);
    return json_pack("{s:s, s:I, s:o, s:f, s:o, s:s*, s:o}", "override", change, "processes",
                     (json_int_t)shared->process_count, "calls_seen", count_json(calls), "call_ns", call_ns,
                     "other_calls", calls_json(shared->calls), "limit", *limit ? limit : NULL, "connections",
                     kinds);
}

/* ---- text ---- */

static int64_t count_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* Prints a sentence in lines that are indented by two. */
static void print_wrapped(FILE *file, const char *text)
{
    int column = 0;
    for (size_t length; *text; text += length + strspn(text + length, " ")) {
        length = strcspn(text, " ");
        if (column + 1 + (int)length > LINE_MOST)
            column = fputc('\n', file) - '\n';
        column += fprintf(file, "%s%.*s", column ? " " : "  ", (int)length, text);
    }
    fputc('\n', file);
}

static void print_kind(FILE *file, const json_t *kind)
{
    const char *family = text_of(kind, "family"), *role = text_of(kind, "role");
    const char *path = text_of(kind, "path"), *measure = text_of(kind, "measure");
    const json_t *nodelay = json_object_get(kind, "nodelay"), *shape;
    int64_t connections = count_of(kind, "connections"), sndbuf_bytes = count_of(kind, "sndbuf_bytes");
    size_t i;

    if (!strcmp(family, "unix"))
        fprintf(file, "%s at %s (Unix)", role, path ? path : "no path");
    else if (!strcmp(family, "tcp"))
        fprintf(file, "%s %s port %" PRId64 " (TCP)", role, strcmp(role, "connected") ? "at" : "to",
                count_of(kind, "port"));
    else
        fputs("other connections", file);
    fprintf(file, ": %" PRId64 " connection%s", connections, connections == 1 ? "" : "s");
    if (nodelay)
        fprintf(file, ", %sTCP_NODELAY", json_is_true(nodelay) ? "" : "no ");
    if (sndbuf_bytes)
        fprintf(file, ", SO_SNDBUF %s, SO_RCVBUF %s", units_text(&units_size, (uint64_t)sndbuf_bytes),
                units_text(&units_size, (uint64_t)count_of(kind, "rcvbuf_bytes")));
    if (count_of(kind, "changed"))
        fprintf(file, ", %" PRId64 " changed", count_of(kind, "changed"));
    fprintf(file, "\n  groups of sends between two waits: %" PRId64 "\n", count_of(kind, "groups"));
    json_array_foreach(json_object_get(kind, "shapes"), i, shape)
        if (i < SHAPES_SHOWN)
            fprintf(file, "  %8" PRId64 "  %s%s\n", count_of(shape, "groups"), text_of(shape, "text"),
                    json_is_true(json_object_get(shape, "rounded")) ? " (sizes rounded up)" : "");
    fprintf(file,
            "  waits after a send: %" PRId64 "; of about 40 ms: %" PRId64 ", of about 200 ms: %" PRId64 "\n",
            count_of(kind, "turns"), count_of(kind, "waits_40ms"), count_of(kind, "waits_200ms"));
    print_wrapped(file, text_of(kind, "says"));
    if (measure)
        fprintf(file, "  measure: %s\n", measure);
}

void report_print(FILE *file, const json_t *report)
{
    const json_t *kinds = json_object_get(report, "connections"), *kind;
    int64_t processes = count_of(report, "processes");
    size_t i;

    fprintf(file,
            "uncork exec: override=%s, %" PRId64 " calls in %" PRId64
            " process%s, each about %.0f ns longer\n",
            text_of(report, "override"), count_of(report, "calls_seen"), processes,
            processes == 1 ? "" : "es", json_real_value(json_object_get(report, "call_ns")));
    json_array_foreach(kinds, i, kind)
        print_kind(file, kind);
    if (!processes)
        fprintf(file, "the library did not reach the program: no process loaded it\n");
    else if (!json_array_size(kinds))
        fprintf(file, "no stream connection was seen\n");
    if (text_of(report, "limit"))
        fprintf(file, "%s\n", text_of(report, "limit"));
    fflush(file);
}
