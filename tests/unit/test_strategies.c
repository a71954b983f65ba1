/* SPDX-License-Identifier: MIT */
/* Every strategy of the list over sockets that are nearly always full. test_group_calls.c and
 * test_interruptions.c test the calls of each strategy. */
#include "pair.h"
#include "connection/strategy.h"
#include "support/support.h"
#include "unit.h"

#include <poll.h>

static void await_writable(const struct pair *pair)
{
    struct pollfd fd = {.fd = pair->connection.calls.fd, .events = POLLOUT};

    poll(&fd, 1, 1); /* if it is not, the next push would block again */
}

struct visits {
    unsigned inside_fragment, between_groups, in_all;
};

/* Lent memory comes back when the other end has received it. */
static void reclaim(struct pair *pair)
{
    const struct strategy *strategy = pair->connection.strategy;

    if (strategy->zerocopy && pair->connection.queue.released != pair->connection.queue.appended)
        assert_in_range(socket_reclaim(&pair->connection), 0, 1);
}

static void await_memory(struct pair *pair)
{
    const struct send_queue *queue = &pair->connection.queue;

    for (int turn = 0; queue->released != queue->appended && turn < 5000; turn++) {
        struct pollfd fd = {.fd = pair->connection.calls.fd};

        pair_read(pair, 30000);
        poll(&fd, 1, 1);
        reclaim(pair);
    }
}

/* Pushes one message to its end, reading a little at the other end whenever the socket is full. */
static void push_message(struct pair *pair, struct visits *visits)
{
    struct send_queue *queue = &pair->connection.queue;
    uint64_t messages = queue->flushed_messages;
    int result;

    connection_append(&pair->connection, 1);
    while ((result = strategy_push(&pair->connection)) != 0) {
        if (result != -EINPROGRESS || !pair->connection.strategy->zerocopy)
            assert_int_equal(result, -EAGAIN);
        assert_true(queue->flushed <= queue->accepted && queue->accepted <= queue->appended);
        assert_true(queue->released <= queue->accepted);
        assert_int_equal(queue->flushed_messages, messages);
        visits->in_all++;
        visits->inside_fragment += queue->offset != 0;
        visits->between_groups += queue->flushed == queue->accepted && !queue->offset && queue->accepted > 0;
        pair_read(pair, pair->plan.message.bytes < 65536 ? 1500 : 30000);
        await_writable(pair);
        reclaim(pair);
    }
    assert_true(queue_is_idle(queue));
    await_memory(pair);
    assert_int_equal(queue->flushed_messages, messages + 1);
    assert_int_equal(queue->released, queue->appended);
}

static void drain(struct pair *pair, uint64_t bytes)
{
    for (int turn = 0; pair->received < bytes && turn < 2000; turn++) {
        struct pollfd fd = {.fd = pair->other, .events = POLLIN};

        poll(&fd, 1, 500); /* Nagle may hold the last bytes for 40 ms */
        pair_read(pair, 1 << 20);
    }
    assert_int_equal(pair->received, bytes);
}

static void run_shape(const char *transport, const char *write, const char *message, struct visits *visits)
{
    struct pair pair;

    pair_open(&pair, transport, write, message);
    for (int i = 0; i < 3; i++)
        push_message(&pair, visits);
    drain(&pair, 3 * pair.plan.message.bytes);
    pair_close(&pair);
}

static const struct strategy *strategy_at(size_t i)
{
    return (const struct strategy *)strategy_axis.variants[i];
}

static void run_strategy(const struct strategy *strategy, const struct transport *transport)
{
    const char *const *shapes = WORDS("1", "15x2", "16+4K", "32/2x4K/2x4K", "1M", "2000x1", "3x100000",
                                      "100x1000/1/3x50K", "40x2000/40x2000");
    struct visits visits = {0};
    struct problem why = {0};

    if (strategy->completed) {
        print_message("skipped: %s needs an engine's loop; unit-stream gives it one\n",
                      strategy->variant.name);
        return;
    }
    if (support_of_variant(WORD_write, &strategy->variant, transport, &why) < 0) {
        print_message("skipped: %s\n", why.text);
        return;
    }
    for (; *shapes; shapes++)
        run_shape(transport->variant.name, strategy->variant.name, *shapes, &visits);
    assert_true(visits.in_all > 50);
}

/* MPTCP opens a window of 4 KiB by a timer, 16 ms at a time: a mebibyte would take seconds. */
static bool has_small_buffers(const struct transport *transport)
{
    return transport->has_other_end && strcmp(transport->variant.name, "mptcp") != 0;
}

TEST(every_strategy_gets_every_message_through_a_full_socket_whole_and_in_order)
{
    for (size_t t = 0; t < transport_axis.count; t++)
        for (size_t s = 0; s < strategy_axis.count; s++)
            if (has_small_buffers((const struct transport *)transport_axis.variants[t]))
                run_strategy(strategy_at(s), (const struct transport *)transport_axis.variants[t]);
}

TEST(strategies_that_send_piece_by_piece_would_block_inside_fragments_and_between_groups)
{
    struct visits visits = {0};

    run_shape("unix", "nodelay", "40x700/40x700/3x50K", &visits);
    run_shape("tcp", "nodelay", "40x700/40x700/3x50K", &visits);
    run_shape("unix", "nodelay", "200/200/200/200/200/200/200/200/200/200/200/200/200/200/200/200", &visits);
    run_shape("unix", "nodelay", "2048/2048/2048/2048/2048/2048/2048", &visits);
    assert_true(visits.inside_fragment > 0);
    assert_true(visits.between_groups > 0);
}
