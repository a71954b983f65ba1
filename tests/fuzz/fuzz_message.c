/* SPDX-License-Identifier: MIT */
/* Any text is a message or is refused. The canonical spelling of a message is the same message. */
#include "fuzz.h"

#include "plan/message.h"

static void compare(const struct shape *a, const struct shape *b)
{
    abort_if(a->count != b->count || a->groups != b->groups || a->bytes != b->bytes ||
             a->span_count != b->span_count ||
             memcmp(a->spans, b->spans, a->span_count * sizeof *a->spans) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP_FREE char *text = text_of(data, size);
    struct problem problem = {0};
    struct shape shape = {0}, again = {0};

    if (shape_parse(&shape, text, &problem) == 0) {
        CLEANUP_FREE char *spelled = shape_format(&shape);

        abort_if(shape_parse(&again, spelled, &problem) < 0);
        compare(&shape, &again);
        shape_free(&again);
        shape_free(&shape);
    } else {
        abort_if(problem.kind != PROBLEM_USAGE || !*problem.text);
    }
    return 0;
}
