/* SPDX-License-Identifier: MIT */
/*
 * Two security layers that encrypt nothing worth the name, but behave like those that do: bytes travel in
 * records of a header and a disguised payload, which are sent whole or not at all.
 */
#pragma once

#include "connection/security.h"

/* send() makes one record and takes its bytes only when that is out; after -EAGAIN the same bytes must be
 * offered again (as GnuTLS has it). */
extern const struct security security_strict;

/* send() takes everything and holds it back until it is flushed. */
extern const struct security security_holding;

void records_reset(void);

/* How often a flush came back with -EAGAIN. */
extern unsigned records_blocked;
