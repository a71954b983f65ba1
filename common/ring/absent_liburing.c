/* SPDX-License-Identifier: MIT */
#include "base/absent.h"
#include "ring/check.h"

bool ring_has(enum ring_ability ability, int from, int to)
{
    return false;
}
