/* SPDX-License-Identifier: MIT */
#include "connection/protocol.h"

#define AXIS protocol
#define AXIS_NAME "protocol"
#define AXIS_LIST "protocol/list.def"
#include "base/axis.def"
