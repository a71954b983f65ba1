/* SPDX-License-Identifier: MIT */
/* Requests and replies of a protocol: the roles of workload=request if `protocol` is not raw. */
#pragma once

#include "connection/workload.h"

extern const struct role *const framed_roles[ROLE_COUNT];
