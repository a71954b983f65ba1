/* SPDX-License-Identifier: MIT */
/* What engine, strategies and readings rely on of an io_uring, on a socket pair of this kernel. */
#include "unit.h"

#include "base/clock.h"
#include "engine/engine.h"
#include "ring/ring.h"

#include <pthread.h>
#include <unistd.h>

extern const struct engine engine_ring;

static struct ring *ring;
static struct call_counts counts;
static struct ring_slot from, to;
static struct pool pool;
static struct recv_buffers recv_buffers;
static int fds[2];

static void set_buffers(int fd)
{
    int size = 4096;

    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
}

static int check(struct problem *problem)
{
    return engine_ring.check(NULL, problem);
}

static void open_ring(void)
{
    counts = (struct call_counts){0};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    set_buffers(fds[0]);
    assert_int_equal(ring_open(&ring, &(struct ring_setup){true, true, true, 0}, &counts), 0);
    from = (struct ring_slot){.ring = ring, .number = 7, .file = fds[0]};
    to = (struct ring_slot){.ring = ring, .number = 8, .file = fds[1], .recv_buffers = &recv_buffers};
}

static void close_ring(void)
{
    ring_close(ring);
    recv_buffers_close(&recv_buffers);
    pool_close(&pool);
    ring_buffers_close(&from.outgoing);
    close(fds[0]);
    close(fds[1]);
}

struct unit_fixture unit_fixture = {.check = check, .before = open_ring, .after = close_ring};

static int send_text(const char *text, unsigned options, uint32_t token)
{
    return ring_send(
        &from,
        &(struct send_request){
            .data = text, .size = strlen(text), .flags = MSG_WAITALL, .options = options, .token = token});
}

static int send_provided(unsigned options)
{
    return ring_send(&from, &(struct send_request){.flags = MSG_WAITALL, .options = SEND_PROVIDED | options});
}

static struct ring_event event; /* the last one */

/* The next completion, which must come. */
static struct ring_event await(void)
{
    uint64_t until_ns = clock_now_ns() + 10 * NS_PER_S;

    while (!ring_next(ring, &event)) {
        assert_true(clock_now_ns() < until_ns);
        assert_int_equal(ring_enter(ring, until_ns), 0);
    }
    return event;
}

/* Submits, and returns whether a request has completed. */
static bool completes(void)
{
    assert_int_equal(ring_poll(ring), 0);
    return ring_next(ring, &event);
}

static void open_recv_buffers(size_t size, size_t headroom, uint32_t count)
{
    assert_int_equal(pool_open(&pool, size, headroom, count), 0);
    assert_int_equal(recv_buffers_open(&recv_buffers, ring, &pool), 0);
}

/* A thread that reads all data by system calls. */
struct reader {
    pthread_t thread;
    uint8_t *bytes;
    size_t size, limit;
};

static void *read_all(void *argument)
{
    struct reader *reader = argument;
    ssize_t size;

    while (reader->size < reader->limit &&
           (size = read(fds[1], reader->bytes + reader->size, reader->limit - reader->size)) > 0)
        reader->size += (size_t)size;
    return NULL;
}

static void begin_reader(struct reader *reader, size_t limit)
{
    *reader = (struct reader){.bytes = malloc(limit), .limit = limit};
    assert_non_null(reader->bytes);
    assert_int_equal(pthread_create(&reader->thread, NULL, read_all, reader), 0);
}

/* Skips the test if this kernel lacks an ability. The probe has a socket pair of its own. */
static void need(bool sends, unsigned options, const char *what)
{
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    bool has = ring_has(sends, options, pair[0], pair[1]);
    close(pair[0]);
    close(pair[1]);
    skip_unless(has, what);
}

/* ---- setup, waits, events ---- */

TEST(every_setup_can_be_switched_off)
{
    struct end_plan setups[] = {{0},
                                {.single_issuer = true},
                                {.single_issuer = true, .defer_taskrun = true},
                                {.registered_ring = true}};

    for (size_t i = 0; i < COUNT_OF(setups); i++)
        assert_accepted(engine_ring.check(&setups[i], &unit_problem));
}

TEST(a_wait_ends_when_it_is_due)
{
    uint64_t due_ns = clock_now_ns() + 3 * NS_PER_MS;

    assert_int_equal(ring_enter(ring, due_ns), 0);
    assert_false(ring_next(ring, &event));
    assert_true(clock_now_ns() >= due_ns);
}

static void *wake_soon(void *argument)
{
    usleep(2000);
    ring_wake(ring);
    return NULL;
}

TEST(another_thread_can_wake_a_ring_several_times)
{
    for (int i = 0; i < 3; i++) {
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, wake_soon, NULL), 0);
        assert_int_equal(await().kind, RING_WAKE);
        pthread_join(thread, NULL);
    }
}

TEST(an_event_has_the_number_and_the_token_of_its_request)
{
    assert_int_equal(send_text("x", 0, REQUEST_TOKEN_MAX), 0);
    assert_int_equal(await().kind, RING_SEND);
    assert_int_equal(event.number, 7);
    assert_int_equal(event.completion.token, REQUEST_TOKEN_MAX);
    assert_int_equal(event.completion.result, 1);
}

TEST(enters_are_counted_by_what_they_submit)
{
    assert_int_equal(send_text("x", 0, 0), 0);
    assert_int_equal(ring_enter(ring, UINT64_MAX), 0);
    assert_int_equal(counts.made[CALL_ENTER_SENDING], 1);
    assert_int_equal(ring_enter(ring, UINT64_MAX), 0); /* a completion waits: no enter(2) */
    assert_int_equal(counts.made[CALL_ENTER_WAITING], 0);
    await();
    assert_int_equal(ring_enter(ring, clock_now_ns()), 0);
    assert_int_equal(counts.made[CALL_ENTER_WAITING], 1);
    assert_int_equal(counts.requests, 2); /* one of them is the wakeup */
    assert_int_equal(counts.completions, 1);
}

/* ---- sending ---- */

#define LINKS 4u
#define LINK_BYTES 100000u

/* Without MSG_WAITALL the next send could overtake the rest of a send that was cut short. */
TEST(linked_sends_that_wait_for_all_arrive_whole_and_in_order)
{
    static uint8_t bytes[LINKS][LINK_BYTES];
    struct reader reader;

    begin_reader(&reader, sizeof bytes);
    for (uint32_t i = 0; i < LINKS; i++) {
        memset(bytes[i], (int)('a' + i), LINK_BYTES);
        assert_int_equal(
            ring_send(&from, &(struct send_request){.data = bytes[i],
                                                    .size = LINK_BYTES,
                                                    .flags = MSG_WAITALL,
                                                    .options = i + 1 < LINKS ? SEND_LINK | SEND_SILENT : 0,
                                                    .token = i,
                                                    .chain = i ? 0 : LINKS}),
            0);
    }
    assert_int_equal(await().completion.token, LINKS - 1);
    pthread_join(reader.thread, NULL);
    assert_int_equal(reader.size, sizeof bytes);
    assert_memory_equal(reader.bytes, bytes, sizeof bytes);
    free(reader.bytes);
}

TEST(a_silent_send_posts_no_completion_on_success)
{
    assert_int_equal(send_text("abc", SEND_SILENT, 0), 0);
    assert_false(completes());
    assert_int_equal(read(fds[1], (char[4]){0}, 4), 3);
}

TEST(a_silent_send_posts_a_completion_on_failure)
{
    shutdown(fds[0], SHUT_WR);
    assert_int_equal(send_text("abc", SEND_SILENT, 0), 0);
    assert_true(completes());
    assert_int_equal(event.completion.result, -EPIPE);
}

static void provide(const char *const *texts)
{
    if (!from.outgoing.ring)
        assert_int_equal(ring_buffers_open(ring, &from.outgoing, 1, 4), 0);
    for (uint32_t i = 0; texts[i]; i++)
        ring_buffers_add(&from.outgoing, texts[i], (uint32_t)strlen(texts[i]), (uint16_t)i, 1);
    ring_buffers_publish(&from.outgoing);
}

TEST(a_bundle_takes_all_buffers_in_order)
{
    need(true, SEND_PROVIDED | SEND_BUNDLE, "this kernel does not send bundles (Linux 6.10)");
    char came[16] = {0};

    provide(WORDS("ab", "c", "def"));
    assert_int_equal(send_provided(SEND_BUNDLE), 0);
    assert_int_equal(await().completion.result, 6);
    assert_int_equal(read(fds[1], came, sizeof came), 6);
    assert_string_equal(came, "abcdef");
}

TEST(without_a_bundle_each_send_takes_one_buffer)
{
    need(true, SEND_PROVIDED, "this kernel does not send provided buffers (Linux 6.10)");
    provide(WORDS("ab", "c"));
    assert_int_equal(send_provided(0), 0);
    assert_int_equal(await().completion.result, 2);
    assert_int_equal(send_provided(0), 0);
    assert_int_equal(await().completion.result, 1);
}

TEST(a_ring_of_buffers_that_was_emptied_has_none_left)
{
    need(true, SEND_PROVIDED | SEND_BUNDLE, "this kernel does not send bundles (Linux 6.10)");
    provide(WORDS("ab", "c"));
    assert_int_equal(ring_buffers_empty(ring, &from.outgoing), 0);
    assert_int_equal(send_provided(SEND_BUNDLE), 0);
    assert_int_equal(await().completion.result, -ENOBUFS);
    provide(WORDS("d"));
    assert_int_equal(send_provided(SEND_BUNDLE), 0);
    assert_int_equal(await().completion.result, 1);
}

/* ---- receiving ---- */

/* Sends `total` bytes in pieces of random size, releases buffers after random delays, and
 * compares. */
static void receive_all(bool bundle, size_t total)
{
    struct dice dice = {.state = 11};
    size_t sent = 0, received = 0;
    struct iovec kept[8];
    size_t kept_count = 0;
    bool receiving = false;

    open_recv_buffers(16, 0, 8);
    while (received < total) {
        uint8_t piece[100];
        size_t size = 1 + dice_roll(&dice, sizeof piece);
        ssize_t written;

        size = size < total - sent ? size : total - sent;
        for (size_t i = 0; i < size; i++)
            piece[i] = (uint8_t)((sent + i) * 131 >> 3);
        if (size && (written = send(fds[0], piece, size, MSG_DONTWAIT)) > 0)
            sent += (size_t)written;
        if (!receiving && recv_buffers_left(&recv_buffers)) {
            assert_int_equal(ring_receive(&to, bundle ? RECEIVE_BUNDLE : 0), 0);
            receiving = true;
        }
        while (completes()) {
            uint16_t number = event.completion.buffer;
            size_t left = event.completion.result > 0 ? (size_t)event.completion.result : 0;

            assert_true(event.completion.result > 0 || event.completion.result == -ENOBUFS);
            receiving = event.completion.more;
            while (left) {
                const uint8_t *data;
                size_t part = recv_buffers_take(&recv_buffers, &number, left, &data);

                for (size_t i = 0; i < part; i++)
                    assert_int_equal(data[i], (uint8_t)((received + i) * 131 >> 3));
                received += part;
                left -= part;
                kept[kept_count++] = (struct iovec){(void *)(uintptr_t)data, part};
            }
        }
        while (kept_count && dice_roll(&dice, 3)) { /* in any order */
            size_t which = dice_roll(&dice, kept_count);

            pool_release(&pool, kept[which].iov_base, kept[which].iov_len);
            kept[which] = kept[--kept_count];
        }
        recv_buffers_publish(&recv_buffers);
    }
}

TEST(a_multishot_receive_loses_nothing_while_buffers_are_released_in_any_order)
{
    receive_all(false, 20000);
}

TEST(bundles_lose_nothing_while_buffers_are_released_in_any_order)
{
    need(false, RECEIVE_BUNDLE, "this kernel does not receive bundles (Linux 6.10)");
    receive_all(true, 20000);
}

static const uint8_t *data; /* that came last */

/* Takes at most `most` bytes, of which this many come in one piece, from this buffer. */
static void take(uint16_t *number, size_t most, size_t bytes, uint32_t buffer)
{
    assert_int_equal(recv_buffers_take(&recv_buffers, number, most, &data), bytes);
    assert_int_equal(pool_number(&pool, data), buffer);
}

/* The first receive used buffers 0 to 3, the second 4 to 7. The second completes first. */
TEST(completions_may_come_in_another_order_than_their_buffers_were_used)
{
    uint16_t number = 4;

    open_recv_buffers(16, 0, 8);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(recv_buffers_take(&recv_buffers, &number, 16, &data), 16);
        pool_release(&pool, data, 16);
    }
    number = 0;
    for (uint32_t i = 0; i < 4; i++)
        take(&number, 16, 16, i);
}

TEST(buffers_that_follow_each_other_in_memory_are_taken_together)
{
    uint16_t number = 0;

    open_recv_buffers(16, 0, 8);
    take(&number, 40, 40, 0);
    pool_release(&pool, data, 40); /* 0 to 2 come after 7 again */
    number = 3;
    take(&number, 7 * 16, 5 * 16, 3);
    take(&number, 2 * 16, 2 * 16, 0);
}

TEST(a_completion_that_continues_another_is_taken_with_it_and_no_other)
{
    open_recv_buffers(16, 0, 8);
    assert_int_equal(ring_receive(&to, 0), 0);
    assert_int_equal(send(fds[0], "0123456789abcdef0123456789abcdef0123", 36, 0), 36);
    assert_int_equal(await().completion.result, 16);
    uint16_t number = event.completion.buffer;
    event.completion.buffer = recv_buffers_after(&recv_buffers, number);
    ring_merge(ring, &event, &recv_buffers); /* the next is in another buffer */
    assert_int_equal(event.completion.result, 16);
    event.completion.buffer = number;
    ring_merge(ring, &event, &recv_buffers);
    assert_int_equal(event.completion.result, 36);
    assert_true(event.completion.more);
    event.completion = (struct completion){.result = 16, .buffer = number};
    ring_merge(ring, &event, &recv_buffers); /* there is no other */
    assert_int_equal(event.completion.result, 16);
    assert_int_equal(recv_buffers_take(&recv_buffers, &number, 36, &data), 36);
    assert_memory_equal(data, "0123456789abcdef0123456789abcdef0123", 36);
}

/* The next completion of a receive brings these bytes. */
static void receive_aligned(const char *bytes)
{
    uint16_t number = await().completion.buffer;

    recv_buffers_align(&recv_buffers, &event.completion);
    assert_int_equal(event.completion.result, strlen(bytes));
    if (event.completion.result > 0)
        recv_buffers_take(&recv_buffers, &number, (size_t)event.completion.result, &data);
    assert_memory_equal(data, bytes, strlen(bytes));
}

TEST(the_bytes_of_a_message_begin_behind_its_header_and_its_buffer_is_released_at_the_end)
{
    need(false, RECEIVE_MESSAGE, "this kernel does not receive by multishot RECVMSG (Linux 6.0)");
    open_recv_buffers(8, RECEIVE_HEADER, 4);
    assert_int_equal(ring_receive(&to, RECEIVE_MESSAGE), 0);
    assert_int_equal(send(fds[0], "abcdefghij", 10, 0), 10);
    receive_aligned("abcdefgh");
    pool_release(&pool, data, 8);
    receive_aligned("ij");
    pool_release(&pool, data, 2);
    uint32_t free_buffers = recv_buffers.added - recv_buffers.taken;
    shutdown(fds[0], SHUT_WR);
    receive_aligned("");
    assert_int_equal(recv_buffers.added - recv_buffers.taken, free_buffers);
}

/* A single-shot receive has no header. */
TEST(data_after_a_half_close_begins_behind_the_headroom)
{
    open_recv_buffers(8, RECEIVE_HEADER, 4);
    to.ending = true;
    assert_int_equal(send(fds[0], "abcdefghij", 10, 0), 10);
    assert_int_equal(ring_receive(&to, RECEIVE_MESSAGE), 0);
    receive_aligned("abcdefgh");
    assert_ptr_equal(data, pool_buffer(&pool, 0));
}

TEST(a_half_close_completes_a_receive_with_0)
{
    open_recv_buffers(16, 0, 2);
    assert_int_equal(ring_receive(&to, 0), 0);
    shutdown(fds[0], SHUT_WR);
    assert_int_equal(await().completion.result, 0);
    assert_false(event.completion.more);
}

/* Linux 6.18 may hide the half-close of a Unix socket from a multishot receive. */
TEST(a_half_close_posts_an_event_and_is_received_after_all_data)
{
    static const uint8_t bytes[100 * 16];
    int received = 0;

    open_recv_buffers(16, 0, 128);
    assert_int_equal(send(fds[0], bytes, sizeof bytes, 0), sizeof bytes);
    shutdown(fds[0], SHUT_WR);
    assert_int_equal(ring_watch(&to, RING_HALF_CLOSED), 0);
    assert_int_equal(await().kind, RING_HALF_CLOSED);
    to.ending = true;
    do {
        assert_int_equal(ring_receive(&to, 0), 0);
        assert_false(await().completion.more);
        received += event.completion.result;
    } while (event.completion.result > 0);
    assert_int_equal(event.completion.result, 0);
    assert_int_equal(received, sizeof bytes);
}

TEST(a_receive_that_is_cancelled_ends)
{
    open_recv_buffers(16, 0, 2);
    assert_int_equal(ring_receive(&to, 0), 0);
    assert_false(completes());
    assert_int_equal(ring_cancel(&to, RING_RECEIVE), 0);
    while (await().kind != RING_RECEIVE)
        ;
    assert_int_equal(event.completion.result, -ECANCELED);
    assert_false(event.completion.more);
}
