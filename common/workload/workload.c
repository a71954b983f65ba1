/* SPDX-License-Identifier: MIT */
#include "connection/workload.h"

#define AXIS workload
#define AXIS_NAME "workload"
#define AXIS_LIST "workload/list.def"
#include "base/axis.def"
