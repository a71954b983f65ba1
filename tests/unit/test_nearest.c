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

TEST(the_nearest_word_is_found)
{
    static const char *const typed[][2] = {{"nodelya", "nodelay"},   {"crok", "cork"},
                                           {"mroe", "more"},         {"writv", "writev"},
                                           {"coalesse", "coalesce"}, {"cork", "cork"}};
    const char *const *words = WORDS("nagle", "nodelay", "cork", "more", "writev", "coalesce");

    for (size_t i = 0; i < COUNT_OF(typed); i++)
        assert_string_equal(nearest_of(typed[i][0], words), typed[i][1]);
}

TEST(an_edit_is_insert_delete_replace_or_swap)
{
    static const struct {
        const char *typed, *word;
        size_t edits;
    } pairs[] = {{"cork", "cork", 0}, {"crk", "cork", 1},  {"corrk", "cork", 1}, {"fork", "cork", 1},
                 {"ocrk", "cork", 1}, {"rcok", "cork", 2}, {"", "cork", 4},      {"cork", "", 4}};

    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        struct nearest nearest = {.word = pairs[i].typed};

        nearest_offer(&nearest, pairs[i].word);
        assert_int_equal(nearest.distance, pairs[i].edits);
    }
}

TEST(the_first_of_two_equally_near_words_stays)
{
    assert_string_equal(nearest_of("york", WORDS("bork", "cork")), "bork");
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
