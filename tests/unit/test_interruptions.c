/* SPDX-License-Identifier: MIT */
/* Every strategy of the list, interrupted at every call that it makes. */
#include "script.h"
#include "unit.h"
#include "connection/strategy.h"

static const char *const shapes[] = {"1", "15x2", "16+4K", "32/2x4K/2x4K", "2/3x5+1/7", "1500x3", "2100x2/1"};

/* Parameters that divide these shapes, for strategies that take one. */
static const char *const parameters[] = {"", ":1", ":30", ":4K", ":1G"};

static size_t undisturbed_count;
static struct scripted_call undisturbed[SCRIPT_CALLS_MAX];

/* Records the calls for two messages without interruption. */
static void record_undisturbed(const char *write, const char *message)
{
    struct script *script = script_open(write, message, 0, 0);

    for (int i = 0; i < 2; i++) {
        connection_append(&script->connection, 1);
        assert_int_equal(script_push(script), 0);
    }
    assert_int_equal(script->sent, 2 * script->plan.message.bytes);
    assert_int_equal(script->transmitted, script->sent);
    undisturbed_count = script->count;
    memcpy(undisturbed, script->calls, sizeof undisturbed);
    script_close(script);
}

/* Calls `check` for every strategy that works through the scripted calls, every parameter and every
 * shape, whose undisturbed calls are recorded. */
static void each_strategy(void (*check)(const char *write, const char *message))
{
    for (size_t s = 0; s < strategy_axis.count; s++) {
        const struct strategy *strategy = (const struct strategy *)strategy_axis.variants[s];

        if (strategy->completed) {
            print_message("skipped: %s needs an engine that completes requests\n", strategy->variant.name);
            continue;
        }
        for (size_t p = 0; p < (strategy->parameter ? COUNT_OF(parameters) : 1); p++) {
            char write[64];

            snprintf(write, sizeof write, "%s%s", strategy->variant.name, parameters[p]);
            for (size_t i = 0; i < COUNT_OF(shapes); i++) {
                record_undisturbed(write, shapes[i]);
                check(write, shapes[i]);
            }
        }
    }
}

#define TEST_EACH(sentence)                                                                                  \
    static void each_##sentence(const char *write, const char *message);                                     \
    TEST(sentence)                                                                                           \
    {                                                                                                        \
        each_strategy(each_##sentence);                                                                      \
    }                                                                                                        \
    static void each_##sentence(const char *write, const char *message)

/* All calls of a short run, about forty of a long one. */
static size_t next_call(size_t call)
{
    return call + 1 + (undisturbed_count > 100 ? undisturbed_count / 40 : 0);
}

static void push_two_messages(struct script *script, int expected)
{
    size_t failed = 0;

    for (uint64_t i = 0; i < 2; i++) {
        int result;

        connection_append(&script->connection, 1);
        while ((result = script_push(script)) < 0) {
            assert_int_equal(result, expected);
            assert_int_equal(script->connection.queue.flushed_messages, i);
            assert_int_equal(++failed, 1);
        }
        script_reclaim(script);
        assert_int_equal(script->connection.queue.flushed_messages, i + 1);
        assert_int_equal(script->connection.queue.released, script->connection.queue.appended);
    }
    assert_true(script->odd_reached);
    assert_int_equal(script->sent, 2 * script->plan.message.bytes);
}

TEST_EACH(a_strategy_that_would_block_makes_the_same_calls_afterwards)
{
    for (size_t call = 0; call < undisturbed_count; call = next_call(call)) {
        struct script *script = script_open(write, message, call, -EAGAIN);

        push_two_messages(script, -EAGAIN);
        assert_int_equal(script->count, undisturbed_count);
        assert_memory_equal(script->calls, undisturbed, undisturbed_count * sizeof *undisturbed);
        script_close(script);
    }
}

static size_t count_switches(const struct scripted_call *calls, size_t count)
{
    size_t switches = 0;

    for (size_t i = 0; i < count; i++)
        switches += calls[i].kind == CALL_SETSOCKOPT;
    return switches;
}

static void cut_call(const char *write, const char *message, bool blocks_after)
{
    for (size_t call = 0; call < undisturbed_count; call = next_call(call)) {
        struct script *script = script_open(write, message, call, 1);

        script->blocks_after = blocks_after;
        push_two_messages(script, blocks_after ? -EAGAIN : 0);
        assert_in_range(script->count, undisturbed_count, undisturbed_count + 1);
        if (script->count > undisturbed_count) /* the rest goes as the group went */
            assert_int_equal(script->calls[call + 1].kind, undisturbed[call].kind);
        assert_int_equal(count_switches(script->calls, script->count),
                         count_switches(undisturbed, undisturbed_count));
        assert_int_equal(script->transmitted, script->sent);
        script_close(script);
    }
}

TEST_EACH(a_strategy_whose_call_moves_one_byte_sends_the_rest_and_nothing_twice)
{
    cut_call(write, message, false);
    cut_call(write, message, true);
}

TEST_EACH(a_strategy_whose_call_fails_says_so_at_once)
{
    for (size_t call = 0; call < undisturbed_count; call = next_call(call)) {
        struct script *script = script_open(write, message, call, -ECONNRESET);
        int result = 0;

        for (int i = 0; i < 2 && result == 0; i++) {
            connection_append(&script->connection, 1);
            result = script_push(script);
        }
        assert_int_equal(result, -ECONNRESET);
        assert_int_equal(script->made, call + 1);
        script_close(script);
    }
}

static bool ends_group(const struct shape *shape, size_t position)
{
    position %= shape->bytes;
    for (uint32_t i = 0; i < shape->span_count; i++) {
        if (position < shape->spans[i].bytes)
            return false;
        position -= shape->spans[i].bytes;
        if (!position)
            return shape->spans[i].marks & FRAGMENT_ENDS_GROUP;
    }
    return true;
}

/* Position 0 of a message is the end of the one before. */
static bool crosses_group(const struct shape *shape, const struct scripted_call *call)
{
    for (size_t at = call->position + 1; at < call->position + call->asked; at++)
        if (at % shape->bytes == 0 || ends_group(shape, at))
            return true;
    return false;
}

TEST_EACH(no_call_of_any_strategy_crosses_the_end_of_a_group_or_holds_it_back)
{
    struct script *script;

    script = script_open(write, message, 0, 0);
    for (size_t i = 0; i < undisturbed_count; i++) {
        const struct scripted_call *call = &undisturbed[i];
        size_t end = call->position + call->asked;

        assert_false(crosses_group(&script->plan.message, call));
        if (call->kind == CALL_SETSOCKOPT) /* the cork changes only between two groups */
            assert_true(call->position % script->plan.message.bytes == 0 ||
                        ends_group(&script->plan.message, call->position));
        else if (end % script->plan.message.bytes == 0 || ends_group(&script->plan.message, end))
            assert_false(call->flags & MSG_MORE);
    }
    script_close(script);
}

TEST_EACH(a_push_of_an_idle_queue_makes_no_call)
{
    struct script *script = script_open(write, message, 0, 0);
    size_t made;

    assert_int_equal(script_push(script), 0);
    assert_int_equal(script->made, 0);
    connection_append(&script->connection, 1);
    assert_int_equal(script_push(script), 0);
    made = script->made;
    assert_int_equal(script_push(script), 0);
    assert_int_equal(script->made, made);
    script_close(script);
}
