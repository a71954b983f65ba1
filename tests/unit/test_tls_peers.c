/* SPDX-License-Identifier: MIT */
/* What a TLS library must bear: a peer that sends an alert without a name, an identity with a zero
 * byte, and a wall clock that is set while a run lasts. */
#include "unit.h"

#include "connection/connection.h"
#include "connection/security.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define WITHIN_MS 5000
#define LIBRARIES 2 /* GnuTLS and OpenSSL: ktls makes its handshakes by GnuTLS */

/* ---- a wall clock that the test sets: the libraries call these functions ---- */

static long ahead_s;

time_t time(time_t *result)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    if (result)
        *result = now.tv_sec;
    return now.tv_sec;
}

#ifdef __linux__
#include <sys/syscall.h>

int clock_gettime(clockid_t clock, struct timespec *now)
{
    long result = syscall(SYS_clock_gettime, clock, now);

    if (clock == CLOCK_REALTIME)
        now->tv_sec += ahead_s;
    return (int)result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec exact;

    clock_gettime(CLOCK_REALTIME, &exact);
    *now = (struct timeval){exact.tv_sec, exact.tv_nsec / 1000};
    return 0;
}
#endif

/* ---- two ends in one thread ---- */

static struct plan plan;
static struct side {
    struct thread_shared shared;
    struct connection connection;
} sides[2];
static size_t zeros[2]; /* zero bytes after the identity of each end */

static const struct security *libraries[LIBRARIES];
static size_t library_count;

static int find_libraries(struct problem *problem)
{
    static const char *const names[LIBRARIES] = {"gnutls", "openssl"};

    for (size_t i = 0; i < LIBRARIES; i++) {
        const void *found = axis_find(&security_axis, names[i], problem);

        if (((const struct security *)found)->open)
            libraries[library_count++] = found;
    }
    return library_count ? 0 : problem_unsupported(problem, "this build has neither GnuTLS nor OpenSSL");
}

/* Opens the context of a thread, which lasts for many connections. */
static void open_thread(enum end end, const struct security *security)
{
    struct security_terms terms = {.identity = SECURITY_IDENTITY,
                                   .identity_size = strlen(SECURITY_IDENTITY) + zeros[end],
                                   .serves = end == END_SERVER,
                                   .cipher = plan.cipher,
                                   .handshake = plan.handshake,
                                   .key = {1, 2, 3}};
    struct side *side = &sides[end];

    plan.ends[end].security = security;
    *side = (struct side){.shared = {.plan = &plan, .end = end}};
    assert_int_equal(
        security_open_context(&side->shared, end == END_SERVER ? END_CLIENT : END_SERVER, &terms), 0);
}

static struct connection *open_connection(enum end end, int fd)
{
    struct side *side = &sides[end];

    side->connection = (struct connection){
        .plan = &plan,
        .shared = &side->shared,
        .end = end,
        .peer = end == END_SERVER ? END_CLIENT : END_SERVER,
        .security = plan.ends[end].security,
        .calls = {.table = &calls_of_sockets, .fd = fd, .flags = MSG_DONTWAIT},
    };
    security_build_stack(&side->connection);
    assert_int_equal(security_begin(&side->connection), 0);
    return &side->connection;
}

static void close_connection(enum end end)
{
    security_end(&sides[end].connection);
    close(sides[end].connection.calls.fd);
}

static void make_pair(int fds[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
}

static bool must_wait(ssize_t result)
{
    return result == -EAGAIN || result == -EINPROGRESS;
}

static int shake(struct connection *connection)
{
    return connection->security->handshake(connection);
}

static ssize_t receive_byte(struct connection *connection)
{
    char byte;

    return connection->top->receive(connection, &byte, 1, 0);
}

static void await(const struct connection *connection)
{
    struct pollfd readable = {.fd = connection->calls.fd, .events = POLLIN};

    assert_int_equal(poll(&readable, 1, WITHIN_MS), 1);
}

/* ---- alerts ---- */

/* A fatal alert with a code that no RFC defines. In the clear, as before the handshake is done. */
static const uint8_t alert_200[] = {21, 3, 3, 0, 2, 2, 200};

static void get_alert(enum end end, const struct security *security, const char *text)
{
    struct connection *connection;
    int fds[2];

    make_pair(fds);
    open_thread(end, security);
    connection = open_connection(end, fds[0]);
    int result = shake(connection);
    assert_true(must_wait(result));
    assert_int_equal(write(fds[1], alert_200, sizeof alert_200), sizeof alert_200);
    while (must_wait(result)) {
        await(connection);
        result = shake(connection);
    }
    assert_int_equal(result, -EPROTO);
    assert_problem(&sides[end].shared.problem, PROBLEM_FAILURE, text);
    close_connection(end);
    security_close_context(&sides[end].shared, connection->peer);
    close(fds[1]);
}

TEST(an_alert_without_a_name_is_an_error_with_its_number)
{
    unit_parse(&plan, WORDS("security=plain"));
    for (size_t i = 0; i < library_count; i++) {
        get_alert(END_CLIENT, libraries[i], "200");
        get_alert(END_SERVER, libraries[i], ""); /* OpenSSL: "unexpected message" */
    }
    plan_free(&plan);
}

/* ---- the identity ---- */

/* The server decides: a client that it refuses may wait for ever. */
static bool is_accepted(const struct security *client, const struct security *server)
{
    int fds[2], result = -EAGAIN;

    make_pair(fds);
    open_thread(END_CLIENT, client);
    open_thread(END_SERVER, server);
    open_connection(END_CLIENT, fds[0]);
    open_connection(END_SERVER, fds[1]);
    for (int waits = -EAGAIN; must_wait(result); result = shake(&sides[END_SERVER].connection))
        if (must_wait(waits))
            waits = shake(&sides[END_CLIENT].connection);
    for (int end = 0; end < 2; end++) {
        close_connection(end);
        security_close_context(&sides[end].shared, sides[end].connection.peer);
    }
    return result == 0;
}

TEST(an_identity_is_compared_whole_with_a_zero_byte_too)
{
    unit_parse(&plan, WORDS("security=plain"));
    for (size_t i = 0; i < library_count; i++)
        for (size_t j = 0; j < library_count; j++) {
            zeros[END_CLIENT] = 1;
            assert_false(is_accepted(libraries[i], libraries[j]));
            zeros[END_SERVER] = 1;
            assert_true(is_accepted(libraries[i], libraries[j]));
            zeros[END_CLIENT] = zeros[END_SERVER] = 0;
        }
    plan_free(&plan);
}

/* ---- the wall clock ---- */

/* One connection: a handshake, a byte for the client, behind the ticket, and the end. Returns
 * whether the client resumed the session of its ticket. */
static bool run_connection(void)
{
    int fds[2], results[2] = {-EAGAIN, -EAGAIN};
    ssize_t received;

    make_pair(fds);
    struct connection *client = open_connection(END_CLIENT, fds[0]);
    struct connection *server = open_connection(END_SERVER, fds[1]);
    while (must_wait(results[0]) || must_wait(results[1])) {
        if (must_wait(results[0]))
            results[0] = shake(client);
        if (must_wait(results[1]))
            results[1] = shake(server);
    }
    for (int end = 0; end < 2; end++)
        if (results[end] < 0)
            fail_msg("%s and %s, %ld s: %s", client->security->variant.name, server->security->variant.name,
                     ahead_s, sides[end].shared.problem.text);
    assert_int_equal(server->top->send(server, "x", 1, 0), 1);
    while (must_wait(received = receive_byte(client)))
        await(client);
    assert_int_equal(received, 1);
    assert_int_equal(client->calls.counts.resumed, server->calls.counts.resumed);
    close_connection(END_CLIENT);
    close_connection(END_SERVER);
    return client->calls.counts.resumed;
}

/* The first handshake after a step may use the key: a library ignores its ticket if that is from
 * the future, or more than a week old. */
static void step_between(const struct security *client, const struct security *server, long by_s)
{

    ahead_s = 0;
    open_thread(END_CLIENT, client);
    open_thread(END_SERVER, server);
    assert_false(run_connection());
    assert_true(run_connection());
    ahead_s = by_s;
    run_connection();
    assert_true(run_connection());
    security_close_context(&sides[END_CLIENT].shared, END_SERVER);
    security_close_context(&sides[END_SERVER].shared, END_CLIENT);
    ahead_s = 0;
}

TEST(a_ticket_survives_a_step_of_the_wall_clock)
{
    static const long day_s = 24 * 3600,
                      steps_s[] = {400, -400, 3 * 3600, -3 * 3600, 365 * day_s, -365 * day_s};

    unit_parse(&plan, WORDS("security=plain", "workload=connect"));
    plan.handshake = HANDSHAKE_TICKET;
    for (size_t i = 0; i < library_count; i++)
        for (size_t j = 0; j < library_count; j++)
            for (size_t step = 0; step < COUNT_OF(steps_s); step++)
                step_between(libraries[i], libraries[j], steps_s[step]);
    plan_free(&plan);
}

struct unit_fixture unit_fixture = {.check = find_libraries};
