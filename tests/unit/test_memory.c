/* SPDX-License-Identifier: MIT */
/* What a client makes a server allocate may fail, one allocation after the other: each failure is
 * an error that is returned, and everything that was opened can be closed. */
#include "unit.h"

#include "connection/connection.h"
#include "control/codec.h"
#include "engine/engine.h"
#include "words/parse.h"

#include <sys/socket.h>
#include <unistd.h>

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

/* Calls `attempt` with one more allocation that succeeds each time, until it needs no more. */
static void exhaust(int (*attempt)(const void *what), const void *what)
{
    bool has_failed = true;

    for (long allowed = 0; has_failed; allowed++) {
        int result;

        left = allowed;
        result = attempt(what);
        has_failed = left < 0;
        left = -1;
        assert_true(result < 0 || !has_failed);
        assert_true(allowed < 10000);
    }
}

static int parse(const void *words)
{
    const char *const *texts = words;
    struct problem problem = {0};
    struct plan plan;
    size_t count = 0;
    int result;

    while (texts[count])
        count++;
    result = plan_parse(&plan, texts, count, &problem);
    if (result == 0)
        plan_free(&plan);
    else
        assert_problem(&problem, PROBLEM_FAILURE, "no memory");
    return result;
}

TEST(a_plan_without_memory_is_refused)
{
    exhaust(parse, WORDS("message=1+2+3+4+5+6+7+8+9", "reply=2x1/2x2", "write=cork:4K", "workload=request"));
    exhaust(parse, WORDS("protocol=resp", "op=get:100+set:4K", "write=coalesce"));
}

static int take(void *owner, enum control_type type, const json_t *body)
{
    (void)owner, (void)type, (void)body;
    return 0;
}

static int exchange(const void *text)
{
    json_t *body = json_pack("{s:s, s:s, s:s}", "kind", "failed", "phase", "run", "text", text);
    struct problem problem = {0};
    struct codec codec = {0};
    uint8_t *bytes = NULL;
    size_t size;
    int result = control_encode(CONTROL_FAILED, body, &bytes, &size, &problem);

    if (result == 0)
        result = codec_feed(&codec, bytes, size, take, NULL, &problem);
    if (result < 0)
        assert_problem(&problem, PROBLEM_FAILURE, "no memory");
    json_decref(body);
    free(codec.buffer);
    free(bytes);
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
    int fds[4], result;
    struct plan plan;
    long allowed = left;

    left = -1; /* the plan is there */
    unit_parse(&plan, words);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds + 2), 0);
    engine = engine_of(&plan, END_SERVER);
    left = allowed;
    job.count = plan.connections;
    result = thread_shared_open(&shared, &plan, END_SERVER, job.count);
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
    struct problem problem = {0};
    struct plan plan;
    bool has_ring;

    unit_parse(&plan, WORDS("engine=ring"));
    has_ring = engine_suits(engine_of(&plan, END_SERVER), &plan, END_SERVER, &problem) == 0;
    plan_free(&plan);
    if (!has_ring) {
        print_message("skipped: %s\n", problem.text);
        skip();
    }
    exhaust(open_end, WORDS("transport=unix", "engine=ring", "connections=2", "workload=request",
                            "server.read=uring-multishot"));
}
