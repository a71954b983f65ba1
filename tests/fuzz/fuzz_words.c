/* SPDX-License-Identifier: MIT */
/* Any lines are words of a plan or are refused. The words of a plan make the same plan again. */
#include "fuzz.h"

#include "plan/plan.h"
#include "words/word.h"

#include <stdio.h>

#define WORDS_MAX 64

static void check_again(const struct plan *plan)
{
    CLEANUP_JSON json_t *words = plan_words(plan);
    char *texts[WORDS_MAX * 2];
    struct problem problem = {0};
    struct plan second;
    size_t count = 0;
    const char *key;
    json_t *value;

    json_object_foreach(words, key, value) {
        texts[count] = malloc(strlen(key) + json_string_length(value) + 2);
        strcat(strcat(strcpy(texts[count++], key), "="), json_string_value(value));
    }
    abort_if(plan_parse(&second, (const char *const *)texts, count, &problem) < 0);
    CLEANUP_JSON json_t *again = plan_words(&second);
    abort_if(!json_equal(words, again));
    plan_free(&second);
    while (count)
        free(texts[--count]);
}

/* The values that a word expands to are values that it takes, in canonical spelling. */
static void check_expansion(const char *const *words, size_t count)
{
    struct problem problem = {0};
    CLEANUP_JSON json_t *expanded = expand_words(words, count, &problem);
    const json_t *value;
    size_t i, j;
    json_t *word;

    abort_if(!expanded && (problem.kind == PROBLEM_NONE || !*problem.text));
    json_array_foreach(expanded, i, word) {
        json_array_foreach(json_object_get(word, "values"), j, value) {
            char text[4096];
            const char *again = text;

            if (j == 8 ||
                snprintf(text, sizeof text, "%s=%s", json_string_value(json_object_get(word, "key")),
                         json_string_value(value)) >= (int)sizeof text)
                break;
            CLEANUP_JSON json_t *single = expand_words(&again, 1, &problem);
            abort_if(
                !json_equal(json_array_get(json_object_get(json_array_get(single, 0), "values"), 0), value));
        }
    }
}

static void check_rest(const struct plan *plan)
{
    json_t *unused = json_array();

    json_decref(plan_words_given(plan, unused));
    json_decref(unused);
    for (uint64_t i = 0; i < 3; i++)
        plan_messages_of(plan, i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP_FREE char *text = text_of(data, size);
    const char *words[WORDS_MAX];
    struct problem problem = {0};
    struct plan plan;
    char *rest = text, *word;
    size_t count = 0;

    while (count < WORDS_MAX && (word = strsep(&rest, "\n")))
        if (*word)
            words[count++] = word;
    check_expansion(words, count);
    if (plan_parse(&plan, words, count, &problem) < 0) {
        abort_if(problem.kind == PROBLEM_NONE || !*problem.text);
        return 0;
    }
    check_again(&plan);
    check_rest(&plan);
    plan_free(&plan);
    return 0;
}
