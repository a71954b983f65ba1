/* SPDX-License-Identifier: MIT */
/* Checks that this system allows an io_uring, and tests its operations on sockets. Only the control
 * thread calls these. ring_check() tries each setup until it once succeeds. */
#pragma once

#include "base/problem.h"
#include "ring/ring.h"

/* 0, or -1 with an unsupported problem. */
int ring_check(const struct ring_setup *setup, struct problem *problem);

enum ring_ability {
    RING_RECEIVES_MULTISHOT, /* multishot: one request, several completions */
    RING_RECEIVES_MESSAGES,  /* the same by RECVMSG */
    RING_RECEIVES_BUNDLES,   /* one completion, several buffers */
    RING_SENDS_BUFFERS,      /* sends a provided buffer */
    RING_SENDS_BUNDLES,      /* one completion, several buffers */
    RING_SENDS_ZEROCOPY,     /* two completions; the second is a notification */
};

/* Tests an ability on a connected pair: sends from `from` to `to`. 1; 0, also without a ring; or a
 * negative errno value if memory or descriptors are exhausted. */
int ring_has(enum ring_ability ability, int from, int to);
