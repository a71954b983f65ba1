/* SPDX-License-Identifier: MIT */
/*
 * The word `target`: where client, server and proxy are. It is the runner's; here stands how it is spelled:
 * one target for all ends, or those of client+server or client+server+proxy.
 */
#ifndef UNCORK_PLAN_TARGET_H
#define UNCORK_PLAN_TARGET_H

#include "base/axis.h"

#include <stdbool.h>

#define TARGET_TEXT_MAX 256
#define TARGET_LOCAL "local"

struct target {
    struct variant variant;
    const char *takes; /* what follows its name and a colon; NULL: nothing does */
    bool joins;        /* with others, by + */
};

extern const struct axis target_axis;

/* Whether the text is spelled right; whether there is such a host or image nobody asks. 0, or -1 with a usage
 * problem. */
int target_check(const char *text, struct problem *problem);

#endif
