/* SPDX-License-Identifier: MIT */
/*
 * Two security layers that encrypt nothing worth the name, but behave like those that do: bytes travel in
 * records of a header and a disguised payload, which are sent whole or not at all.
 */
#ifndef UNCORK_TESTS_RECORDS_H
#define UNCORK_TESTS_RECORDS_H

#include "security/security.h"
#include "strategy/strategy.h"

/* send() makes one record and takes its bytes only when that is out; after -EAGAIN the same bytes must be
 * offered again (as GnuTLS has it). */
extern const struct security security_strict;

/* send() takes everything and holds it back; out it goes by records_flush(). */
extern const struct security security_holding;

/* A strategy for the layer that holds back: a group is taken whole, then flushed. */
extern const struct strategy strategy_held;

/* Writes what is held back. 0 when nothing is left, -EAGAIN to be called again. */
int records_flush(struct connection *connection);

void records_reset(void);

/* How often a flush came back with -EAGAIN. */
extern unsigned records_blocked;

#endif
