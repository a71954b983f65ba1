/* SPDX-License-Identifier: MIT */
#include "plan/message.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

struct parser {
    const char *text; /* the whole text */
    const char *at;
    struct shape *shape;
    uint64_t group_bytes;
    struct problem *problem;
};

static int refuse(struct parser *parser, const char *why)
{
    return problem_usage(parser->problem,
                         "message '%.60s': %s at character %td; write it like 64, 15x2, 16+4K or 32/2x4K",
                         parser->text, why, parser->at - parser->text + 1);
}

/* Returns the last span if it has fragments of this size and room for one more; else a new one.
 * NULL: memory is exhausted. */
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

static int append_fragments(struct parser *parser, uint64_t count, uint64_t size)
{
    struct shape *shape = parser->shape;

    if (count > SHAPE_FRAGMENTS_MAX - shape->count)
        return refuse(parser, "more than 65536 fragments");
    if (size > SHAPE_BYTES_MAX || count * size > SHAPE_BYTES_MAX - shape->bytes)
        return refuse(parser, "more than 1G in all");
    shape->count += (uint32_t)count;
    shape->bytes += count * size;
    parser->group_bytes += count * size;
    while (count--) {
        struct shape_span *span = span_for(shape, (uint32_t)size);

        if (!span)
            return problem_failure(parser->problem, "no memory for a message of %" PRIu32 " fragments",
                                   shape->count);
        span->marks |= span->bytes ? SPAN_OF_MANY : 0;
        span->bytes += (uint32_t)size;
        if (span->bytes > shape->longest_span)
            shape->longest_span = span->bytes;
    }
    return 0;
}

static int parse_part(struct parser *parser)
{
    uint64_t count = 1, size = 0;
    const char *start = parser->at;
    int result = units_take_number(&parser->at, &count);

    if (result < 0)
        return refuse(parser,
                      result == -ERANGE ? "a number that is too large" : "expected a size or a count");
    if (*parser->at == 'x') {
        parser->at++;
    } else {
        parser->at = start;
        count = 1;
    }
    if ((result = units_take_size(&parser->at, &size)) < 0)
        return refuse(parser, result == -ERANGE ? "a number that is too large" : "expected a size");
    if (!count || !size)
        return refuse(parser, "a count or a size of zero");
    return append_fragments(parser, count, size);
}

static void end_group(struct parser *parser, uint32_t marks)
{
    struct shape *shape = parser->shape;

    shape->spans[shape->span_count - 1].marks |= marks;
    shape->groups++;
    if (parser->group_bytes > shape->longest_group)
        shape->longest_group = parser->group_bytes;
    parser->group_bytes = 0;
}

static int parse_message(struct parser *parser)
{
    do {
        if (parse_part(parser) < 0)
            return -1;
        if (*parser->at == '/')
            end_group(parser, FRAGMENT_ENDS_GROUP);
    } while ((*parser->at == '+' || *parser->at == '/') && parser->at++);
    if (*parser->at)
        return refuse(parser, "expected +, / or the end");
    end_group(parser, FRAGMENT_ENDS_GROUP | FRAGMENT_ENDS_MESSAGE);
    return 0;
}

int shape_parse(struct shape *shape, const char *text, struct problem *problem)
{
    struct parser parser = {.text = text, .at = text, .shape = shape, .problem = problem};

    *shape = (struct shape){0};
    if (parse_message(&parser) == 0)
        return 0;
    shape_free(shape);
    return -1;
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
    FILE *out = check_nonnull(open_memstream(&text, &size));

    for (uint32_t i = 0, next; i < shape->span_count; i = next) {
        const struct shape_span *spans = shape->spans;
        uint32_t bytes = spans[i].bytes;
        char spelled[UNITS_TEXT_MAX];

        for (next = i + 1;
             !(spans[next - 1].marks & FRAGMENT_ENDS_GROUP) && spans[next].size == spans[i].size; next++)
            bytes += spans[next].bytes;
        units_format(&units_size, spelled, spans[i].size);
        if (bytes > spans[i].size)
            fprintf(out, "%" PRIu32 "x", bytes / spans[i].size);
        fputs(spelled, out);
        if (next < shape->span_count)
            fputc(spans[next - 1].marks & FRAGMENT_ENDS_GROUP ? '/' : '+', out);
    }
    fclose(out);
    return check_nonnull(text);
}
