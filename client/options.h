/* SPDX-License-Identifier: MIT */
/* The command line of uncork-client. What an option says is no word, because it does not belong into a
 * record. */
#ifndef UNCORK_CLIENT_OPTIONS_H
#define UNCORK_CLIENT_OPTIONS_H

#include "control/psk.h"
#include "where.h"

#include <stdbool.h>
#include <stddef.h>

#define NO_LIFELINE -1

enum action {
    ACTION_RUN,
    ACTION_BATCH,
    ACTION_CHECK,
    ACTION_LIST,
    ACTION_LIST_JSON,
    ACTION_EXPAND,
    ACTION_FACTS,
    ACTION_VERSION,
    ACTION_HELP
};

struct options {
    enum action action;
    struct where where[END_COUNT];
    struct psk_list *keys; /* the first is shown to ends that words name; NULL: none */
    bool insecure;         /* such an end may be on another machine all the same */
    const char *pcap;      /* file for the packets of capture=on; NULL: none is written */
    bool json;             /* ACTION_RUN prints a record, and no answer for people */
    const char *file;      /* of ACTION_BATCH and ACTION_CHECK; for the record, NULL: standard output */
    int lifeline;          /* descriptor that closes when the parent has gone; NO_LIFELINE: none does */
    const char *for_runs;  /* the last of the options that only a run has; NULL: none was given */
    const char **words;
    size_t word_count;
};

/* Takes options and words in any order. The arguments must outlive them. 0, or -1 with a problem;
 * options_free() them in both cases. */
int options_parse(struct options *options, int count, char **arguments, struct problem *problem);
void options_free(struct options *options);

/* Refuses a plan that the options are not for. 0, or -1 with a usage problem. */
int options_check(const struct options *options, const struct plan *plan, struct problem *problem);

/* Refuses to speak to an end that words have named in the clear, if that is on another machine. 0, or -1 with
 * a usage problem. */
int options_check_address(const struct options *options, enum end end, const struct address *address,
                          struct problem *problem);

#endif
