/* SPDX-License-Identifier: MIT */
#include "team/beginnings.h"

#include "connection/workload.h"

#include <string.h>

static int tell_one(const struct connection *connection, const struct tcp_reading *before,
                    struct tally *tally, struct problem *problem)
{
    struct address local;

    if (!before->knows_streams)
        return problem_unsupported(problem,
                                   "capture=on: TCP_INFO does not tell here how much a connection has "
                                   "sent (Linux 4.19)");
    if (address_of_socket(&local, connection->calls.fd) < 0)
        return problem_failure(problem, "capture: the port of a connection is not known");
    if (tally_begin_at(tally, (uint16_t)address_port(&local), before->sent_bytes, before->received_bytes) < 0)
        return problem_failure(problem, "out of memory for the capture");
    return 0;
}

/* All connections of the warm-up come before those of the interval. Each server reports the last
 * message of all its connections before a thread continues. */
static uint64_t connections_before(const struct team *team)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < team->worker_count; i++)
        sum += team->workers[i].before.calls.made[CALL_SOCKET]; /* a ring connects without one */
    return sum;
}

int beginnings_tell(const struct team *team, struct tally *tally, struct problem *problem)
{
    if (plan_role(team->plan, team->end)->reconnects) {
        tally_begin_after(tally, connections_before(team));
        return 0;
    }
    for (size_t i = 0; i < team->worker_count; i++) {
        const struct worker *worker = &team->workers[i];

        for (size_t j = 0; j < worker->count; j++)
            if (tell_one(&worker->connections[j], &worker->before.tcp[j], tally, problem) < 0)
                return -1;
    }
    return 0;
}
