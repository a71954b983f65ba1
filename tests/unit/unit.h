/* SPDX-License-Identifier: MIT */
/* What every unit test includes first. */
#pragma once

/* cmocka.h wants these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/problem.h"
#include "plan/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void unit_add(const char *sentence, CMUnitTestFunction test);

/* A test is a sentence that is true: TEST(a_group_is_sent_whole) { ... }. main(), which is in
 * unit.c, runs the tests of a file in the order of their lines. */
#define TEST(sentence)                                                                                       \
    static void sentence(void **state);                                                                      \
    __attribute__((constructor(1000 + __LINE__))) static void add_##sentence(void)                           \
    {                                                                                                        \
        unit_add(#sentence, sentence);                                                                       \
    }                                                                                                        \
    static void sentence(void **state __attribute__((unused)))

/* What the tests of a file have in common: the file defines `unit_fixture`. Each member may be
 * NULL. */
struct unit_fixture {
    int (*check)(struct problem *problem); /* -1: the tests cannot run here and are skipped */
    void (*before_all)(void);
    void (*before)(void); /* each test */
    void (*after)(void);
    void (*after_all)(void);
};
extern struct unit_fixture unit_fixture;

/* Words, or other texts, as a list that ends with NULL. It lives as long as the block around it. */
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* A formatted text. It lives until the eighth call behind this one. */
__attribute__((format(printf, 1, 2))) const char *unit_text(const char *format, ...);

/* check(text, says) for each text. */
static inline void unit_each(void (*check)(const char *text, const char *says), const char *says,
                             const char *const *texts)
{
    for (; *texts; texts++)
        check(*texts, says);
}

struct address;
struct thread_shared;
struct connection;

/* plan_parse(), with unit_problem; the other for words that must be valid. */
int unit_try(struct plan *plan, const char *const *words);
void unit_parse(struct plan *plan, const char *const *words);

/* {"a": "1", "b": "2"} and ["a", "b"] as "a=1 b=2" and "a b". New memory. */
char *unit_flatten(json_t *json);

/* A socket that listens; the address gets its port. */
int unit_listen(struct address *address, const char *text);

/* Opens the only connection of a thread. */
void unit_open(const struct plan *plan, struct thread_shared *shared, struct connection *connection,
               enum end end, int fd);

/* Closes a connection and what it was opened with; nothing if the plan is empty. */
void unit_close(struct plan *plan, struct thread_shared *shared, struct connection *connection);

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* Random figures that are the same in every run: xorshift64* (Vigna 2016). Start from {.state = any
 * but 0}. */
struct dice {
    uint64_t state;
};

static inline uint64_t dice_bits(struct dice *dice)
{
    dice->state ^= dice->state >> 12;
    dice->state ^= dice->state << 25;
    dice->state ^= dice->state >> 27;
    return dice->state * UINT64_C(2685821657736338717);
}

/* 0 to below `limit`. */
static inline uint64_t dice_roll(struct dice *dice, uint64_t limit)
{
    return (dice_bits(dice) >> 11) % limit;
}

/* 0 to below 1. */
static inline double dice_share(struct dice *dice)
{
    return (double)(dice_bits(dice) >> 11) / (double)(UINT64_C(1) << 53);
}

/* The problem is of this kind, is one line and says `part`. */
#define assert_problem(problem, wanted, part)                                                                \
    do {                                                                                                     \
        assert_int_equal((problem)->kind, wanted);                                                           \
        assert_null(strchr((problem)->text, '\n'));                                                          \
        if (!strstr((problem)->text, part))                                                                  \
            fail_msg("'%s' does not say '%s'", (problem)->text, part);                                       \
    } while (0)

/* For the calls of a test: assert_accepted() and assert_refused() empty it first. */
extern struct problem unit_problem;

static inline struct problem *empty_problem(void)
{
    unit_problem = (struct problem){0};
    return &unit_problem;
}

#define assert_accepted(call)                                                                                \
    do {                                                                                                     \
        empty_problem();                                                                                     \
        if ((call) < 0)                                                                                      \
            fail_msg("%s: %s", #call, unit_problem.text);                                                    \
    } while (0)

#define assert_refused(call, wanted, part)                                                                   \
    do {                                                                                                     \
        empty_problem();                                                                                     \
        assert_int_equal(call, -1);                                                                          \
        assert_problem(&unit_problem, wanted, part);                                                         \
    } while (0)

#define skip_unless(condition, reason)                                                                       \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            print_message("skipped: %s\n", reason);                                                          \
            skip();                                                                                          \
        }                                                                                                    \
    } while (0)
