/* SPDX-License-Identifier: MIT */
/* Where a proxy may connect to: a client, which may be a stranger, names the sink. */
#ifndef UNCORK_SERVER_SINKS_H
#define UNCORK_SERVER_SINKS_H

#include "transport/prefix.h"

#include <stddef.h>

#define SINKS_MAX 64

struct sinks {
    struct prefix prefixes[SINKS_MAX];
    size_t count;
};

/* One more --allow-sink. 0, or -1 with a usage problem. */
int sinks_allow(struct sinks *sinks, const char *text, struct problem *problem);

/* Where none was given: this machine itself. */
void sinks_allow_local(struct sinks *sinks);

/* The address of the sink that a client has named, in numbers. 0, or -1 with a problem: it is no address, or
 * not one that was allowed. */
int sinks_check(const struct sinks *sinks, const char *text, struct address *sink, struct problem *problem);

#endif
