/* SPDX-License-Identifier: MIT */
/* write=uv over sockets that are nearly always full, in a loop that the test runs. */
#include "pair.h"
#include "unit.h"

#include "connection/strategy.h"
#include "engine/stream.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

static struct pair pair;
static uv_loop_t loop;
static struct stream stream;

/* What the stream has reported. */
static struct {
    unsigned written, arrived;
    int result;
    ssize_t size;
    uint64_t released; /* spans */
} reported;

static void on_arrived(struct stream *from, const uint8_t *data, ssize_t size)
{
    assert_ptr_equal(from, &stream);
    assert_true(size <= 0 || data[0] == 'x');
    reported.arrived++;
    reported.size = size;
}

static void on_written(struct stream *from, int result)
{
    assert_ptr_equal(from, &stream);
    reported.written++;
    reported.result = result;
}

static void on_release(void *owner, const struct span *span)
{
    const struct send_queue *queue = &pair.connection.queue;

    assert_ptr_equal(span, &queue->ring[reported.released & queue->mask]); /* in order, each once */
    reported.released++;
}

static const struct stream_events events = {.arrived = on_arrived, .written = on_written};

static void close_stream(void)
{
    if (!pair.plan.workload) /* nothing is open */
        return;
    stream_close(&stream);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    pair_close(&pair);
}

struct unit_fixture unit_fixture = {.after = close_stream};

static void open_stream(const char *transport, const char *message)
{
    close_stream();
    memset(&reported, 0, sizeof reported);
    pair_open(&pair, transport, "uv", message);
    pair.connection.queue.on_release = on_release;
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(stream_open(&stream, &loop, &pair.connection, &events), 0);
    assert_ptr_equal(pair.connection.transport_state, &stream);
}

static int push(void)
{
    const struct send_queue *queue = &pair.connection.queue;
    int result = strategy_push(&pair.connection);

    assert_true(queue->released <= queue->accepted && queue->flushed <= queue->accepted);
    assert_int_equal(queue->released, reported.released);
    assert_int_equal(result == 0, queue_is_idle(queue));
    return result;
}

/* A message that the socket does not take at once. */
static void begin_message(const char *transport, const char *message)
{
    open_stream(transport, message);
    connection_append(&pair.connection, 1);
    assert_int_equal(push(), -EINPROGRESS);
}

/* Reads at the other end until the request is written. */
static void await_written(void)
{
    unsigned before = reported.written;

    for (int turn = 0; reported.written == before; turn++) {
        assert_true(turn < 1000000);
        pair_read(&pair, 20000);
        uv_run(&loop, UV_RUN_NOWAIT);
    }
}

static void read_rest(uint64_t bytes)
{
    for (int turn = 0; pair.received < bytes && turn < 1000000; turn++)
        pair_read(&pair, 1 << 20);
    assert_int_equal(pair.received, bytes);
}

static const char *const transports[] = {"tcp", "unix"};

/* Returns the number of requests. */
static unsigned run_shape(const char *transport, const char *message)
{
    open_stream(transport, message);
    for (uint64_t i = 1; i <= 3; i++) {
        int result;

        connection_append(&pair.connection, 1);
        while ((result = push()) != 0) {
            assert_int_equal(result, -EINPROGRESS);
            assert_int_equal(pair.connection.queue.flushed_messages, i - 1);
            await_written();
            assert_int_equal(reported.result, 0);
        }
        assert_int_equal(pair.connection.queue.flushed_messages, i);
        assert_int_equal(reported.released, pair.connection.queue.appended);
    }
    read_rest(3 * pair.plan.message.bytes);
    assert_int_equal(atomic_load(&pair.connection.calls.moved), 3 * pair.plan.message.bytes);
    return reported.written;
}

TEST(a_stream_gets_every_message_through_a_full_socket_whole_and_in_order)
{
    const char *const *shapes = WORDS("1", "15x2", "16+4K", "32/2x4K/2x4K", "1M", "2000x1/1", "3x100000",
                                      "100x1000/1/3x50K", "40x2000/40x2000");
    unsigned requests = 0;

    for (; *shapes; shapes++)
        for (size_t t = 0; t < COUNT_OF(transports); t++)
            requests += run_shape(transports[t], *shapes);
    assert_true(requests > 20);
}

TEST(a_message_that_is_written_at_once_needs_no_request)
{
    assert_int_equal(run_shape("tcp", "15x2"), 0);
}

TEST(bytes_that_libuv_holds_are_accepted_and_released_when_written)
{
    const struct send_queue *queue = &pair.connection.queue;

    begin_message("unix", "100x3000/7");
    assert_int_equal(queue->accepted, 100); /* the group, and not the next */
    assert_true(reported.released > 0 && reported.released < 100);
    assert_int_equal(queue->flushed, 0);
    await_written();
    assert_int_equal(reported.released, 100);
    assert_int_equal(queue->flushed, 0);
    while (push() != 0)
        await_written();
    assert_int_equal(queue->flushed_messages, 1);
    read_rest(300007);
}

TEST(a_push_while_a_request_is_under_way_writes_nothing)
{
    begin_message("tcp", "1M/1M");
    assert_int_equal(pair.connection.queue.accepted, 1);
    for (int i = 0; i < 10; i++) {
        pair_read(&pair, 20000); /* there is room, but the request in flight uses it */
        assert_int_equal(push(), -EINPROGRESS);
    }
    assert_int_equal(pair.connection.queue.accepted, 1);
    assert_int_equal(reported.written, 0);
}

TEST(a_request_lends_no_more_fragments_than_one_call_takes)
{
    begin_message("unix", "4000x500");
    assert_in_range(pair.connection.queue.accepted_bytes / 500, IOV_MAX, 2 * IOV_MAX);
    await_written();
    assert_int_equal(reported.released, pair.connection.queue.accepted);
    while (push() != 0)
        await_written();
    read_rest(2000000);
}

TEST(a_peer_that_closes_breaks_the_request_in_flight)
{
    for (size_t t = 0; t < COUNT_OF(transports); t++) {
        begin_message(transports[t], "1M");
        close(pair.other); /* unread bytes reset the connection */
        for (int turn = 0; !reported.written && turn < 100; turn++)
            uv_run(&loop, UV_RUN_ONCE);
        assert_true(reported.result == -EPIPE || reported.result == -ECONNRESET);
        assert_int_equal(pair.connection.queue.flushed, 0);
        pair.other = dup(0); /* for pair_close() */
    }
}

TEST(a_peer_that_has_closed_breaks_the_next_write)
{
    open_stream("unix", "15x2");
    close(pair.other);
    connection_append(&pair.connection, 1);
    assert_int_equal(push(), -EPIPE);
    assert_int_equal(pair.connection.queue.accepted, 0);
    pair.other = dup(0);
}

TEST(a_closed_stream_closes_its_descriptor_and_reports_no_request)
{
    begin_message("tcp", "1M");
    int fd = pair.connection.calls.fd;
    stream_close(&stream);
    assert_int_equal(pair.connection.calls.fd, -1);
    assert_false(stream_is_used_by(&pair.connection));
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(reported.written, 0);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    assert_int_equal(uv_loop_close(&loop), 0);
    pair_close(&pair);
}

TEST(bytes_arrive_only_while_reading_is_on_and_then_the_half_close)
{
    open_stream("unix", "1");
    assert_int_equal(send(pair.other, "x", 1, MSG_NOSIGNAL), 1);
    uv_run(&loop, UV_RUN_NOWAIT);
    assert_int_equal(reported.arrived, 0);
    stream_read(&stream, true);
    uv_run(&loop, UV_RUN_ONCE);
    assert_int_equal(reported.arrived, 1);
    assert_int_equal(reported.size, 1);
    stream_read(&stream, false);
    assert_int_equal(send(pair.other, "x", 1, MSG_NOSIGNAL), 1);
    uv_run(&loop, UV_RUN_NOWAIT);
    assert_int_equal(reported.arrived, 1);
    assert_int_equal(shutdown(pair.other, SHUT_WR), 0);
    stream_read(&stream, true);
    while (reported.arrived < 3)
        uv_run(&loop, UV_RUN_ONCE);
    assert_int_equal(reported.size, 0);
}
