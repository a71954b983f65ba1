/* SPDX-License-Identifier: MIT */
/* The kinds of values that words have. */
#ifndef UNCORK_WORDS_KINDS_H
#define UNCORK_WORDS_KINDS_H

#include "words/word.h"

extern const struct word_kind kind_variant;    /* const struct variant *: a name of word->axis */
extern const struct word_kind kind_strategy;   /* struct strategy_choice: a name, perhaps ":SIZE" */
extern const struct word_kind kind_message;    /* struct shape */
extern const struct word_kind kind_size;       /* uint64_t, bytes */
extern const struct word_kind kind_count;      /* uint64_t */
extern const struct word_kind kind_duration;   /* uint64_t, ns */
extern const struct word_kind kind_rate;       /* uint64_t, bits per second */
extern const struct word_kind kind_percent;    /* uint64_t, millionths */
extern const struct word_kind kind_choice;     /* int: index in word->choices */
extern const struct word_kind kind_place;      /* struct place */
extern const struct word_kind kind_sched;      /* struct scheduling */
extern const struct word_kind kind_source;     /* uint64_t, bytes: "hot" or "cold:SIZE" */
extern const struct word_kind kind_congestion; /* char[CONGESTION_NAME_MAX] */
extern const struct word_kind kind_address;    /* char[ADDRESS_TEXT_MAX] */
extern const struct word_kind kind_sysctl;     /* char[SYSCTL_TEXT_MAX]: "net.NAME:VALUE", "none" */
extern const struct word_kind kind_folder;     /* char[FOLDER_TEXT_MAX]: a path or "this" */
extern const struct word_kind kind_file;       /* char[FOLDER_TEXT_MAX]: a path */
extern const struct word_kind kind_target;     /* char[TARGET_TEXT_MAX] */
extern const struct word_kind kind_words;      /* no field: other words, for the runner */

#endif
