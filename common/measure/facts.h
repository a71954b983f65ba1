/* SPDX-License-Identifier: MIT */
/* What kind of machine this is: facts that decide figures, so that a reader can judge them. */
#ifndef UNCORK_MEASURE_FACTS_H
#define UNCORK_MEASURE_FACTS_H

#include "net/address.h"

#include <jansson.h>
#include <stdbool.h>

/* The id of this machine as long as it runs: the boot id, else the host name and when its /proc came to be,
 * if it has one. */
const char *facts_host_id(void);

/* {"id", "system", "kernel", "cmdline", "cpu", ..., "device": {...}}: docs/record.md lists them. What the
 * system does not tell is absent. `towards` is the address of the other end, for the network device; NULL: no
 * device. New reference. */
json_t *facts_collect(const struct address *towards);

#endif
