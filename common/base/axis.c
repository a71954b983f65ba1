/* SPDX-License-Identifier: MIT */
#include "base/axis.h"

#include "base/nearest.h"

#include <string.h>

const struct variant *axis_find(const struct axis *axis, const char *name, struct problem *problem)
{
    struct nearest nearest = {.word = name};

    for (size_t i = 0; i < axis->count; i++) {
        if (!strcmp(axis->variants[i]->name, name))
            return axis->variants[i];
        nearest_offer(&nearest, axis->variants[i]->name);
    }
    problem_usage(problem, "no %s is called '%.40s'; the nearest is '%s'", axis->name, name, nearest.found);
    return NULL;
}
