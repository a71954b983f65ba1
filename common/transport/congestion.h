/* SPDX-License-Identifier: MIT */
/* The congestion control of a TCP socket. Only congestion.c depends on the system. */
#ifndef UNCORK_TRANSPORT_CONGESTION_H
#define UNCORK_TRANSPORT_CONGESTION_H

#include "base/problem.h"
#include "plan/plan.h"

#include <stdbool.h>

/* Sets the congestion control that `word` names. "system": the system's default. "default": cubic,
 * or the system's default if there is no cubic. 0, or -1 with an unsupported problem. */
int congestion_set(int fd, const char *word, struct problem *problem);

/* The same for another socket, after congestion_set() succeeded on the first. Returns the calls
 * made, 0 or 1. */
int congestion_set_again(int fd, const char *word);

/* Whether `word` is a name, not `system` or `default`, which accept any. */
bool congestion_insists(const char *word);

/* Checks that an accepted connection inherited the congestion control of its listener. 0, or -1
 * with an unsupported problem. */
int congestion_inherited(int accepted, const char *word, struct problem *problem);

/* The name of the one in use; false if the system does not report it. */
bool congestion_read(int fd, char name[CONGESTION_NAME_MAX]);

#endif
