/* SPDX-License-Identifier: MIT */
/* The path of a message. Between two calls a thread often sleeps, and the kernel and the other end
 * use the caches. The more cache lines and pages a message touches, the longer it takes. */
#pragma once

#define HOT __attribute__((hot))             /* next to the other functions of the path in memory */
#define COLD __attribute__((cold, noinline)) /* what these rarely do: elsewhere in memory */
#define NOT_INLINE __attribute__((noinline)) /* so that its caller stays short */

/* Without the check of -fstack-protector: for a function of the path that has no array, only a time
 * or a pointer that a call fills in. */
#if __has_attribute(no_stack_protector)
#define NO_CANARY __attribute__((no_stack_protector))
#else
#define NO_CANARY
#endif

/* The usual course of a function has its code in one piece. */
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
