/* SPDX-License-Identifier: MIT */
#ifndef UNCORK_WORKLOAD_WORKLOAD_H
#define UNCORK_WORKLOAD_WORKLOAD_H

#include "connection/workload.h"

extern const struct axis workload_axis; /* list.def */

#endif
