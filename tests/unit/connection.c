/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "connection/connection.h"

void unit_close(struct plan *plan, struct thread_shared *shared, struct connection *connection)
{
    if (!plan->workload) /* nothing is open */
        return;
    connection_close(connection);
    thread_shared_close(shared);
    plan_free(plan);
    *plan = (struct plan){0};
}
