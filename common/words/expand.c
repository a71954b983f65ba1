/* SPDX-License-Identifier: MIT */
#include "words/word.h"

#include "base/cleanup.h"
#include "base/units.h"

#include <stdio.h>
#include <inttypes.h>
#include <string.h>

static int append_value(json_t *values, const struct word *word, const char *text, struct problem *problem)
{
    struct plan plan = {0};
    if (json_array_size(values) == EXPAND_VALUES_MAX)
        return problem_usage(problem, "%s has more than %d values", word->key, EXPAND_VALUES_MAX);
    if (word->kind->parse(word, text, word->field(&plan, plan.ends), problem) < 0)
        return -1;
    json_array_append_new(values,
                          word->kind->format ? word_value(word, &plan, END_CLIENT) : json_string(text));
    plan_free(&plan);
    return 0;
}

static int append_range(json_t *values, const struct word *word, const char *text, struct problem *problem)
{
    uint64_t first = 0, last = 0, step = 2;
    const char *at = text;
    bool adds = false, right = units_take_size(&at, &first) == 0 && units_take(&at, '.') &&
                               units_take(&at, '.') && units_take_size(&at, &last) == 0;

    if (right && units_take(&at, ':')) {
        adds = units_take(&at, '+');
        right = units_take_size(&at, &step) == 0;
    }
    if (!right || *at || !first || first > last || step < (adds ? 1u : 2u))
        return problem_usage(problem,
                             "%s=%.60s is not a range; write it like 64..1M (doubles), 64..1M:4 (times 4) or "
                             "1..16:+1 (plus 1)",
                             word->key, text);
    for (uint64_t value = first; value <= last;) {
        char spelled[UNITS_TEXT_MAX];

        snprintf(spelled, sizeof spelled, "%" PRIu64, value);
        if (append_value(values, word, spelled, problem) < 0)
            return -1;
        if (adds ? __builtin_add_overflow(value, step, &value) : __builtin_mul_overflow(value, step, &value))
            break;
    }
    return 0;
}

/* An item of sysctl= without a name has the name of the previous item: "net.ipv4.tcp_sack:0,1". Two
 * dots make a range. If the word takes no ranges, they may be part of a path. */
static int append_list(json_t *values, const struct word *word, const char *text, struct problem *problem)
{
    CLEANUP_FREE char *copy = check_nonnull(strdup(text));
    const char *named = "";
    char *rest = copy, *item;

    while ((item = strsep(&rest, word->kind->lists ? "," : ""))) {
        bool has_name = word->kind != &kind_sysctl || !strchr(named, ':') || !strcmp(item, "none") ||
                        !strncmp(item, "net.", 4);
        named = has_name ? item : named;
        int name = has_name ? 0 : (int)strcspn(named, ":") + 1;
        CLEANUP_JSON json_t *whole = json_sprintf("%.*s%s", name, named, item);
        const char *value = json_string_value(whole);
        bool has_dots = word->kind->lists && strstr(value, "..");
        struct problem dropped = {0};
        if (has_dots && word->kind->ranges) {
            if (append_range(values, word, value, problem) < 0)
                return -1;
        } else if (append_value(values, word, value, has_dots ? &dropped : problem) < 0) {
            return problem_usage(problem, "%s=%.60s: %s takes no range; list the values with commas",
                                 word->key, value, word->key);
        }
    }
    return 0;
}

json_t *expand_words(const char *const *words, size_t count, struct problem *problem)
{
    CLEANUP_JSON json_t *expanded = json_array(), *seen = json_object();

    for (size_t i = 0; i < count; i++) {
        CLEANUP_FREE char *key = check_nonnull(strndup(words[i], strcspn(words[i], "=")));
        CLEANUP_JSON json_t *values = json_array();
        struct typed_word typed;

        if (word_split(&typed, words[i], problem) < 0)
            return NULL;
        if (json_object_get(seen, key) && strcmp(key, "not") != 0) {
            problem_usage(problem, "'%s' is given twice", key);
            return NULL;
        }
        json_object_set_new(seen, key, json_true());
        if (append_list(values, typed.word, typed.value, problem) < 0 ||
            json_array_append_new(expanded, json_pack("{s:s, s:O}", "key", key, "values", values)) < 0)
            return NULL;
    }
    return json_incref(expanded);
}
