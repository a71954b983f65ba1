/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "plan/message.h"

static void parse(struct shape *shape, const char *text)
{
    struct problem problem = {0};

    if (shape_parse(shape, text, &problem) < 0)
        fail_msg("%s", problem.text);
}

static void refuse(const char *text, const char *why)
{
    struct problem problem = {0};
    struct shape shape = {0};

    if (shape_parse(&shape, text, &problem) == 0)
        fail_msg("'%s' was taken for a message", text);
    assert_problem(&problem, PROBLEM_USAGE, why);
    assert_null(shape.spans);
}

TEST(an_invalid_message_is_refused)
{
    const char *const *refused =
        WORDS("", "15x", "x2", "0x2", "2x0", "0", "-1", "+1", "1e99", "4k", "1x", "2++3", "/2", "2/", "2//3",
              "+", "/", "x", "2+", "2x3x4", "4Kx2", "1.5K", " 64", "64 ", "64,128", "64..1M", "2x-1", "0x10",
              "K", "15X2", "15*2", "64B", "1KK", "2x\xc3\x97\x33");

    for (; *refused; refused++)
        refuse(*refused, "write it like 64, 15x2");
}

TEST(a_refusal_names_the_position)
{
    refuse("15x", "expected a size at character 4");
    refuse("x2", "expected a size or a count at character 1");
    refuse("4k", "at character 2");
    refuse("2++3", "at character 3");
    refuse("2/", "at character 3");
    refuse("1e99", "expected +, / or the end at character 2");
    refuse("64+0", "a count or a size of zero");
}

TEST(a_message_has_limits)
{
    struct shape shape = {0};

    parse(&shape, "65536x1");
    assert_int_equal(shape.count, SHAPE_FRAGMENTS_MAX);
    shape_free(&shape);
    parse(&shape, "1G");
    assert_int_equal(shape.bytes, SHAPE_BYTES_MAX);
    shape_free(&shape);
    refuse("65537x1", "more than 65536 fragments");
    refuse("65536x1+1", "more than 65536 fragments");
    refuse("1G+1", "more than 1G");
    refuse("65536x16385", "more than 1G");
    refuse("4G", "more than 1G");
    refuse("17179869183G", "more than 1G");
    refuse("99999999999999999999", "too large");
    refuse("99999999999999999999x1", "too large");
    refuse("18446744073709551615x18446744073709551615", "more than 65536 fragments");
}

TEST(a_shape_counts_fragments_and_groups_and_has_the_longest)
{
    static const uint32_t sizes[] = {32, 4096, 4096, 8192, 1};
    static const uint32_t counts[] = {1, 1, 1, 1, 3};
    static const uint32_t marks[] = {1, 0, 1, 1, 3 | SPAN_OF_MANY};
    struct shape shape = {0};

    parse(&shape, "32/2x4K/8K/3x1");
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
    shape_free(&shape);
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
        struct shape shape = {0};

        parse(&shape, spellings[i][0]);
        CLEANUP_FREE char *text = shape_format(&shape);
        assert_string_equal(text, spellings[i][1]);
        shape_free(&shape);
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
        struct shape shape = {0}, again = {0};

        roll_message(&dice, typed);
        parse(&shape, typed);
        CLEANUP_FREE char *text = shape_format(&shape);
        parse(&again, text);
        assert_same_shape(&shape, &again);
        CLEANUP_FREE char *twice = shape_format(&again);
        assert_string_equal(text, twice);
        assert_true(strlen(text) <= strlen(typed));
        shape_free(&shape);
        shape_free(&again);
    }
}
