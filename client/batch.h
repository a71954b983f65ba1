/* SPDX-License-Identifier: MIT */
/* Many cells in one process: a file with the words of one cell on each line. */
#ifndef UNCORK_CLIENT_BATCH_H
#define UNCORK_CLIENT_BATCH_H

#include "run.h"

#include <stddef.h>

struct batch {
    struct plan *plans;
    size_t count;
};

/* Reads and parses the whole file ("-": standard input); empty lines and lines that begin with # are skipped.
 * 0, or -1 with a usage problem that names file and line. */
int batch_read(struct batch *batch, const char *path, struct problem *problem);
void batch_free(struct batch *batch);

/* Runs every line and prints its record, then {"end": N}. 0 when it came to its end, whatever the records
 * say; -1 with a problem. */
int batch_run(const struct batch *batch, struct client *client, struct problem *problem);

/* Prints for each line what would be run, then {"end": N}: docs/record.md, --check. */
int batch_check(const struct batch *batch, struct problem *problem);

/* Refuses words that the cell does not use. 0, or -1 with a usage problem. */
int batch_refuse_unused(const struct plan *plan, struct problem *problem);

#endif
