/* SPDX-License-Identifier: MIT */
#ifndef UNCORK_SECURITY_SECURITY_H
#define UNCORK_SECURITY_SECURITY_H

#include "connection/security.h"

extern const struct axis security_axis; /* list.def */

#endif
