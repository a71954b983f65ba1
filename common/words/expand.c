/* SPDX-License-Identifier: MIT */
#include "words/word.h"

#include "base/cleanup.h"
#include "base/units.h"

#include <stdio.h>
#include <inttypes.h>
#include <string.h>

struct range {
    uint64_t first, last, step;
    bool adds;
};

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

static bool parse_range(struct range *range, const char *at)
{
    *range = (struct range){.step = 2};
    if (units_take_size(&at, &range->first) < 0 || strncmp(at, "..", 2) != 0)
        return false;
    at += 2;
    if (units_take_size(&at, &range->last) < 0)
        return false;
    if (*at == ':') {
        range->adds = *++at == '+';
        at += range->adds;
        if (units_take_size(&at, &range->step) < 0)
            return false;
    }
    return !*at && range->first && range->first <= range->last && range->step >= (range->adds ? 1u : 2u);
}

static int append_range(json_t *values, const struct word *word, const char *text, struct problem *problem)
{
    struct range range;

    if (!parse_range(&range, text))
        return problem_usage(problem,
                             "%s=%.60s is not a range; write it like 64..1M (doubles), 64..1M:4 (times 4) or "
                             "1..16:+1 (plus 1)",
                             word->key, text);
    for (uint64_t value = range.first; value <= range.last;) {
        char spelled[UNITS_TEXT_MAX];

        snprintf(spelled, sizeof spelled, "%" PRIu64, value);
        if (append_value(values, word, spelled, problem) < 0)
            return -1;
        if (range.adds ? value > UINT64_MAX - range.step : value > UINT64_MAX / range.step)
            break;
        value = range.adds ? value + range.step : value * range.step;
    }
    return 0;
}

/* Two dots make a range. If the word takes no ranges, they may be part of a path. */
static int append_item(json_t *values, const struct word *word, const char *text, struct problem *problem)
{
    bool has_dots = word->kind->lists && strstr(text, "..");
    struct problem dropped = {0};
    if (has_dots && word->kind->ranges)
        return append_range(values, word, text, problem);
    if (append_value(values, word, text, has_dots ? &dropped : problem) == 0)
        return 0;
    return problem_usage(problem, "%s=%.60s: %s takes no range; list the values with commas", word->key, text,
                         word->key);
}

/* An item of sysctl= without a name has the name of the previous item: "net.ipv4.tcp_sack:0,1". */
static int append_list(json_t *values, const struct word *word, const char *text, struct problem *problem)
{
    CLEANUP_FREE char *copy = strdup(text);
    const char *named = "";
    char *rest = copy, *item;

    while ((item = strsep(&rest, word->kind->lists ? "," : ""))) {
        bool has_name = word->kind != &kind_sysctl || !strchr(named, ':') || !strcmp(item, "none") ||
                        !strncmp(item, "net.", 4);
        named = has_name ? item : named;
        int name = has_name ? 0 : (int)strcspn(named, ":") + 1;
        CLEANUP_JSON json_t *whole = json_sprintf("%.*s%s", name, named, item);
        if (append_item(values, word, json_string_value(whole), problem) < 0)
            return -1;
    }
    return 0;
}

static int expand_word(json_t *expanded, json_t *seen, const char *text, struct problem *problem)
{
    CLEANUP_JSON json_t *values = json_array();
    CLEANUP_FREE char *key = strndup(text, strcspn(text, "="));
    struct typed_word typed;

    if (word_split(&typed, text, problem) < 0)
        return -1;
    if (json_object_get(seen, key) && strcmp(key, "not") != 0)
        return problem_usage(problem, "'%s' is given twice", key);
    json_object_set_new(seen, key, json_true());
    if (append_list(values, typed.word, typed.value, problem) < 0)
        return -1;
    return json_array_append_new(expanded, json_pack("{s:s, s:O}", "key", key, "values", values));
}

json_t *expand_words(const char *const *words, size_t count, struct problem *problem)
{
    CLEANUP_JSON json_t *expanded = json_array(), *seen = json_object();
    for (size_t i = 0; i < count; i++)
        if (expand_word(expanded, seen, words[i], problem) < 0)
            return NULL;
    return json_incref(expanded);
}
