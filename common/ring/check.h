/* SPDX-License-Identifier: MIT */
/*
 * Whether an io_uring can be had here, and what it really does with sockets, found out by effect.
 * For the control thread only; the answer of ring_check() is kept for the life of the process.
 */
#ifndef UNCORK_RING_CHECK_H
#define UNCORK_RING_CHECK_H

#include "base/problem.h"
#include "ring/ring.h"

/* All of it switched on. */
extern const struct ring_setup ring_setup_recommended;

/* 0, or -1 with an unsupported problem that says why not. */
int ring_check(const struct ring_setup *setup, struct problem *problem);

/* What happens to bytes that are sent from `from`, which is connected with `to`. False too where no ring can
 * be had. */
bool ring_receives_again(int from, int to);   /* one request, several completions */
bool ring_receives_bundles(int from, int to); /* one completion, several buffers */
bool ring_sends_buffers(int from, int to);    /* a provided buffer goes out */
bool ring_sends_bundles(int from, int to);    /* one completion, several buffers */
bool ring_lends_memory(int from, int to);     /* a completion says that memory came back */

#endif
