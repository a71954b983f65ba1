/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/program.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(the_first_cause_stays)
{
    struct problem problem = {0};

    assert_int_equal(problem_failure(&problem, "the %s broke", "pipe"), -1);
    assert_int_equal(problem_usage(&problem, "something else"), -1);
    assert_problem(&problem, PROBLEM_FAILURE, "the pipe broke");
}

TEST(a_kind_has_a_name_and_an_exit_status)
{
    static const int statuses[] = {0, 2, 1, 1};

    for (int kind = PROBLEM_NONE; kind <= PROBLEM_UNSUPPORTED; kind++) {
        struct problem problem = {.kind = (enum problem_kind)kind};

        assert_int_equal(problem_kind_parse(problem_kind_names[problem.kind]), kind);
        assert_int_equal(problem_exit_status(&problem), statuses[kind]);
    }
    assert_int_equal(problem_kind_parse("nonsense"), PROBLEM_NONE);
}

/* A problem repeats what the user typed, truncated at any byte, on a terminal and in JSON. */
TEST(a_problem_is_one_line_that_json_can_hold)
{
    static const char *const typed[] = {"two\nlines", "\x1b[31mred", "\xff\xfe", "caf\xc3"};

    for (size_t i = 0; i < COUNT_OF(typed); i++) {
        struct problem problem = {0};

        problem_usage(&problem, "'%s' is no word", typed[i]);
        CLEANUP_JSON json_t *string = json_string(problem.text);
        assert_non_null(string);
        for (const char *at = problem.text; *at; at++)
            assert_in_range(*at, ' ', '~');
    }
}

TEST(a_problem_may_be_of_a_kind_that_another_end_named)
{
    struct problem problem = {0};

    assert_int_equal(problem_of_kind(&problem, problem_kind_parse("unsupported"), "%s", "not here\n"), -1);
    assert_problem(&problem, PROBLEM_UNSUPPORTED, "not here?");
}

TEST(that_a_peer_broke_a_connection_is_a_failure_and_a_symptom)
{
    static const int by_peer[] = {ECONNREFUSED, ECONNRESET, EPIPE, ENOTCONN, EIO, ENOMEM};

    for (size_t i = 0; i < COUNT_OF(by_peer); i++) {
        struct problem problem = {0};

        problem_of_kind(&problem, problem_kind_of(by_peer[i]), "it broke");
        assert_problem(&problem, PROBLEM_FAILURE, "it broke");
        assert_int_equal(problem.is_symptom, i < 4);
    }
    assert_int_equal(problem_kind_parse("symptom"), PROBLEM_SYMPTOM);
}

TEST(a_long_problem_is_cut)
{
    struct problem problem = {0};
    char endless[2000];

    memset(endless, 'a', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    problem_failure(&problem, "%s", endless);
    assert_int_equal(strlen(problem.text), sizeof problem.text - 1);
}

TEST(a_child_that_is_stopped_is_described_until_it_goes_on)
{
    struct child child = {.pid = fork()};
    char how[CHILD_TEXT_MAX];

    if (child.pid == 0)
        for (;;)
            raise(SIGSTOP);
    assert_int_equal(waitid(P_PID, (id_t)child.pid, &(siginfo_t){0}, WSTOPPED | WNOWAIT), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(child_stopped_by(&child), SIGSTOP);
        child_describe(&child, how);
        assert_string_equal(how, "was stopped by signal 19");
    }
    kill(child.pid, SIGKILL);
    assert_true(child_ends_within(&child, 5000));
    assert_int_equal(child_stopped_by(&child), 0);
    child_describe(&child, how);
    assert_string_equal(how, "was ended by signal 9");
}
