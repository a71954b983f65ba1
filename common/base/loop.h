/* SPDX-License-Identifier: MIT */
/* The libuv loop of a program. */
#pragma once

#include "base/problem.h"

#include <uv.h>

/* uv_loop_init(), for the first loop of a program. libuv aborts if it cannot open the pipe of its
 * signals (uv__signal_global_reinit() in src/unix/signal.c of 1.44). So this function first checks
 * that some descriptors are free. 0, or -1 with a failure. */
int loop_open(uv_loop_t *loop, struct problem *problem);
