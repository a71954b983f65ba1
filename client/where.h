/* SPDX-License-Identifier: MIT */
/* Where our own processes start: beside this one, or in a network namespace of a lab. */
#ifndef UNCORK_CLIENT_WHERE_H
#define UNCORK_CLIENT_WHERE_H

#include "net/address.h"
#include "plan/plan.h"

struct where {
    const char *netns;        /* file of the network namespace; NULL: the current one */
    char listen[ADDRESS_MAX]; /* address to listen on, port 0 */
    char host[ADDRESS_MAX];   /* the same without the port */
    const char *sink;         /* proxy: the address that it may connect to; NULL: loopback */
};

/* Sets all to this network namespace, on loopback. */
void where_here(struct where where[END_COUNT]);

/* Parses "ADDRESS@NETNS" for `end`; the text must outlive `where`. Returns 0, or -1 with a usage
 * problem. */
int where_parse(struct where where[END_COUNT], enum end end, const char *text, struct problem *problem);

/* Rejects a plan that does not fit: lab=on without a lab, a lab without lab=on, no valid lab, or
 * a place for a proxy that the plan lacks. Returns 0, or -1 with a usage problem. */
int where_check(const struct where where[END_COUNT], const struct plan *plan, struct problem *problem);

#endif
