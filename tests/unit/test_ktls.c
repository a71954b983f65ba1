/* SPDX-License-Identifier: MIT */
/* TLS by the kernel at one side. GnuTLS at the other side sends what a peer should not send. */
#include "unit.h"

#include "connection/layer.h"
#include "connection/security.h"
#include "security/gnutls.h"
#include "transport/transport.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define WITHIN_MS 2000
#define TEXT "sixteen bytes..."

static struct plan plan;
static struct side {
    struct thread_shared shared;
    struct connection connection;
} sides[2];

static struct connection *const ours = &sides[0].connection, *const theirs = &sides[1].connection;

/* ---- two sides whose handshake is done ---- */

static const struct security *the(const char *name)
{
    return (const struct security *)axis_find(&security_axis, name, &unit_problem);
}

static void open_side(size_t number, int fd)
{
    struct side *side = &sides[number];
    struct connection *connection = &side->connection;
    struct security_terms terms = {.identity = SECURITY_IDENTITY,
                                   .identity_size = strlen(SECURITY_IDENTITY),
                                   .serves = number == 1,
                                   .cipher = plan.cipher,
                                   .handshake = plan.handshake,
                                   .key = {1, 2, 3}};

    *side = (struct side){.shared = {.plan = &plan, .end = number ? END_SERVER : END_CLIENT}};
    connection->plan = &plan;
    connection->shared = &side->shared;
    connection->end = side->shared.end;
    connection->peer = number ? END_CLIENT : END_SERVER;
    connection->security = plan.ends[connection->end].security;
    connection->calls = (struct calls){.table = &calls_of_sockets, .fd = fd, .flags = MSG_DONTWAIT};
    security_build_stack(connection);
    assert_int_equal(security_open_context(&side->shared, connection->peer, &terms), 0);
    assert_int_equal(security_begin(connection), 0);
}

static void open_sides(void)
{
    int results[2] = {-EAGAIN, -EAGAIN}, fds[2];

    unit_parse(&plan, WORDS("transport=tcp", "client.security=ktls", "server.security=gnutls"));
    assert_int_equal(plan.transport->pair(0, fds), 0);
    open_side(0, fds[0]);
    open_side(1, fds[1]);
    while (results[0] || results[1])
        for (int i = 0; i < 2; i++) {
            struct pollfd ready = {fds[i], POLLIN, 0};

            results[i] = results[i] ? sides[i].connection.security->handshake(&sides[i].connection) : 0;
            assert_true(results[i] == 0 || results[i] == -EAGAIN || results[i] == -EINPROGRESS);
            if (results[i])
                poll(&ready, 1, 10);
        }
}

static void close_sides(void)
{
    for (int i = 0; i < 2; i++) {
        security_end(&sides[i].connection);
        security_close_context(&sides[i].shared, sides[i].connection.peer);
        close(sides[i].connection.calls.fd);
    }
    plan_free(&plan);
}

static int check(struct problem *problem)
{
    return the("ktls")->check(problem);
}

struct unit_fixture unit_fixture = {.check = check, .before = open_sides, .after = close_sides};

static char text[64]; /* of the last receive() */

static ssize_t receive(struct connection *connection)
{
    struct pollfd ready = {connection->calls.fd, POLLIN, 0};
    ssize_t came;

    memset(text, 0, sizeof text);
    do
        assert_int_equal(poll(&ready, 1, WITHIN_MS), 1);
    while ((came = connection->top->receive(connection, text, sizeof text, 0)) == -EAGAIN);
    return came;
}

static void send_text(struct connection *connection)
{
    assert_int_equal(connection->top->send(connection, TEXT, sizeof TEXT, 0), sizeof TEXT);
}

static void receive_text(struct connection *connection)
{
    assert_int_equal(receive(connection), sizeof TEXT);
    assert_string_equal(text, TEXT);
}

static void fails(const char *why)
{
    assert_int_equal(receive(ours), -EPROTO);
    assert_problem(&sides[0].shared.problem, PROBLEM_FAILURE, why);
}

/* ---- the tests ---- */

TEST(data_goes_both_ways)
{
    send_text(ours);
    receive_text(theirs);
    send_text(theirs);
    receive_text(ours);
}

TEST(a_send_is_a_record)
{
    uint64_t before = theirs->calls.counts.records_received, bytes = theirs->calls.counts.tls_bytes_received;

    send_text(ours);
    receive_text(theirs);
    assert_int_equal(theirs->calls.counts.records_received - before, 1);
    assert_int_equal(theirs->calls.counts.tls_bytes_received - bytes, 5 + sizeof TEXT + 1 + 16);
}

TEST(a_close_notify_is_the_end_after_all_data)
{
    send_text(theirs);
    assert_int_equal(security_half_close(theirs), 0);
    receive_text(ours);
    uint64_t before = ours->calls.counts.made[CALL_RECVFROM];
    assert_int_equal(receive(ours), 0);
    assert_int_equal(receive(ours), 0);
    assert_int_equal(ours->calls.counts.made[CALL_RECVFROM], before);
}

TEST(the_other_direction_goes_on_after_a_close_notify)
{
    assert_int_equal(security_half_close(ours), 0);
    assert_int_equal(receive(theirs), 0);
    send_text(theirs);
    receive_text(ours);
}

TEST(an_end_without_a_close_notify_is_an_error)
{
    send_text(theirs);
    shutdown(theirs->calls.fd, SHUT_WR);
    receive_text(ours);
    fails("the connection was closed without a close_notify");
}

TEST(a_record_that_does_not_decrypt_is_named)
{
    uint8_t record[5 + 64] = {23, 3, 3, 0, 64};

    assert_int_equal(send(theirs->calls.fd, record, sizeof record, 0), sizeof record);
    fails("a record cannot be decrypted");
}

TEST(plain_text_is_named)
{
    assert_int_equal(send(theirs->calls.fd, TEXT TEXT, sizeof TEXT TEXT, 0), sizeof TEXT TEXT);
    fails("not a TLS 1.3 record");
}

TEST(an_alert_is_named)
{
    send_text(theirs);
    assert_int_equal(
        gnutls_alert_send(gnutls_layer_of(theirs)->gnutls, GNUTLS_AL_FATAL, GNUTLS_A_INTERNAL_ERROR), 0);
    receive_text(ours);
    fails("an alert: Internal error");
}

TEST(a_key_update_of_the_peer_is_named)
{
    assert_int_equal(gnutls_session_key_update(gnutls_layer_of(theirs)->gnutls, 0), 0);
    fails("a handshake message (KeyUpdate)");
}

TEST(a_submitted_receive_that_failed_is_explained)
{
    uint8_t byte = 0;

    assert_int_equal(security_receive_control_record(ours, 5, &byte), 5);
    assert_int_equal(security_half_close(theirs), 0);
    assert_int_equal(poll(&(struct pollfd){ours->calls.fd, POLLIN, 0}, 1, WITHIN_MS), 1);
    assert_int_equal(recv(ours->calls.fd, text, sizeof text, MSG_DONTWAIT), -1);
    assert_int_equal(errno, EIO);
    assert_int_equal(security_receive_control_record(ours, -EIO, &byte), 0);
}
