/* SPDX-License-Identifier: MIT */
/*
 * The words: everything that can differ between two runs, as key=value.
 *
 * word_list is the single source of truth: the parser, --list=json, the control channel and the Python suite
 * all read it. A word is one line there; its kind says how a value is spelled.
 */
#ifndef UNCORK_PLAN_WORD_H
#define UNCORK_PLAN_WORD_H

#include "base/axis.h"
#include "plan/plan.h"

enum word_scope {
    WORD_OF_CELL, /* a property of one run */
    WORD_OF_RUN,  /* of a matrix: only the runner uses it */
};

struct word;

/* How values of a kind are spelled. */
struct word_kind {
    const char *name;
    /* Parses the whole text into the field. 0, or -1 with a usage problem. */
    int (*parse)(const struct word *word, const char *text, void *field, struct problem *problem);
    /* The canonical spelling of the field, new memory; NULL for kinds without a field. */
    char *(*format)(const struct word *word, const void *field);
    void (*free)(void *field); /* NULL: nothing to free */
    /* In a list: an item, with what it leaves out because the one before it says so. New memory; NULL: items
     * leave nothing out. */
    char *(*complete)(const char *previous, const char *item);
    bool lists;               /* values may be a list a,b,c in a matrix */
    bool ranges;              /* and a range a..b */
    const char *const *names; /* values that are names, NULL at the end; NULL: none, or the word has them */
};

struct word {
    const char *key;
    const struct word_kind *kind;
    const char *preset; /* the default, NULL: none */
    size_t offset;      /* of the field in struct plan, of a per-end word in struct end_plan */
    bool per_end;       /* may have the prefix of an end */
    bool (*used)(const struct plan *plan,
                 enum end end); /* does this end use it under this plan? NULL for WORD_OF_RUN */
    const char *help;
    enum word_scope scope;

    const struct axis *axis;    /* kinds variant and strategy */
    const char *const *choices; /* kind choice: names by value, NULL at the end */
    uint64_t minimum, maximum;  /* numbers */
    const char *unit;           /* of numbers, as --list=json says it */
    const char
        *word_for_zero; /* kinds size, count, duration, rate, address: spelled so where the field is 0 */
};

extern const struct word word_list[];
extern const size_t word_count;

/* Whether a word of this key is of the lab that uncork run lab=on makes. */
bool word_is_of_lab(const char *key);

/* The word of this key (without prefix), or NULL with a usage problem that names the nearest. */
const struct word *word_find(const char *key, struct problem *problem);

/* The field of a word in a plan; `end` matters for per-end words only. */
void *word_field(const struct word *word, struct plan *plan, enum end end);

/* A typed "key=value", split. `prefix` is END_COUNT where none was typed. */
struct typed_word {
    const struct word *word;
    enum end prefix;
    const char *value; /* points into the text */
};

/* Splits and looks up. 0, or -1 with a usage problem. */
int word_split(struct typed_word *typed, const char *text, struct problem *problem);

#endif
