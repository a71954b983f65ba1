/* SPDX-License-Identifier: MIT */
#include "override/report.h"

#include "base/units.h"
#include "override/override.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define SHAPES_SHOWN 4
#define MORE_LEAST 64
#define MORE_MOST 4096 /* a larger first part is no header: all sends are joined */

static const char *const call_names[COUNTED_COUNT] = {
#define CALL_NAME(name) #name,
    SHARED_CALLS(CALL_NAME)
#undef CALL_NAME
};

static const char *const role_names[] = {
    [ROLE_INHERITED] = "inherited", [ROLE_ACCEPTED] = "accepted", [ROLE_CONNECTED] = "connected"};

/* ---- shapes ---- */

static int by_groups(const void *a, const void *b)
{
    uint64_t one = (*(const struct shared_shape *const *)a)->groups;
    uint64_t other = (*(const struct shared_shape *const *)b)->groups;

    return one < other ? 1 : one > other ? -1 : 0;
}

/* The shapes of a kind, most frequent first; how many there are. */
static size_t shapes_sort(const struct shared_kind *kind, const struct shared_shape *sorted[SHARED_SHAPES])
{
    size_t count = 0;

    for (size_t i = 0; i < SHARED_SHAPES; i++)
        if (kind->shapes[i].described)
            sorted[count++] = &kind->shapes[i];
    qsort(sorted, count, sizeof *sorted, by_groups);
    return count;
}

const struct shared_shape *report_shape(const struct shared_kind *kind)
{
    const struct shared_shape *sorted[SHARED_SHAPES];

    return shapes_sort(kind, sorted) ? sorted[0] : NULL;
}

static uint32_t known_fragments(const struct shared_shape *shape)
{
    return shape->sends < SHARED_FRAGMENTS ? shape->sends : SHARED_FRAGMENTS;
}

static bool all_alike(const struct shared_shape *shape)
{
    for (uint32_t i = 1; i < known_fragments(shape); i++)
        if (shape->fragments[i] != shape->fragments[0])
            return false;
    return shape->sends > 2;
}

/* Sizes as the words message= and reply= take them: "38+4118", "16x1100". */
static void shape_words(const struct shared_shape *shape, char *text, size_t size)
{
    size_t length = 0;

    if (all_alike(shape)) {
        snprintf(text, size, "%" PRIu32 "x%" PRIu64, shape->sends, FRAGMENT_BYTES(shape->fragments[0]));
        return;
    }
    for (uint32_t i = 0; i < known_fragments(shape) && length < size; i++)
        length += (size_t)snprintf(text + length, size - length, "%s%" PRIu64, i ? "+" : "",
                                   FRAGMENT_BYTES(shape->fragments[i]));
}

/* What people read: "38, 4118", "16 MSG_MORE, 4096". */
static void shape_text(const struct shared_shape *shape, bool calls, char *text, size_t size)
{
    bool alike = all_alike(shape);
    size_t length = (size_t)(alike ? snprintf(text, size, "%" PRIu32 " of ", shape->sends) : 0);
    uint32_t count = alike ? 1 : known_fragments(shape);

    for (uint32_t i = 0; i < count && length < size; i++) {
        uint64_t fragment = shape->fragments[i];

        length += (size_t)snprintf(text + length, size - length, "%s%s%s%" PRIu64 "%s%s", i ? ", " : "",
                                   calls ? call_names[FRAGMENT_CALL(fragment) % COUNTED_COUNT] : "",
                                   calls ? " " : "", FRAGMENT_BYTES(fragment),
                                   fragment & FRAGMENT_MORE ? " MSG_MORE" : "",
                                   fragment & FRAGMENT_CORKED ? " corked" : "");
    }
    if (count < shape->sends && !alike && length < size)
        snprintf(text + length, size - length, ", ... (%" PRIu32 " in all)", shape->sends);
}

/* ---- advice ---- */

/* Whether each send but the last was joined with the next by this flag. */
static bool joined_by(const struct shared_shape *shape, uint64_t flag)
{
    for (uint32_t i = 0; i < known_fragments(shape); i++)
        if (i + 1 < shape->sends && !(shape->fragments[i] & flag))
            return false;
    return true;
}

/* The override that joins the sends of a shape. A short header wants more:SIZE, all else join. */
static void joining(const struct shared_shape *shape, char *text, size_t size)
{
    uint64_t most = MORE_LEAST;
    uint32_t known = known_fragments(shape);

    for (uint32_t i = 0; i + 1 < known; i++)
        while (most < FRAGMENT_BYTES(shape->fragments[i]))
            most *= 2;
    if (known < shape->sends || most > MORE_MOST || FRAGMENT_BYTES(shape->fragments[known - 1]) <= most)
        snprintf(text, size, "join");
    else
        snprintf(text, size, "more:%" PRIu64, most);
}

/* The command that measures it: on the subject, else on messages of this shape. */
static void measure(const struct shared_kind *kind, const struct shared_shape *shape, const char *subject,
                    const char *writes, struct advice *advice)
{
    const char *transport = kind->name.family == AF_UNIX ? " transport=unix" : "";
    char words[128];

    shape_words(shape, words, sizeof words);
    if (subject && *advice->override)
        snprintf(advice->measure, sizeof advice->measure, "uncork run subject=%s override=none,%s", subject,
                 advice->override);
    else if (kind->name.role == ROLE_CONNECTED)
        snprintf(advice->measure, sizeof advice->measure, "uncork run message=%s reply=64 write=%s%s", words,
                 writes, transport);
    else
        snprintf(advice->measure, sizeof advice->measure,
                 "uncork run workload=request message=64 reply=%s reply_write=%s%s", words, writes,
                 transport);
}

/* A wait that follows most of the messages, or "". */
static const char *stall_text(const struct shared_kind *kind)
{
    if (kind->waits_40ms * 2 > kind->turns)
        return ", and a wait of about 40 ms after each";
    if (kind->waits_200ms * 2 > kind->turns)
        return ", and a wait of about 200 ms after each";
    return kind->waits_40ms + kind->waits_200ms ? ", and now and then a wait of 40 or 200 ms" : "";
}

static void advise_single(const struct shared_kind *kind, const struct shared_shape *shape,
                          const char *subject, struct advice *advice)
{
    bool stalls = kind->nodelay == 0 && (kind->waits_40ms + kind->waits_200ms) * 2 > kind->turns;

    snprintf(advice->says, sizeof advice->says,
             "Messages are single sends (%" PRIu64 "%s): nothing to join%s%s.",
             FRAGMENT_BYTES(shape->fragments[0]), shape->fragments[0] & FRAGMENT_MORE ? " MSG_MORE" : "",
             stalls ? stall_text(kind) : "", stalls ? "; no TCP_NODELAY: try override=nodelay" : "");
    if (!stalls)
        return;
    strcpy(advice->override, "nodelay");
    measure(kind, shape, subject, "nagle,nodelay", advice);
}

void report_advise(const struct shared_kind *kind, const char *subject, struct advice *advice)
{
    const struct shared_shape *shape = report_shape(kind);
    const char *writes = kind->nodelay ? "nodelay,more" : "nagle,more", *how;
    char sizes[256];

    *advice = (struct advice){0};
    if (!shape) {
        strcpy(advice->says, "It has sent nothing that the library saw.");
        return;
    }
    if (shape->sends == 1) {
        advise_single(kind, shape, subject, advice);
        return;
    }
    shape_text(shape, false, sizes, sizeof sizes);
    if (kind->name.family == AF_UNIX) {
        snprintf(advice->says, sizeof advice->says,
                 "Messages are groups of %" PRIu32 " sends (%s)%s: on a Unix socket no override joins them; "
                 "one writev(2) would.",
                 shape->sends, sizes, stall_text(kind));
        measure(kind, shape, NULL, "nodelay,writev,coalesce", advice);
        return;
    }
    if (joined_by(shape, FRAGMENT_MORE) || joined_by(shape, FRAGMENT_CORKED)) {
        bool more = joined_by(shape, FRAGMENT_MORE);

        strcpy(advice->override, more ? "nomore" : "nocork");
        how = more ? "joined by MSG_MORE" : "joined by TCP_CORK";
        writes = more ? "nodelay,more" : "nodelay,cork";
        snprintf(advice->says, sizeof advice->says,
                 "Messages are groups of %" PRIu32 " sends (%s), %s%s: override=%s shows what that saves.",
                 shape->sends, sizes, how, stall_text(kind), advice->override);
    } else {
        joining(shape, advice->override, sizeof advice->override);
        snprintf(advice->says, sizeof advice->says,
                 "Messages are groups of %" PRIu32 " sends (%s)%s%s: they would join; try override=%s.",
                 shape->sends, sizes, kind->nodelay ? "" : ", no TCP_NODELAY", stall_text(kind),
                 advice->override);
    }
    measure(kind, shape, subject, writes, advice);
}

/* ---- the whole ---- */

static uint64_t sum_calls(const struct shared *shared)
{
    uint64_t sum = 0;

    for (size_t call = 0; call < COUNTED_COUNT; call++) {
        sum += shared->calls[call];
        for (size_t i = 0; i < SHARED_KINDS; i++)
            sum += shared->kinds[i].calls[call];
    }
    return sum;
}

static json_t *calls_json(const _Atomic uint64_t calls[COUNTED_COUNT])
{
    json_t *counts = json_object();

    for (size_t call = 0; call < COUNTED_COUNT; call++)
        if (calls[call])
            json_object_set_new(counts, call_names[call], json_integer((json_int_t)calls[call]));
    return counts;
}

static json_t *shape_json(const struct shared_shape *shape)
{
    json_t *fragments = json_array();

    for (uint32_t i = 0; i < known_fragments(shape); i++) {
        uint64_t fragment = shape->fragments[i];

        json_array_append_new(fragments,
                              json_pack("{s:I, s:s, s:b, s:b}", "bytes", (json_int_t)FRAGMENT_BYTES(fragment),
                                        "call", call_names[FRAGMENT_CALL(fragment) % COUNTED_COUNT], "more",
                                        (fragment & FRAGMENT_MORE) != 0, "corked",
                                        (fragment & FRAGMENT_CORKED) != 0));
    }
    return json_pack("{s:I, s:I, s:b, s:o}", "groups", (json_int_t)shape->groups, "sends",
                     (json_int_t)shape->sends, "rounded", (int)shape->rounded, "fragments", fragments);
}

static json_t *kind_json(const struct shared_kind *kind, const char *subject)
{
    const struct shared_shape *sorted[SHARED_SHAPES];
    size_t count = shapes_sort(kind, sorted);
    json_t *shapes = json_array(), *made;
    struct advice advice;

    report_advise(kind, subject, &advice);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(shapes, shape_json(sorted[i]));
    made = json_pack("{s:s, s:s, s:o, s:o, s:s}", "family", kind->name.family == AF_UNIX ? "unix" : "tcp",
                     "role", role_names[kind->name.role % 3], "calls", calls_json(kind->calls), "shapes",
                     shapes, "says", advice.says);
#define SET_COUNT(name) json_object_set_new(made, #name, json_integer((json_int_t)kind->name));
    KIND_COUNTS(SET_COUNT)
#undef SET_COUNT
    if (kind->name.family == AF_UNIX)
        json_object_set_new(made, "path",
                            json_stringn(kind->name.path, strnlen(kind->name.path, sizeof kind->name.path)));
    else
        json_object_set_new(made, "port", json_integer(kind->name.port));
    if (kind->read_back && kind->nodelay >= 0)
        json_object_set_new(made, "nodelay", json_boolean(kind->nodelay));
    if (kind->read_back) {
        json_object_set_new(made, "sndbuf_bytes", json_integer(kind->sndbuf_bytes));
        json_object_set_new(made, "rcvbuf_bytes", json_integer(kind->rcvbuf_bytes));
    }
    if (*advice.override)
        json_object_set_new(made, "try", json_string(advice.override));
    if (*advice.measure)
        json_object_set_new(made, "measure", json_string(advice.measure));
    return made;
}

static bool is_shown(const struct shared_kind *kind)
{
    return kind->described && kind->connections;
}

json_t *report_make(const struct shared *shared, const char *subject, double call_ns, const char *limit)
{
    json_t *kinds = json_array(), *report;
    char change[128];

    for (size_t i = 0; i < SHARED_KINDS; i++)
        if (is_shown(&shared->kinds[i]))
            json_array_append_new(kinds, kind_json(&shared->kinds[i], subject));
    override_format(&shared->change, change, sizeof change);
    report = json_pack("{s:s, s:I, s:I, s:f, s:o, s:o}", "override", change, "processes",
                       (json_int_t)shared->process_count, "calls_seen", (json_int_t)sum_calls(shared),
                       "call_ns", call_ns, "other_calls", calls_json(shared->calls), "connections", kinds);
    if (*limit)
        json_object_set_new(report, "limit", json_string(limit));
    return report;
}

#define LINE_MOST 100

/* A sentence in lines, each indented by two. */
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

static void print_kind(FILE *file, const struct shared_kind *kind, const char *subject)
{
    const struct shared_shape *sorted[SHARED_SHAPES];
    char text[256], sndbuf[UNITS_TEXT_MAX], rcvbuf[UNITS_TEXT_MAX];
    size_t count = shapes_sort(kind, sorted);
    struct advice advice;

    units_format(&units_size, sndbuf, kind->sndbuf_bytes > 0 ? (uint64_t)kind->sndbuf_bytes : 0);
    units_format(&units_size, rcvbuf, kind->rcvbuf_bytes > 0 ? (uint64_t)kind->rcvbuf_bytes : 0);
    if (!kind->name.family)
        fprintf(file, "connections elsewhere");
    else if (kind->name.family == AF_UNIX)
        fprintf(file, "%s at %.*s (Unix)", role_names[kind->name.role % 3], (int)sizeof kind->name.path,
                *kind->name.path ? kind->name.path : "no path");
    else
        fprintf(file, "%s %s port %u (TCP)", role_names[kind->name.role % 3],
                kind->name.role == ROLE_CONNECTED ? "to" : "at", kind->name.port);
    fprintf(file, ": %" PRIu64 " connection%s", (uint64_t)kind->connections,
            kind->connections == 1 ? "" : "s");
    if (kind->read_back)
        fprintf(file, "%s, SO_SNDBUF %s, SO_RCVBUF %s",
                kind->nodelay < 0 ? ""
                : kind->nodelay   ? ", TCP_NODELAY"
                                  : ", no TCP_NODELAY",
                sndbuf, rcvbuf);
    if (kind->changed)
        fprintf(file, ", %" PRIu64 " changed", (uint64_t)kind->changed);
    fprintf(file, "\n  groups of sends between two waits: %" PRIu64 "\n", (uint64_t)kind->groups);
    for (size_t i = 0; i < count && i < SHAPES_SHOWN; i++) {
        shape_text(sorted[i], true, text, sizeof text);
        fprintf(file, "  %8" PRIu64 "  %s%s\n", (uint64_t)sorted[i]->groups, text,
                sorted[i]->rounded ? " (sizes rounded up)" : "");
    }
    fprintf(file,
            "  waits after a send: %" PRIu64 "; of about 40 ms: %" PRIu64 ", of about 200 ms: %" PRIu64 "\n",
            (uint64_t)kind->turns, (uint64_t)kind->waits_40ms, (uint64_t)kind->waits_200ms);
    report_advise(kind, subject, &advice);
    print_wrapped(file, advice.says);
    if (*advice.measure)
        fprintf(file, "  measure: %s\n", advice.measure);
}

void report_print(FILE *file, const struct shared *shared, const char *subject, double call_ns,
                  const char *limit)
{
    char change[128];
    bool any = false;

    override_format(&shared->change, change, sizeof change);
    fprintf(
        file, "uncork exec: override=%s, %" PRIu64 " calls in %" PRIu32 " process%s, about %.0f ns each\n",
        change, sum_calls(shared), shared->process_count, shared->process_count == 1 ? "" : "es", call_ns);
    for (size_t i = 0; i < SHARED_KINDS; i++) {
        if (!is_shown(&shared->kinds[i]))
            continue;
        any = true;
        print_kind(file, &shared->kinds[i], subject);
    }
    if (!shared->process_count)
        fprintf(file, "the library did not reach the program: no process loaded it\n");
    else if (!any)
        fprintf(file, "no stream connection was seen\n");
    if (*limit)
        fprintf(file, "%s\n", limit);
    fflush(file);
}
