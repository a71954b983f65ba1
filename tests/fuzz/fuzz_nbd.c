/* SPDX-License-Identifier: MIT */
/* The protocol of network block devices. */
#define PROTOCOLS "protocol=nbd", "protocol=nbd-structured"
#define OPS "op=read:32+write:16", "op=read:4K+write:4K"
#include "protocol.h"
