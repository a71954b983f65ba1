/* SPDX-License-Identifier: MIT */
/* The TLS of data connections, by each library on each end. No handshake ends with an end that has
 * no key, whatever bytes it sends. If bytes are changed on their way, they are no other data. */
#include "fuzz.h"

#include "connection/connection.h"
#include "connection/security.h"
#include "words/word.h"

#include <errno.h>
#include <sys/socket.h>

#define TURNS_MAX 16

static struct plan plan;
static struct side {
    struct thread_shared shared;
    struct connection connection;
    int relay;  /* the other end of its descriptor */
    int result; /* of its handshake */
} sides[2];

static void open_side(enum end end, const char *library)
{
    struct security_terms terms = {.identity = SECURITY_IDENTITY,
                                   .identity_size = strlen(SECURITY_IDENTITY),
                                   .serves = end == END_SERVER,
                                   .cipher = plan.cipher,
                                   .handshake = plan.handshake,
                                   .key = {1, 2, 3}};
    enum end peer = end == END_SERVER ? END_CLIENT : END_SERVER;
    struct side *side = &sides[end];
    struct problem problem = {0};
    int fds[2];

    abort_if(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) < 0);
    plan.ends[end].security = (const struct security *)axis_find(&security_axis, library, &problem);
    *side = (struct side){.shared = {.plan = &plan, .end = end}, .relay = fds[1], .result = -EAGAIN};
    side->connection =
        (struct connection){.plan = &plan,
                            .shared = &side->shared,
                            .end = end,
                            .peer = peer,
                            .security = plan.ends[end].security,
                            .calls = {.table = &calls_of_sockets, .fd = fds[0], .flags = MSG_DONTWAIT}};
    security_build_stack(&side->connection);
    abort_if(security_open_context(&side->shared, peer, &terms) < 0);
    abort_if(security_begin(&side->connection) < 0);
}

static void close_side(enum end end)
{
    struct side *side = &sides[end];
    security_end(&side->connection);
    security_close_context(&side->shared, side->connection.peer);
    close(side->connection.calls.fd);
    close(side->relay);
}

static bool must_wait(int result)
{
    return result == -EAGAIN || result == -EINPROGRESS;
}

static void shake(struct side *side)
{
    if (must_wait(side->result))
        side->result = side->connection.security->handshake(&side->connection);
}

/* Passes what an end has sent to the other one. */
static void relay(enum end from, const struct input *changes, size_t *passed)
{
    uint8_t bytes[65536];
    ssize_t size = recv(sides[from].relay, bytes, sizeof bytes, 0);

    if (size <= 0)
        return;
    if (changes)
        input_change(changes, *passed, bytes, (size_t)size);
    *passed += (size_t)size;
    abort_if(send(sides[!from].relay, bytes, (size_t)size, MSG_NOSIGNAL) != size);
}

/* Both ends shake hands and send a text. */
static void talk(enum end changed, const struct input *changes)
{
    size_t passed[2] = {0};
    char text[8];

    for (int turn = 0; turn < TURNS_MAX; turn++)
        for (enum end end = END_CLIENT; end <= END_SERVER; end++) {
            shake(&sides[end]);
            if (turn == TURNS_MAX / 2 && sides[end].result == 0)
                sides[end].connection.top->send(&sides[end].connection, "uncork", 6, 0);
            relay(end, end == changed ? changes : NULL, &passed[end]);
        }
    abort_if(!changes->size && (sides[0].result != 0 || sides[1].result != 0));
    for (enum end end = END_CLIENT; end <= END_SERVER; end++) {
        const struct connection *connection = &sides[end].connection;
        ssize_t size = sides[end].result ? 0 : connection->top->receive(&sides[end].connection, text, 8, 0);
        abort_if(size > 0 && (size != 6 || memcmp(text, "uncork", 6) != 0));
        abort_if(!changes->size && size != 6);
    }
}

/* The first byte: the libraries, which end gets other bytes, whether all are those of the input,
 * and whether a server has a certificate. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const libraries[] = {"gnutls", "openssl"};
    struct input input = {data, size};
    uint8_t kind = input_byte(&input);
    enum end other = kind & 4 ? END_SERVER : END_CLIENT;

    plan.cipher = CIPHER_AES_128_GCM;
    plan.handshake = (kind & 28) == 24 ? HANDSHAKE_CERTIFICATE : HANDSHAKE_PSK_ECDHE; /* of a client */
    open_side(END_CLIENT, libraries[kind & 1]);
    plan.handshake = HANDSHAKE_PSK_ECDHE;
    open_side(END_SERVER, libraries[kind >> 1 & 1]);
    if (kind & 8) {
        abort_if(send(sides[other].relay, input.data, input.size, MSG_NOSIGNAL) < 0);
        for (int i = 0; i < TURNS_MAX; i++)
            shake(&sides[other]);
        abort_if(sides[other].result == 0);
    } else {
        talk(other == END_SERVER ? END_CLIENT : END_SERVER, &input);
    }
    close_side(END_CLIENT);
    close_side(END_SERVER);
    return 0;
}
