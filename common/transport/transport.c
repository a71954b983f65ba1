/* SPDX-License-Identifier: MIT */
#include "transport/transport.h"

#define AXIS transport
#define AXIS_NAME "transport"
#define AXIS_LIST "transport/list.def"
#include "base/axis.def"
