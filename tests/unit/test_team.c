/* SPDX-License-Identifier: MIT */
/* How the connections of a run are divided among the data threads of an end. */
#include "unit.h"

#include "team/team.h"

#define LINE 64 /* bytes of a cache line */

static struct plan plan;
static struct team team;
static uv_loop_t loop;

static void on_closed(void *owner)
{
}

static void close_team(void)
{
    if (!plan.workload) /* nothing is open */
        return;
    team_close(&team);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    plan_free(&plan);
    plan = (struct plan){0};
}

struct unit_fixture unit_fixture = {.after = close_team};

static void open_team(enum end end, const char *const *words)
{
    static const struct team_events events = {.closed = on_closed};

    close_team();
    unit_parse(&plan, words);
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(team_open(&team, &loop, &plan, end, false, &events, NULL, &unit_problem), 0);
}

static bool share_a_line(const void *a, size_t a_size, const void *b, size_t b_size)
{
    uintptr_t a_first = (uintptr_t)a / LINE, a_last = ((uintptr_t)a + a_size - 1) / LINE;
    uintptr_t b_first = (uintptr_t)b / LINE, b_last = ((uintptr_t)b + b_size - 1) / LINE;

    return a_first <= b_last && b_first <= a_last;
}

static void check_apart(void)
{
    for (size_t i = 0; i < team.worker_count; i++) {
        const struct worker *a = &team.workers[i];
        size_t size = a->count * sizeof *a->connections;

        for (size_t j = 0; j < team.worker_count; j++) {
            const struct worker *b = &team.workers[j];

            assert_false(share_a_line(a->connections, size, b, offsetof(struct worker, padding)));
            if (i == j)
                continue;
            assert_false(
                share_a_line(a->connections, size, b->connections, b->count * sizeof *b->connections));
            assert_false(
                share_a_line(a, offsetof(struct worker, padding), b, offsetof(struct worker, padding)));
        }
    }
}

TEST(no_two_threads_have_connections_in_one_cache_line)
{
    open_team(END_CLIENT, WORDS("connections=2", "threads=2", "place=free"));
    check_apart();
    open_team(END_SERVER, WORDS("connections=64", "threads=7", "engine=poll", "place=free"));
    check_apart();
    open_team(END_PROXY, WORDS("workload=proxy", "connections=5", "threads=3", "engine=poll", "place=free"));
    check_apart();
}

/* Each connection is found by its number, and each thread has consecutive numbers. */
static void check_numbers(size_t threads)
{
    json_t *stops = json_array();
    uint64_t number = 0;

    assert_int_equal(team.worker_count, threads);
    for (size_t i = 0; i < plan.connections; i++)
        json_array_append_new(stops, json_integer(1000 + (json_int_t)i));
    team_set_stops(&team, END_CLIENT, stops);
    json_decref(stops);
    for (size_t i = 0; i < threads; i++) {
        const struct worker *worker = &team.workers[i];

        for (size_t j = 0; j < worker->count; j += team.per_number, number++) {
            assert_int_equal(worker->connections[j].number, number);
            assert_int_equal(worker->connections[j].stop, 1000 + number + 1);
        }
        assert_true(worker->count / team.per_number - plan.connections / threads <= 1);
    }
    assert_int_equal(number, plan.connections);
}

TEST(each_thread_has_consecutive_connections_that_are_found_by_their_numbers)
{
    static const char *const threads[] = {"threads=1", "threads=2", "threads=7", "threads=100"};

    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        open_team(END_SERVER, WORDS("connections=100", threads[i], "engine=poll", "place=free"));
        check_numbers(plan.ends[END_SERVER].threads);
        open_team(END_PROXY,
                  WORDS("workload=proxy", "connections=100", threads[i], "engine=poll", "place=free"));
        check_numbers(plan.ends[END_PROXY].threads);
    }
}
