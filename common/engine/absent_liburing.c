/* SPDX-License-Identifier: MIT */
#include "base/absent.h"
#include "engine/engine.h"

static int check(struct problem *problem)
{
    return problem_unsupported(problem, "io_uring cannot be used here: " ABSENT_LIBURING);
}

static int suits(const struct plan *plan, enum end end, struct problem *problem)
{
    return check(problem);
}

const struct engine engine_ring = {
    .variant = {"ring", "an io_uring for each thread, any number of connections"},
    .gives = CAPABLE_RING,
    .check = check,
    .suits = suits,
};
