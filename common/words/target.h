/* SPDX-License-Identifier: MIT */
/* The word `target`: where client, server and proxy run. The runner uses it. This file checks its
 * spelling: one target for all ends, or one each as client+server or client+server+proxy. */
#pragma once

#include "base/axis.h"
#include "plan/plan.h"

#include <stdbool.h>

#define TARGET_LOCAL "local"

struct target {
    struct variant variant;
    const char *takes; /* the parameter after the colon; NULL: none */
    bool joins;        /* may be joined with other targets by + */
};

extern const struct axis target_axis;

/* Checks the spelling of a target; does not check that the host or image exists. 0, or -1 with a
 * usage problem. */
int target_check(const char *text, struct problem *problem);
