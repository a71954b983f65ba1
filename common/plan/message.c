/* SPDX-License-Identifier: MIT */
#include "plan/message.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

/* ---- message, reply ---- */

static const char no_memory[] = "no memory";

/* The last span if it has room for a fragment of this size; else a new one. NULL: no memory. */
static struct shape_span *span_for(struct shape *shape, uint32_t size)
{
    uint32_t count = shape->span_count;
    struct shape_span *last = count ? &shape->spans[count - 1] : NULL;

    if (last && last->size == size && !(last->marks & FRAGMENT_ENDS_GROUP) &&
        last->bytes + size <= SPAN_BYTES_MAX)
        return last;
    if (!(count & (count - 1))) { /* a power of two, or 0: there is no room */
        last = realloc(shape->spans, (count ? 2 * (size_t)count : 1) * sizeof *last);
        if (!last)
            return NULL;
        shape->spans = last;
    }
    shape->spans[count] = (struct shape_span){.size = size};
    return &shape->spans[shape->span_count++];
}

/* Parses a part at `*at`. Moves `*at` behind it, or to what is wrong: returns this, or NULL. */
static const char *take_part(struct shape *shape, const char **at)
{
    uint64_t count = 1, size = 0;
    const char *start = *at;
    int result = units_take_number(at, &count);

    if (result == 0 && !units_take(at, 'x')) {
        *at = start;
        count = 1;
    }
    if (result < 0 || (result = units_take_size(at, &size)) < 0)
        return result == -ERANGE ? "a number that is too large"
               : *at == start    ? "expected a size or a count"
                                 : "expected a size";
    if (!count || !size)
        return "a count or a size of zero";
    if (count > SHAPE_FRAGMENTS_MAX - shape->count)
        return "more than 65536 fragments";
    if (size > SHAPE_BYTES_MAX || count * size > SHAPE_BYTES_MAX - shape->bytes)
        return "more than 1G in all";
    shape->count += (uint32_t)count;
    shape->bytes += count * size;
    while (count--) {
        struct shape_span *span = span_for(shape, (uint32_t)size);

        if (!span)
            return no_memory;
        span->marks |= span->bytes ? SPAN_OF_MANY : 0;
        span->bytes += (uint32_t)size;
        shape->longest_span = MAX(shape->longest_span, span->bytes);
    }
    return **at && **at != '+' && **at != '/' ? "expected +, / or the end" : NULL;
}

int shape_parse(struct shape *shape, const char *text, struct problem *problem)
{
    const char *at = text, *wrong;
    uint64_t group_begin = 0; /* bytes before the group */

    shape_free(shape);
    for (; !(wrong = take_part(shape, &at)); at++) {
        uint32_t *marks = &shape->spans[shape->span_count - 1].marks;

        if (*at == '+')
            continue;
        shape->groups++;
        shape->longest_group = MAX(shape->longest_group, shape->bytes - group_begin);
        group_begin = shape->bytes;
        *marks |= FRAGMENT_ENDS_GROUP | (*at ? 0 : FRAGMENT_ENDS_MESSAGE);
        if (!*at)
            return 0;
    }
    if (wrong == no_memory)
        problem_failure(problem, "no memory for a message of %" PRIu32 " fragments", shape->count);
    shape_free(shape);
    return problem_usage(problem,
                         "message '%.60s': %s at character %td; write it like 64, 15x2, 16+4K or 32/2x4K",
                         text, wrong, at - text + 1);
}

void shape_free(struct shape *shape)
{
    free(shape->spans);
    *shape = (struct shape){0};
}

char *shape_format(const struct shape *shape)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    bool failed = false;

    for (uint32_t i = 0, bytes = 0; out && i < shape->span_count; i++) {
        const struct shape_span *span = &shape->spans[i];
        bool ends_group = span->marks & FRAGMENT_ENDS_GROUP;

        bytes += span->bytes;
        if (!ends_group && span[1].size == span->size)
            continue;
        if (bytes > span->size)
            failed |= fprintf(out, "%" PRIu32 "x", bytes / span->size) < 0;
        const char *between = !ends_group ? "+" : i + 1 < shape->span_count ? "/" : "";
        failed |= fprintf(out, "%s%s", units_text(&units_size, span->size), between) < 0;
        bytes = 0;
    }
    return text_close(out, &text, failed);
}

/* ---- op ---- */

/* Parses NAME[:SIZE][*WEIGHT] at `*at`, and moves `*at` behind it. NULL, or what is wrong. */
static const char *take_operation(struct operations *operations, const char **at)
{
    struct operation *operation = &operations->list[operations->count];
    uint64_t weight = 1;
    size_t length = 0;

    if (operations->count == OPERATIONS_MAX)
        return "more than 8 kinds of requests";
    while (islower((unsigned char)(*at)[length]))
        length++;
    if (!length || length >= sizeof operation->name)
        return "expected a name";
    memcpy(operation->name, *at, length);
    *at += length;
    if (units_take(at, ':') && (units_take_size(at, &operation->bytes) < 0 || !operation->bytes ||
                                operation->bytes > OPERATION_BYTES_MAX))
        return "a size from 1 to 32M must follow the colon";
    if (units_take(at, '*') &&
        (units_take_number(at, &weight) < 0 || !weight || weight > OPERATIONS_WEIGHT_MAX))
        return "a weight from 1 to 256 must follow the *";
    operation->weight = (uint32_t)weight;
    operations->cycle += operation->weight;
    operations->count++;
    return operations->cycle > OPERATIONS_WEIGHT_MAX ? "all weights together exceed 256" : NULL;
}

int operations_parse(struct operations *operations, const char *text, struct problem *problem)
{
    int64_t behind[OPERATIONS_MAX] = {0}; /* a place counts as `cycle` */
    const char *at = text, *wrong;

    *operations = (struct operations){0};
    do
        wrong = take_operation(operations, &at);
    while (!wrong && units_take(&at, '+'));
    if (!wrong && *at)
        wrong = "expected *, + or the end after a name or a size";
    if (wrong)
        return problem_usage(problem, "op=%.60s: %s; write it like read:4K or read:4K*7+write:4K*3", text,
                             wrong);

    /* Each position gets the operation that is furthest behind its share; of equal ones the first. */
    for (uint32_t position = 0; position < operations->cycle; position++) {
        uint8_t chosen = 0;

        for (uint8_t i = 0; i < operations->count; i++) {
            behind[i] += operations->list[i].weight;
            if (behind[i] > behind[chosen])
                chosen = i;
        }
        operations->order[position] = chosen;
        behind[chosen] -= operations->cycle;
    }
    return 0;
}

char *operations_format(const struct operations *operations)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    bool failed = false;

    for (uint32_t i = 0; out && i < operations->count; i++) {
        const struct operation *operation = &operations->list[i];

        failed |= fprintf(out, "%s%s", i ? "+" : "", operation->name) < 0;
        if (operation->bytes)
            failed |= fprintf(out, ":%s", units_text(&units_size, operation->bytes)) < 0;
        if (operation->weight > 1)
            failed |= fprintf(out, "*%" PRIu32, operation->weight) < 0;
    }
    return text_close(out, &text, failed);
}
