/* SPDX-License-Identifier: MIT */
/*
 * Overrides: what an unmodified program does when a preloaded library changes its calls.
 *
 *     override_parse(&change, "more:64", &problem);
 *     reach_check(program, path, &problem);          a program that no library reaches is refused
 *     override_open(&override, &change, false, false, &problem);
 *     ... start the program with override.environment and with override.file open ...
 *     ... override.shared has the counts, override_proof() says whether they prove the change ...
 *     override_close(&override);
 *
 * Only Linux has it.
 */
#pragma once

#include "base/problem.h"
#include "override/shared.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct override {
    struct shared *shared;
    int file;             /* the program inherits it; what that starts needs this process and its user */
    char *environment[2]; /* "LD_PRELOAD=...", "UNCORK_OVERRIDE=..."; in place of those there are */
    char library[PATH_MAX];
    int library_file; /* the program inherits it too; -1: it reads the library by its path */
};

/* "none", or changes joined by +: "nodelay", "more:64", "nodelay+sndbuf:256K". 0, or -1 with a
 * problem. */
int override_parse(struct change *change, const char *text, struct problem *problem);

/* The shortest text that override_parse() reads back; cut where it does not fit. */
void override_format(const struct change *change, char *text, size_t size);

/* Makes the shared memory and finds the library: beside this program, or where it is installed.
 * `records_groups`: groups and waits are recorded, which costs some ns a call. `other_user`: the
 * program may run as a user who cannot enter the library's folder. 0, or -1 with a problem; call
 * override_close() in both cases. */
int override_open(struct override *override, const struct change *change, bool records_groups,
                  bool other_user, struct problem *problem);

void override_close(struct override *override);

/* Whether the counts prove that the library reached the program and that the change took effect on
 * a connection. 0, or -1 with a problem that says what is missing. */
int override_proof(const struct shared *shared, struct problem *problem);

/* A call of this library in ns more than without it, measured here on a pair of sockets; 0 where it
 * cannot be measured. */
double override_call_ns(void);
