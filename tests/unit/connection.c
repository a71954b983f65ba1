/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "connection/connection.h"
#include "net/address.h"

void unit_open(const struct plan *plan, struct thread_shared *shared, struct connection *connection,
               enum end end, int fd)
{
    memset(shared, 0, sizeof *shared);
    memset(connection, 0, sizeof *connection);
    assert_int_equal(thread_shared_open(shared, plan, end, 1), 0);
    connection->calls.fd = fd;
    assert_int_equal(connection_open(connection, shared), 0);
}

int unit_listen(struct address *address, const char *text)
{
    assert_int_equal(address_parse_numeric(address, text, &unit_problem), 0);
    int listener = address_listen(-1, address, &unit_problem);
    assert_true(listener >= 0);
    return listener;
}

void unit_close(struct plan *plan, struct thread_shared *shared, struct connection *connection)
{
    if (!plan->workload) /* nothing is open */
        return;
    connection_close(connection);
    thread_shared_close(shared);
    plan_free(plan);
    *plan = (struct plan){0};
}
