/* SPDX-License-Identifier: MIT */
/* What test_contract.c puts in place of an io_uring and of a TLS library. */
#pragma once

#include "connection/security.h"
#include "connection/strategy.h"

/* A simulated ring: it executes requests later and in part, and returns their memory later still.
 * And a strategy that uses it as it would use an io_uring, by one request for each group of a
 * connection: accepted when submitted, flushed when the last byte is sent, released when the ring
 * returns the memory. */
extern const struct strategy strategy_late;

void ring_reset(uint64_t seed);

/* Executes a part of each request and calls the strategy for completions. Returns 0 or the error of
 * completed(). */
int ring_turn(void);

/* Returns true if no request is in flight and no memory is lent. */
bool ring_is_empty(void);

/* A security layer that encrypts nothing worth the name, but behaves like those that do: bytes
 * travel in records of a header and a disguised payload, which are sent whole or not at all. send()
 * makes one record and takes its bytes only when that is out; after -EAGAIN the same bytes must be
 * offered again (as GnuTLS has it). */
extern const struct security security_strict;

void records_reset(void);

/* How often a flush came back with -EAGAIN. */
extern unsigned records_blocked;
