/* SPDX-License-Identifier: MIT */
#ifndef UNCORK_READING_READING_H
#define UNCORK_READING_READING_H

#include "connection/reading.h"

extern const struct axis reading_axis; /* list.def */

#endif
