/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/clock.h"
#include "placement/placement.h"

#include <stdatomic.h>
#include <uv.h>

#define TIMES 50
#define PATIENCE_NS (5 * NS_PER_MS)
#define LOAD 2
#define LONG_NS (60 * NS_PER_S) /* for two threads to meet where others are busy */

/* Like a system that accepts a pinning and does nothing. */
static int pin_nowhere(int cpu)
{
    return 0;
}

static int pin_never(int cpu)
{
    return -EPERM;
}

static struct cores own;

static int last(void)
{
    return own.cpus[own.cpu_count - 1];
}

static void need_two(void)
{
    skip_unless(cores_read(&own) == 0 && own.cpu_count > 1, "this needs two CPUs that can be pinned to");
}

/* ---- a busy machine ---- */

static atomic_bool over;

static void burn(void *argument)
{
    while (!atomic_load(&over))
        ;
}

static void load_begin(uv_thread_t threads[LOAD])
{
    atomic_store(&over, false);
    for (int i = 0; i < LOAD; i++)
        assert_int_equal(uv_thread_create(&threads[i], burn, NULL), 0);
}

static void load_end(uv_thread_t threads[LOAD])
{
    atomic_store(&over, true);
    for (int i = 0; i < LOAD; i++)
        uv_thread_join(&threads[i]);
}

TEST(a_pinning_that_works_is_not_called_useless_on_a_busy_machine)
{
    uv_thread_t load[LOAD];
    int rejected = 0;

    need_two();
    load_begin(load);
    for (int i = 0; i < TIMES; i++)
        rejected += affinity_is_ignored(cores_pin_thread, own.cpus[i % own.cpu_count], PATIENCE_NS);
    load_end(load);
    assert_int_equal(rejected, 0);
}

TEST(a_pinning_that_works_shows_by_the_processor_also_on_a_busy_machine)
{
    uv_thread_t load[LOAD];
    int accepted = 0;

    need_two();
    skip_unless(affinity_follow(cores_pin_thread, own.cpus[0], last()) != AFFINITY_UNKNOWN,
                "a program cannot read the number of this processor");
    load_begin(load);
    for (int i = 0; i < TIMES; i++)
        accepted += affinity_follow(cores_pin_thread, own.cpus[0], last()) == AFFINITY_FOLLOWED;
    load_end(load);
    assert_int_equal(accepted, TIMES);
}

TEST(a_pinning_that_does_nothing_is_detected)
{
    need_two();
    assert_true(affinity_is_ignored(pin_nowhere, own.cpus[0], LONG_NS));
}

TEST(a_pinning_that_does_nothing_is_never_followed)
{
    need_two();
    for (int i = 0; i < TIMES; i++)
        assert_int_not_equal(affinity_follow(pin_nowhere, own.cpus[0], last()), AFFINITY_FOLLOWED);
}

TEST(a_pinning_that_is_refused_proves_nothing)
{
    assert_int_equal(affinity_follow(pin_never, 0, 1), AFFINITY_UNDECIDED);
    assert_false(affinity_is_ignored(pin_never, 0, PATIENCE_NS));
}

TEST(one_cpu_is_no_proof_of_a_pinning)
{
    need_two();
    assert_int_not_equal(affinity_follow(cores_pin_thread, last(), last()), AFFINITY_FOLLOWED);
}

TEST(pinning_works_where_its_effect_was_seen)
{
    need_two();
    if (affinity_follow(cores_pin_thread, own.cpus[0], last()) == AFFINITY_FOLLOWED)
        assert_true(affinity_works());
    else
        print_message("not tested: a program cannot read the number of this processor\n");
}
