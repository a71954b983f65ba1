/* SPDX-License-Identifier: MIT */
#ifndef UNCORK_BASE_DESCRIPTORS_H
#define UNCORK_BASE_DESCRIPTORS_H

#include "base/problem.h"

#include <stdint.h>

/* Ensures that this process may have `needed` open descriptors: raises its soft limit, and the hard
 * limit where permitted. 0, or -1 with an unsupported problem that names `what` needs them and the
 * command that raises the limit. */
int descriptors_reserve(uint64_t needed, const char *what, struct problem *problem);

#endif
