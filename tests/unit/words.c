/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "words/parse.h"

int unit_try(struct plan *plan, const char *const *words)
{
    size_t count = 0;

    while (words[count])
        count++;
    return plan_parse(plan, words, count, empty_problem());
}

void unit_parse(struct plan *plan, const char *const *words)
{
    assert_accepted(unit_try(plan, words));
}

char *unit_flatten(json_t *json)
{
    char *text = calloc(1, 200000), *at = text;
    const char *key;
    json_t *value;
    size_t i;

    json_object_foreach(json, key, value)
        at += sprintf(at, "%s%s=%s", at == text ? "" : " ", key, json_string_value(value));
    json_array_foreach(json, i, value)
        at += sprintf(at, "%s%s", i ? " " : "", json_string_value(value));
    return text;
}
