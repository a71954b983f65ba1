/* SPDX-License-Identifier: MIT */
#include "connection/security.h"

#define AXIS security
#define AXIS_NAME "security"
#define AXIS_LIST "security/list.def"
#include "base/axis.def"
