/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/units.h"

static void accept(const struct units *units, const char *text, uint64_t expected)
{
    uint64_t value = expected + 1;

    if (units_parse(units, text, &value) < 0 || value != expected)
        fail_msg("'%s' is %ju, not %ju", text, (uintmax_t)value, (uintmax_t)expected);
}

struct spelling {
    const char *text;
    uint64_t value;
};

#define SPELLINGS(...) ((const struct spelling[]){__VA_ARGS__, {NULL, 0}})

static void accept_all(const struct units *units, const struct spelling *spellings)
{
    for (; spellings->text; spellings++)
        accept(units, spellings->text, spellings->value);
}

static void refuse(const struct units *units, int error, const char *const *texts)
{
    uint64_t value;

    for (; *texts; texts++)
        if (units_parse(units, *texts, &value) != error)
            fail_msg("'%s' is not refused with %d", *texts, error);
}

TEST(a_size_is_digits_and_perhaps_k_m_or_g)
{
    accept_all(&units_size, SPELLINGS({"0", 0}, {"1", 1}, {"007", 7}, {"4K", 4096}, {"3M", 3 << 20},
                                      {"1G", 1 << 30}, {"17179869183G", UINT64_C(17179869183) << 30},
                                      {"18446744073709551615", UINT64_MAX}));
}

TEST(a_size_is_the_whole_text_and_nothing_else)
{
    refuse(&units_size, -EINVAL,
           WORDS("", "K", "4k", "4KB", "4K ", " 4", "4 ", "+4", "-1", "4 K", "0x10", "1e3", "1.5K", "4K4",
                 "1\n", "inf", "\xc2\xb2"));
}

TEST(a_size_beyond_64_bits_is_out_of_range)
{
    refuse(&units_size, -ERANGE,
           WORDS("18446744073709551616", "99999999999999999999999", "17179869184G", "18014398509481984K"));
}

TEST(a_count_takes_no_unit)
{
    accept(&units_count, "1000", 1000);
    refuse(&units_count, -EINVAL, WORDS("1K", "-1", ""));
    refuse(&units_count, -ERANGE, WORDS("18446744073709551616"));
}

TEST(a_duration_has_a_unit_and_perhaps_decimals)
{
    accept_all(&units_duration, SPELLINGS({"2s", 2000000000}, {"0.2s", 200000000}, {"150ms", 150000000},
                                          {"1.5us", 1500}, {"10ns", 10}, {"0s", 0}, {"1.500s", 1500000000},
                                          {"0.000000001s", 1}, {"18446744073.709551615s", UINT64_MAX}));
}

TEST(a_duration_is_strict)
{
    refuse(&units_duration, -EINVAL,
           WORDS("", "2", "s", "2 s", "2S", ".5s", "1.s", "-1s", "2sec", "1.5ns", "1e3s", "2s ", "1..5s",
                 "1,5s", "0.0000000001s"));
    refuse(&units_duration, -ERANGE, WORDS("18446744074s", "18446744073.709551616s"));
}

TEST(a_rate_counts_bits_in_thousands)
{
    accept_all(&units_rate, SPELLINGS({"1bit", 1}, {"64kbit", 64000}, {"100mbit", 100000000},
                                      {"2.5gbit", UINT64_C(2500000000)}, {"0bit", 0}));
    refuse(&units_rate, -EINVAL, WORDS("", "1", "1g", "1Gbit", "1 gbit", "gbit", "0.5bit", "1gbit/s"));
    refuse(&units_rate, -ERANGE, WORDS("18446744074gbit"));
}

/* The one spelling that is written for a value, which is read back. */
static void spell(const struct units *units, const struct spelling *spellings)
{
    for (const struct spelling *each = spellings; each->text; each++) {
        char spelled[UNITS_TEXT_MAX];

        units_format(units, spelled, each->value);
        assert_string_equal(spelled, each->text);
    }
    accept_all(units, spellings);
}

TEST(a_percentage_is_exact_to_a_millionth)
{
    spell(&units_percent, SPELLINGS({"0%", 0}, {"1%", 10000}, {"0.1%", 1000}, {"12.5%", 125000},
                                    {"0.0001%", 1}, {"100%", 1000000}));
    refuse(&units_percent, -EINVAL, WORDS("", "1", "%", "0.00001%", "1 %", "-1%", "1%%"));
}

TEST(taking_a_number_stops_behind_its_last_digit)
{
    const char *text = "15x2K/", *none = "x2";
    uint64_t value;

    assert_int_equal(units_take_number(&text, &value), 0);
    assert_int_equal(value, 15);
    assert_string_equal(text, "x2K/");
    text++;
    assert_int_equal(units_take_size(&text, &value), 0);
    assert_int_equal(value, 2048);
    assert_string_equal(text, "/");
    assert_int_equal(units_take_size(&none, &value), -EINVAL);
    assert_string_equal(none, "x2");
}

TEST(the_shortest_exact_spelling_is_written)
{
    spell(&units_size,
          SPELLINGS({"0", 0}, {"1", 1}, {"1023", 1023}, {"1K", 1024}, {"1536", 1536}, {"64K", 1 << 16},
                    {"1M", 1 << 20}, {"1025K", 1025 << 10}, {"2G", UINT64_C(2) << 30}));
    spell(&units_duration, SPELLINGS({"0s", 0}, {"1ns", 1}, {"1500ns", 1500}, {"200ms", 200000000},
                                     {"2s", 2000000000}, {"90s", UINT64_C(90000000000)}));
}

static void repeat(const struct units *units, uint64_t value)
{
    char text[UNITS_TEXT_MAX];

    units_format(units, text, value);
    accept(units, text, value);
}

TEST(what_is_written_is_read_back)
{
    struct dice dice = {.state = 1};

    for (int i = 0; i < 20000; i++) {
        uint64_t value = dice_bits(&dice) >> dice_roll(&dice, 64) << dice_roll(&dice, 32);

        repeat(&units_size, value);
        value -= dice_roll(&dice, 2) ? value % 1000000 : 0;
        repeat(&units_duration, value);
        repeat(&units_rate, value);
        repeat(&units_percent, value);
    }
}
