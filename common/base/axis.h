/* SPDX-License-Identifier: MIT */
/* An axis is one thing that can differ between two runs; a variant is one value of it.
 *
 * Each axis has a folder with one file per variant and a `list.def` that names them. This list is
 * the only one. C reads it (base/axis.def), and other programs read it by `--list=json`. */
#pragma once

#include "base/problem.h"

#include <stdbool.h>
#include <stddef.h>

/* The first member of every variant's struct. */
struct variant {
    const char *name; /* what users type */
    const char *help; /* one sentence */
};

struct axis {
    const char *name;
    const struct variant *const *variants;
    size_t count;
};

/* The variant of this name, or NULL with a usage problem that names the nearest one. */
const struct variant *axis_find(const struct axis *axis, const char *name, struct problem *problem);

/* A search for the valid word that is nearest to a mistyped one, for error messages. Start with
 * {.word = typed} and call nearest_offer() for every valid word. */
struct nearest {
    const char *word;
    const char *found; /* the nearest so far, NULL before the first offer */
    size_t distance;   /* edits between the two */
};

/* Considers `candidate` by its edit distance: insert, delete, replace, swap of neighbours (Damerau
 * 1964). A synonym (synonyms.def) has distance 0. True if it is the word itself. */
bool nearest_offer(struct nearest *nearest, const char *candidate);
