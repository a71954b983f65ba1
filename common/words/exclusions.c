/* SPDX-License-Identifier: MIT */
#include "words/word.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "connection/protocol.h"
#include "engine/engine.h"
#include "words/definition.h"

#include <string.h>

static bool asks_content(const struct plan *plan)
{
    bool fetches = false;
    for (uint32_t i = 0; i < plan->operations.count; i++)
        fetches |= plan->operations.list[i].kind->fetches;
    return fetches;
}

#define HOLDS(name) condition_holds(CONDITION_##name, plan, end, facts)
static bool condition_holds(enum condition condition, const struct plan *plan, enum end end, unsigned facts)
{
    const struct end_plan *own = &plan->ends[end];
    switch (condition) {
#define CONDITION(name, means, holds)                                                                        \
    case CONDITION_##name:                                                                                   \
        return holds;
#include "words/conditions.def"
#undef CONDITION
    }
    return false;
}

bool premises_hold(const struct premise premises[2], const struct plan *plan, enum end end, unsigned facts)
{
    for (size_t i = 0; i < 2; i++)
        if (condition_holds(premises[i].condition, plan, end, facts) == premises[i].fails)
            return false;
    return true;
}

#define EXCLUDES(stage, first, second, reason) {STAGE_##stage, #stage, {first, second}, reason},
static const struct exclusion {
    enum stage stage;
    const char *name; /* of the stage */
    struct premise premises[2];
    const char *reason;
} exclusions[] = {
#include "words/exclusions.def"
};

#define EXCLUSION_COUNT (sizeof exclusions / sizeof *exclusions)

static enum problem_kind kind_of(enum stage stage)
{
    return stage < STAGE_ends ? PROBLEM_USAGE : PROBLEM_UNSUPPORTED;
}

int exclusions_check(enum stage stage, const struct plan *plan, enum end end, unsigned facts,
                     struct problem *problem)
{
    const struct exclusion *row = exclusions, *behind = exclusions + EXCLUSION_COUNT;

    while (row < behind && !(row->stage == stage && premises_hold(row->premises, plan, end, facts)))
        row++;
    if (row == behind)
        return 0;
    if (!problem)
        return -1;

    /* the values of the names in the reason */
    const char *strategy = plan_strategy(plan, end) == &plan->write ? "write" : "reply_write";
    const struct operation_kind *operation = plan->protocol->kinds;
    CLEANUP_JSON json_t *values = json_object();
    bool lacks = false;
    for (size_t i = 0; i < WORD_COUNT; i++)
        if (!word_list[i].for_run)
            lacks |= json_object_set_new(values, word_list[i].key, word_value(&word_list[i], plan, end)) < 0;
    CLEANUP_JSON json_t *others = json_pack(
        "{s:s, s:s, s:s, s:s*, s:o}", "end", end_names[end], "engine", plan->ends[end].engine->variant.name,
        "client.security", plan->ends[END_CLIENT].security->variant.name, "operation",
        operation ? operation->name : NULL, "strategy",
        json_sprintf("%s=%s", strategy, json_string_value(json_object_get(values, strategy))));
    lacks |= json_object_update(values, others) < 0;
    CLEANUP_FREE char *reason = lacks ? NULL : definition_expand(row->reason, values);
    return problem_of_kind(problem, kind_of(stage), "%s", reason ? reason : "no memory for the reason");
}

json_t *premises_list(const struct premise premises[2])
{
#define CONDITION(name, means, holds) means,
    static const char *const meanings[] = {
#include "words/conditions.def"
    };
    json_t *list = json_array();

    for (size_t i = 0; i < 2; i++)
        if (premises[i].condition != CONDITION_always)
            json_array_append_new(
                list, json_sprintf("%s%s", premises[i].fails ? "not " : "", meanings[premises[i].condition]));
    return list;
}

json_t *exclusions_list(void)
{
    json_t *list = json_array();
    for (const struct exclusion *row = exclusions; row < exclusions + EXCLUSION_COUNT; row++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:s}", "stage", row->name, "status",
                                              problem_kind_names[kind_of(row->stage)], "when",
                                              premises_list(row->premises), "reason", row->reason));
    return list;
}
