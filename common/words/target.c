/* SPDX-License-Identifier: MIT */
#include "words/target.h"

#include <stdio.h>
#include <string.h>

#define PARTS_MAX 3 /* client, server, proxy */

#define TARGET(named, parameter, may_join, sentence)                                                         \
    &(const struct target){.variant = {#named, sentence}, .takes = parameter, .joins = may_join}.variant,
static const struct variant *const targets[] = {
#include "words/targets.def"
};

const struct axis target_axis = {"target", targets, sizeof targets / sizeof *targets};

/* The target that the first `length` bytes of `part` name, or NULL with a usage problem that
 * repeats `text`. */
static const struct target *find(const char *text, const char *part, size_t length, struct problem *problem)
{
    const char *colon = memchr(part, ':', length);
    size_t name_length = colon ? (size_t)(colon - part) : length;
    char name[41];

    if (!name_length) {
        problem_usage(problem, "target=%.60s: an end has no target; uncork-client --list names the targets",
                      text);
        return NULL;
    }
    snprintf(name, sizeof name, "%.*s", (int)name_length, part);
    return (const struct target *)axis_find(&target_axis, name, problem);
}

/* A host must not look like an option of ssh(1). */
static int check_parameter(const struct target *target, const char *part, size_t length,
                           struct problem *problem)
{
    const char *name = target->variant.name;
    size_t name_length = strlen(name);
    bool given = length > name_length;

    if (!target->joins && !target->takes && memchr(part, '+', length))
        return problem_usage(problem, "target=%.60s: %s is one system for all ends; write target=%s", part,
                             name, name);
    if (!target->takes && given)
        return problem_usage(problem, "target=%.60s: %s takes nothing after a colon", part, name);
    if (target->takes && (length <= name_length + 1 || part[name_length + 1] == '-'))
        return problem_usage(problem, "target=%.60s: write %s:%s", part, name, target->takes);
    return 0;
}

int target_check(const char *text, struct problem *problem)
{
    int parts = 0;

    for (const char *part = text; part; parts++) {
        const struct target *target = find(text, part, strcspn(part, "+"), problem);
        const char *plus = target && target->joins ? strchr(part, '+') : NULL;
        size_t length = plus ? (size_t)(plus - part) : strlen(part);

        if (!target || check_parameter(target, part, length, problem) < 0)
            return -1;
        if (!target->joins && parts)
            return problem_usage(problem, "target=%.60s: %s is one system for all ends", text,
                                 target->variant.name);
        part = plus ? plus + 1 : NULL;
    }
    if (parts > PARTS_MAX)
        return problem_usage(problem, "target=%.60s: too many ends; write at most client+server+proxy", text);
    return 0;
}
