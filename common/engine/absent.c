/* SPDX-License-Identifier: MIT */
/* The ring engine in a build without liburing: listed, but unsupported. */
#include "engine/engine.h"

static int check(struct problem *problem)
{
    return problem_unsupported(problem, "io_uring cannot be used here: this build has no liburing");
}

static int suits(const struct plan *plan, enum end end, struct problem *problem)
{
    (void)plan, (void)end;
    return check(problem);
}

const struct engine engine_ring = {
    .variant = {"ring", "an io_uring for each thread, any number of connections"},
    .gives = CAPABLE_RING,
    .check = check,
    .suits = suits,
};
