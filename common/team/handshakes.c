/* SPDX-License-Identifier: MIT */
#include "team/handshakes.h"

#include "base/clock.h"
#include "base/secret.h"
#include "workload/workload.h"

#include <poll.h>
#include <string.h>

#define SHAKEN_WITHIN_MS                                                                                     \
    4000 /* and a millisecond for each connection of the run, whose turn may come first */

/* A client connects, and so does a proxy to the server. */
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

/* Waits for what the handshake waits for. 0, or -1 with a failure. */
static int await(const struct connection *connection, int result, uint64_t until_ns, struct problem *problem)
{
    struct pollfd ready = {connection->calls.fd, result == -EAGAIN ? POLLOUT : POLLIN, 0};
    uint64_t now = clock_now_ns();

    if (now < until_ns && poll(&ready, 1, (int)((until_ns - now) / NS_PER_MS) + 1) != 0)
        return 0;
    if (clock_now_ns() < until_ns)
        return 0;
    return problem_failure(problem, "the %s did not finish its handshake with the %s in time",
                           end_names[connection->peer], end_names[connection->end]);
}

static int shake(struct connection *connection, struct problem *problem)
{
    uint64_t within_ms = SHAKEN_WITHIN_MS + connection->plan->connections;
    uint64_t until_ns = clock_now_ns() + within_ms * NS_PER_MS;
    int result = security_begin(connection);

    connection->calls.flags = MSG_DONTWAIT;
    while (result == 0 && connection->shakes) {
        result = engine_shake_hands(connection);
        if (result == -EAGAIN || result == -EINPROGRESS)
            result = await(connection, result, until_ns, problem);
    }
    connection->calls.flags = 0;
    if (result == 0)
        return 0;
    *problem = problem->kind == PROBLEM_NONE ? connection->bench->problem : *problem;
    return problem_failure(problem, "a session of %s cannot be begun: %s", connection->security->variant.name,
                           strerror(-result));
}

int handshakes_make(struct worker *worker, struct problem *problem)
{
    const struct plan *plan = worker->team->plan;

    if (!plan_encrypts(plan))
        return 0;
    worker->phase = "handshake";
    for (size_t i = 0; i < worker->count; i++) {
        struct connection *connection = &worker->connections[i];

        if (!worker->bench.contexts[connection->peer] && agree(worker, connection->peer, problem) < 0)
            return -1;
        if (!connection->half->renews && shake(connection, problem) < 0)
            return -1;
    }
    return 0;
}
