/* SPDX-License-Identifier: MIT */
/* read=zerocopy: over a real connection, and over scripted calls. */
#include "unit.h"

#include "connection/strategy.h"
#include "support/support.h"
#include "transport/transport.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

static struct plan plan;
static struct thread_shared shared;
static struct connection connection;
static int other = -1;

static void close_reader(void)
{
    if (!plan.workload) /* nothing is open */
        return;
    close(connection.calls.fd);
    if (other >= 0)
        close(other);
    unit_close(&plan, &shared, &connection);
}

static void open_reader(const char *chunk)
{
    int fds[2];

    close_reader();
    unit_parse(&plan, WORDS("workload=stream", "verify=on", "read=zerocopy", chunk));
    assert_int_equal(plan.transport->pair(0, fds), 0);
    assert_int_equal(fcntl(fds[1], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(zerocopy_enable(fds[0]), 0);
    other = fds[0];
    unit_open(&plan, &shared, &connection, END_SERVER, fds[1]);
}

struct unit_fixture unit_fixture = {.after = close_reader};

static const uint8_t *data; /* of the last read_some() */

static ssize_t read_some(size_t limit)
{
    return connection.reading->read(&connection, limit, &data);
}

static void need_pages(void)
{
    const struct variant *pages = &plan.ends[END_SERVER].reading->variant;

    skip_unless(support_of_variant(WORD_read, pages, plan.transport, &unit_problem) == 0, unit_problem.text);
}

/* ---- over a real connection ---- */

#define BYTES (4u << 20)

static uint8_t outgoing[BYTES] __attribute__((aligned(4096)));

/* Sends that lend and sends that copy, whole pages and odd sizes. Returns the bytes sent. */
static size_t send_some(struct dice *dice, size_t at)
{
    size_t size = dice_roll(dice, 2) ? 4096 * (1 + dice_roll(dice, 16)) : 1 + dice_roll(dice, 9000);

    if (size > BYTES - at)
        size = BYTES - at;
    ssize_t sent = send(other, outgoing + at, size, MSG_DONTWAIT | (dice_roll(dice, 4) ? zerocopy_flag : 0));
    return sent > 0 ? (size_t)sent : 0;
}

static void drain_notifications(void)
{
    struct zerocopy_notification notification;

    while (zerocopy_take_notification(other, &notification) == 0)
        ;
}

static void carry(uint64_t seed)
{
    struct dice dice = {.state = seed};
    const struct call_counts *counts = &connection.calls.counts;
    size_t sent = 0, came = 0;

    for (int turn = 0; came < BYTES; turn++) {
        struct pollfd readable = {.fd = connection.calls.fd, .events = POLLIN};

        assert_true(turn < 1000000);
        for (uint64_t i = dice_roll(&dice, 8); i && sent < BYTES; i--)
            sent += send_some(&dice, sent);
        drain_notifications();
        ssize_t size = read_some(1 + dice_roll(&dice, 100000));
        if (size == -EAGAIN) {
            poll(&readable, 1, 1);
            continue;
        }
        assert_true(size > 0);
        assert_int_equal(pattern_compare(data, (size_t)size, came), size);
        came += (size_t)size;
    }
    assert_int_equal(counts->mapped_bytes + counts->copied_bytes, BYTES);
    assert_true(counts->mapped_bytes > 0 && counts->copied_bytes > 0);
    assert_int_equal(atomic_load(&connection.calls.moved), BYTES);
}

TEST(mapped_and_copied_bytes_are_the_stream_in_order)
{
    static const char *const chunks[] = {"chunk=64K", "chunk=1M", "chunk=5000"};

    pattern_fill(outgoing, BYTES, 0);
    for (size_t i = 0; i < COUNT_OF(chunks); i++) {
        open_reader(chunks[i]);
        need_pages();
        carry(i + 1);
        shutdown(other, SHUT_WR);
        assert_int_equal(read_some(65536), 0);
    }
}

TEST(a_reset_connection_is_an_error_and_not_an_end)
{
    struct linger at_once = {.l_onoff = 1};
    ssize_t size = 1;

    open_reader("chunk=64K");
    need_pages();
    assert_int_equal(send(other, outgoing, 10000, 0), 10000);
    setsockopt(other, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(other);
    other = -1;
    while (size > 0)
        size = read_some(65536);
    assert_int_equal(size, -ECONNRESET);
}

/* ---- over scripted calls ---- */

static struct mapped answers[4];
static int failures[4]; /* in place of the answer: errno */
static size_t maps, receives;
static size_t asked_to_map, asked_to_receive;

static int scripted_map(int fd, struct mapped *mapped)
{
    const struct mapped *answer = &answers[maps];

    asked_to_map = mapped->most;
    if (failures[maps]) {
        errno = failures[maps++];
        return -1;
    }
    memset(mapped->rest, 'r', answer->copied);
    mapped->mapped = answer->mapped;
    mapped->copied = answer->copied;
    mapped->skip = answer->skip;
    mapped->error = answer->error;
    maps++;
    return 0;
}

static ssize_t scripted_recv(int fd, void *buffer, size_t size, int flags)
{
    asked_to_receive = size;
    receives++;
    return (ssize_t)size;
}

static const struct call_table scripted_calls = {.map = scripted_map, .recv = scripted_recv};

static void open_scripted(void)
{
    open_reader("chunk=64K");
    connection.calls.table = &scripted_calls;
    memset(answers, 0, sizeof answers);
    memset(failures, 0, sizeof failures);
    maps = receives = 0;
}

TEST(bytes_copied_beside_pages_are_delivered_after_them_without_a_call)
{
    open_scripted();
    answers[0] = (struct mapped){.mapped = 8192, .copied = 100};
    answers[1] = (struct mapped){.mapped = 4096};
    assert_false(connection.reading->has_more(&connection));
    assert_int_equal(read_some(65536), 8192);
    const uint8_t *pages = data;
    assert_true(connection.reading->has_more(&connection));
    assert_int_equal(read_some(60), 60);
    assert_int_equal(data[0], 'r');
    assert_int_equal(read_some(65536), 40);
    assert_int_equal(maps, 1);
    assert_false(connection.reading->has_more(&connection));
    assert_int_equal(read_some(65536), 4096);
    assert_ptr_equal(data, pages);
    assert_int_equal(connection.calls.counts.mapped_bytes, 12288);
    assert_int_equal(connection.calls.counts.copied_bytes, 100);
}

TEST(recv_receives_exactly_the_bytes_that_cannot_be_mapped)
{
    open_scripted();
    answers[0] = (struct mapped){.skip = 5000};
    assert_int_equal(read_some(65536), 5000);
    assert_int_equal(asked_to_receive, 5000);
    answers[1] = (struct mapped){.mapped = 4096, .skip = 5000};
    assert_int_equal(read_some(65536), 4096);
    assert_int_equal(read_some(3000), 3000);
    assert_int_equal(read_some(65536), 2000);
    assert_int_equal(maps, 2);
    assert_int_equal(receives, 3);
    assert_int_equal(connection.calls.counts.copied_bytes, 10000);
}

TEST(less_than_a_page_is_received_without_asking_for_pages)
{
    open_scripted();
    assert_int_equal(read_some(4095), 4095);
    assert_int_equal(maps, 0);
    answers[0] = (struct mapped){.mapped = 4096};
    assert_int_equal(read_some(6000), 4096);
    assert_int_equal(asked_to_map, 6000);
    assert_int_equal(read_some(1 << 20), -EAGAIN);
    assert_int_equal(asked_to_map, 65536); /* no more than the chunk */
    assert_int_equal(connection.calls.counts.would_block, 1);
}

TEST(an_error_that_comes_with_bytes_is_returned_after_them)
{
    open_scripted();
    answers[0] = (struct mapped){.mapped = 4096, .copied = 7, .error = -ECONNRESET};
    assert_int_equal(read_some(65536), 4096);
    assert_int_equal(read_some(65536), 7);
    assert_int_equal(read_some(65536), -ECONNRESET);
    answers[1] = (struct mapped){.error = -ETIMEDOUT};
    assert_int_equal(read_some(65536), -ETIMEDOUT);
}

/* Neither that call nor the recv() that finds the end is counted. */
TEST(at_the_end_of_the_stream_a_recv_reports_why)
{
    open_scripted();
    failures[0] = EIO;
    assert_int_equal(read_some(65536), 65536);
    assert_int_equal(receives, 1);
    assert_int_equal(connection.calls.counts.made[CALL_GETSOCKOPT], 0);
    failures[1] = EINVAL;
    assert_int_equal(read_some(65536), -EINVAL);
    assert_int_equal(connection.calls.counts.made[CALL_GETSOCKOPT], 1);
}
