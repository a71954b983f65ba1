/* SPDX-License-Identifier: MIT */
/* The protocol of redis. */
#define PROTOCOLS "protocol=resp"
#define OPS "op=get:32+set:16+ping", "op=get:64"
#include "protocol.h"
