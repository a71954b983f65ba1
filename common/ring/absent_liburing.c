/* SPDX-License-Identifier: MIT */
#include "base/absent.h"
#include "ring/ring.h"

int ring_has(enum ring_ability ability, int from, int to)
{
    return 0;
}
