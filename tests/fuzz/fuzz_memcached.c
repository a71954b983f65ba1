/* SPDX-License-Identifier: MIT */
/* The protocol of memcached. */
#define PROTOCOLS "protocol=memcached"
#define OPS "op=get:32+set:16", "op=get:64"
#include "protocol.h"
