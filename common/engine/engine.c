/* SPDX-License-Identifier: MIT */
#include "engine/engine.h"

#include "workload/workload.h"

#include <string.h>

#define VARIANT(name) extern const struct engine engine_##name;
#include "engine/list.def"
#undef VARIANT

#define VARIANT(name) &engine_##name.variant,
static const struct variant *const variants[] = {
#include "engine/list.def"
};

const struct axis engine_axis = {"engine", variants, sizeof variants / sizeof *variants};

int engine_broken(struct connection *connection, const char *doing, int result)
{
    enum end peer = connection->end == END_CLIENT ? END_SERVER : END_CLIENT;

    problem_failure(&connection->problem, "the %s could not %s the %s: %s", end_names[connection->end], doing,
                    end_names[peer], strerror(-result));
    return result;
}

int engine_peer_ended(struct connection *connection)
{
    enum end peer = connection->end == END_CLIENT ? END_SERVER : END_CLIENT;

    connection->ended = true;
    if (!connection->drives && !connection->arrivals.partial)
        return 0;
    problem_failure(&connection->problem, "the %s closed its connection %s", end_names[peer],
                    connection->drives ? "before the work was done" : "in the middle of a message");
    return -EPIPE;
}
