/* SPDX-License-Identifier: MIT */
#ifndef UNCORK_BASE_DESCRIPTORS_H
#define UNCORK_BASE_DESCRIPTORS_H

#include "base/problem.h"

#include <stdint.h>

/* Lets this process have `needed` open descriptors: raises its soft limit, and the hard one where it may. 0,
 * or -1 with an unsupported problem that says what needs so many (`what`) and the command that allows them.
 */
int descriptors_reserve(uint64_t needed, const char *what, struct problem *problem);

#endif
