/* SPDX-License-Identifier: MIT */
#include "base/absent.h"
#include "ring/ring.h"

int ring_has(bool sends, unsigned options, int from, int to)
{
    return 0;
}
