/* SPDX-License-Identifier: MIT */
/* What stands before the words of whatever runs: where our own processes are to be, and how those of others
 * are spoken to. No word says it, because none of it belongs into a record. */
#ifndef UNCORK_CLIENT_OPTIONS_H
#define UNCORK_CLIENT_OPTIONS_H

#include "control/psk.h"
#include "where.h"

#include <stdbool.h>
#include <stddef.h>

struct options {
    struct where where[END_COUNT];
    struct psk_list *keys; /* the first is shown to ends that words name; NULL: none */
    bool insecure;         /* such an end may be on another machine all the same */
    const char *pcap;      /* file for the packets of capture=on; NULL: none is written */
};

/* Takes the options from the beginning of the arguments, which must outlive them. How many arguments they
 * are, or -1 with a problem; options_free() them in both cases. */
int options_parse(struct options *options, const char *const *arguments, size_t count,
                  struct problem *problem);
void options_free(struct options *options);

/* Refuses a plan that the options are not for. 0, or -1 with a usage problem. */
int options_check(const struct options *options, const struct plan *plan, struct problem *problem);

/* Refuses to speak to an end that words have named in the clear, if that is on another machine. 0, or -1 with
 * a usage problem. */
int options_check_address(const struct options *options, enum end end, const struct address *address,
                          struct problem *problem);

#endif
