/* SPDX-License-Identifier: MIT */
/* The cork of a TCP socket; system differences live in cork.c. */
#ifndef UNCORK_TRANSPORT_CORK_H
#define UNCORK_TRANSPORT_CORK_H

#include "base/calls.h"

/* Holds partial segments back (on) or lets everything go (off), by one counted call. 0, or a negative errno
 * value. */
int cork_set(struct calls *calls, int on);

#endif
