/* SPDX-License-Identifier: MIT */
/* The cork of a TCP socket. Only cork.c depends on the system. */
#ifndef UNCORK_TRANSPORT_CORK_H
#define UNCORK_TRANSPORT_CORK_H

#include "base/calls.h"

/* Sets (on) or clears (off) the cork, by one counted call: a set cork holds partial segments back.
 * 0, or a negative errno value. */
int cork_set(struct calls *calls, int on);

#endif
