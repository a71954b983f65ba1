/* SPDX-License-Identifier: MIT */
#include "connection/strategy.h"

#define AXIS strategy
#define AXIS_NAME "write strategy"
#define AXIS_LIST "write/list.def"
#include "base/axis.def"
