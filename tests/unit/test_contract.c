/* SPDX-License-Identifier: MIT */
/* The contract of strategies and layers, against a slower ring and a stricter layer than any real
 * one: requests complete after push() has returned, layers hold back what they accepted. Real
 * workloads; both ends in one thread, in an engine of a few lines. */
#include "contract.h"
#include "unit.h"

#include "connection/layer.h"
#include "connection/workload.h"
#include "engine/engine.h"
#include "transport/transport.h"

#include <fcntl.h>
#include <unistd.h>

/* How often a span was seen in one state and not in another. */
struct moments {
    unsigned accepted_not_flushed, flushed_not_released, released_not_flushed;
};

struct side {
    struct thread_shared shared;
    struct connection connection;
    struct moments moments;
    uint64_t released; /* spans */
    bool over;
};

static struct plan plan;
static struct side sides[END_COUNT];

/* ---- both ends ---- */

static void on_release(void *owner, const struct span *span)
{
    struct side *side = owner;
    const struct send_queue *queue = &side->connection.queue;

    assert_ptr_equal(span, &queue->ring[side->released & queue->mask]); /* in order, each once */
    assert_true(side->released < queue->accepted);
    side->released++;
}

static int shrink(int fd)
{
    int size = 4096;

    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static void open_side(enum end end, int fd, uint64_t messages)
{
    struct side *side = &sides[end];

    memset(side, 0, sizeof *side);
    assert_int_equal(shrink(fd), 0);
    unit_open(&plan, &side->shared, &side->connection, end, fd);
    side->connection.queue.on_release = on_release;
    side->connection.queue.owner = side;
    thread_shared_begin_phase(&side->shared, UINT64_MAX, false);
    side->connection.messages_left = messages;
    if (side->connection.role->begin)
        side->connection.role->begin(&side->connection);
}

static void begin_session(struct side *side)
{
    struct security_terms terms = {.identity = SECURITY_IDENTITY,
                                   .identity_size = strlen(SECURITY_IDENTITY),
                                   .serves = side->shared.end == END_SERVER,
                                   .cipher = CIPHER_AES_128_GCM,
                                   .handshake = HANDSHAKE_PSK_ECDHE,
                                   .key = "the same at both ends"};

    if (plan.encrypts)
        assert_int_equal(security_open_context(&side->shared, side->connection.peer, &terms), 0);
    assert_int_equal(security_begin(&side->connection), 0);
}

static void shake_hands(void)
{
    begin_session(&sides[END_CLIENT]);
    begin_session(&sides[END_SERVER]);
    while (!connection_is_open(&sides[END_CLIENT].connection) ||
           !connection_is_open(&sides[END_SERVER].connection))
        for (int end = END_CLIENT; end <= END_SERVER; end++) {
            int result = engine_handshake(&sides[end].connection);

            if (result < 0 && result != -EAGAIN && result != -EINPROGRESS)
                fail_msg("%s", sides[end].shared.problem.text);
        }
}

struct setup {
    const char *words[6]; /* more words, NULL at the end */
    struct strategy_choice choice;
    const struct security *security; /* NULL: plain */
    uint64_t messages;
};

static void use_layer(const struct security *security)
{
    plan.ends[END_CLIENT].security = plan.ends[END_SERVER].security = security;
    plan.encrypts = security->encrypts;
}

static void open_sides(const struct setup *setup)
{
    const char *words[9] = {"transport=unix", "verify=on"};
    size_t count = 2;
    int fds[2];

    for (size_t i = 0; setup->words[i]; i++)
        words[count++] = setup->words[i];
    unit_parse(&plan, words);
    plan.write = plan.reply_write = setup->choice;
    if (setup->security)
        use_layer(setup->security);
    assert_int_equal(plan.transport->pair(0, fds), 0);
    open_side(END_CLIENT, fds[0], setup->messages);
    open_side(END_SERVER, fds[1], setup->messages);
    shake_hands();
}

static void close_sides(void)
{
    for (int end = 0; end < END_COUNT; end++) {
        close(sides[end].connection.calls.fd);
        connection_close(&sides[end].connection);
        thread_shared_close(&sides[end].shared);
    }
    plan_free(&plan);
}

/* ---- the engine ---- */

static void check_queue(struct side *side)
{
    const struct send_queue *queue = &side->connection.queue;

    assert_true(queue->flushed <= queue->accepted && queue->accepted <= queue->appended);
    assert_true(queue->released <= queue->accepted);
    assert_int_equal(queue->released, side->released);
    assert_true(queue->appended - queue->released <= queue->mask + 1); /* or lent memory was written over */
    side->moments.accepted_not_flushed += queue->accepted > queue->flushed;
    side->moments.flushed_not_released += queue->flushed > queue->released;
    side->moments.released_not_flushed += queue->released > queue->flushed;
}

static void push(struct connection *connection)
{
    int result = strategy_push(connection);

    if (result != 0 && result != -EAGAIN && result != -EINPROGRESS)
        fail_msg("push() returned %d", result);
    assert_true((result == 0) == queue_is_idle(&connection->queue));
}

/* Receives until there is nothing: buffered bytes of a layer do not make the descriptor
 * readable. */
static void receive(struct connection *connection)
{
    size_t wanted;

    while ((wanted = connection->role->wants(connection))) {
        int result = engine_receive(connection, wanted);

        if (result == -EAGAIN)
            return;
        if (result < 0)
            fail_msg("%s", connection->shared->problem.text);
    }
}

static void step(struct side *side)
{
    struct connection *connection = &side->connection;

    if (side->over)
        return;
    if (connection->role->fill)
        connection->role->fill(connection);
    check_queue(side);
    if (queue_is_idle(&connection->queue) && role_is_over(connection) &&
        connection->queue.released == connection->queue.appended) {
        side->over = true;
        assert_int_equal(security_half_close(connection), 0);
        return;
    }
    if (!queue_is_idle(&connection->queue))
        push(connection);
    check_queue(side);
    if (connection->reading)
        receive(connection);
}

#define TURNS_MAX 2000000

static void run(void)
{
    for (unsigned turn = 0; !sides[END_CLIENT].over || !sides[END_SERVER].over; turn++) {
        if (turn == TURNS_MAX)
            fail_msg("the two ends wait for each other");
        step(&sides[END_CLIENT]);
        step(&sides[END_SERVER]);
        assert_int_equal(ring_turn(), 0);
    }
    assert_true(ring_is_empty());
}

static enum end driver(void)
{
    return plan.ends[END_CLIENT].drives ? END_CLIENT : END_SERVER;
}

static void check_totals(uint64_t messages)
{
    const struct connection *sender = &sides[driver()].connection;
    const struct connection *receiver = &sides[driver() == END_CLIENT ? END_SERVER : END_CLIENT].connection;
    uint64_t replies = sender->reading ? messages : 0;

    assert_int_equal(sender->queue.flushed_messages, messages);
    assert_int_equal(sender->queue.flushed_bytes, messages * plan.message.bytes);
    assert_int_equal(receiver->arrivals.messages, messages);
    assert_int_equal(receiver->arrivals.bytes, messages * plan.message.bytes);
    assert_int_equal(receiver->queue.flushed_messages, replies);
    assert_int_equal(sender->arrivals.messages, replies);
    assert_int_equal(sides[driver()].shared.latency.count, replies);
}

/* Runs the setup and returns the moments of the side that drives. */
static struct moments run_setup(const struct setup *setup)
{
    struct moments moments;

    ring_reset(7);
    records_reset();
    open_sides(setup);
    run();
    check_totals(setup->messages);
    moments = sides[driver()].moments;
    close_sides();
    return moments;
}

/* ---- the tests ---- */

static const struct strategy_choice late = {.strategy = &strategy_late, .parameter = PARAMETER_NONE};

TEST(the_engine_of_this_test_runs_every_strategy_without_completions)
{
    for (size_t i = 0; i < strategy_axis.count; i++) {
        const struct strategy *strategy = (const struct strategy *)strategy_axis.variants[i];
        struct strategy_choice choice = {.strategy = strategy, .parameter = PARAMETER_NONE};

        if (strategy->completed || strategy_needs(&choice, (const struct security *)security_axis.variants[0],
                                                  (const struct transport *)transport_axis.variants[0]) &
                                       ~(unsigned)CAPABLE_DESCRIPTOR) {
            print_message("skipped: %s needs more than a descriptor\n", strategy->variant.name);
            continue;
        }
        run_setup(&(struct setup){{"message=15x2", "reply=16+4K"}, choice, NULL, 200});
        run_setup(&(struct setup){{"workload=stream", "message=32/2x4K/2x4K"}, choice, NULL, 50});
    }
}

TEST(requests_that_complete_later_carry_a_stream)
{
    static const char *const messages[] = {"message=1", "message=15x2", "message=32/2x4K/2x4K",
                                           "message=3x100000"};

    for (size_t i = 0; i < COUNT_OF(messages); i++) {
        struct moments moments = run_setup(&(struct setup){{"workload=stream", messages[i]}, late, NULL, 40});

        assert_true(moments.accepted_not_flushed > 0);
        assert_true(moments.flushed_not_released > 0);
        assert_int_equal(moments.released_not_flushed, 0);
    }
}

TEST(requests_that_complete_later_carry_a_stream_from_the_server)
{
    run_setup(&(struct setup){{"workload=stream", "direction=receive", "message=16+4K"}, late, NULL, 40});
}

/* The reply may come before the memory of the request does. */
TEST(a_request_waits_until_there_is_room_for_it)
{
    struct moments moments = run_setup(&(struct setup){{"message=3x2", "reply=2"}, late, NULL, 300});

    assert_true(moments.flushed_not_released > 0);
    run_setup(&(struct setup){{"message=16+4K", "reply=32/2x4K"}, late, NULL, 100});
}

/* Strategies that need no capability. */
static const char *const any_layer[] = {"nodelay", "writev", "coalesce", "coalesce:30"};

static const struct strategy_choice *choose(const char *write)
{
    static struct plan chosen;

    unit_parse(&chosen, WORDS(unit_text("write=%s", write)));
    plan_free(&chosen);
    return &chosen.write;
}

TEST(a_layer_that_accepts_a_record_only_when_it_is_sent_carries_every_workload)
{
    for (size_t i = 0; i < COUNT_OF(any_layer); i++) {
        struct strategy_choice choice = *choose(any_layer[i]);

        run_setup(&(struct setup){{"message=15x2", "reply=16+4K"}, choice, &security_strict, 100});
        run_setup(
            &(struct setup){{"workload=stream", "message=32/2x4K/3x5000"}, choice, &security_strict, 50});
        assert_true(records_blocked > 0);
    }
}

/* Through the smallest buffers of a socket, so that a record is cut again and again. */
TEST(every_library_carries_every_workload_to_every_other)
{
    static const char *const writes[] = {"nodelay", "cork", "cork:30", "coalesce", "coalesce:30"};

    for (size_t i = 0; i < security_axis.count; i++) {
        const struct security *library = (const struct security *)security_axis.variants[i];
        bool is_absent = library->check && library->check(&unit_problem) < 0;

        if (!library->encrypts || is_absent || !(library->gives & CAPABLE_RECORD_CORK))
            continue;
        for (size_t j = 0; j < COUNT_OF(writes); j++) {
            struct strategy_choice choice = *choose(writes[j]);

            run_setup(&(struct setup){{"message=15x2", "reply=16+4K"}, choice, library, 100});
            run_setup(&(struct setup){{"workload=stream", "message=32/2x20000/200K+5"}, choice, library, 20});
        }
    }
}
