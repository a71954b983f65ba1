/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/units.h"

#include <errno.h>

struct spelled {
    const char *text;
    uint64_t value;
};

TEST(a_size_is_digits_and_perhaps_k_m_or_g)
{
    static const struct spelled sizes[] = {
        {"0", 0},
        {"1", 1},
        {"007", 7},
        {"4K", 4096},
        {"3M", 3 << 20},
        {"1G", 1 << 30},
        {"17179869183G", UINT64_C(17179869183) << 30},
        {"18446744073709551615", UINT64_MAX},
    };

    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        uint64_t bytes = 1;

        assert_int_equal(units_parse(&units_size, sizes[i].text, &bytes), 0);
        assert_int_equal(bytes, sizes[i].value);
    }
}

TEST(a_size_is_the_whole_text_and_nothing_else)
{
    static const char *const refused[] = {"",    "K",    "4k",  "4KB",  "4K ", " 4",  "4 ",  "+4",      "-1",
                                          "4 K", "0x10", "1e3", "1.5K", "4K4", "1\n", "inf", "\xc2\xb2"};
    uint64_t bytes;

    for (size_t i = 0; i < COUNT_OF(refused); i++)
        assert_int_equal(units_parse(&units_size, refused[i], &bytes), -EINVAL);
}

TEST(a_size_beyond_64_bits_is_out_of_range)
{
    static const char *const refused[] = {"18446744073709551616", "99999999999999999999999", "17179869184G",
                                          "18014398509481984K"};
    uint64_t bytes;

    for (size_t i = 0; i < COUNT_OF(refused); i++)
        assert_int_equal(units_parse(&units_size, refused[i], &bytes), -ERANGE);
}

TEST(a_count_takes_no_unit)
{
    uint64_t count = 0;

    assert_int_equal(units_parse(&units_count, "1000", &count), 0);
    assert_int_equal(count, 1000);
    assert_int_equal(units_parse(&units_count, "1K", &count), -EINVAL);
    assert_int_equal(units_parse(&units_count, "-1", &count), -EINVAL);
    assert_int_equal(units_parse(&units_count, "", &count), -EINVAL);
    assert_int_equal(units_parse(&units_count, "18446744073709551616", &count), -ERANGE);
}

TEST(a_duration_has_a_unit_and_perhaps_decimals)
{
    static const struct spelled durations[] = {
        {"2s", 2000000000},     {"0.2s", 200000000}, {"150ms", 150000000},
        {"1.5us", 1500},        {"10ns", 10},        {"0s", 0},
        {"1.500s", 1500000000}, {"0.000000001s", 1}, {"18446744073.709551615s", UINT64_MAX},
    };

    for (size_t i = 0; i < COUNT_OF(durations); i++) {
        uint64_t ns = 1;

        assert_int_equal(units_parse(&units_duration, durations[i].text, &ns), 0);
        assert_int_equal(ns, durations[i].value);
    }
}

TEST(a_duration_is_strict)
{
    static const char *const refused[] = {"",     "2",   "s",     "2 s",  "2S",
                                          ".5s",  "1.s", "-1s",   "2sec", "1.5ns",
                                          "1e3s", "2s ", "1..5s", "1,5s", "0.0000000001s"};
    uint64_t ns;

    for (size_t i = 0; i < COUNT_OF(refused); i++)
        assert_int_equal(units_parse(&units_duration, refused[i], &ns), -EINVAL);
    assert_int_equal(units_parse(&units_duration, "18446744074s", &ns), -ERANGE);
    assert_int_equal(units_parse(&units_duration, "18446744073.709551616s", &ns), -ERANGE);
}

TEST(a_rate_counts_bits_in_thousands)
{
    static const struct spelled rates[] = {{"1bit", 1},
                                           {"64kbit", 64000},
                                           {"100mbit", 100000000},
                                           {"2.5gbit", UINT64_C(2500000000)},
                                           {"0bit", 0}};
    static const char *const refused[] = {"", "1", "1g", "1Gbit", "1 gbit", "gbit", "0.5bit", "1gbit/s"};
    uint64_t bits;

    for (size_t i = 0; i < COUNT_OF(rates); i++) {
        assert_int_equal(units_parse(&units_rate, rates[i].text, &bits), 0);
        assert_int_equal(bits, rates[i].value);
    }
    for (size_t i = 0; i < COUNT_OF(refused); i++)
        assert_int_equal(units_parse(&units_rate, refused[i], &bits), -EINVAL);
    assert_int_equal(units_parse(&units_rate, "18446744074gbit", &bits), -ERANGE);
}

TEST(a_percentage_is_exact_to_a_millionth)
{
    static const struct spelled shares[] = {{"0%", 0},         {"1%", 10000},  {"0.1%", 1000},
                                            {"12.5%", 125000}, {"0.0001%", 1}, {"100%", 1000000}};
    static const char *const refused[] = {"", "1", "%", "0.00001%", "1 %", "-1%", "1%%"};
    char text[UNITS_TEXT_MAX];
    uint64_t millionths;

    for (size_t i = 0; i < COUNT_OF(shares); i++) {
        assert_int_equal(units_parse(&units_percent, shares[i].text, &millionths), 0);
        assert_int_equal(millionths, shares[i].value);
        units_format(&units_percent, text, millionths);
        assert_string_equal(text, shares[i].text);
    }
    for (size_t i = 0; i < COUNT_OF(refused); i++)
        assert_int_equal(units_parse(&units_percent, refused[i], &millionths), -EINVAL);
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
    static const struct spelled sizes[] = {{"0", 0},
                                           {"1", 1},
                                           {"1023", 1023},
                                           {"1K", 1024},
                                           {"1536", 1536},
                                           {"64K", 1 << 16},
                                           {"1M", 1 << 20},
                                           {"1025K", 1025 << 10},
                                           {"2G", UINT64_C(2) << 30}};
    static const struct spelled durations[] = {{"0s", 0},          {"1ns", 1},
                                               {"1500ns", 1500},   {"200ms", 200000000},
                                               {"2s", 2000000000}, {"90s", UINT64_C(90000000000)}};
    char text[UNITS_TEXT_MAX];

    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        units_format(&units_size, text, sizes[i].value);
        assert_string_equal(text, sizes[i].text);
    }
    for (size_t i = 0; i < COUNT_OF(durations); i++) {
        units_format(&units_duration, text, durations[i].value);
        assert_string_equal(text, durations[i].text);
    }
}

TEST(what_is_written_is_read_back)
{
    struct dice dice = {.state = 1};

    for (int i = 0; i < 20000; i++) {
        uint64_t value = dice_bits(&dice) >> dice_roll(&dice, 64) << dice_roll(&dice, 32), back = 0;
        char text[UNITS_TEXT_MAX];

        units_format(&units_size, text, value);
        assert_int_equal(units_parse(&units_size, text, &back), 0);
        assert_int_equal(back, value);
        value -= dice_roll(&dice, 2) ? value % 1000000 : 0;
        units_format(&units_duration, text, value);
        assert_int_equal(units_parse(&units_duration, text, &back), 0);
        assert_int_equal(back, value);
        units_format(&units_rate, text, value);
        assert_int_equal(units_parse(&units_rate, text, &back), 0);
        assert_int_equal(back, value);
        units_format(&units_percent, text, value);
        assert_int_equal(units_parse(&units_percent, text, &back), 0);
        assert_int_equal(back, value);
    }
}
