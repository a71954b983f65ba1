/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/cleanup.h"
#include "plan/message.h"

static void parse(struct operations *operations, const char *text)
{
    struct problem problem = {0};

    if (operations_parse(operations, text, &problem) < 0)
        fail_msg("%s", problem.text);
}

static void refuse(const char *text, const char *why)
{
    struct problem problem = {0};
    struct operations operations;

    if (operations_parse(&operations, text, &problem) == 0)
        fail_msg("'%s' was taken", text);
    assert_problem(&problem, PROBLEM_USAGE, why);
}

TEST(an_invalid_operation_is_refused)
{
    refuse("", "expected a name");
    refuse(":4K", "expected a name");
    refuse("READ:4K", "expected a name");
    refuse("averylongname:4K", "expected a name");
    refuse("ping*", "a weight from 1 to 256");
    refuse("ping4", "expected *, + or the end");
    refuse("read:", "a size from 1 to 32M");
    refuse("read:0", "a size from 1 to 32M");
    refuse("read:33M", "a size from 1 to 32M");
    refuse("read:4K*", "a weight from 1 to 256");
    refuse("read:4K*0", "a weight from 1 to 256");
    refuse("read:4K*257", "a weight from 1 to 256");
    refuse("read:4K*200+write:4K*57", "all weights together exceed 256");
    refuse("read:4K+", "expected a name");
    refuse("read:4K/write:4K", "expected *, + or the end");
    refuse("a:1+a:1+a:1+a:1+a:1+a:1+a:1+a:1+a:1", "more than 8 kinds");
}

TEST(a_mix_is_spelled_as_it_was_typed)
{
    static const char *const texts[] = {"read:4K", "read:4K*7+write:64K*3", "get:100+set:1025", "ping",
                                        "ping*3+get:1"};

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct operations operations;

        parse(&operations, texts[i]);
        CLEANUP_FREE char *spelled = operations_format(&operations);
        assert_string_equal(spelled, texts[i]);
    }
}

TEST(a_mix_has_its_weights_in_every_cycle)
{
    struct operations operations;
    unsigned writes = 0;

    parse(&operations, "read:4K*7+write:8K*3");
    assert_int_equal(operations.cycle, 10);
    for (uint64_t number = 100; number < 110; number++)
        writes += operations_at(&operations, number)->bytes == 8192;
    assert_int_equal(writes, 3);
}

TEST(a_mix_is_spread_evenly)
{
    struct operations operations;

    parse(&operations, "read:4K*2+write:8K*2");
    for (uint64_t number = 0; number < 8; number++)
        assert_int_equal(operations_at(&operations, number)->bytes, number % 2 ? 8192 : 4096);
}
