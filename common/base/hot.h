/* SPDX-License-Identifier: MIT */
/* The path of a message. Between two calls the thread sleeps, and the kernel and the other end use
 * the caches: a message takes the longer, the more lines of code and data it touches. So the
 * functions of the path stand next to each other in memory, and what they rarely do stands
 * elsewhere. */
#pragma once

#define HOT __attribute__((hot))
#define COLD __attribute__((cold, noinline))
#define NOT_INLINE __attribute__((noinline)) /* so that its caller stays short */
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
