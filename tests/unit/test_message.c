/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/memory.h"
#include "plan/message.h"

static struct shape shape; /* of the last parse() */

static void free_shape(void)
{
    shape_free(&shape);
}

struct unit_fixture unit_fixture = {.after = free_shape};

static void parse(const char *text)
{
    free_shape();
    assert_accepted(shape_parse(&shape, text, &unit_problem));
}

static void refuse(const char *text, const char *why)
{
    struct shape refused = {0};

    if (shape_parse(&refused, text, empty_problem()) == 0)
        fail_msg("'%s' was taken for a message", text);
    assert_problem(&unit_problem, PROBLEM_USAGE, why);
    assert_null(refused.spans);
}

TEST(an_invalid_message_is_refused)
{
    unit_each(refuse, "write it like 64, 15x2",
              WORDS("", "15x", "x2", "0x2", "2x0", "0", "-1", "+1", "1e99", "4k", "1x", "2++3", "/2", "2/",
                    "2//3", "+", "/", "x", "2+", "2x3x4", "4Kx2", "1.5K", " 64", "64 ", "64,128", "64..1M",
                    "2x-1", "0x10", "K", "15X2", "15*2", "64B", "1KK", "2x\xc3\x97\x33"));
}

TEST(a_refusal_names_the_position)
{
    refuse("15x", "expected a size at character 4");
    refuse("x2", "expected a size or a count at character 1");
    refuse("4k", "at character 2");
    unit_each(refuse, "at character 3", WORDS("2++3", "2/"));
    refuse("1e99", "expected +, / or the end at character 2");
    refuse("64+0", "a count or a size of zero");
}

TEST(a_message_has_limits)
{
    parse("65536x1");
    assert_int_equal(shape.count, SHAPE_FRAGMENTS_MAX);
    parse("1G");
    assert_int_equal(shape.bytes, SHAPE_BYTES_MAX);
    unit_each(refuse, "more than 65536 fragments",
              WORDS("65537x1", "65536x1+1", "18446744073709551615x18446744073709551615"));
    unit_each(refuse, "more than 1G", WORDS("1G+1", "65536x16385", "4G", "17179869183G"));
    unit_each(refuse, "too large", WORDS("99999999999999999999", "99999999999999999999x1"));
}

TEST(a_shape_counts_fragments_and_groups_and_has_the_longest)
{
    static const uint32_t sizes[] = {32, 4096, 4096, 8192, 1};
    static const uint32_t counts[] = {1, 1, 1, 1, 3};
    static const uint32_t marks[] = {1, 0, 1, 1, 3 | SPAN_OF_MANY};

    parse("32/2x4K/8K/3x1");
    assert_int_equal(shape.count, 7);
    assert_int_equal(shape.span_count, COUNT_OF(sizes));
    assert_int_equal(shape.groups, 4);
    assert_int_equal(shape.bytes, 32 + 8192 + 8192 + 3);
    assert_int_equal(shape.longest_span, 8192);
    assert_int_equal(shape.longest_group, 8192);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        assert_int_equal(shape.spans[i].size, sizes[i]);
        assert_int_equal(shape.spans[i].bytes, counts[i] * sizes[i]);
        assert_int_equal(shape.spans[i].marks, marks[i]);
    }
}

TEST(the_canonical_spelling_joins_runs_and_shortens_sizes)
{
    static const char *const spellings[][2] = {{"64", "64"},
                                               {"0064", "64"},
                                               {"1x5", "5"},
                                               {"2+2", "2x2"},
                                               {"1024", "1K"},
                                               {"2x2+2", "3x2"},
                                               {"2/2", "2/2"},
                                               {"2x2/2", "2x2/2"},
                                               {"16+4096", "16+4K"},
                                               {"1048576", "1M"},
                                               {"32/2x4096/8K", "32/2x4K/8K"},
                                               {"1+2+1", "1+2+1"},
                                               {"3x1/2+1", "3x1/2+1"},
                                               {"1025x1K", "1025x1K"}};

    for (size_t i = 0; i < COUNT_OF(spellings); i++) {
        parse(spellings[i][0]);
        CLEANUP_FREE char *text = shape_format(&shape);
        assert_string_equal(text, spellings[i][1]);
    }
}

static void assert_same_shape(const struct shape *a, const struct shape *b)
{
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->groups, b->groups);
    assert_int_equal(a->bytes, b->bytes);
    assert_int_equal(a->longest_span, b->longest_span);
    assert_int_equal(a->longest_group, b->longest_group);
    assert_int_equal(a->span_count, b->span_count);
    assert_memory_equal(a->spans, b->spans, a->span_count * sizeof *a->spans);
}

/* A random message as a user may type it, not in canonical spelling. */
static void roll_message(struct dice *dice, char *text)
{
    static const char *const units[] = {"", "", "", "K", "M"};

    for (uint64_t parts = 1 + dice_roll(dice, 12); parts; parts--) {
        if (dice_roll(dice, 3) == 0)
            text += sprintf(text, "%dx", (int)dice_roll(dice, 9) + 1);
        text += sprintf(text, "%d%s%s", (int)dice_roll(dice, 4) + 1, units[dice_roll(dice, COUNT_OF(units))],
                        parts == 1           ? ""
                        : dice_roll(dice, 3) ? "+"
                                             : "/");
    }
}

TEST(every_shape_is_read_back_from_its_spelling)
{
    struct dice dice = {.state = 2};

    for (int i = 0; i < 3000; i++) {
        char typed[256];

        roll_message(&dice, typed);
        parse(typed);
        CLEANUP_FREE char *text = shape_format(&shape);
        struct shape first = shape;
        shape = (struct shape){0};
        parse(text);
        assert_same_shape(&first, &shape);
        CLEANUP_FREE char *twice = shape_format(&shape);
        assert_string_equal(text, twice);
        assert_true(strlen(text) <= strlen(typed));
        shape_free(&first);
    }
}

/* ---- operations of a protocol ---- */

static void parse_mix(struct operations *operations, const char *text)
{
    assert_accepted(operations_parse(operations, text, &unit_problem));
}

static void refuse_mix(const char *text, const char *why)
{
    struct operations operations;

    if (operations_parse(&operations, text, empty_problem()) == 0)
        fail_msg("'%s' was taken", text);
    assert_problem(&unit_problem, PROBLEM_USAGE, why);
}

TEST(an_invalid_operation_is_refused)
{
    unit_each(refuse_mix, "expected a name", WORDS("", ":4K", "READ:4K", "averylongname:4K", "read:4K+"));
    unit_each(refuse_mix, "a weight from 1 to 256", WORDS("ping*", "read:4K*", "read:4K*0", "read:4K*257"));
    unit_each(refuse_mix, "expected *, + or the end", WORDS("ping4", "read:4K/write:4K"));
    unit_each(refuse_mix, "a size from 1 to 32M", WORDS("read:", "read:0", "read:33M"));
    refuse_mix("read:4K*200+write:4K*57", "all weights together exceed 256");
    refuse_mix("a:1+a:1+a:1+a:1+a:1+a:1+a:1+a:1+a:1", "more than 8 kinds");
}

TEST(a_mix_is_spelled_as_it_was_typed)
{
    static const char *const texts[] = {"read:4K", "read:4K*7+write:64K*3", "get:100+set:1025", "ping",
                                        "ping*3+get:1"};

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct operations operations;

        parse_mix(&operations, texts[i]);
        CLEANUP_FREE char *spelled = operations_format(&operations);
        assert_string_equal(spelled, texts[i]);
    }
}

TEST(a_mix_has_its_weights_in_every_cycle)
{
    struct operations operations;
    unsigned writes = 0;

    parse_mix(&operations, "read:4K*7+write:8K*3");
    assert_int_equal(operations.cycle, 10);
    for (uint64_t number = 100; number < 110; number++)
        writes += operations_at(&operations, number)->bytes == 8192;
    assert_int_equal(writes, 3);
}

TEST(a_mix_is_spread_evenly)
{
    struct operations operations;

    parse_mix(&operations, "read:4K*2+write:8K*2");
    for (uint64_t number = 0; number < 8; number++)
        assert_int_equal(operations_at(&operations, number)->bytes, number % 2 ? 8192 : 4096);
}
