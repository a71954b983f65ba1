/* SPDX-License-Identifier: MIT */
/* How a worker establishes its connections in PHASE_START: connect, hello, handshake. */
#include "team/team.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "connection/protocol.h"
#include "transport/transport.h"

#include <poll.h>
#include <string.h>
#include <sys/time.h>

#define CONNECT_WITHIN_MS 4000
#define SINK_WITHIN_MS 2000 /* until the sink has accepted a proxy, or the proxy says that it has not */

/* ---- connect, hello ---- */

static bool receive_until(int fd, void *data, size_t size, uint64_t until_ns)
{
    uint64_t now_ns = clock_now_ns(), left_us = until_ns > now_ns ? (until_ns - now_ns) / NS_PER_US : 0;
    struct timeval left = {.tv_sec = (time_t)(left_us / 1000000),
                           .tv_usec = (suseconds_t)(left_us % 1000000)};
    if (!left_us)
        return false; /* for SO_RCVTIMEO it is no limit */
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &left, sizeof left);
    return recv(fd, data, size, MSG_WAITALL) == (ssize_t)size;
}

/* A proxy sends no byte before the sink has shown that it waits for this run, and forwards none
 * before the sink has accepted the connection: hello.h. */
static bool ask_sink(const struct team *team, const struct connection *connection, uint64_t until_ns)
{
    static const struct timeval unlimited = {0};
    uint8_t request[SINK_HELLO_SIZE], greeting[SINK_GREETING_SIZE], answer[SINK_ANSWER_SIZE];
    int fd = connection->calls.fd;
    if (!receive_until(fd, greeting, sizeof greeting, until_ns) || !sink_has_greeted(greeting, team->token) ||
        sink_hello_make(request, team->token, connection->number) < 0 ||
        send(fd, request, sizeof request, MSG_NOSIGNAL) != sizeof request ||
        !receive_until(fd, answer, sizeof answer, until_ns) || !sink_has_accepted(answer, request))
        return false;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &unlimited, sizeof unlimited);
    return true;
}

/* Any client may name a sink. It must not learn which ports of this machine are open: whatever
 * fails, the text and the time are the same. */
static int connect_to_sink(struct worker *worker, struct connection *connection, struct problem *problem)
{
    struct team *team = worker->team;
    uint64_t until_ns = clock_now_ns() + SINK_WITHIN_MS * NS_PER_MS;
    struct problem hidden = {0};
    int fd = transport_socket(team->plan, team->end, &team->target, problem);

    if (fd < 0)
        return -1;
    if (team_adopt(team, connection, fd) < 0)
        return problem_failure(problem, "the run was ended");
    if (address_connect(fd, &team->target, SINK_WITHIN_MS, &hidden) == 0 &&
        ask_sink(team, connection, until_ns))
        return 0;
    while (clock_now_ns() < until_ns && !atomic_load(&worker->shared.cancelled))
        nanosleep(&(struct timespec){.tv_nsec = NS_PER_MS}, NULL);
    return problem_symptom(problem,
                           "the server of this run did not answer the proxy at %s within %u s: it has ended, "
                           "it cannot be reached, or another program listens there",
                           address_text(&team->target), SINK_WITHIN_MS / 1000);
}

/* A peer may have several addresses: connects to the first that accepts, which the other
 * connections then begin with. */
static int connect_to_any(struct worker *worker, struct connection *connection, struct problem *problem)
{
    struct team *team = worker->team;
    for (size_t at = atomic_load(&team->chosen);; at++) {
        const struct address *target = team->candidates ? &team->candidates[at] : &team->target;
        struct problem reason = {0};
        int fd = transport_socket(team->plan, team->end, target, &reason);
        if (fd >= 0 && team_adopt(team, connection, fd) < 0) {
            problem_failure(&reason, "the run was ended");
        } else if (fd >= 0 && address_connect(fd, target, CONNECT_WITHIN_MS, &reason) == 0) {
            *problem = (struct problem){0};
            atomic_store(&team->chosen, at);
            return 0;
        }
        if (problem->kind == PROBLEM_NONE)
            *problem = reason;
        else
            problem_add(problem, reason.text);
        if (at + 1 >= team->candidate_count || atomic_load(&worker->shared.cancelled))
            return -1;
        if (connection->calls.fd >= 0)
            team_drop(team, connection);
    }
}

static int connect_one(struct worker *worker, struct connection *connection, struct problem *problem)
{
    const struct team *team = worker->team;
    uint8_t hello[HELLO_SIZE];

    worker->phase = connection->twin ? "hello" : "connect";
    lifecycle_advance(&connection->state, EVENT_CONNECT);
    if ((connection->twin ? connect_to_sink : connect_to_any)(worker, connection, problem) < 0)
        return -1;
    lifecycle_advance(&connection->state, EVENT_CONNECTED);
    worker->phase = "hello";
    if (connection->twin || plan_is_foreign(team->plan))
        return 0; /* a sink has the token; a foreign peer knows none */
    hello_make(hello, team->token, connection->number);
    if (send(connection->calls.fd, hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello)
        return problem_of_kind(problem, problem_kind_of(errno), "cannot send the token: %s", strerror(errno));
    return 0;
}

/* Later connections of a workload that reconnects do not try several addresses, and their sockets
 * are not checked. One that is closed at once finds out which address accepts. A socket that is not
 * connected shows whether the options of the plan have an effect. */
static int prepare_reconnects(struct worker *worker, struct problem *problem)
{
    struct team *team = worker->team;
    if (team->candidate_count > 1 && team->end == END_CLIENT) {
        if (connect_to_any(worker, &worker->connections[0], problem) < 0)
            return -1;
        team_drop(team, &worker->connections[0]);
        worker->dial.target = team_target(team);
    }
    struct address address = *team_target(team);
    if (!address.size && address_of_socket(&address, team->listener) < 0)
        return problem_failure(problem, "the address of the listener is not known");
    CLEANUP_CLOSE int fd = transport_socket(team->plan, team->end, &address, problem);
    if (fd < 0 || transport_prepare(team->plan, team->end, fd, problem) < 0)
        return -1;
    worker->options = options_report(team->plan, team->end, fd);
    return 0;
}

/* The client connects to its neighbour, a proxy to the server. All other connections already have
 * descriptors. */
static bool connects_to(enum end end, enum end peer)
{
    return end == END_CLIENT || (end == END_PROXY && peer == END_SERVER);
}

int establish_connect(struct worker *worker, struct problem *problem)
{
    const struct team *team = worker->team;
    bool has_sockets = team->plan->transport->has_other_end;

    if (has_sockets && team->plan->workload->reconnects)
        return prepare_reconnects(worker, problem);
    for (size_t i = 0; has_sockets && i < worker->count; i++) {
        struct connection *connection = &worker->connections[i];
        if (connects_to(team->end, connection->peer) && connect_one(worker, connection, problem) < 0)
            return -1;
        if (transport_prepare(team->plan, team->end, connection->calls.fd, problem) < 0 ||
            transport_check_connection(team->plan, team->end, connection->calls.fd, problem) < 0)
            return -1;
        sockets_set_blocking(connection->calls.fd, !team->engine->nonblocking);
    }
    return 0;
}

/* ---- handshakes ---- */

/* The dialogue of the protocol, before or after the TLS handshake. */
static int begin_protocol(struct connection *connection, bool secured, struct problem *problem)
{
    const struct protocol *protocol = connection->plan->protocol;
    int (*dialogue)(struct connection *, bool) =
        connection->drives ? protocol->client_dialogue : protocol->server_dialogue;
    if (!connection->framing || !dialogue || dialogue(connection, secured) == 0)
        return 0;
    *problem = connection->shared->problem;
    return -1;
}

/* Blocks until the handshake is done. If it never ends, the stall watch cancels the team. */
int establish_handshake(struct connection *connection, struct problem *problem)
{
    if (connection->plan->encrypts && begin_protocol(connection, false, problem) < 0)
        return -1;
    int result = security_begin(connection);
    connection->calls.flags = MSG_DONTWAIT;
    while (connection->state == STATE_HANDSHAKING &&
           (result == 0 || result == -EAGAIN || result == -EINPROGRESS)) {
        struct pollfd ready = {connection->calls.fd, result == -EAGAIN ? POLLOUT : POLLIN, 0};
        if (result < 0)
            poll(&ready, 1, -1);
        result = engine_handshake(connection);
    }
    connection->calls.flags = 0;
    if (result == 0)
        return begin_protocol(connection, true, problem);
    *problem = connection->shared->problem;
    return problem_failure(problem, "cannot begin a session of security=%s: %s",
                           connection->security->variant.name, strerror(-result));
}

int establish_handshakes(struct worker *worker, struct problem *problem)
{
    const struct team *team = worker->team;
    const struct plan *plan = team->plan;

    if (plan->encrypts)
        worker->phase = "handshake";
    for (size_t i = 0; i < worker->count; i++) {
        struct connection *connection = &worker->connections[i];
        enum end peer = connection->peer;
        if (plan->encrypts && !worker->shared.contexts[peer]) {
            struct security_terms terms = {.serves = !connects_to(team->end, peer),
                                           .identity = SECURITY_IDENTITY,
                                           .identity_size = strlen(SECURITY_IDENTITY),
                                           .cipher = plan->cipher,
                                           .handshake = team->by_certificate ? HANDSHAKE_CERTIFICATE
                                                                             : plan->handshake};
            memcpy(terms.key, team->keys[peer], sizeof terms.key);
            int result = security_open_context(&worker->shared, peer, &terms);
            secret_wipe(&terms, sizeof terms);
            if (result < 0)
                return problem_failure(problem, "cannot set up security=%s: %s",
                                       plan->ends[team->end].security->variant.name, strerror(-result));
        }
        if (!connection->reconnects && establish_handshake(connection, problem) < 0)
            return -1;
    }
    return 0;
}
