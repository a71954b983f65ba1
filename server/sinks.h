/* SPDX-License-Identifier: MIT */
/* Addresses that a proxy may connect to. The client names the sink, and it may be a stranger. */
#ifndef UNCORK_SERVER_SINKS_H
#define UNCORK_SERVER_SINKS_H

#include "net/prefix.h"

#include <stddef.h>

#define SINKS_MAX 64

struct sinks {
    struct prefix prefixes[SINKS_MAX];
    size_t count;
};

/* Adds one --allow-sink. Returns 0, or -1 with a usage problem. */
int sinks_allow(struct sinks *sinks, const char *text, struct problem *problem);

/* The default: this machine only. */
void sinks_allow_local(struct sinks *sinks);

/* Parses the numeric address of the sink that the client named. Returns 0, or -1 with a problem:
 * it is no address or not allowed. */
int sinks_check(const struct sinks *sinks, const char *text, struct address *sink, struct problem *problem);

#endif
