/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "connection/source.h"

static uint8_t pattern[3 * PATTERN_PERIOD];

static void fill_pattern(void)
{
    pattern_fill(pattern, sizeof pattern, 0);
}

struct unit_fixture unit_fixture = {.before_all = fill_pattern};

TEST(the_pattern_is_the_same_from_any_offset)
{
    static const uint64_t offsets[] = {
        0, 1, 1000, PATTERN_PERIOD - 1, PATTERN_PERIOD, PATTERN_PERIOD + 1, UINT64_C(1) << 40};
    static uint8_t part[PATTERN_PERIOD + 2000];

    for (size_t i = 0; i < COUNT_OF(offsets); i++) {
        pattern_fill(part, sizeof part, offsets[i]);
        assert_memory_equal(part, pattern + offsets[i] % PATTERN_PERIOD, sizeof part);
        assert_int_equal(pattern_compare(part, sizeof part, offsets[i]), sizeof part);
    }
}

TEST(the_period_is_prime)
{
    for (unsigned divisor = 2; divisor * divisor <= PATTERN_PERIOD; divisor++)
        assert_int_not_equal(PATTERN_PERIOD % divisor, 0);
}

TEST(the_first_wrong_byte_is_found)
{
    static const size_t places[] = {
        0, 1, 63, 64, 4095, PATTERN_PERIOD - 1, PATTERN_PERIOD, PATTERN_PERIOD + 1, 2 * PATTERN_PERIOD - 1};

    for (size_t i = 0; i < COUNT_OF(places); i++) {
        size_t last = 2 * PATTERN_PERIOD - 1;

        pattern[places[i]] ^= 0x10;
        pattern[last] ^= last == places[i] ? 0 : 0xff;
        assert_int_equal(pattern_compare(pattern, 2 * PATTERN_PERIOD, 0), places[i]);
        pattern[places[i]] ^= 0x10;
        pattern[last] ^= last == places[i] ? 0 : 0xff;
    }
    assert_int_equal(pattern_compare(pattern, 2 * PATTERN_PERIOD, 0), 2 * PATTERN_PERIOD);
}

/* Errors of a transfer shift the content by sizes that programs use. */
TEST(a_lost_or_doubled_stretch_is_noticed)
{
    static const uint64_t shifts[] = {1, 2, 16, 64, 512, 1448, 4096, 16384, 65536, 65483, 1 << 20, 1 << 30};

    for (size_t i = 0; i < COUNT_OF(shifts); i++) {
        assert_true(pattern_compare(pattern, 64, shifts[i]) < 64);
        assert_true(
            pattern_compare(pattern + PATTERN_PERIOD, 64, PATTERN_PERIOD - shifts[i] % PATTERN_PERIOD) < 64);
    }
}

static struct source source;

static void open_source(struct source_kind kind)
{
    source_close(&source);
    assert_int_equal(source_open(&source, kind), 0);
}

TEST(a_hot_source_sends_from_one_place)
{
    size_t position = 0;

    open_source((struct source_kind){.longest = 4096});
    for (int i = 0; i < 10; i++)
        assert_ptr_equal(source_take(&source, &position, 1000), source.memory.bytes);
    source_close(&source);
    assert_null(source.memory.bytes);
}

TEST(a_cold_source_walks_around_its_memory)
{
    size_t position = 0;

    open_source((struct source_kind){.longest = 300, .cold = 1000});
    for (size_t expected = 0, i = 0; i < 100; i++, expected = (expected + 300) % 1000)
        assert_ptr_equal(source_take(&source, &position, 300), source.memory.bytes + expected);
}

TEST(connections_begin_apart_and_where_the_pattern_begins)
{
    open_source((struct source_kind){.longest = 300, .cold = 1000});
    assert_int_equal(source_start(&source, 0, 4), 0);
    assert_int_equal(source_start(&source, 3, 4), 750);
    open_source((struct source_kind){.longest = 300, .cold = 10 * PATTERN_PERIOD, .patterned = true});
    assert_int_equal(source_start(&source, 3, 4) % PATTERN_PERIOD, 0);
    assert_int_equal(source_start(&source, 3, 4), 7 * PATTERN_PERIOD);
    open_source((struct source_kind){.longest = 300});
    assert_int_equal(source_start(&source, 3, 4), 0);
}

/* Under ASan this also checks that all bytes are in the memory of the source. */
static void check_verified(size_t longest, size_t cold)
{
    struct dice dice = {.state = 4};
    size_t position = 0;
    uint64_t sent = 0;

    open_source((struct source_kind){.longest = longest, .cold = cold, .patterned = true});
    assert_int_equal(source.period % PATTERN_PERIOD, 0);
    assert_true(source.period >= cold);
    for (int i = 0; i < 500; i++) {
        size_t size = 1 + dice_roll(&dice, longest);

        assert_int_equal(pattern_compare(source_take(&source, &position, size), size, sent), size);
        sent += size;
    }
    assert_true(sent > 2 * source.period);
}

TEST(a_verified_source_continues_the_pattern_over_its_end)
{
    check_verified(1000, 0);
    check_verified(PATTERN_PERIOD, 0);
    check_verified(100000, 0);
    check_verified(5000, 100000);
    check_verified(200000, 3 * PATTERN_PERIOD);
}
