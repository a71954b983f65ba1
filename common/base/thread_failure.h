/* SPDX-License-Identifier: MIT */
/* Why a thread cannot be started. */
#pragma once

#include "base/problem.h"

/* Sets a failure: `name` ("thread 3 of 8") could not be started, with the `error` of
 * uv_thread_create(), a negative errno value. pthread_create(3) returns EAGAIN for each limit that
 * may be the reason, so a probe tells memory from the others. Returns -1. */
int thread_failure(struct problem *problem, int error, const char *name);
