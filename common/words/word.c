/* SPDX-License-Identifier: MIT */
#include "words/word.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const switch_names[] = {"off", "on", NULL};

/* clang-format off */
#define CHOICES(...) .choices = (const char *const[]){__VA_ARGS__, NULL}
/* clang-format on */

/* In place of the field of a word of the runner: expand_words() only checks its spelling. */
static union {
    uint64_t number;
    unsigned choice;
    char text[FOLDER_TEXT_MAX];
} scratch;

/* These compile only if the field has the type of the kind. */
#define WORD(key, kind, at, ...)                                                                             \
    static union field key##_field(struct plan *plan, struct end_plan *own)                                  \
    {                                                                                                        \
        return field_of_##kind(at);                                                                          \
    }
#define END_WORD WORD
#define RUN_WORD WORD
#include "words/words.def"
#undef WORD
#undef END_WORD
#undef RUN_WORD

#define ROW(key, kind, preset, ...) {#key, &kind_##kind, preset, key##_field, __VA_ARGS__},
#define WORD(key, kind, at, preset, ...) ROW(key, kind, preset, __VA_ARGS__)
#define END_WORD(key, kind, at, preset, ...) ROW(key, kind, preset, .per_end = true, __VA_ARGS__)
#define RUN_WORD(key, kind, at, preset, ...) ROW(key, kind, preset, .for_run = true, __VA_ARGS__)
const struct word word_list[WORD_COUNT] = {
#include "words/words.def"
};

const struct word word_parameter = {.key = "parameter", .kind = &kind_parameter, .field = not_field};

_Static_assert(WORD_COUNT <= PLAN_WORDS_MAX, "struct plan has a byte for every word");

const struct word *word_find(const char *key, struct problem *problem)
{
    struct nearest nearest = {.word = key};
    for (size_t i = 0; i < WORD_COUNT; i++)
        if (nearest_offer(&nearest, word_list[i].key))
            return &word_list[i];
    if (!strcmp(key, "arm"))
        problem_usage(problem, "arm= chooses an arm of a scenario: uncork run SCENARIO arm=NAME");
    else
        problem_usage(problem, "no word is called '%.40s'; the nearest is '%s'", key, nearest.found);
    return NULL;
}

json_t *word_value(const struct word *word, const struct plan *plan, enum end end)
{
    struct plan *values = (struct plan *)(uintptr_t)plan;
    return word->kind->format(word, word->field(values, &values->ends[end]));
}

int word_split(struct typed_word *typed, const char *text, struct problem *problem)
{
    const char *at = text;
    char key[64];

    errno = 0;
    CLEANUP_JSON json_t *string = json_string(text);
    if (!string && errno == ENOMEM)
        return problem_failure(problem, "no memory for the word '%.60s'", text);
    if (!string) /* records and the control channel are JSON */
        return problem_usage(problem, "'%.60s' is not valid UTF-8", text);
    typed->prefix = END_COUNT;
    for (enum end end = 0; end < END_COUNT && typed->prefix == END_COUNT; end++) {
        size_t length = strlen(end_names[end]);

        if (!strncmp(text, end_names[end], length) && text[length] == '.') {
            typed->prefix = end;
            at += length + 1;
        }
    }
    size_t length = strcspn(at, "=");
    if (!at[length] || length >= sizeof key)
        return problem_usage(problem, "'%.60s' is not a word; write key=value", text);
    snprintf(key, sizeof key, "%.*s", (int)length, at);
    typed->value = at + length + 1;
    if (typed->prefix == END_COUNT && strchr(key, '.')) {
        typed->word = &word_parameter;
        return 0;
    }
    if (!(typed->word = word_find(key, problem)))
        return -1;
    if (typed->prefix != END_COUNT && !typed->word->per_end)
        return problem_usage(problem, "%s is the same at all ends; write %s=... without a prefix", key, key);
    return 0;
}
