/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "words/word.h"

static void expands(const char *word, const char *expected)
{
    CLEANUP_JSON json_t *expanded = expand_words(&word, 1, empty_problem());

    if (!expanded)
        fail_msg("%s", unit_problem.text);
    CLEANUP_FREE char *text = unit_flatten(json_object_get(json_array_get(expanded, 0), "values"));
    assert_string_equal(text, expected);
}

static void refuse(const char *word, const char *why)
{
    if (expand_words(&word, 1, empty_problem()))
        fail_msg("'%s' was expanded", word);
    assert_problem(&unit_problem, PROBLEM_USAGE, why);
}

TEST(a_range_doubles_multiplies_or_adds)
{
    expands("message=64..1K", "64 128 256 512 1K");
    expands("message=64..16K:4", "64 256 1K 4K 16K");
    expands("connections=1..16:+5", "1 6 11 16");
    expands("sndbuf=4K..12K:+4K", "4K 8K 12K");
    expands("connections=1..3:+1", "1 2 3");
    expands("messages=1..1000:10", "1 10 100 1000");
}

TEST(a_range_never_goes_beyond_its_end)
{
    expands("message=64..1000", "64 128 256 512");
    expands("connections=1..10:+4", "1 5 9");
    expands("message=5..5", "5");
    expands("bytes=512G..1024G", "512G 1024G");
    expands("bytes=3..1G:6148914691236517206", "3"); /* three times that is 2 in 64 bits */
    expands("bytes=3..1G:+18446744073709551615", "3");
}

TEST(a_list_holds_values_and_ranges)
{
    expands("write=nodelay,cork,writev", "nodelay cork writev");
    expands("message=15x2,64..256,16+4096", "15x2 64 128 256 16+4K");
    expands("place=together,apart,0/1", "together apart 0/1");
    expands("duration=1s,0.5s", "1s 500ms");
    expands("write=cork,cork:65536", "cork cork:64K");
}

TEST(dots_in_a_path_or_a_name_are_not_a_range)
{
    expands("build=this,../old", "this ../old");
    expands("build=../a,../../b", "../a ../../b");
    expands("target=vng:../old,ssh:a..b", "vng:../old ssh:a..b");
}

TEST(a_bad_range_is_refused)
{
    static const char *const ranges[] = {"64..",      "..64",      "64...128",  "128..64",      "0..64",
                                         "64..1M:1",  "64..1M:0",  "64..1M:+0", "64..1M:",      "64..1M:+",
                                         "64..1M:-1", "64..1M:2x", "15x2..1M",  "64..128..256", "1M..64K",
                                         "64..16+4K", "64 ..128"};

    for (size_t i = 0; i < COUNT_OF(ranges); i++)
        refuse(unit_text("message=%s", ranges[i]), "is not a range; write it like 64..1M");
}

TEST(every_value_of_a_list_must_be_valid)
{
    unit_each(refuse, "expected a size", WORDS("message=64,15x", "message=64,", "message=,64", "message="));
    refuse("write=cork,mroe", "the nearest is 'more'");
    unit_each(refuse, "out of range", WORDS("connections=1..20000:+5000,0", "connections=1..20000"));
    refuse("message=512M..2G", "more than 1G");
}

TEST(names_and_durations_take_no_range)
{
    refuse("write=nodelay..cork", "write takes no range; list the values with commas");
    unit_each(refuse, "takes no range", WORDS("duration=1s..2s", "place=0..3"));
}

TEST(a_sysctl_is_named_once_for_all_its_values)
{
    expands("sysctl=net.ipv4.tcp_sack:1,0", "net.ipv4.tcp_sack:1 net.ipv4.tcp_sack:0");
    expands("sysctl=none,net.ipv4.tcp_a:1,2,net.ipv4.tcp_b:3,4",
            "none net.ipv4.tcp_a:1 net.ipv4.tcp_a:2 net.ipv4.tcp_b:3 net.ipv4.tcp_b:4");
    expands("sysctl=net.ipv4.tcp_rmem:1:2:3,4:5:6", "net.ipv4.tcp_rmem:1:2:3 net.ipv4.tcp_rmem:4:5:6");
    refuse("sysctl=none,1", "sysctl=1: write none, or NAME:VALUE");
    refuse("sysctl=net.ipv4.tcp_sack:1,", "sysctl=net.ipv4.tcp_sack:: write none, or NAME:VALUE");
}

TEST(addresses_and_words_are_not_lists)
{
    expands("server=unix:/tmp/a,b", "unix:/tmp/a,b");
    expands("not=write=cork message=64..1K,15x2", "write=cork message=64..1K,15x2");
    expands("baseline=write=nodelay,more", "write=nodelay,more");
    refuse("server=host:1,host:2", "write own, HOST:PORT");
    refuse("not=", "is empty");
}

TEST(words_keep_their_order_and_prefix)
{
    static const char *const words[] = {"write=cork,more", "client.sndbuf=4K,8K", "rounds=3", "not=a",
                                        "not=b"};
    static const char *const keys[] = {"write", "client.sndbuf", "rounds", "not", "not"};
    CLEANUP_JSON json_t *expanded = expand_words(words, COUNT_OF(words), &unit_problem);

    assert_int_equal(json_array_size(expanded), COUNT_OF(keys));
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        assert_string_equal(json_string_value(json_object_get(json_array_get(expanded, i), "key")), keys[i]);
}

TEST(a_word_given_twice_is_refused)
{
    static const char *const twice[] = {"write=cork", "message=64", "write=more"};
    static const char *const narrowed[] = {"sndbuf=4K", "client.sndbuf=8K"};
    CLEANUP_JSON json_t *expanded = expand_words(narrowed, 2, &unit_problem);

    assert_non_null(expanded);
    assert_null(expand_words(twice, 3, empty_problem()));
    assert_problem(&unit_problem, PROBLEM_USAGE, "'write' is given twice");
}

TEST(a_range_has_at_most_ten_thousand_values)
{
    unit_each(refuse, "messages has more than 10000 values",
              WORDS("messages=1..10001:+1", "messages=1..281474976710656:+1"));
}

TEST(a_refused_word_has_a_reason)
{
    unit_each(refuse, "not valid UTF-8", WORDS("server=\xff:80", "not=\xff"));
    refuse("nothing", "write key=value");
    refuse("mesage=64", "the nearest is 'message'");
}
