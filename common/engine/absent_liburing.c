/* SPDX-License-Identifier: MIT */
#include "base/absent.h"
#include "engine/engine.h"

static int check(const struct end_plan *own, struct problem *problem)
{
    return problem_unsupported(problem, "io_uring cannot be used here: " ABSENT_LIBURING);
}

const struct engine engine_ring = {
    .variant = {"ring", "an io_uring for each thread, any number of connections"},
    .gives = CAPABLE_RING,
    .check = check,
};
