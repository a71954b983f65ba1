/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/axis.h"

static const char *nearest_of(const char *typed, const char *const *words)
{
    struct nearest nearest = {.word = typed};

    for (; *words; words++)
        nearest_offer(&nearest, *words);
    return nearest.found;
}

static size_t distance(const char *a, const char *b)
{
    struct nearest nearest = {.word = a};

    nearest_offer(&nearest, b);
    return nearest.distance;
}

TEST(the_nearest_word_is_found)
{
    const char *const *words = WORDS("nagle", "nodelay", "cork", "more", "writev", "coalesce");

    assert_string_equal(nearest_of("nodelya", words), "nodelay");
    assert_string_equal(nearest_of("crok", words), "cork");
    assert_string_equal(nearest_of("mroe", words), "more");
    assert_string_equal(nearest_of("writv", words), "writev");
    assert_string_equal(nearest_of("coalesse", words), "coalesce");
    assert_string_equal(nearest_of("cork", words), "cork");
}

TEST(an_edit_is_insert_delete_replace_or_swap)
{
    assert_int_equal(distance("cork", "cork"), 0);
    assert_int_equal(distance("crk", "cork"), 1);
    assert_int_equal(distance("corrk", "cork"), 1);
    assert_int_equal(distance("fork", "cork"), 1);
    assert_int_equal(distance("ocrk", "cork"), 1);
    assert_int_equal(distance("rcok", "cork"), 2);
    assert_int_equal(distance("", "cork"), 4);
    assert_int_equal(distance("cork", ""), 4);
}

TEST(the_first_of_two_equally_near_words_stays)
{
    const char *const *words = WORDS("bork", "cork");

    assert_string_equal(nearest_of("york", words), "bork");
}

TEST(a_word_of_any_length_is_compared_by_its_beginning)
{
    static char endless[10000];
    const char *const *words = WORDS("b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");

    memset(endless, 'a', sizeof endless - 1);
    assert_string_equal(nearest_of(endless, words), words[1]);
}

TEST(an_unknown_variant_names_the_nearest)
{
    static const struct variant red = {"red", "a colour"}, green = {"green", "a colour"};
    static const struct variant *const variants[] = {&red, &green};
    static const struct axis axis = {"colour", variants, 2};

    assert_ptr_equal(axis_find(&axis, "green", &unit_problem), &green);
    assert_int_equal(unit_problem.kind, PROBLEM_NONE);
    assert_null(axis_find(&axis, "gren", empty_problem()));
    assert_problem(&unit_problem, PROBLEM_USAGE, "no colour is called 'gren'; the nearest is 'green'");
}

TEST(a_synonym_is_nearer_than_any_spelling)
{
    const char *const *words = WORDS("nodelay", "link_delay", "bytes", "security");

    assert_string_equal(nearest_of("delay", words), "link_delay");
    assert_string_equal(nearest_of("tls", words), "security");
    assert_string_equal(nearest_of("security", words), "security");
}
