/* SPDX-License-Identifier: MIT */
/* The words: every setting that can differ between two runs, as key=value.
 *
 * word_list, made from words.def, is the only list of them. The parser, --list=json, the control
 * channel and the Python suite read it. The kind of a word defines how its values are spelled.
 *
 * What excludes what is data, too: conditions.def has what a plan can be, exclusions.def has which
 * two conditions exclude each other, with the reason. Words say by the same conditions when they
 * have an effect. What depends on the machine is no row: support/ probes it. */
#pragma once

#include "base/axis.h"
#include "plan/plan.h"

#include <jansson.h>

#define CONDITION(name, means, holds) CONDITION_##name,
enum condition {
#include "words/conditions.def"
};
#undef CONDITION

struct premise {
    enum condition condition;
    bool fails; /* the condition must not hold */
};

/* clang-format off */
#define IF(name) {CONDITION_##name, false}
#define UNLESS(name) {CONDITION_##name, true}
/* clang-format on */
#define ALWAYS IF(always)

struct word;

/* The field of a word: the member is that of its kind. */
union field {
    void *variant;    /* a pointer to a variant of word->kind->axis */
    unsigned *choice; /* an enum: index in word->choices */
    bool *flag;
    uint64_t *number;
    struct strategy_choice *strategy;
    struct shape *message;
    struct operations *op;
    struct place *placing;
    struct scheduling *sched;
    char *text; /* of word->kind->size bytes */
};

struct word_kind {
    const char *name;
    size_t size; /* bytes of a field */
    /* Parses the whole text into the field. 0, or -1 with a usage problem. */
    int (*parse)(const struct word *word, const char *text, union field field, struct problem *problem);
    /* The canonical spelling of the field. New reference. NULL: the kind has none. */
    json_t *(*format)(const struct word *word, union field field);
    const struct axis *axis;      /* kinds whose values are variants */
    const struct units *units;    /* kinds of numbers */
    const char *prefix, *example; /* of numbers: the prefix of all but that for zero; for messages */
    const char *pattern, *wrong;  /* texts: a regex(7), NULL: an address; the message otherwise */
    bool lists;                   /* values may be a list a,b,c in a matrix */
    bool ranges;                  /* values may be a range a..b in a matrix */
    const char *const *names;     /* of values, NULL at the end; NULL: none, or see word->choices */
};

struct word {
    const char *key;
    const struct word_kind *kind;
    const char *preset; /* the default; NULL: none */
    union field (*field)(struct plan *plan, struct end_plan *own);
    bool per_end; /* may have the name of an end as prefix */
    bool for_run; /* only the runner uses it, for a matrix */
    /* It has an effect at an end where both hold. */
    struct premise used[2];
    const char *help;

    const char *const *choices; /* kind choice: names by value, NULL at the end */
    uint64_t minimum, maximum;  /* numbers */
    const char *unit;           /* of numbers, for --list=json */
    bool for_serve;             /* uncork-server --serve takes it too */
    bool for_subject;           /* affects a subject, by the listening socket that it inherits */
    bool for_command;           /* has an effect in workload=command, which has no data threads */
    const char *word_for_zero;  /* the spelling of the number 0, or of an empty text */
};

#define TEXT(size) __typeof__(char[size])
#define KIND(kind, name, type, member, ...)                                                                  \
    extern const struct word_kind kind_##kind;                                                               \
    static inline union field field_of_##kind(type *at)                                                      \
    {                                                                                                        \
        return (union field){member};                                                                        \
    }
#include "words/kinds.def"
#undef KIND

#define WORD(key, ...) WORD_##key,
#define END_WORD WORD
#define RUN_WORD WORD
/* The index of each word in word_list. */
enum word_index {
#include "words/words.def"
    WORD_COUNT
};
#undef WORD
#undef END_WORD
#undef RUN_WORD

extern const struct word word_list[WORD_COUNT], word_parameter;

/* The word of this key (without prefix). NULL with a usage problem that names the nearest word. */
const struct word *word_find(const char *key, struct problem *problem);

/* The canonical spelling of its value. `end` matters only for per-end words. New reference. */
json_t *word_value(const struct word *word, const struct plan *plan, enum end end);

/* A "key=value" that the user typed, split. `prefix` is END_COUNT if there is none. */
struct typed_word {
    const struct word *word;
    enum end prefix;
    const char *value; /* points into the text */
};

/* Splits the text and looks up the key. 0, or -1 with a usage problem. */
int word_split(struct typed_word *typed, const char *text, struct problem *problem);

/* ---- what excludes what ---- */

/* Which rows are asked, and by whom: the sections of exclusions.def. */
enum stage {
    STAGE_words,   /* plan_parse(), at both ends */
    STAGE_options, /* uncork-client, before a run */
    STAGE_session, /* uncork-server, for the plan of a client */
    STAGE_serve,   /* uncork-server --serve */
    STAGE_ends,    /* this and the following: support_check(), of one end */
    STAGE_engine,  /* also plan_parse(), to choose the engine */
    STAGE_threads,
};

/* What the caller knows besides the plan: bits. */
enum fact {
    FACT_PSK = 1,
    FACT_INSECURE = 2,
    FACT_PCAP = 4,
    FACT_PLACE = 8, /* the end has --server-in or --proxy-in */
    FACT_PUBLIC_CHANNEL = 16,
    FACT_SHORT_CONTENT = 32,
};

/* Whether both premises hold at `end`. The plan is that of plan_parse(). */
bool premises_hold(const struct premise premises[2], const struct plan *plan, enum end end, unsigned facts);

/* 0, or -1 with the reason of the first row of the stage that excludes the plan at `end`: a usage
 * problem, or from STAGE_ends on an unsupported one. `problem` NULL: without the reason. */
int exclusions_check(enum stage stage, const struct plan *plan, enum end end, unsigned facts,
                     struct problem *problem);

/* [{"stage", "status", "when": [...], "reason"}, ...] in the order of the rows, and the meanings of
 * premises as texts, without `always`. New references. */
json_t *exclusions_list(void);
json_t *premises_list(const struct premise premises[2]);

/* ---- from words to a plan and back ---- */

/* Parses `count` words "key=value" over the defaults: the client what users type, the server what
 * arrives over the control channel. 0, and plan_free() is due; or -1 with a usage problem. */
int plan_parse(struct plan *plan, const char *const *words, size_t count, struct problem *problem);

/* Every word that this run uses, with defaults: {"transport": "tcp", ...}, in the order of word_list.
 * A word that differs between the ends appears as client.WORD and server.WORD. New reference. */
json_t *plan_words(const struct plan *plan);

/* The given words that this run uses. New reference. Appends the keys of the others to `unused`. */
json_t *plan_words_given(const struct plan *plan, json_t *unused);

#define EXPAND_VALUES_MAX 10000

/* Words with several values: lists "a,b,c" and ranges, which never exceed their end. The runner
 * makes the cells of a matrix, the product of the values.
 *
 *     64..1M      doubles: 64, 128, ... 1M
 *     64..1M:4    multiplies by 4
 *     1..16:+1    adds 1
 *
 * [{"key": "message", "values": ["64", "128"]}, ...] in the given order, with the values in
 * canonical spelling. New reference; NULL with a usage problem. */
json_t *expand_words(const char *const *words, size_t count, struct problem *problem);

#define TARGET_LOCAL "local"

/* For the runner: where all ends run, or each one (client+server, client+server+proxy). */
struct target {
    struct variant variant;
    const char *takes; /* the parameter after the colon; NULL: none */
    bool joins;        /* may be joined with other targets by + */
};

extern const struct axis target_axis;
