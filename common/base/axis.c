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

    for (size_t i = 0; i <= a_length; i++)
        cost[i][0] = i;
    for (size_t j = 0; j <= b_length; j++)
        cost[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        for (size_t j = 1; j <= b_length; j++) {
            size_t replace = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

            cost[i][j] = MIN(replace, MIN(cost[i - 1][j], cost[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cost[i][j] = MIN(cost[i][j], cost[i - 2][j - 2] + 1);
        }
    }
    return cost[a_length][b_length];
}

static bool is_synonym(const char *word, const char *candidate)
{
#define SYNONYM(typed, ours) {typed, ours},
    static const char *const synonyms[][2] = {
#include "base/synonyms.def"
    };

    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (!strcmp(synonyms[i][0], word) && !strcmp(synonyms[i][1], candidate))
            return true;
    return false;
}

bool nearest_offer(struct nearest *nearest, const char *candidate)
{
    bool is_word = !strcmp(nearest->word, candidate);
    bool is_near = is_word || is_synonym(nearest->word, candidate);
    size_t distance = is_near ? 0 : edit_distance(nearest->word, candidate);
    if (!nearest->found || distance < nearest->distance) {
        nearest->found = candidate;
        nearest->distance = distance;
    }
    return is_word;
}
