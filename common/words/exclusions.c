/* SPDX-License-Identifier: MIT */
#include "words/exclusions.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "connection/capability.h"
#include "connection/protocol.h"
#include "connection/reading.h"
#include "connection/security.h"
#include "connection/workload.h"
#include "engine/engine.h"
#include "transport/transport.h"
#include "words/definition.h"
#include "words/target.h"
#include "words/word.h"

#include <stdlib.h>
#include <string.h>

/* ---- conditions ---- */

static const struct strategy *strategy_of(const struct plan *plan, enum end end)
{
    return plan_strategy(plan, end)->strategy;
}

static bool asks_content(const struct plan *plan)
{
    bool fetches = false;

    for (uint32_t i = 0; i < plan->operations.count; i++)
        fetches |= plan->operations.list[i].kind->fetches;
    return fetches;
}

#define HOLDS(name) name##_holds(plan, end, facts)
#define CONDITION(name, means, holds)                                                                        \
    static bool name##_holds(const struct plan *plan, enum end end, unsigned facts)                          \
    {                                                                                                        \
        const struct end_plan *own = &plan->ends[end];                                                       \
                                                                                                             \
        (void)own, (void)facts;                                                                              \
        return holds;                                                                                        \
    }
#include "words/conditions.def"
#undef CONDITION

#define CONDITION(name, means, holds) {means, name##_holds},
static const struct {
    const char *means;
    bool (*holds)(const struct plan *plan, enum end end, unsigned facts);
} conditions[] = {
#include "words/conditions.def"
};
#undef CONDITION

bool premises_hold(const struct premise premises[2], const struct plan *plan, enum end end, unsigned facts)
{
    for (size_t i = 0; i < 2; i++)
        if (conditions[premises[i].condition].holds(plan, end, facts) == premises[i].fails)
            return false;
    return true;
}

/* ---- rows ---- */

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

static const struct exclusion *find_exclusion(enum stage stage, const struct plan *plan, enum end end,
                                              unsigned facts)
{
    for (size_t i = 0; i < EXCLUSION_COUNT; i++)
        if (exclusions[i].stage == stage && premises_hold(exclusions[i].premises, plan, end, facts))
            return &exclusions[i];
    return NULL;
}

bool is_excluded(enum stage stage, const struct plan *plan, enum end end)
{
    return find_exclusion(stage, plan, end, 0) != NULL;
}

static void put_text(json_t *values, const char *name, char *text)
{
    json_object_set_new(values, name, json_string(text));
    free(text);
}

/* The values of the names in a reason. New reference. */
static json_t *values_at(const struct plan *plan, enum end end)
{
    const struct strategy_choice *choice = plan_strategy(plan, end);
    CLEANUP_FREE char *strategy = strategy_choice_format(choice);
    json_t *values = json_object();

    for (size_t i = 0; i < WORD_COUNT; i++)
        if (!word_list[i].for_run)
            put_text(values, word_list[i].key, word_text(&word_list[i], plan, end));
    json_object_set_new(values, "end", json_string(end_names[end]));
    json_object_set_new(values, "engine", json_string(plan->ends[end].engine->variant.name));
    json_object_set_new(values, "strategy",
                        json_sprintf("%s=%s", choice == &plan->write ? "write" : "reply_write", strategy));
    json_object_set_new(values, "client.security",
                        json_string(plan->ends[END_CLIENT].security->variant.name));
    if (plan->protocol->kinds)
        json_object_set_new(values, "operation", json_string(plan->protocol->kinds->name));
    return values;
}

static enum problem_kind kind_of(enum stage stage)
{
    return stage < STAGE_ends ? PROBLEM_USAGE : PROBLEM_UNSUPPORTED;
}

int exclusions_check(enum stage stage, const struct plan *plan, enum end end, unsigned facts,
                     struct problem *problem)
{
    const struct exclusion *found = find_exclusion(stage, plan, end, facts);
    CLEANUP_JSON json_t *values = found ? values_at(plan, end) : NULL;
    CLEANUP_FREE char *reason = found ? definition_expand(found->reason, values) : NULL;

    return found ? problem_of_kind(problem, kind_of(stage), "%s", reason) : 0;
}

/* ---- for other programs ---- */

json_t *premises_list(const struct premise premises[2])
{
    json_t *list = json_array();

    for (size_t i = 0; i < 2; i++)
        if (premises[i].condition != CONDITION_always)
            json_array_append_new(list, json_sprintf("%s%s", premises[i].fails ? "not " : "",
                                                     conditions[premises[i].condition].means));
    return list;
}

json_t *exclusions_list(void)
{
    json_t *list = json_array();

    for (size_t i = 0; i < EXCLUSION_COUNT; i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:s}", "stage", exclusions[i].name, "status",
                                              problem_kind_name(kind_of(exclusions[i].stage)), "when",
                                              premises_list(exclusions[i].premises), "reason",
                                              exclusions[i].reason));
    return list;
}
