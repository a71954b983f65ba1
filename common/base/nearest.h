/* SPDX-License-Identifier: MIT */
/* The nearest valid word to a mistyped one, for error messages. */
#pragma once

#include <stddef.h>

/* A search. Start with {.word = typed} and call nearest_offer() for every valid word. */
struct nearest {
    const char *word;
    const char *found; /* the nearest so far, NULL before the first offer */
    size_t distance;   /* edits between the two */
};

/* Considers `candidate` by its edit distance: insert, delete, replace, swap of neighbours (Damerau
 * 1964). A synonym (synonyms.def) has distance 0. */
void nearest_offer(struct nearest *nearest, const char *candidate);
