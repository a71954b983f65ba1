/* SPDX-License-Identifier: MIT */
/* The congestion control of a TCP socket; system differences live in congestion.c. */
#ifndef UNCORK_TRANSPORT_CONGESTION_H
#define UNCORK_TRANSPORT_CONGESTION_H

#include "base/problem.h"
#include "plan/plan.h"

#include <stdbool.h>

/* Sets what the word says: a name, "system" for the system's own, "default" for cubic, and the system's own
 * where there is no cubic. 0, or -1 with an unsupported problem. */
int congestion_set(int fd, const char *word, struct problem *problem);

/* The same for one more socket, after it was set and read back on another. Returns the calls made, 0 or 1. */
int congestion_set_again(int fd, const char *word);

/* Whether the word is a name, and not `system` or `default`, which take what there is. */
bool congestion_insists(const char *word);

/* Whether a connection that was accepted has what that word gave to its listener. 0, or -1 with an
 * unsupported problem. */
int congestion_inherited(int accepted, const char *word, struct problem *problem);

/* The name of the one in use; false where the system does not tell. */
bool congestion_read(int fd, char name[CONGESTION_NAME_MAX]);

#endif
