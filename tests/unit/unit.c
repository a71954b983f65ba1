/* SPDX-License-Identifier: MIT */
/* main() of every unit test. */
#include "unit.h"

#include <signal.h>

static struct CMUnitTest tests[64]; /* cmocka skips entries without a name */
static size_t count;
struct problem unit_problem;

/* Without a definition in the test's file. Not const: clang 14 would use these values everywhere. */
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
    if (count == COUNT_OF(tests))
        abort();
    tests[count++] = (struct CMUnitTest){sentence, test, before, after, NULL};
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

int main(void)
{
    signal(SIGPIPE, SIG_IGN); /* as both programs do */
    if (unit_fixture.check && unit_fixture.check(&unit_problem) < 0) {
        printf("skipped: %s\n", unit_problem.text);
        return 77;
    }
    return cmocka_run_group_tests(tests, before_all, after_all);
}
