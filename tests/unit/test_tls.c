/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/clock.h"
#include "connection/layer.h"
#include "connection/security.h"
#include "engine/engine.h"
#include "security/tls.h"

#include <unistd.h>

/* ---- records ---- */

/* Three records, of 3, 0 and 300 bytes. */
static size_t make_records(uint8_t bytes[512])
{
    static const size_t sizes[] = {3, 0, 300};
    size_t length = 0;

    memset(bytes, 0x17, 512); /* payload that looks like headers */
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        uint8_t *header = bytes + length;

        header[0] = 0x17;
        header[1] = header[2] = 3;
        header[3] = (uint8_t)(sizes[i] >> 8);
        header[4] = (uint8_t)sizes[i];
        length += TLS_HEADER_SIZE + sizes[i];
    }
    return length;
}

TEST(records_are_counted_wherever_their_bytes_are_cut)
{
    uint8_t bytes[512];
    size_t length = make_records(bytes);

    for (size_t part = 1; part <= length; part++) {
        struct tls_scan scan = {.known = 0};
        uint64_t records = 0;

        for (size_t done = 0; done < length; done += part)
            records += tls_scan(&scan, bytes + done, length - done < part ? length - done : part);
        assert_int_equal(records, 3);
        assert_int_equal(scan.left, 0);
        assert_int_equal(scan.known, 0);
    }
}

TEST(a_record_is_counted_when_its_header_is_whole)
{
    static const uint8_t header[] = {0x17, 3, 3, 0, 9};
    struct tls_scan scan = {.known = 0};

    assert_int_equal(tls_scan(&scan, header, 4), 0);
    assert_int_equal(tls_scan(&scan, header + 4, 1), 1);
    assert_int_equal(scan.left, 9);
}

/* ---- layers ---- */

TEST(a_filter_that_encrypts_has_every_function)
{
    for (size_t i = 0; i < security_axis.count; i++) {
        const struct security *layer = (const struct security *)security_axis.variants[i];

        if (!layer->encrypts)
            continue;
        if (!layer->open) { /* not in this build */
            assert_refused(layer->check(&unit_problem), PROBLEM_UNSUPPORTED, "install");
            continue;
        }
        assert_true(layer->library && layer->context_open && layer->context_close && layer->open);
        assert_true(layer->handshake && layer->close && layer->layer.send && layer->layer.receive &&
                    layer->close_notify);
        assert_true(layer->withholds);
        assert_int_equal(layer->layer.hold != NULL, (layer->gives & CAPABLE_RECORD_CORK) != 0);
        assert_int_equal(layer->layer.sendv != NULL, (layer->gives & CAPABLE_DESCRIPTOR) != 0);
    }
}

/* ---- errors ---- */

static struct plan plan;
static struct thread_shared shared = {.plan = &plan, .end = END_CLIENT};

static struct connection broken_at(int fd)
{
    static const struct security named = {.variant = {"named", ""}};
    static struct tls_wire wire;
    struct connection connection = {
        .shared = &shared, .end = END_CLIENT, .peer = END_SERVER, .security = &named, .filter_state = &wire};

    wire = (struct tls_wire){0};
    shared.problem.kind = PROBLEM_NONE;
    connection.calls.table = &calls_of_sockets;
    connection.calls.fd = fd;
    security_build_stack(&connection);
    return connection;
}

TEST(a_failed_call_is_the_reason_and_not_the_error_of_the_library)
{
    struct connection connection = broken_at(-1);
    struct iovec vector = {.iov_base = "x", .iov_len = 1};

    assert_int_equal(tls_write(&connection, &vector, 1), -EBADF);
    assert_int_equal(tls_fail(&connection, "send to", "the push function failed."), -EBADF);
    assert_int_equal(shared.problem.kind, PROBLEM_NONE);
}

TEST(an_end_without_a_close_notify_is_named)
{
    char byte;
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    struct connection connection = broken_at(fds[0]);
    close(fds[1]);
    assert_int_equal(tls_read(&connection, &byte, 1), 0);
    assert_int_equal(tls_fail(&connection, "receive from", "eof."), -EPROTO);
    assert_problem(
        &shared.problem, PROBLEM_FAILURE,
        "could not receive from the server: named: the connection was closed without a close_notify");
    close(fds[0]);
}

TEST(the_error_of_a_library_stands_without_its_full_stop)
{
    struct connection connection = broken_at(-1);

    assert_int_equal(tls_fail(&connection, "complete the TLS handshake with", "No cipher. Really."), -EPROTO);
    assert_string_equal(shared.problem.text,
                        "the client could not complete the TLS handshake with the server: named: No cipher");
    shared.problem = (struct problem){0};
    assert_int_equal(tls_fail(&connection, "receive from", "this is no TLS 1.3 record."), -EPROTO);
    assert_string_equal(shared.problem.text,
                        "the client could not receive from the server: named: this is no TLS 1.3 record");
}

/* ---- the time of a handshake ---- */

/* When the session was set up, at the first call, and after the last call. */
static uint64_t opened_ns, first_call_ns, done_ns;

/* Waits for 1000 steps of the clock. */
static uint64_t wait_and_read_ns(void)
{
    uint64_t now_ns = clock_now_ns();

    for (int steps = 0; steps < 1000; steps++)
        for (uint64_t before_ns = now_ns; now_ns == before_ns;)
            now_ns = clock_now_ns();
    return now_ns;
}

static int open_session(struct connection *connection)
{
    opened_ns = wait_and_read_ns();
    return 0;
}

static int shake_in_two_calls(struct connection *connection)
{
    if (first_call_ns) {
        done_ns = wait_and_read_ns();
        return 0;
    }
    first_call_ns = clock_now_ns();
    wait_and_read_ns();
    return -EINPROGRESS;
}

TEST(a_handshake_begins_with_its_first_call_when_the_session_is_set_up)
{
    static const struct security layer = {
        .encrypts = true, .open = open_session, .handshake = shake_in_two_calls};
    struct connection connection = {.shared = &shared, .security = &layer};
    const struct histogram *handshake = &shared.handshake;

    histogram_reset(&shared.handshake);
    assert_int_equal(security_begin(&connection), 0);
    assert_int_equal(engine_handshake(&connection), -EINPROGRESS);
    assert_int_equal(engine_handshake(&connection), 0);
    assert_int_equal(handshake->count, 1);
    assert_in_range(handshake->maximum, done_ns - first_call_ns, clock_now_ns() - opened_ns);
}
