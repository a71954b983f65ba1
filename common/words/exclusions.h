/* SPDX-License-Identifier: MIT */
/* What excludes what. Both lists are data: conditions.def has what a plan can be, exclusions.def
 * has which two conditions exclude each other, with the reason. Words say by the same conditions
 * when they have an effect. What depends on the machine is no row: support/ probes it. */
#pragma once

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

#define IF(name)                                                                                             \
    {                                                                                                        \
        CONDITION_##name, false                                                                              \
    }
#define UNLESS(name)                                                                                         \
    {                                                                                                        \
        CONDITION_##name, true                                                                               \
    }
#define ALWAYS IF(always)

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

/* Whether a row of the stage excludes the plan at `end`. */
bool is_excluded(enum stage stage, const struct plan *plan, enum end end);

/* 0, or -1 with the reason of the first row of the stage that excludes the plan at `end`: a usage
 * problem, or from STAGE_ends on an unsupported one. */
int exclusions_check(enum stage stage, const struct plan *plan, enum end end, unsigned facts,
                     struct problem *problem);

/* [{"stage", "status", "when": [...], "reason"}, ...] in the order of the rows, and the meanings of
 * premises as texts, without `always`. New references. */
json_t *exclusions_list(void);
json_t *premises_list(const struct premise premises[2]);
