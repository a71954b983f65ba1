/* SPDX-License-Identifier: MIT */
#include "team/handshakes.h"

#include "base/secret.h"
#include "workload/workload.h"

#include <poll.h>
#include <string.h>

/* The client connects to its neighbour, a proxy to the server. */
static bool is_connected_to(enum end end, enum end peer)
{
    return end == END_SERVER || (end == END_PROXY && peer == END_CLIENT);
}

static int agree(struct worker *worker, enum end peer, struct problem *problem)
{
    const struct team *team = worker->team;
    struct security_terms terms = {.serves = is_connected_to(team->end, peer),
                                   .cipher = team->plan->cipher,
                                   .handshake = team->plan->handshake};
    int result;

    memcpy(terms.key, team->keys[peer], sizeof terms.key);
    result = security_agree(&worker->bench, peer, &terms);
    secret_wipe(&terms, sizeof terms);
    return result < 0 ? problem_failure(problem, "security=%s cannot be made ready: %s",
                                        team->plan->ends[team->end].security->variant.name, strerror(-result))
                      : 0;
}

/* Waits until the socket is ready. If it never is, the stall watch ends the team. */
static void await(const struct connection *connection, int result)
{
    struct pollfd ready = {connection->calls.fd, result == -EAGAIN ? POLLOUT : POLLIN, 0};

    poll(&ready, 1, -1);
}

static int make_handshake(struct connection *connection, struct problem *problem)
{
    int result = security_begin(connection);

    connection->calls.flags = MSG_DONTWAIT;
    while (connection->state == STATE_HANDSHAKING &&
           (result == 0 || result == -EAGAIN || result == -EINPROGRESS)) {
        if (result < 0)
            await(connection, result);
        result = engine_handshake(connection);
    }
    connection->calls.flags = 0;
    if (result == 0)
        return 0;
    *problem = connection->bench->problem;
    return problem_failure(problem, "a session of %s cannot be begun: %s", connection->security->variant.name,
                           strerror(-result));
}

int handshakes_make(struct worker *worker, struct problem *problem)
{
    const struct plan *plan = worker->team->plan;

    if (plan_encrypts(plan))
        worker->phase = "handshake";
    for (size_t i = 0; i < worker->count; i++) {
        struct connection *connection = &worker->connections[i];

        if (plan_encrypts(plan) && !worker->bench.contexts[connection->peer] &&
            agree(worker, connection->peer, problem) < 0)
            return -1;
        if (!connection->role->reconnects && make_handshake(connection, problem) < 0)
            return -1;
    }
    return 0;
}
