/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "placement/placement.h"

#include <pthread.h>

static struct scheduling scheduling; /* of the last parse */

TEST(a_scheduling_class_is_read_back_from_its_spelling)
{
    static const char *const spellings[] = {"other", "rr:1", "rr:2", "rr:99", "fifo:1", "fifo:50"};

    for (size_t i = 0; i < COUNT_OF(spellings); i++) {
        char text[SCHEDULING_TEXT_MAX];

        assert_int_equal(scheduling_parse(&scheduling, spellings[i], &unit_problem), 0);
        scheduling_format(text, &scheduling);
        assert_string_equal(text, spellings[i]);
        assert_int_equal(scheduling_is_realtime(&scheduling), i > 0);
    }
}

TEST(what_is_no_scheduling_class_is_refused)
{
    static const char *const refused[] = {"",      "rr",    "rr:",    "rr:0",  "rr:100", "rr:-1",
                                          "rr:2x", "fifo",  "fifo:0", "batch", "idle",   "other:1",
                                          "r:2",   "rrr:2", "RR:2",   "rr 2",  "rr:2:3", ":2"};

    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        assert_refused(scheduling_parse(&scheduling, refused[i], &unit_problem), PROBLEM_USAGE,
                       "write other, rr:N or fifo:N with a priority from 1 to 99");
    }
}

TEST(each_end_may_have_a_class_of_its_own)
{
    struct plan plan;

    unit_parse(&plan, WORDS("sched=rr:2", "server.sched=other"));
    assert_int_equal(plan.ends[END_CLIENT].scheduling.class, SCHEDULING_RR);
    assert_int_equal(plan.ends[END_CLIENT].scheduling.priority, 2);
    assert_int_equal(plan.ends[END_SERVER].scheduling.class, SCHEDULING_OTHER);
    plan_free(&plan);
}

/* Runs in a thread of its own, so that the class of the test stays. */
static void *change(void *argument)
{
    static const struct scheduling wanted = {SCHEDULING_FIFO, 3}, ordinary = {SCHEDULING_OTHER, 0};
    struct problem *problem = argument;
    struct scheduling found = {0};

    if (scheduling_set_thread(&wanted, problem) == 0) {
        assert_int_equal(scheduling_read_thread(&found), 0);
        assert_int_equal(found.class, SCHEDULING_FIFO);
        assert_int_equal(found.priority, 3);
    }
    assert_int_equal(scheduling_set_thread(&ordinary, &(struct problem){0}), 0);
    assert_int_equal(scheduling_read_thread(&found), 0);
    assert_int_equal(found.class, SCHEDULING_OTHER);
    assert_int_equal(found.priority, 0);
    return NULL;
}

static struct problem change_in_a_thread(void)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, change, &unit_problem), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return unit_problem;
}

TEST(a_thread_takes_its_class_and_resets_it_or_gets_the_reason)
{
    struct problem problem = change_in_a_thread();

    if (problem.kind != PROBLEM_NONE)
        assert_problem(&problem, PROBLEM_UNSUPPORTED, "sched=fifo:3");
}

TEST(a_check_gives_the_same_problem_and_leaves_the_caller_unchanged)
{
    static const struct scheduling wanted = {SCHEDULING_FIFO, 3};
    struct problem tried = {0};
    struct scheduling before, after;

    assert_int_equal(scheduling_read_thread(&before), 0);
    scheduling_check(&wanted, &tried);
    assert_int_equal(scheduling_read_thread(&after), 0);
    assert_int_equal(after.class, before.class);
    assert_string_equal(tried.text, change_in_a_thread().text);
}
