/* SPDX-License-Identifier: MIT */
/*
 * A security layer that encrypts nothing worth the name, but behaves like those that do: bytes travel in
 * records of a header and a disguised payload, which are sent whole or not at all.
 */
#pragma once

#include "connection/security.h"

/* send() makes one record and takes its bytes only when that is out; after -EAGAIN the same bytes must be
 * offered again (as GnuTLS has it). */
extern const struct security security_strict;

void records_reset(void);

/* How often a flush came back with -EAGAIN. */
extern unsigned records_blocked;
