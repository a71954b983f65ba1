/* SPDX-License-Identifier: MIT */
#include "support/probe.h"

#include "base/cleanup.h"
#include "connection/connection.h"
#include "connection/security.h"
#include "transport/transport.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>

#define WITHIN_MS 2000 /* a side makes progress within this time, on a busy machine, too */
#define STEPS_MAX 1000

struct rehearsal {
    struct plan plan; /* what the layers see; both ends have it */
    struct side {
        struct thread_shared shared;
        struct connection connection;
    } sides[2]; /* client and server, in one thread */
};

static int open_side(struct rehearsal *rehearsal, enum end end, int fd)
{
    const struct plan *plan = &rehearsal->plan;
    struct thread_shared *shared = &rehearsal->sides[end].shared;
    struct connection *connection = &rehearsal->sides[end].connection;
    struct security_terms terms = {.identity = SECURITY_IDENTITY,
                                   .serves = end == END_SERVER,
                                   .cipher = plan->cipher,
                                   .handshake = plan->handshake};
    int result;

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
    layer_stack(connection, &layer_socket, NULL);
    result = security_agree(shared, connection->peer, &terms);
    return result < 0 ? result : security_begin(connection);
}

static void close_side(struct side *side)
{
    security_end(&side->connection);
    thread_shared_close(&side->shared);
}

/* ---- the trial ---- */

typedef int step_function(struct connection *connection);

static int shake(struct connection *connection)
{
    return connection->security->handshake ? connection->security->handshake(connection) : 0;
}

static int say(struct connection *connection)
{
    return (int)connection->top->send(connection, "uncork", 6, 0);
}

static int hear(struct connection *connection)
{
    char text[6];
    ssize_t size = connection->top->receive(connection, text, sizeof text, 0);

    return size < 0 ? (int)size : size == 6 && !memcmp(text, "uncork", 6) ? 0 : -EBADMSG;
}

static bool waits(int result)
{
    return result == -EAGAIN || result == -EINPROGRESS;
}

/* Client and server repeat their steps until both are done. 0, or the negative errno value of a
 * step that failed. */
static int act(struct rehearsal *rehearsal, step_function *client, step_function *server)
{
    step_function *steps[2] = {client, server};
    int results[2] = {-EAGAIN, -EAGAIN};

    for (int i = 0; i < STEPS_MAX; i++) {
        struct pollfd readable[2];

        for (int side = 0; side < 2; side++) {
            struct connection *connection = &rehearsal->sides[side].connection;

            readable[side] = (struct pollfd){.fd = connection->calls.fd, .events = POLLIN};
            if (waits(results[side]))
                results[side] = steps[side](connection);
            if (results[side] < 0 && !waits(results[side]))
                return results[side];
        }
        if (!waits(results[0]) && !waits(results[1]))
            return 0;
        if (poll(readable, 2, WITHIN_MS) == 0)
            break;
    }
    return -ETIMEDOUT;
}

static int play(struct rehearsal *rehearsal, const int fds[2])
{
    int result = open_side(rehearsal, END_CLIENT, fds[0]);

    if (result == 0)
        result = open_side(rehearsal, END_SERVER, fds[1]);
    if (result == 0)
        result = act(rehearsal, shake, shake);
    if (result == 0)
        result = act(rehearsal, say, hear);
    return result == 0 ? act(rehearsal, hear, say) : result;
}

/* ---- answers ---- */

static const char *why(const struct rehearsal *rehearsal, int result)
{
    for (int side = 0; side < 2; side++)
        if (rehearsal->sides[side].shared.problem.kind != PROBLEM_NONE)
            return rehearsal->sides[side].shared.problem.text;
    return strerror(-result);
}

static int rehearse(const struct plan *plan, const struct security *security, struct problem *problem)
{
    struct rehearsal *rehearsal = needed(calloc(1, sizeof *rehearsal));
    int fds[2], result = plan->transport->pair(plan->transport->protocol, fds);

    if (result < 0) {
        free(rehearsal);
        return problem_failure(problem, "security=%s could not be tried: %s", security->variant.name,
                               strerror(-result));
    }
    if (plan->transport->is_tcp) /* else a handshake waits for delayed ACKs */
        for (int side = 0; side < 2; side++)
            setsockopt(fds[side], IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    rehearsal->plan = *plan;
    for (int end = 0; end < END_COUNT; end++)
        rehearsal->plan.ends[end].security = security;
    result = play(rehearsal, fds);
    if (result < 0)
        problem_unsupported(problem, "security=%s does not work with transport=%s here: %s%s",
                            security->variant.name, plan->transport->variant.name, why(rehearsal, result),
                            plan->cipher == CIPHER_AES_256_GCM
                                ? "; cipher=aes-256-gcm needs a key that is bound to SHA-384"
                                : "");
    close_side(&rehearsal->sides[0]);
    close_side(&rehearsal->sides[1]);
    close(fds[0]);
    close(fds[1]);
    free(rehearsal);
    return result < 0 ? -1 : 0;
}

#define ANSWERS_MAX 64 /* that are cached; further ones replace the last */

int probe_security(const struct plan *plan, enum end end, struct problem *problem)
{
    static struct answer {
        const struct security *security;
        const struct transport *transport;
        int cipher, handshake;
        struct problem problem;
    } answers[ANSWERS_MAX];
    static size_t known;
    struct answer asked = {.security = plan->ends[end].security,
                           .transport = plan->transport,
                           .cipher = plan->cipher,
                           .handshake = plan->handshake};
    size_t at = 0;

    if (asked.security->check && asked.security->check(problem) < 0)
        return -1;
    while (at < known &&
           !(answers[at].security == asked.security && answers[at].cipher == asked.cipher &&
             answers[at].transport == asked.transport && answers[at].handshake == asked.handshake))
        at++;
    if (at == known) {
        rehearse(plan, asked.security, &asked.problem);
        at = known < ANSWERS_MAX ? known++ : ANSWERS_MAX - 1;
        answers[at] = asked;
    }
    if (answers[at].problem.kind == PROBLEM_NONE)
        return 0;
    *problem = answers[at].problem;
    return -1;
}
