/* SPDX-License-Identifier: MIT */
#ifndef UNCORK_BASE_DESCRIPTORS_H
#define UNCORK_BASE_DESCRIPTORS_H

#include "base/problem.h"

#include <stdint.h>

/* Lets this process have `needed` open descriptors: raises its soft limit, and the hard one where it may. 0,
 * or -1 with an unsupported problem that says what needs so many (`what`) and the command that allows them.
 */
int descriptors_reserve(uint64_t needed, const char *what, struct problem *problem);

/* Gives the calling thread a table of descriptors of its own, with what is open now; it is gone when the
 * thread ends. The kernel then counts no references to a file in each call on it, as it need not in a process
 * of one thread (unshare(2), CLONE_FILES; fs/file.c, __fget_light). Does nothing where the system has no such
 * thing. */
void descriptors_separate(void);

#endif
