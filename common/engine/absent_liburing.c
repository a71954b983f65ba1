/* SPDX-License-Identifier: MIT */
/* Of this folder and of ring/, whose probe finds that nothing works. */
#include "base/absent.h"
#include "engine/engine.h"
#include "ring/ring.h"

static int check(const struct end_plan *own, struct problem *problem)
{
    return problem_unsupported(problem, "io_uring cannot be used here: " ABSENT_LIBURING);
}

int ring_has(bool sends, unsigned options, int from, int to)
{
    return 0;
}

const struct engine engine_ring = {
    .variant = {"ring", "an io_uring for each thread, any number of connections"},
    .gives = CAPABLE_RING,
    .check = check,
};
