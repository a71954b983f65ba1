/* SPDX-License-Identifier: MIT */
/* The table of descriptors of a thread.
 *
 * Threads share the table of their process. While they do, the kernel counts a reference to the
 * file in each call on a descriptor (fdget() in fs/file.c), which a program with one thread does
 * not pay for. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Gives the calling thread a table of its own, with descriptors 0 to 2 and the `count` descriptors
 * of `kept` (-1: none). Sorts `kept`. The descriptors have the same numbers and files as in the
 * shared table: shutdown(2) there has its effect here, and a file is closed when both tables have
 * closed it. If the thread has a table of its own already, closes the others in it. Returns false
 * and leaves the table as it was where the system cannot: before Linux 5.9, or where a filter of
 * system calls forbids it.
 *
 * Blocks all signals, so that another thread handles them: the handlers of libuv write to a pipe
 * that the table lacks. */
bool descriptors_own(int *kept, size_t count);
