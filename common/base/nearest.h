/* SPDX-License-Identifier: MIT */
/* The nearest valid word to a mistyped one, so that an error can name it. */
#ifndef UNCORK_BASE_NEAREST_H
#define UNCORK_BASE_NEAREST_H

#include <stddef.h>

/* A search in progress; start from {.word = typed} and offer every valid word. */
struct nearest {
    const char *word;
    const char *found; /* the best so far, NULL before the first offer */
    size_t distance;   /* edits between the two */
};

/* Considers `candidate` by its edit distance: insert, delete, replace, swap of neighbours
 * (Damerau 1964). That of a synonym (synonyms.def) is 0. */
void nearest_offer(struct nearest *nearest, const char *candidate);

#endif
