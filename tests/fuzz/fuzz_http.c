/* SPDX-License-Identifier: MIT */
/* HTTP/1.1. */
#define PROTOCOLS "protocol=http"
#define OPS "op=get:32*3+get:16", "op=get:4K"
#include "protocol.h"
