/* SPDX-License-Identifier: MIT */
/* Where processes of our own are started: beside this one, or in a namespace of a lab that somebody made. */
#ifndef UNCORK_CLIENT_WHERE_H
#define UNCORK_CLIENT_WHERE_H

#include "plan/plan.h"
#include "transport/address.h"

struct where {
    const char *netns;        /* file of the network namespace; NULL: that of this process */
    char listen[ADDRESS_MAX]; /* what it is to listen on, port 0 */
    char host[ADDRESS_MAX];   /* the same without the port */
    const char *sink;         /* of a proxy: the address that it may connect to; NULL: loopback */
};

/* All beside this process, on loopback. */
void where_here(struct where where[END_COUNT]);

/* Reads "ADDRESS@NETNS" for `end`; the text must outlive `where`. 0, or -1 with a usage problem. */
int where_parse(struct where where[END_COUNT], enum end end, const char *text, struct problem *problem);

/* Moves the calling thread there, so that what it starts is there. A value for where_leave(), or -1 with a
 * failure: then the thread is where it was. */
int where_enter(const struct where *where, struct problem *problem);

/* And back. 0, or -1 with a failure. */
int where_leave(const struct where *where, int before, struct problem *problem);

/* Refuses a plan that is not for this place: one with lab=on here, one without it in a lab, in a lab that is
 * none, or with a place for a proxy that it does not have. 0, or -1 with a usage problem. */
int where_check(const struct where where[END_COUNT], const struct plan *plan, struct problem *problem);

#endif
