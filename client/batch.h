/* SPDX-License-Identifier: MIT */
/* Many cells in one process, from a file with the words of one cell on each line. */
#ifndef UNCORK_CLIENT_BATCH_H
#define UNCORK_CLIENT_BATCH_H

#include "run.h"

#include <stddef.h>

struct batch {
    struct plan *plans;
    size_t count;
};

/* Reads and parses the whole file ("-": standard input). Skips empty lines and lines that begin
 * with #. Returns 0, or -1 with a usage problem that names file and line. */
int batch_read(struct batch *batch, const char *path, struct problem *problem);
void batch_free(struct batch *batch);

/* Runs every line and prints its record, then {"end": N}. Returns 0 after the last line, also
 * with failed records; -1 with a problem. */
int batch_run(const struct batch *batch, struct client *client, struct problem *problem);

/* Prints for each line the plan that would run, then {"end": N}: docs/record.md, --check. */
int batch_check(const struct batch *batch, struct problem *problem);

/* Rejects words that the cell does not use. Returns 0, or -1 with a usage problem. */
int batch_refuse_unused(const struct plan *plan, struct problem *problem);

#endif
