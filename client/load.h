/* SPDX-License-Identifier: MIT */
/* The load of workload=command: from its definition, or the text of command=, to a program with
 * arguments and files. */
#pragma once

#include "base/folder.h"
#include "override/override.h"
#include "run.h"

#include <regex.h>

#define LOAD_TIMER "hyperfine" /* the program that times it */
#define LOAD_PATH_MAX (FOLDER_MAX + 16)

struct load {
    const struct run *run; /* set by the owner, as is the name */
    const char *name;

    char folder[FOLDER_MAX], program[PATH_MAX], timer[PATH_MAX];
    json_t *definitions;        /* has the texts of the arguments */
    json_t *arguments;          /* the first is the program */
    const char *version_option; /* prints its version; NULL: none does */
    uint64_t limit_s, moves;    /* time limit; bytes that it must move */
    regex_t counts;             /* finds in its output, as its group, how many requests it made */
    bool has_counts;
    struct override override;
    bool overridden; /* the timed run is under the library too */
};

/* Finds the program and the timer, makes its folder and writes its files. Blocks while it writes
 * content. 0, or -1 with a problem; call load_free() in both cases. */
int load_prepare(struct load *load, struct problem *problem);

/* Does not remove the folder. */
void load_free(struct load *load);

/* The path of a file in the folder, in `path`. */
const char *load_path(const struct load *load, const char *name, char path[LOAD_PATH_MAX]);

/* Quotes a text as one word of sh(1). New memory. */
char *load_quote(const char *text);
