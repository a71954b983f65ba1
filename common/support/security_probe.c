/* SPDX-License-Identifier: MIT */
#include "support/support.h"

#include "base/cleanup.h"
#include "connection/connection.h"
#include "connection/security.h"
#include "transport/transport.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>

#define WITHIN_MS 2000 /* a side makes progress within this time, also on a busy machine */
#define STEPS_MAX 1000

struct trial {
    struct plan plan; /* both sides have it */
    struct side {
        struct thread_shared shared;
        struct connection connection;
    } sides[2]; /* client and server, in one thread */
};

static int open_side(struct trial *trial, enum end end, int fd)
{
    const struct plan *plan = &trial->plan;
    struct thread_shared *shared = &trial->sides[end].shared;
    struct connection *connection = &trial->sides[end].connection;

    shared->plan = plan;
    shared->end = end;
    *connection = (struct connection){
        .plan = plan,
        .shared = shared,
        .end = end,
        .peer = end == END_CLIENT ? END_SERVER : END_CLIENT,
        .security = plan->ends[end].security,
        .calls = {.table = &calls_of_sockets, .fd = fd, .flags = MSG_DONTWAIT},
    };
    security_build_stack(connection);
    int result = security_open_context(shared, connection->peer,
                                       &(struct security_terms){.identity = SECURITY_IDENTITY,
                                                                .identity_size = strlen(SECURITY_IDENTITY),
                                                                .serves = end == END_SERVER,
                                                                .cipher = plan->cipher,
                                                                .handshake = plan->handshake});
    return result < 0 ? result : security_begin(connection);
}

/* Client and server take a step at the same time. */
enum step { STEP_HANDSHAKE, STEP_TO_SERVER, STEP_TO_CLIENT, STEP_COUNT };

static int take_step(struct connection *connection, enum step step)
{
    char text[6];
    if (step == STEP_HANDSHAKE)
        return connection->security->handshake ? connection->security->handshake(connection) : 0;
    if ((step == STEP_TO_SERVER) == (connection->end == END_CLIENT))
        return (int)connection->top->send(connection, "uncork", 6, 0);
    ssize_t size = connection->top->receive(connection, text, sizeof text, 0);
    return size < 0 ? (int)size : size == 6 && !memcmp(text, "uncork", 6) ? 0 : -EBADMSG;
}

static bool must_wait(int result)
{
    return result == -EAGAIN || result == -EINPROGRESS;
}

/* Repeats the step of client and server until both are done. 0, or the negative errno value of a
 * side that failed. */
static int run_step(struct trial *trial, enum step step)
{
    struct pollfd readable[] = {{.fd = trial->sides[0].connection.calls.fd, .events = POLLIN},
                                {.fd = trial->sides[1].connection.calls.fd, .events = POLLIN}};
    int results[2] = {-EAGAIN, -EAGAIN};

    for (int i = 0; i < STEPS_MAX; i++) {
        for (int side = 0; side < 2; side++) {
            if (must_wait(results[side]))
                results[side] = take_step(&trial->sides[side].connection, step);
            if (results[side] < 0 && !must_wait(results[side]))
                return results[side];
        }
        if (!must_wait(results[0]) && !must_wait(results[1]))
            return 0;
        if (poll(readable, 2, WITHIN_MS) == 0)
            break;
    }
    return -ETIMEDOUT;
}

static int try_security(const struct plan *plan, const struct security *security, struct problem *problem)
{
    CLEANUP_FREE struct trial *trial = calloc(1, sizeof *trial);
    int fds[2], result = trial ? plan->transport->pair(plan->transport->protocol, fds) : -ENOMEM;

    if (result < 0)
        return problem_failure(problem, "security=%s could not be probed: %s", security->variant.name,
                               strerror(-result));
    trial->plan = *plan;
    for (int end = 0; end < END_COUNT; end++)
        trial->plan.ends[end].security = security;
    for (enum end end = 0; end <= END_SERVER; end++) {
        if (plan->transport->is_tcp) /* else a handshake waits for delayed ACKs */
            setsockopt(fds[end], IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        result = result < 0 ? result : open_side(trial, end, fds[end]);
    }
    for (enum step step = 0; step < STEP_COUNT && result == 0; step++)
        result = run_step(trial, step);
    const char *why = result < 0 ? strerror(-result) : NULL;
    for (int side = 1; side >= 0; side--) /* the reason of the client before that of the server */
        if (trial->sides[side].shared.problem.kind != PROBLEM_NONE)
            why = trial->sides[side].shared.problem.text;
    if (result < 0)
        problem_unsupported(problem, "security=%s does not work with transport=%s here: %s%s",
                            security->variant.name, plan->transport->variant.name, why,
                            plan->cipher == CIPHER_AES_256_GCM
                                ? "; cipher=aes-256-gcm needs a key that is bound to SHA-384"
                                : "");
    for (int side = 0; side < 2; side++) {
        security_end(&trial->sides[side].connection);
        thread_shared_close(&trial->sides[side].shared);
    }
    close(fds[0]);
    close(fds[1]);
    return result < 0 ? -1 : 0;
}

/* A failure is not cached: it may be that of a moment without memory. */
int probe_security(const struct plan *plan, enum end end, struct problem *problem)
{
    static json_t *works;
    const struct security *security = plan->ends[end].security;
    CLEANUP_JSON json_t *asked = json_sprintf("%s %s %d %d", security->variant.name,
                                              plan->transport->variant.name, plan->cipher, plan->handshake);

    if (json_object_get(works, json_string_value(asked)))
        return 0;
    if (security->absent)
        return problem_unsupported(problem, "security=%s: %s", security->variant.name, security->absent);
    if ((security->check && security->check(problem) < 0) || try_security(plan, security, problem) < 0)
        return -1;
    works = works ? works : json_object();
    json_object_set_new(works, json_string_value(asked), json_true());
    return 0;
}
