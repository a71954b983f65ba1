/* SPDX-License-Identifier: MIT */
/*
 * Checks that this system allows an io_uring, and tests its operations on sockets.
 *
 * For the control thread only. The result of ring_check() is cached for the life of the process.
 */
#ifndef UNCORK_RING_CHECK_H
#define UNCORK_RING_CHECK_H

#include "base/problem.h"
#include "ring/ring.h"

/* All switches on. */
extern const struct ring_setup ring_setup_recommended;

/* 0, or -1 with an unsupported problem that gives the reason. */
int ring_check(const struct ring_setup *setup, struct problem *problem);

/* Each test sends bytes from `from` to `to`, which are connected. False also without a ring. */
bool ring_receives_again(int from, int to);    /* multishot: one request, several completions */
bool ring_receives_messages(int from, int to); /* the same by RECVMSG */
bool ring_receives_bundles(int from, int to);  /* one completion, several buffers */
bool ring_sends_buffers(int from, int to);     /* sends a provided buffer */
bool ring_sends_bundles(int from, int to);     /* one completion, several buffers */
bool ring_lends_memory(int from, int to);      /* a second completion returns memory */

#endif
