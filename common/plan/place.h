/* SPDX-License-Identifier: MIT */
/* Where the threads of each end run: together, apart, free, or CPUs by number ("0.2/1.3": client 0 and 2,
 * server 1 and 3). */
#ifndef UNCORK_PLAN_PLACE_H
#define UNCORK_PLAN_PLACE_H

#include "base/problem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum place_kind { PLACE_TOGETHER, PLACE_APART, PLACE_FREE, PLACE_CPUS };

#define PLACE_CPUS_MAX 256
#define PLACE_LISTS 2 /* client, server */

struct place {
    enum place_kind kind;
    struct place_list {
        uint16_t count;
        uint16_t cpus[PLACE_CPUS_MAX];
    } lists[PLACE_LISTS]; /* PLACE_CPUS only */
};

/* 0, or -1 with a usage problem. */
int place_parse(struct place *place, const char *text, struct problem *problem);

/* The canonical spelling, new memory. */
char *place_format(const struct place *place);

/*
 * The CPUs for the data threads of end number `list` (0 client, 1 server); thread i takes the i-th, around
 * and around. `remote` says that the other end is on another machine, so that this one pins from its own
 * first core. `count` is 0 for free. 0, or -1 with an unsupported problem (a CPU that this process may not
 * use; apart with one core).
 */
int place_cpus(const struct place *place, int list, bool remote, struct place_list *cpus,
               struct problem *problem);

#endif
