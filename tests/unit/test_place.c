/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "placement/placement.h"

#include <sched.h>

static struct place place; /* of the last parse */

static void assert_cpus(const struct place_list *list, const uint16_t *cpus, size_t count)
{
    assert_int_equal(list->count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(list->cpus[i], cpus[i]);
}

TEST(a_placement_is_read_back_from_its_spelling)
{
    static const char *const spellings[][2] = {
        {"together", "together"}, {"apart", "apart"},     {"free", "free"},         {"0", "0/0"},
        {"0/1", "0/1"},           {"0.2/1.3", "0.2/1.3"}, {"3.1.2", "3.1.2/3.1.2"}, {"00/65535", "0/65535"},
        {"0/1/1", "0/1"},         {"0/1/2.3", "0/1/2.3"}};

    for (size_t i = 0; i < COUNT_OF(spellings); i++) {
        assert_int_equal(place_parse(&place, spellings[i][0], &unit_problem), 0);
        CLEANUP_FREE char *text = place_format(&place);
        assert_string_equal(text, spellings[i][1]);
    }
}

TEST(what_is_no_placement_is_refused)
{
    static const char *const refused[] = {"",    "near", "Together", "0/",   "/1",    "0.",  ".0",  "0..1",
                                          "0,1", "-1",   "0/1/2/3",  "0/1 ", "65536", "0x1", "0-3", "0/a"};

    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        assert_refused(place_parse(&place, refused[i], &unit_problem), PROBLEM_USAGE,
                       "write together, apart, free, or CPUs");
    }
}

TEST(a_placement_lists_at_most_256_cpus)
{
    char text[2 * (PLACE_CPUS_MAX + 1) + 1] = "";
    for (int i = 0; i < PLACE_CPUS_MAX; i++)
        strcat(text, i ? ".7" : "7");
    assert_int_equal(place_parse(&place, text, &unit_problem), 0);
    assert_int_equal(place.lists[0].count, PLACE_CPUS_MAX);
    strcat(text, ".7");
    assert_int_equal(place_parse(&place, text, &unit_problem), -1);
}

/* Four cores of two siblings each, numbered as many machines do. */
static const struct cores siblings = {
    .count = 4, .cpu_count = 8, .cpus = {0, 4, 1, 5, 2, 6, 3, 7}, .first = {0, 2, 4, 6, 8}};

static void takes(const struct cores *cores, int from, int to, const uint16_t *expected, size_t count)
{
    struct place_list cpus;

    cores_take(cores, from, to, &cpus);
    assert_cpus(&cpus, expected, count);
}

TEST(cores_are_taken_before_their_siblings)
{
    static const uint16_t first[] = {0, 1, 4, 5}, second[] = {2, 3, 6, 7}, all[] = {0, 1, 2, 3, 4, 5, 6, 7};

    takes(&siblings, 0, 2, first, COUNT_OF(first));
    takes(&siblings, 2, 4, second, COUNT_OF(second));
    takes(&siblings, 0, 4, all, COUNT_OF(all));
    takes(&siblings, 1, 1, all, 0);
}

TEST(cores_of_different_size_are_taken_too)
{
    static const struct cores mixed = {
        .count = 3, .cpu_count = 6, .cpus = {8, 0, 1, 2, 3, 9}, .first = {0, 1, 5, 6}};
    static const uint16_t all[] = {8, 0, 9, 1, 2, 3};

    takes(&mixed, 0, 3, all, COUNT_OF(all));
}

TEST(no_more_cpus_are_taken_than_a_list_holds)
{
    CLEANUP_FREE struct cores *many = calloc(1, sizeof *many);
    struct place_list cpus;

    many->count = many->cpu_count = 2 * PLACE_CPUS_MAX;
    for (int i = 0; i <= many->count; i++)
        many->first[i] = many->cpus[i] = i;
    cores_take(many, 0, many->count, &cpus);
    assert_int_equal(cpus.count, PLACE_CPUS_MAX);
    assert_int_equal(cpus.cpus[PLACE_CPUS_MAX - 1], PLACE_CPUS_MAX - 1);
}

TEST(only_listed_cpus_are_allowed)
{
    assert_true(cores_allow(&siblings, 7));
    assert_false(cores_allow(&siblings, 8));
}

TEST(the_cores_of_this_machine_hold_every_allowed_cpu_once)
{
    cpu_set_t allowed;
    struct cores cores;

    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    assert_int_equal(cores_read(&cores), 0);
    assert_int_equal(cores.cpu_count, CPU_COUNT(&allowed));
    assert_int_equal(cores.first[cores.count], cores.cpu_count);
    assert_true(cores.count <= cores.cpu_count);
    for (int i = 0; i < cores.cpu_count; i++) {
        assert_true(CPU_ISSET(cores.cpus[i], &allowed));
        CPU_CLR(cores.cpus[i], &allowed);
    }
    assert_int_equal(CPU_COUNT(&allowed), 0);
}

static size_t least_mask; /* bytes: sched_getaffinity(2) of a kernel with that many possible CPUs */

int __real_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    if (size < least_mask) {
        errno = EINVAL;
        return -1;
    }
    return __real_sched_getaffinity(pid, size, set);
}

TEST(a_kernel_with_more_than_1024_possible_cpus_reports_those_that_are_allowed)
{
    struct cores cores, few;

    assert_int_equal(cores_read(&few), 0);
    least_mask = 8192 / 8;
    assert_int_equal(cores_read(&cores), 0);
    assert_int_equal(cores.cpu_count, few.cpu_count);
    least_mask = SIZE_MAX;
    assert_int_equal(cores_read(&cores), -EINVAL);
    least_mask = 0;
}

TEST(a_thread_runs_where_it_was_pinned)
{
    cpu_set_t before;
    struct cores cores;

    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    assert_int_equal(cores_read(&cores), 0);
    for (int i = 0; i < cores.cpu_count; i++) {
        assert_int_equal(cores_pin_thread(cores.cpus[i]), 0);
        assert_int_equal(cores_current(), cores.cpus[i]);
        assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    }
    assert_true(cores_pin_thread(CORES_CPUS_MAX - 1) < 0);
}

static int cpus_of(const char *text, int list, bool remote, struct place_list *cpus)
{
    assert_int_equal(place_parse(&place, text, empty_problem()), 0);
    return place_cpus(&place, list, list, remote, cpus, &unit_problem);
}

TEST(together_is_one_cpu_and_free_is_none)
{
    struct place_list client, server;

    assert_int_equal(cpus_of("together", 0, false, &client), 0);
    assert_int_equal(cpus_of("together", 1, false, &server), 0);
    assert_int_equal(client.count, 1);
    assert_cpus(&server, client.cpus, 1);
    assert_int_equal(cpus_of("free", 0, false, &client), 0);
    assert_int_equal(client.count, 0);
}

TEST(apart_shares_no_core_between_the_ends)
{
    struct place_list client, server;
    struct cores cores;

    assert_int_equal(cores_read(&cores), 0);
    if (cores.count < 2) {
        assert_refused(cpus_of("apart", 0, false, &client), PROBLEM_UNSUPPORTED, "write place=together");
        return;
    }
    assert_int_equal(cpus_of("apart", 0, false, &client), 0);
    assert_int_equal(cpus_of("apart", 1, false, &server), 0);
    assert_true(client.count > 0 && server.count > 0);
    for (int i = 0; i < client.count; i++)
        for (int j = 0; j < server.count; j++)
            assert_int_not_equal(client.cpus[i], server.cpus[j]);
    assert_int_equal(cpus_of("apart", 1, true, &server), 0);
    assert_int_equal(server.cpus[0], cores.cpus[0]);
}

TEST(a_cpu_that_is_not_here_is_unsupported)
{
    struct place_list cpus;

    assert_refused(cpus_of("65535", 0, false, &cpus), PROBLEM_UNSUPPORTED, "CPU 65535 does not exist here");
}
