/* SPDX-License-Identifier: MIT */
#include "placement/affinity.h"

#include "base/clock.h"
#include "placement/cores.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <uv.h>

/* ---- the number of the processor ---- */

#if defined __x86_64__ || defined __i386__
#include <cpuid.h>

#define LEAF_TOPOLOGY 0xb

/* The APIC id: all its bits where the CPU has leaf 0xb, else the lowest 8 bits. */
static bool read_processor(uint32_t *number)
{
    unsigned a, b, c, d;

    if (__get_cpuid_count(LEAF_TOPOLOGY, 0, &a, &b, &c, &d) && b) {
        *number = d;
        return true;
    }
    if (!__get_cpuid(1, &a, &b, &c, &d))
        return false;
    *number = b >> 24;
    return true;
}

#else

static bool read_processor(uint32_t *number)
{
    (void)number;
    return false;
}

#endif

#define STEPS 16 /* a thread that the scheduler moves does not match them by chance */

struct walk {
    pin_function *pin;
    int cpus[2];
    enum affinity_trace trace;
};

static void walk_thread(void *argument)
{
    struct walk *walk = argument;
    uint32_t seen[2] = {0}, now;

    for (int step = 0; step < STEPS; step++) {
        if (walk->pin(walk->cpus[step % 2]) < 0)
            return;
        if (!read_processor(&now)) {
            walk->trace = AFFINITY_UNKNOWN;
            return;
        }
        if (step >= 2 && seen[step % 2] != now) {
            walk->trace = AFFINITY_IGNORED;
            return;
        }
        seen[step % 2] = now;
    }
    if (seen[0] != seen[1])
        walk->trace = AFFINITY_FOLLOWED;
}

enum affinity_trace affinity_follow(pin_function *pin, int a, int b)
{
    struct walk walk = {.pin = pin, .cpus = {a, b}, .trace = AFFINITY_DOUBTED};
    uv_thread_t thread;

    if (uv_thread_create(&thread, walk_thread, &walk) == 0)
        uv_thread_join(&thread);
    return walk.trace;
}

/* ---- two threads at the same time ---- */

/*
 * Two threads pass a number to each other and spin while they wait. On one CPU each pass takes a
 * preemption, and a scheduler makes only a few of these in a millisecond. Between two CPUs a pass
 * takes 100 ns. HANDOVERS_IN_A_ROW passes within ROW_WITHIN_NS are impossible on one CPU, whatever
 * else runs.
 */
#define HANDOVERS_IN_A_ROW 64
#define ROW_WITHIN_NS (100 * NS_PER_US)
#define SPINS_BETWEEN_LOOKS 256

struct handing {
    pin_function *pin;
    int cpu;
    uint64_t patience_ns;
    atomic_bool joined, over;
    atomic_uint number; /* even: the first thread's turn */
    bool seen;
};

static void answer(void *argument)
{
    struct handing *handing = argument;

    if (handing->pin(handing->cpu) < 0)
        atomic_store(&handing->over, true);
    atomic_store(&handing->joined, true);
    while (!atomic_load(&handing->over))
        if (atomic_load(&handing->number) % 2)
            atomic_fetch_add(&handing->number, 1);
}

/* Passes the number back and forth HANDOVERS_IN_A_ROW times. False after `until_ns`. */
static bool hand_over_in_a_row(struct handing *handing, uint64_t until_ns)
{
    for (int i = 0; i < HANDOVERS_IN_A_ROW; i += 2) {
        atomic_fetch_add(&handing->number, 1);
        for (unsigned spins = 1; atomic_load(&handing->number) % 2; spins++)
            if (spins % SPINS_BETWEEN_LOOKS == 0 && clock_now_ns() > until_ns)
                return false;
    }
    return clock_now_ns() <= until_ns;
}

static void ask(void *argument)
{
    struct handing *handing = argument;
    uint64_t now_ns, until_ns;

    if (handing->pin(handing->cpu) < 0)
        atomic_store(&handing->over, true);
    while (!atomic_load(&handing->joined))
        sched_yield();
    now_ns = clock_now_ns();
    until_ns = now_ns + handing->patience_ns;
    while (!handing->seen && !atomic_load(&handing->over)) {
        uint64_t begun_ns = now_ns;

        if (!hand_over_in_a_row(handing, until_ns))
            break;
        now_ns = clock_now_ns();
        handing->seen = now_ns - begun_ns <= ROW_WITHIN_NS;
    }
    atomic_store(&handing->over, true);
}

bool affinity_is_ignored(pin_function *pin, int cpu, uint64_t patience_ns)
{
    struct handing handing = {.pin = pin, .cpu = cpu, .patience_ns = patience_ns};
    uv_thread_t first, second;

    if (uv_thread_create(&second, answer, &handing) < 0)
        return false;
    if (uv_thread_create(&first, ask, &handing) < 0)
        atomic_store(&handing.over, true);
    else
        uv_thread_join(&first);
    uv_thread_join(&second);
    return handing.seen;
}

/* ---- the verdict ---- */

#define LOOK_NS (10 * NS_PER_MS)
#define LOOKS_IN_DOUBT 300 /* busy machine: threads seldom overlap, but they move */

static bool find_out(void)
{
    struct cores cores;

    if (cores_read(&cores) < 0 || cores.cpu_count < 2)
        return true;
    for (int look = 0; look < LOOKS_IN_DOUBT; look++) {
        enum affinity_trace trace =
            affinity_follow(cores_pin_thread, cores.cpus[0], cores.cpus[cores.cpu_count - 1]);

        if (trace == AFFINITY_FOLLOWED)
            return true;
        if (trace == AFFINITY_IGNORED || affinity_is_ignored(cores_pin_thread, cores.cpus[0], LOOK_NS))
            return false;
        if (trace == AFFINITY_UNKNOWN)
            return true;
    }
    return true;
}

static bool works;

static void keep(void)
{
    works = find_out();
}

bool affinity_works(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, keep);
    return works;
}
