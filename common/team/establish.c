/* SPDX-License-Identifier: MIT */
/* How a worker establishes its connections in PHASE_START: connect, hello, handshake. */
#include "team/team.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "connection/protocol.h"
#include "net/address.h"
#include "transport/transport.h"

#include <poll.h>
#include <string.h>
#include <sys/time.h>

#define CONNECT_WITHIN_MS 4000
#define ACCEPTED_WITHIN_S 3 /* time for the sink to answer a proxy */

/* ---- connect, hello ---- */

static int send_hello(const struct team *team, const struct connection *connection, struct problem *problem)
{
    uint8_t hello[HELLO_SIZE];
    hello_make(hello, team->token, connection->number);
    if (send(connection->calls.fd, hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello)
        return problem_of_kind(problem, problem_kind_of(errno), "cannot send the token: %s", strerror(errno));
    return 0;
}

static void set_receive_timeout(int fd, int seconds)
{
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_sec = seconds}, sizeof(struct timeval));
}

/* A proxy forwards no byte before the sink has accepted the connection: hello.h. */
static int ask_sink(const struct team *team, const struct connection *connection, struct problem *problem)
{
    uint8_t request[SINK_HELLO_SIZE], answer[SINK_ANSWER_SIZE];
    int fd = connection->calls.fd;
    const char *sink = address_text(&team->target);

    if (sink_hello_make(request, team->token, connection->number) < 0)
        return problem_failure(problem, "the system has no random numbers for the token");
    if (send(fd, request, sizeof request, MSG_NOSIGNAL) != sizeof request)
        return problem_of_kind(problem, problem_kind_of(errno),
                               "the proxy cannot send the token to the server at %s: %s", sink,
                               strerror(errno));
    set_receive_timeout(fd, ACCEPTED_WITHIN_S);
    ssize_t size = recv(fd, answer, sizeof answer, MSG_WAITALL);
    set_receive_timeout(fd, 0);
    if (size == sizeof answer && sink_has_accepted(answer, request))
        return 0;
    return problem_of_kind(problem, size == 0 ? PROBLEM_SYMPTOM : PROBLEM_FAILURE,
                           "%s did not accept the token of this run: %s", sink,
                           size < 0    ? "it does not answer"
                           : size == 0 ? "it closed the connection"
                                       : "its answer is not that of a server of uncork");
}

static int connect_to(const struct address *target, struct worker *worker, struct connection *connection,
                      struct problem *problem)
{
    struct team *team = worker->team;
    int fd = transport_socket(team->plan, team->end, target, problem);
    if (fd < 0)
        return -1;
    if (team_adopt(team, connection, fd) < 0)
        return problem_failure(problem, "the run was ended");
    return address_connect(fd, target, CONNECT_WITHIN_MS, problem);
}

/* A peer may have several addresses: connects to the first that accepts, which the other
 * connections then begin with. */
static int connect_to_any(struct worker *worker, struct connection *connection, struct problem *problem)
{
    struct team *team = worker->team;
    for (size_t at = atomic_load(&team->chosen);; at++) {
        const struct address *target = team->candidates ? &team->candidates[at] : &team->target;
        struct problem reason = {0};
        if (connect_to(target, worker, connection, &reason) == 0) {
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
    struct team *team = worker->team;
    worker->phase = "connect";
    lifecycle_advance(&connection->state, EVENT_CONNECT);
    if (connect_to_any(worker, connection, problem) < 0)
        return -1;
    lifecycle_advance(&connection->state, EVENT_CONNECTED);
    worker->phase = "hello";
    if (plan_is_foreign(team->plan))
        return 0; /* a foreign peer knows no token */
    return connection->twin ? ask_sink(team, connection, problem) : send_hello(team, connection, problem);
}

/* Later connections of a workload that reconnects do not try several addresses: one that is closed
 * at once finds out which accepts. */
static int choose_target(struct worker *worker, struct problem *problem)
{
    struct team *team = worker->team;
    if (team->candidate_count < 2 || team->end != END_CLIENT)
        return 0;
    if (connect_to_any(worker, &worker->connections[0], problem) < 0)
        return -1;
    team_drop(team, &worker->connections[0]);
    worker->dial.target = team_target(team);
    return 0;
}

/* For a workload that reconnects: checks the socket options of the plan once, on a socket that is
 * not connected. Later sockets are not checked. */
static int check_options(struct worker *worker, struct problem *problem)
{
    struct team *team = worker->team;
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
        return choose_target(worker, problem) < 0 ? -1 : check_options(worker, problem);
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

static int agree(struct worker *worker, enum end peer, struct problem *problem)
{
    const struct team *team = worker->team;
    struct security_terms terms = {.serves = !connects_to(team->end, peer),
                                   .identity = SECURITY_IDENTITY,
                                   .cipher = team->plan->cipher,
                                   .handshake =
                                       team->by_certificate ? HANDSHAKE_CERTIFICATE : team->plan->handshake};

    memcpy(terms.key, team->keys[peer], sizeof terms.key);
    int result = security_open_context(&worker->shared, peer, &terms);
    secret_wipe(&terms, sizeof terms);
    return result < 0 ? problem_failure(problem, "cannot set up security=%s: %s",
                                        team->plan->ends[team->end].security->variant.name, strerror(-result))
                      : 0;
}

/* Blocks until the handshake is done. If it never ends, the stall watch cancels the team. */
static int make_handshake(struct connection *connection, struct problem *problem)
{
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
        return 0;
    *problem = connection->shared->problem;
    return problem_failure(problem, "cannot begin a session of security=%s: %s",
                           connection->security->variant.name, strerror(-result));
}

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

int establish_handshake(struct connection *connection, struct problem *problem)
{
    if (connection->plan->encrypts && begin_protocol(connection, false, problem) < 0)
        return -1;
    return make_handshake(connection, problem) < 0 ? -1 : begin_protocol(connection, true, problem);
}

int establish_handshakes(struct worker *worker, struct problem *problem)
{
    const struct plan *plan = worker->team->plan;
    if (plan->encrypts)
        worker->phase = "handshake";
    for (size_t i = 0; i < worker->count; i++) {
        struct connection *connection = &worker->connections[i];
        if (plan->encrypts && !worker->shared.contexts[connection->peer] &&
            agree(worker, connection->peer, problem) < 0)
            return -1;
        if (!connection->reconnects && establish_handshake(connection, problem) < 0)
            return -1;
    }
    return 0;
}
