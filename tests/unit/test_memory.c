/* SPDX-License-Identifier: MIT */
/* What a plan makes an end allocate: its limit, its computed size, and failures. */
#include "unit.h"

#include "connection/connection.h"
#include "connection/memory.h"
#include "control/codec.h"
#include "engine/engine.h"
#include "words/word.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- each allocation may fail: the error is returned, and what was opened can be closed ---- */

static long left = -1; /* allocations that still succeed; -1: all do */

static bool fails(void)
{
    return left >= 0 && left-- == 0;
}

#define WRAP(type, name, arguments, ...)                                                                     \
    type __real_##name arguments;                                                                            \
    type __wrap_##name arguments;                                                                            \
    type __wrap_##name arguments                                                                             \
    {                                                                                                        \
        return fails() ? NULL : __real_##name(__VA_ARGS__);                                                  \
    }

WRAP(void *, malloc, (size_t size), size)
WRAP(void *, calloc, (size_t count, size_t size), count, size)
WRAP(void *, realloc, (void *old, size_t size), old, size)
WRAP(char *, strdup, (const char *text), text)
WRAP(FILE *, open_memstream, (char **text, size_t *size), text, size)

/* Calls `attempt` with one more allocation that succeeds each time, until it needs no more. */
static void exhaust(int (*attempt)(const void *what), const void *what)
{
    bool has_failed = true;

    for (long allowed = 0; has_failed; allowed++) {
        left = allowed;
        int result = attempt(what);
        has_failed = left < 0;
        left = -1;
        assert_true(result < 0 || !has_failed);
        assert_true(allowed < 10000);
    }
}

static struct plan plan;

static int parse(const void *words)
{
    int result = unit_try(&plan, words);

    if (result == 0)
        plan_free(&plan);
    else
        assert_problem(&unit_problem, PROBLEM_FAILURE, "no memory");
    return result;
}

TEST(a_plan_without_memory_is_refused)
{
    exhaust(parse, WORDS("message=1+2+3+4+5+6+7+8+9", "reply=2x1/2x2", "write=cork:4K", "workload=request"));
    exhaust(parse, WORDS("protocol=resp", "op=get:100+set:4K", "write=coalesce"));
}

/* At an end that is no client: the process goes on. */
static int refuse(const void *words)
{
    long allowed = left;

    left = -1; /* the plan is there */
    unit_parse(&plan, words);
    left = allowed;
    assert_int_equal(exclusions_check(STAGE_engine, &plan, END_SERVER, 0, &unit_problem), -1);
    bool is_whole = strstr(unit_problem.text, "does not accept the next");
    left = allowed < 0 || left < 0 ? -1 : left;
    assert_true(is_whole || strstr(unit_problem.text, "no memory for the reason"));
    assert_int_equal(unit_problem.kind, PROBLEM_UNSUPPORTED);
    plan_free(&plan);
    return is_whole ? 0 : -1;
}

TEST(a_refusal_without_memory_for_its_reason_is_still_a_refusal)
{
    json_set_alloc_funcs(malloc, free); /* those that may fail */
    exhaust(refuse, WORDS("workload=connect", "server.engine=block", "message=15x2/3", "place=0/1"));
    json_set_alloc_funcs(__real_malloc, free);
}

#define NOTHING_FAILED 64
#if defined UNCORK_SANITIZED
#define STEP 13 /* a process of a sanitizer takes long to fork and to end */
#else
#define STEP 1
#endif

/* In a child. Returns its status: 1 the program ended, 0 all words are there, 2 some are not. `*allowed`
 * is -1 afterwards where nothing failed. */
static int words_in_child(long *allowed, size_t count)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        CLEANUP_JSON json_t *unused = json_array();
        bool ends_quietly = freopen("/dev/null", "w", stderr);

        left = *allowed;
        CLEANUP_JSON json_t *words = plan_words(&plan);
        CLEANUP_JSON json_t *given = plan_words_given(&plan, unused);
        bool is_whole = ends_quietly && json_object_size(words) + json_object_size(given) == count;
        _exit((is_whole ? 0 : 2) | (left >= 0 ? NOTHING_FAILED : 0));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    *allowed = WEXITSTATUS(status) & NOTHING_FAILED ? -1 : *allowed + STEP;
    return WEXITSTATUS(status) & ~NOTHING_FAILED;
}

TEST(a_client_without_memory_for_a_word_ends_and_no_word_is_missing)
{
    CLEANUP_JSON json_t *unused = json_array();
    long allowed = 0, ended = 0;

    unit_parse(&plan, WORDS("message=15x2/3", "place=0/1", "server.quickack=once"));
    CLEANUP_JSON json_t *words = plan_words(&plan);
    CLEANUP_JSON json_t *given = plan_words_given(&plan, unused);
    size_t count = json_object_size(words) + json_object_size(given);
    json_set_alloc_funcs(malloc, free);
    while (allowed >= 0) {
        int status = words_in_child(&allowed, count);

        assert_in_range(status, 0, 1);
        ended += status;
    }
    json_set_alloc_funcs(__real_malloc, free);
    assert_true(ended > 100 / STEP);
    plan_free(&plan);
}

static int take(void *owner, enum control_type type, const json_t *body)
{
    return 0;
}

static int exchange(const void *text)
{
    CLEANUP_JSON json_t *body = json_pack("{s:s, s:s, s:s}", "kind", "failed", "phase", "run", "text", text);
    struct codec codec = {0};
    struct bytes bytes = {0};
    int result = control_encode(CONTROL_FAILED, body, &bytes, empty_problem());

    if (result == 0)
        result = codec_feed(&codec, bytes.data, bytes.size, take, NULL, &unit_problem);
    if (result < 0)
        assert_problem(&unit_problem, PROBLEM_FAILURE, "no memory");
    free(codec.received.data);
    free(bytes.data);
    return result;
}

TEST(a_message_of_control_without_memory_is_an_error)
{
    exhaust(exchange, "plain");
    exhaust(exchange, "not \x01 printable");
}

static int open_end(const void *words)
{
    struct thread_shared shared = {0};
    struct connection connections[2] = {{.number = 0}, {.number = 1}};
    struct engine_job job = {.connections = connections, .shared = &shared};
    const struct engine *engine;
    int fds[4];
    long allowed = left;

    left = -1; /* the plan is there */
    unit_parse(&plan, words);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds + 2), 0);
    engine = plan.ends[END_SERVER].engine;
    left = allowed;
    job.count = plan.connections;
    int result = thread_shared_open(&shared, &plan, END_SERVER, job.count);
    for (size_t i = 0; i < job.count && result == 0; i++) {
        result = connection_open(&connections[i], &shared);
        connections[i].calls.fd = fds[2 * i];
    }
    if (result == 0)
        result = engine->open(&job);
    if (result < 0)
        assert_int_equal(result, -ENOMEM);
    engine->close(&job);
    for (size_t i = 0; i < job.count; i++)
        if (connections[i].plan)
            connection_close(&connections[i]);
    thread_shared_close(&shared);
    plan_free(&plan);
    for (size_t i = 0; i < COUNT_OF(fds); i++)
        close(fds[i]);
    return result;
}

TEST(a_thread_without_memory_for_its_connections_is_an_error)
{
    exhaust(open_end, WORDS("transport=unix", "engine=block", "workload=request", "reply=3x2/4"));
    exhaust(open_end, WORDS("transport=unix", "engine=poll", "connections=2", "write=coalesce",
                            "workload=request", "reply_write=writev"));
    exhaust(open_end, WORDS("transport=unix", "engine=poll", "protocol=nbd", "op=read:4K", "depth=8"));
}

TEST(a_ring_without_memory_is_an_error)
{
    unit_parse(&plan, WORDS("engine=ring"));
    bool has_ring = plan.ends[END_SERVER].engine->check(&plan.ends[END_SERVER], &unit_problem) == 0;
    plan_free(&plan);
    skip_unless(has_ring, unit_problem.text);
    exhaust(open_end, WORDS("transport=unix", "engine=ring", "connections=2", "workload=request",
                            "server.read=uring-multishot"));
}

/* ---- the computed size ---- */

#define LEAST 0.6 /* of what real runs touch */
#define MOST 1.6

/* Runs the client beside this test with these words, in one process for each end. */
static json_t *run_client(const char *const *words)
{
    char command[1024], path[512];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);

    assert_true(length > 0);
    path[length] = '\0';
    *strrchr(path, '/') = '\0';
    length =
        snprintf(command, sizeof command, "exec %s/../bin/uncork-client --json place=free warmup=0s", path);
    for (; *words; words++)
        length += snprintf(command + length, sizeof command - (size_t)length, " '%s'", *words);
    FILE *client = popen(command, "r");
    json_t *record = json_loadf(client, 0, NULL);
    assert_int_equal(pclose(client), 0);
    return record;
}

static void check_size(const char *const *words)
{
    CLEANUP_JSON json_t *record = run_client(words);

    unit_parse(&plan, words);
    for (enum end end = 0; end < END_COUNT; end++) {
        const json_t *report = json_object_get(record, end_names[end]);
        int64_t touched = json_integer_value(json_object_get(report, "resident_bytes")) -
                          json_integer_value(json_object_get(report, "resident_before_bytes"));
        uint64_t computed;

        if (!report)
            continue;
        computed = plan_memory_bytes(&plan, end, engine_threads(&plan, end));
        print_message("%s %s: computed %.1f MB, touched %.1f MB\n", words[0], end_names[end],
                      (double)computed / 1e6, (double)touched / 1e6);
        assert_true((double)computed >= LEAST * (double)touched);
        assert_true((double)computed <= MOST * (double)touched);
    }
    plan_free(&plan);
}

TEST(the_computed_memory_is_what_real_runs_touch)
{
#if defined UNCORK_SANITIZED
    print_message("skipped: a sanitizer has memory of its own\n");
    skip();
#endif
    check_size(WORDS("connections=4000", "engine=poll", "messages=8000"));
    check_size(WORDS("connections=200", "engine=block", "messages=400"));
    check_size(WORDS("depth=1024", "connections=100", "protocol=nbd", "op=read:4K", "messages=100000"));
    check_size(WORDS("workload=stream", "chunk=1M", "connections=16", "threads=16", "engine=poll",
                     "message=64K", "messages=100", "direction=both"));
    check_size(WORDS("workload=proxy", "chunk=1K", "window=256", "connections=50", "bytes=64M"));
    check_size(WORDS("source=cold:16M", "threads=2", "connections=4", "engine=poll", "messages=1000"));
}

/* ---- the limit ---- */

static void refuse_size(const char *const *words, enum end end, const char *says)
{
    unit_parse(&plan, words);
    if (plan_check_memory(&plan, end, engine_threads(&plan, end), empty_problem()) == 0)
        plan_check_in_flight(&plan, &unit_problem);
    assert_problem(&unit_problem, PROBLEM_UNSUPPORTED, says);
    plan_free(&plan);
}

TEST(the_least_limit_of_memory_is_the_one_that_a_refusal_names)
{
    memory_bound_set(UINT64_C(1) << 20);
    refuse_size(WORDS("connections=200", "chunk=64K", "engine=block"), END_SERVER,
                "1M is the limit of an end here (--max-memory)");
    memory_bound_set(UINT64_C(1) << 60); /* half of a real machine is less */
    assert_true(memory_bound().bytes < UINT64_C(1) << 60);
#ifndef UNCORK_SANITIZED /* a sanitizer has more address space */
    struct rlimit before;
    getrlimit(RLIMIT_AS, &before);
    setrlimit(RLIMIT_AS, &(struct rlimit){.rlim_cur = 512 << 20, .rlim_max = before.rlim_max});
    struct memory_bound bound = memory_bound();
    setrlimit(RLIMIT_AS, &before);
    assert_int_equal(bound.bytes, 512 << 20);
    assert_string_equal(bound.whose, "its ulimit -v");
#endif
    memory_bound_set(UINT64_C(8) << 30);
}

TEST(a_plan_beyond_the_limit_is_refused_with_the_parameters_to_reduce)
{
    static const enum end both[] = {END_CLIENT, END_SERVER};

    for (size_t i = 0; i < COUNT_OF(both); i++) {
        refuse_size(WORDS("protocol=nbd", "op=read:4K", "depth=65536", "connections=10000"), both[i],
                    "reduce connections= or depth=");
        refuse_size(WORDS("protocol=nbd", "op=read:32M", "depth=4096"), both[i],
                    "depth=4096 with connections=1 is 129G in flight");
        refuse_size(WORDS("connections=9", "chunk=1G", "engine=block"), both[i],
                    "reduce connections=, threads= or chunk=");
    }
    refuse_size(WORDS("source=cold:4G", "threads=4", "connections=4", "engine=poll"), END_CLIENT,
                "reduce connections=, threads=, source=");
    refuse_size(WORDS("workload=proxy", "chunk=1M", "window=4096", "connections=2"), END_PROXY,
                "reduce connections=, window= or chunk=");
    refuse_size(WORDS("workload=proxy", "chunk=1G", "window=4096", "connections=10000"), END_PROXY,
                "of memory for 10000 connections");
}
