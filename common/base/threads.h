/* SPDX-License-Identifier: MIT */
/* What a thread needs from the system: room for its stack, and a table of descriptors. */
#pragma once

#include "base/problem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of address space that this process may have (ulimit -v); 0: no limit. */
uint64_t address_space_limit(void);

/* Returns -1 with a failure: `name` ("thread 3 of 8") was not started, by the negative `error` of
 * uv_thread_create(). That is EAGAIN for each limit, so a probe tells memory from the others. */
int thread_failure(struct problem *problem, int error, const char *name);

/* Whether the threads in which libuv looks up names and runs checks can start. libuv ends the process
 * by abort(3) where they cannot, at their first work. 0, or -1 with a failure. Their stacks stay in
 * the cache of the C library, for libuv. */
int threads_try_pool(struct problem *problem);

/* Gives the calling thread its own table of descriptors. While threads share a table, the kernel
 * counts a reference to the file in each call on a descriptor (fdget() in fs/file.c).
 *
 * The table has descriptors 0 to 2 and the `count` descriptors of `kept` (-1: none), which this
 * function sorts. The files are the same: shutdown(2) by the shared table has its effect here, and a
 * file is closed when both tables have closed it. If the thread has its own table already, closes
 * the others in it.
 *
 * Blocks the signals of the thread: the pipe of libuv's handler is not in the new table. False, and
 * the table is as it was: before Linux 5.9, or where a filter of system calls forbids it. */
bool descriptors_own(int *kept, size_t count);
