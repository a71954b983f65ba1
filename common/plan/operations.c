/* SPDX-License-Identifier: MIT */
#include "plan/operations.h"

#include "base/cleanup.h"
#include "base/units.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int refuse(const char *text, const char *why, struct problem *problem)
{
    return problem_usage(problem, "op=%.60s: %s; write it like read:4K or read:4K*7+write:4K*3", text, why);
}

/* Parses NAME, NAME:SIZE, or either with *WEIGHT, at `*at`, and moves `*at` behind it. Returns
 * NULL, or what is wrong. */
static const char *take_operation(struct operation *operation, const char **at)
{
    size_t length = 0;
    uint64_t weight = 1;

    while (islower((unsigned char)(*at)[length]))
        length++;
    if (!length || length >= sizeof operation->name)
        return "expected a name";
    memcpy(operation->name, *at, length);
    *at += length;
    if (**at == ':') {
        ++*at;
        if (units_take_size(at, &operation->bytes) < 0 || !operation->bytes ||
            operation->bytes > OPERATION_BYTES_MAX)
            return "a size from 1 to 32M must follow the colon";
    }
    if (**at == '*') {
        ++*at;
        if (units_take_number(at, &weight) < 0 || !weight || weight > OPERATIONS_WEIGHT_MAX)
            return "a weight from 1 to 256 must follow the *";
    }
    operation->weight = (uint32_t)weight;
    return NULL;
}

/* Each position gets the operation that is furthest behind its share; of equal ones the first. */
static void spread(struct operations *operations)
{
    uint32_t placed[OPERATIONS_MAX] = {0};

    for (uint32_t position = 0; position < operations->cycle; position++) {
        int64_t behind = INT64_MIN;
        uint8_t chosen = 0;

        for (uint8_t i = 0; i < operations->count; i++) {
            int64_t due =
                (int64_t)operations->list[i].weight * (position + 1) - (int64_t)placed[i] * operations->cycle;

            if (due > behind) {
                behind = due;
                chosen = i;
            }
        }
        operations->order[position] = chosen;
        placed[chosen]++;
    }
}

int operations_parse(struct operations *operations, const char *text, struct problem *problem)
{
    const char *at = text, *wrong;

    *operations = (struct operations){0};
    do {
        struct operation *operation = &operations->list[operations->count];

        if (operations->count == OPERATIONS_MAX)
            return refuse(text, "more than 8 kinds of requests", problem);
        operations->count++;
        if ((wrong = take_operation(operation, &at)))
            return refuse(text, wrong, problem);
        operations->cycle += operation->weight;
        if (operations->cycle > OPERATIONS_WEIGHT_MAX)
            return refuse(text, "all weights together exceed 256", problem);
    } while (*at == '+' && at++);
    if (*at)
        return refuse(text, "expected *, + or the end after a name or a size", problem);
    spread(operations);
    return 0;
}

char *operations_format(const struct operations *operations)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = check_nonnull(open_memstream(&text, &size));

    for (uint32_t i = 0; i < operations->count; i++) {
        const struct operation *operation = &operations->list[i];
        char bytes[UNITS_TEXT_MAX];

        units_format(&units_size, bytes, operation->bytes);
        fprintf(out, "%s%s", i ? "+" : "", operation->name);
        if (operation->bytes)
            fprintf(out, ":%s", bytes);
        if (operation->weight > 1)
            fprintf(out, "*%" PRIu32, operation->weight);
    }
    fclose(out);
    return check_nonnull(text);
}
