/* SPDX-License-Identifier: MIT */
#include "connection/strategy.h"

#define AXIS reading
#define AXIS_NAME "reading"
#define AXIS_LIST "read/list.def"
#include "base/axis.def"
