/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/calls.h"

/* The results of the next calls, in order; a negative one is an errno value. */
static int answers[8];
static size_t asked;
static int flags_seen;

static ssize_t answer(int flags)
{
    int result = answers[asked++];

    flags_seen = flags;
    errno = result < 0 ? -result : 0;
    return result < 0 ? -1 : result;
}

#define FAKE(type, name, flags, ...)                                                                         \
    static type fake_##name(__VA_ARGS__)                                                                     \
    {                                                                                                        \
        return (type)answer(flags);                                                                          \
    }

FAKE(ssize_t, send, flags, int fd, const void *data, size_t size, int flags)
FAKE(ssize_t, sendmsg, flags, int fd, const struct msghdr *message, int flags)
FAKE(ssize_t, sendfile, 0, int fd, int file, off_t offset, size_t size)
FAKE(ssize_t, recv, flags, int fd, void *data, size_t size, int flags)
FAKE(int, setsockopt, 0, int fd, int level, int name, const void *value, socklen_t size)

static int fake_take_notification(int fd, struct zerocopy_notification *notification)
{
    *notification = (struct zerocopy_notification){.last = 7};
    return (int)answer(0);
}

static int fake_map(int fd, struct mapped *mapped)
{
    mapped->mapped = 4096;
    return (int)answer(0);
}

static const struct call_table fake = {.send = fake_send,
                                       .sendmsg = fake_sendmsg,
                                       .sendfile = fake_sendfile,
                                       .take_notification = fake_take_notification,
                                       .recv = fake_recv,
                                       .map = fake_map,
                                       .setsockopt = fake_setsockopt};

static struct calls begin(const int *script, size_t count)
{
    asked = 0;
    memset(answers, 0, sizeof answers);
    memcpy(answers, script, count * sizeof *script);
    return (struct calls){.table = &fake, .fd = -1};
}

#define BEGIN(...) begin((const int[]){__VA_ARGS__}, COUNT_OF(((const int[]){__VA_ARGS__})))

TEST(every_call_is_counted_by_its_kind)
{
    struct calls calls = BEGIN(5, 6, 7, 0, 0, 8, 0, 0);
    struct mapped mapped = {0};
    struct zerocopy_notification notification;

    assert_int_equal(calls_send(&calls, NULL, 5, MSG_MORE), 5);
    assert_int_equal(flags_seen, MSG_MORE | MSG_NOSIGNAL);
    assert_int_equal(calls_sendmsg(&calls, &(struct msghdr){0}, 0), 6);
    assert_int_equal(flags_seen, MSG_NOSIGNAL);
    assert_int_equal(calls_recv(&calls, NULL, 7, MSG_TRUNC), 7);
    assert_int_equal(flags_seen, MSG_TRUNC);
    assert_int_equal(calls_set_option(&calls, CALL_SETSOCKOPT, 1, 2, 3), 0);
    assert_int_equal(calls_set_option(&calls, CALL_QUICKACK, 1, 2, 3), 0);
    assert_int_equal(calls_sendfile(&calls, 3, 100, 8), 8);
    assert_int_equal(calls_take_notification(&calls, &notification), 0);
    assert_int_equal(notification.last, 7);
    assert_int_equal(calls_map(&calls, &mapped), 0);
    assert_int_equal(calls.counts.mapped_bytes, 4096);
    for (int kind = 0; kind < CALL_KIND_COUNT; kind++)
        assert_int_equal(calls.counts.made[kind],
                         call_infos[kind].path < CALL_WAITS && kind != CALL_ENTER_SENDING);
    assert_int_equal(calls.counts.would_block, 0);
    assert_int_equal(calls_count_path(&calls.counts, CALL_WRITES), 5);
    assert_int_equal(calls_count_path(&calls.counts, CALL_READS), 3);
}

TEST(an_interrupted_call_is_made_again_and_counted_as_strace_would)
{
    struct calls calls = BEGIN(-EINTR, -EINTR, 5, -EINTR, 3);

    assert_int_equal(calls_send(&calls, NULL, 5, 0), 5);
    assert_int_equal(calls.counts.made[CALL_SENDTO], 3);
    assert_int_equal(calls_recv(&calls, NULL, 5, 0), 3);
    assert_int_equal(calls.counts.made[CALL_RECVFROM], 2);
}

TEST(a_call_that_would_block_returns_eagain_and_is_counted)
{
    struct calls calls = BEGIN(-EAGAIN, -EWOULDBLOCK, -EAGAIN);

    assert_int_equal(calls_send(&calls, NULL, 5, 0), -EAGAIN);
    assert_int_equal(calls_sendmsg(&calls, &(struct msghdr){0}, 0), -EAGAIN);
    assert_int_equal(calls_recv(&calls, NULL, 5, 0), -EAGAIN);
    assert_int_equal(calls.counts.would_block, 3);
    assert_int_equal(calls.counts.made[CALL_SENDTO], 1);
}

TEST(an_error_comes_back_as_a_negative_errno_value)
{
    struct calls calls = BEGIN(-EPIPE, -ECONNRESET, -EOPNOTSUPP, 0);

    assert_int_equal(calls_send(&calls, NULL, 5, 0), -EPIPE);
    assert_int_equal(calls_recv(&calls, NULL, 5, 0), -ECONNRESET);
    assert_int_equal(calls_set_option(&calls, CALL_SETSOCKOPT, 1, 2, 3), -EOPNOTSUPP);
    assert_int_equal(calls_recv(&calls, NULL, 5, 0), 0);
    assert_int_equal(calls.counts.would_block, 0);
}

/* Memory that must not be touched: NULL, and far more than there is. */
TEST(calls_of_nothing_move_everything_and_touch_no_memory)
{
    struct calls calls = {.table = &calls_of_nothing, .fd = -1};
    struct iovec vectors[3] = {{NULL, 10}, {NULL, SIZE_MAX / 8}, {NULL, 5}};
    struct msghdr message = {.msg_iov = vectors, .msg_iovlen = 3};
    struct zerocopy_notification notification;

    assert_int_equal(calls_send(&calls, NULL, 1 << 30, 0), 1 << 30);
    assert_int_equal(calls_sendmsg(&calls, &message, 0), SIZE_MAX / 8 + 15);
    assert_int_equal(calls_sendfile(&calls, -1, 0, 1 << 30), 1 << 30);
    assert_int_equal(calls_take_notification(&calls, &notification), 0);
    assert_int_equal(notification.last - notification.first, UINT32_MAX); /* all sends are completed */
    assert_int_equal(calls_recv(&calls, NULL, 77, 0), 77);
    assert_int_equal(calls_set_option(&calls, CALL_SETSOCKOPT, 1, 2, 3), 0);
    assert_int_equal(calls_set_option(&calls, CALL_QUICKACK, 1, 2, 3), 0);
    for (int kind = 0; kind < CALL_KIND_COUNT; kind++)
        assert_int_equal(calls.counts.made[kind], call_infos[kind].path < CALL_WAITS &&
                                                      kind != CALL_ENTER_SENDING && kind != CALL_GETSOCKOPT);
}

TEST(differences_and_sums_go_kind_by_kind)
{
    struct call_counts a = {.would_block = 1}, b = {.would_block = 10};

    for (int kind = 0; kind < CALL_KIND_COUNT; kind++) {
        a.made[kind] = (uint64_t)kind + 1;
        b.made[kind] = 100 * ((uint64_t)kind + 1);
    }
    struct call_counts sum = calls_add(&a, &b, 1);
    for (int kind = 0; kind < CALL_KIND_COUNT; kind++)
        assert_int_equal(sum.made[kind], 101 * (kind + 1));
    assert_int_equal(sum.would_block, 11);
    struct call_counts back = calls_add(&sum, &b, -1);
    assert_memory_equal(&back, &a, sizeof a);
}

TEST(every_kind_has_the_name_that_strace_prints)
{
    for (int kind = 0; kind < CALL_KIND_COUNT; kind++)
        assert_true(strlen(call_infos[kind].name) > 0);
    assert_string_equal(call_infos[CALL_SENDTO].name, "sendto");
    assert_string_equal(call_infos[CALL_RECVFROM].name, "recvfrom");
}
