/* SPDX-License-Identifier: MIT */
#include "base/axis.h"

#include <string.h>
#include <sys/param.h>

const struct variant *axis_find(const struct axis *axis, const char *name, struct problem *problem)
{
    struct nearest nearest = {.word = name};
    for (size_t i = 0; i < axis->count; i++)
        if (nearest_offer(&nearest, axis->variants[i]->name))
            return axis->variants[i];
    problem_usage(problem, "no %s is called '%.40s'; the nearest is '%s'", axis->name, name, nearest.found);
    return NULL;
}

#define LENGTH_MAX 40 /* longer words are compared by their beginning */

static size_t edit_distance(const char *a, const char *b)
{
    size_t a_length = strnlen(a, LENGTH_MAX), b_length = strnlen(b, LENGTH_MAX);
    size_t cost[LENGTH_MAX + 1][LENGTH_MAX + 1];

    for (size_t i = 0; i <= a_length; i++) {
        for (size_t j = 0; j <= b_length; j++) {
            cost[i][j] = i + j;
            if (!i || !j)
                continue;
            size_t replace = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

            cost[i][j] = MIN(replace, MIN(cost[i - 1][j], cost[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cost[i][j] = MIN(cost[i][j], cost[i - 2][j - 2] + 1);
        }
    }
    return cost[a_length][b_length];
}

bool nearest_offer(struct nearest *nearest, const char *candidate)
{
#define SYNONYM(typed, ours) {typed, ours},
    static const char *const synonyms[][2] = {
#include "base/synonyms.def"
    };
    bool is_word = !strcmp(nearest->word, candidate), is_synonym = false;

    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        is_synonym |= !strcmp(synonyms[i][0], nearest->word) && !strcmp(synonyms[i][1], candidate);
    size_t distance = is_word || is_synonym ? 0 : edit_distance(nearest->word, candidate);
    if (!nearest->found || distance < nearest->distance) {
        nearest->found = candidate;
        nearest->distance = distance;
    }
    return is_word;
}
