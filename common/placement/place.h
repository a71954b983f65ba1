/* SPDX-License-Identifier: MIT */
/* Where the threads of each end run: together, apart, free, or CPUs by number. "0.2/1.3/4" is
 * client 0 and 2, server 1 and 3, proxy 4. */
#pragma once

#include "base/problem.h"

#include <stdbool.h>
#include <stdint.h>

enum place_kind { PLACE_TOGETHER, PLACE_APART, PLACE_FREE, PLACE_CPUS };

#define PLACE_CPUS_MAX 256
#define PLACE_LISTS 3 /* client, server, proxy; a missing list equals the one before it */

struct place {
    enum place_kind kind;
    struct place_list {
        uint16_t count;
        uint16_t cpus[PLACE_CPUS_MAX];
    } lists[PLACE_LISTS]; /* PLACE_CPUS only */
};

int place_parse(struct place *place, const char *text, struct problem *problem);

/* New memory. */
char *place_format(const struct place *place);

/* The CPUs for the data threads of end number `list` (0 client, 1 server, 2 proxy). Thread i takes
 * CPU number i % count. With place=apart, `half` is the half of the cores that this end gets (0:
 * the first). `remote`: the other ends are on other machines, so this end gets all cores. With
 * place=free, `count` is 0. 0, or -1 with an unsupported problem. */
int place_cpus(const struct place *place, int list, int half, bool remote, struct place_list *cpus,
               struct problem *problem);
