/* SPDX-License-Identifier: MIT */
/* Checks that this system allows an io_uring, and tests its operations on sockets.
 *
 * For the control thread only. The result of ring_check() is cached for the life of the process. */
#pragma once

#include "base/problem.h"
#include "ring/ring.h"

int ring_check(const struct ring_setup *setup, struct problem *problem);

enum ring_ability {
    RING_RECEIVES_MULTISHOT, /* multishot: one request, several completions */
    RING_RECEIVES_MESSAGES,  /* the same by RECVMSG */
    RING_RECEIVES_BUNDLES,   /* one completion, several buffers */
    RING_SENDS_BUFFERS,      /* sends a provided buffer */
    RING_SENDS_BUNDLES,      /* one completion, several buffers */
    RING_SENDS_ZEROCOPY,     /* a second completion returns memory */
};

/* Tests an ability: sends bytes from `from` to `to`, which are connected. False also without a
 * ring. */
bool ring_has(enum ring_ability ability, int from, int to);
