/* SPDX-License-Identifier: MIT */
/* main() of every unit test, and what several tests do. */
#include "unit.h"

#include "connection/connection.h"
#include "net/address.h"
#include "words/word.h"

#include <signal.h>

static struct CMUnitTest tests[64]; /* cmocka skips entries without a name */
static size_t test_count;
struct problem unit_problem;

/* Without a definition in the test's file. Not const: clang 14 would use its values everywhere. */
__attribute__((weak)) struct unit_fixture unit_fixture;

static int run(void (*function)(void))
{
    if (function)
        function();
    return 0;
}

static int before_all(void **state __attribute__((unused)))
{
    return run(unit_fixture.before_all);
}

static int before(void **state __attribute__((unused)))
{
    empty_problem();
    return run(unit_fixture.before);
}

static int after(void **state __attribute__((unused)))
{
    return run(unit_fixture.after);
}

static int after_all(void **state __attribute__((unused)))
{
    return run(unit_fixture.after_all);
}

void unit_add(const char *sentence, CMUnitTestFunction test)
{
    if (test_count == COUNT_OF(tests))
        abort();
    tests[test_count++] = (struct CMUnitTest){sentence, test, before, after, NULL};
}

const char *unit_text(const char *format, ...)
{
    static char texts[8][1024];
    static size_t next;
    char *text = texts[next++ % COUNT_OF(texts)];
    va_list arguments;

    va_start(arguments, format);
    assert_true(vsnprintf(text, sizeof *texts, format, arguments) < (int)sizeof *texts);
    va_end(arguments);
    return text;
}

int unit_try(struct plan *plan, const char *const *words)
{
    size_t count = 0;

    while (words[count])
        count++;
    return plan_parse(plan, words, count, empty_problem());
}

void unit_parse(struct plan *plan, const char *const *words)
{
    assert_accepted(unit_try(plan, words));
}

char *unit_flatten(json_t *json)
{
    char *text = calloc(1, 200000), *at = text;
    const char *key;
    json_t *value;
    size_t i;

    json_object_foreach(json, key, value)
        at += sprintf(at, "%s%s=%s", at == text ? "" : " ", key, json_string_value(value));
    json_array_foreach(json, i, value)
        at += sprintf(at, "%s%s", i ? " " : "", json_string_value(value));
    return text;
}

void unit_open(const struct plan *plan, struct thread_shared *shared, struct connection *connection,
               enum end end, int fd)
{
    memset(shared, 0, sizeof *shared);
    memset(connection, 0, sizeof *connection);
    assert_int_equal(thread_shared_open(shared, plan, end, 1), 0);
    connection->calls.fd = fd;
    assert_int_equal(connection_open(connection, shared), 0);
}

int unit_listen(struct address *address, const char *text)
{
    assert_int_equal(address_parse_numeric(address, text, &unit_problem), 0);
    int listener = address_listen(-1, address, &unit_problem);
    assert_true(listener >= 0);
    return listener;
}

void unit_close(struct plan *plan, struct thread_shared *shared, struct connection *connection)
{
    if (!plan->workload) /* nothing is open */
        return;
    connection_close(connection);
    thread_shared_close(shared);
    plan_free(plan);
    *plan = (struct plan){0};
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN); /* as both programs do */
    if (unit_fixture.check && unit_fixture.check(&unit_problem) < 0) {
        printf("skipped: %s\n", unit_problem.text);
        return 77;
    }
    return cmocka_run_group_tests(tests, before_all, after_all);
}
