/* SPDX-License-Identifier: MIT */
/* All differences between systems in CPU affinity are here. */
#include "placement/cores.h"

#include "base/clock.h"
#include "base/files.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <uv.h>

#if defined __linux__
/* sched_getaffinity(2) rejects a mask with fewer bits than the kernel has possible CPUs: with a
 * cpu_set_t, that is more than 1024 (sched_getaffinity() in kernel/sched/core.c). */
typedef struct {
    cpu_set_t sets[CORES_CPUS_MAX / CPU_SETSIZE];
} cpu_set;

#define HAS_CPU(cpu, set) CPU_ISSET_S(cpu, sizeof *(set), (set)->sets)
#define ADD_CPU(cpu, set) CPU_SET_S(cpu, sizeof *(set), (set)->sets)

static int get_allowed(cpu_set *set)
{
    return sched_getaffinity(0, sizeof *set, set->sets);
}

static int set_allowed(const cpu_set *set)
{
    return sched_setaffinity(0, sizeof *set, set->sets);
}

/* The lowest CPU of the core of `cpu`; `cpu` itself where the system does not report it. */
static int core_of(int cpu)
{
    char path[96];
    int first = cpu;

    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    scan_file(path, 1, "%d", &first);
    return first;
}

#elif defined __FreeBSD__
#include <sys/param.h>

#include <sys/cpuset.h>
typedef cpuset_t cpu_set;

#define HAS_CPU(cpu, set) ((cpu) < CPU_SETSIZE && CPU_ISSET(cpu, set))
#define ADD_CPU(cpu, set) CPU_SET(cpu, set)

static int get_allowed(cpu_set *set)
{
    return cpuset_getaffinity(CPU_LEVEL_WHICH, CPU_WHICH_TID, -1, sizeof *set, set);
}

static int set_allowed(const cpu_set *set)
{
    return cpuset_setaffinity(CPU_LEVEL_WHICH, CPU_WHICH_TID, -1, sizeof *set, set);
}

/* There is no interface for SMT siblings: each CPU counts as a core. */
static int core_of(int cpu)
{
    return cpu;
}

#endif

#ifdef CPU_SETSIZE

int cores_read(struct cores *cores)
{
    cpu_set allowed = {0};
    int core[CORES_CPUS_MAX];

    *cores = (struct cores){0};
    if (get_allowed(&allowed) < 0)
        return -errno;
    for (int cpu = 0; cpu < CORES_CPUS_MAX; cpu++)
        core[cpu] = HAS_CPU(cpu, &allowed) ? core_of(cpu) : -1;
    for (int i = 0; i < CORES_CPUS_MAX; i++) {
        if (core[i] < 0)
            continue;
        cores->first[cores->count++] = cores->cpu_count;
        for (int cpu = i, of = core[i]; cpu < CORES_CPUS_MAX; cpu++) {
            if (core[cpu] == of) {
                cores->cpus[cores->cpu_count++] = cpu;
                core[cpu] = -1;
            }
        }
    }
    cores->first[cores->count] = cores->cpu_count;
    return cores->count ? 0 : -ENOENT;
}

int cores_restrict(const struct place_list *cpus)
{
    cpu_set set = {0};

    for (int i = 0; i < cpus->count; i++)
        ADD_CPU(cpus->cpus[i], &set);
    return set_allowed(&set) < 0 ? -errno : 0;
}

int cores_pin_thread(int cpu)
{
    struct place_list one = {.count = 1, .cpus = {(uint16_t)cpu}};
    int result = cores_restrict(&one);

    return result < 0 ? result : sched_getcpu() == cpu ? 0 : -EOPNOTSUPP;
}

int cores_current(void)
{
    return sched_getcpu();
}

#else /* other systems cannot pin a thread, or (NetBSD) do not report on which CPU it runs */

int cores_read(struct cores *cores)
{
    (void)cores;
    return -ENOSYS;
}

int cores_restrict(const struct place_list *cpus)
{
    (void)cpus;
    return -ENOSYS;
}

int cores_pin_thread(int cpu)
{
    (void)cpu;
    return -ENOSYS;
}

int cores_current(void)
{
    return -1;
}

#endif

bool cores_allow(const struct cores *cores, int cpu)
{
    for (int i = 0; i < cores->cpu_count; i++)
        if (cores->cpus[i] == cpu)
            return true;
    return false;
}

void cores_take(const struct cores *cores, int from, int to, struct place_list *cpus)
{
    bool more = true;

    cpus->count = 0;
    for (int sibling = 0; more; sibling++) {
        more = false;
        for (int core = from; core < to && cpus->count < PLACE_CPUS_MAX; core++) {
            if (cores->first[core] + sibling >= cores->first[core + 1])
                continue;
            cpus->cpus[cpus->count++] = (uint16_t)cores->cpus[cores->first[core] + sibling];
            more = true;
        }
    }
}

/* ---- whether pinning works: the number of the processor ---- */

#if defined __x86_64__ || defined __i386__
#include <cpuid.h>

#define LEAF_TOPOLOGY 0xb
#endif

/* The APIC id: all its bits where the CPU has leaf 0xb, else the lowest 8 bits. */
static bool read_processor(uint32_t *number)
{
#if defined __x86_64__ || defined __i386__
    unsigned a, b, c, d;

    if (__get_cpuid_count(LEAF_TOPOLOGY, 0, &a, &b, &c, &d) && b) {
        *number = d;
        return true;
    }
    if (!__get_cpuid(1, &a, &b, &c, &d))
        return false;
    *number = b >> 24;
    return true;
#else
    (void)number;
    return false;
#endif
}

#define STEPS 16 /* so many that a thread moved by the scheduler does not match by chance */

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
    struct walk walk = {.pin = pin, .cpus = {a, b}, .trace = AFFINITY_UNDECIDED};
    uv_thread_t thread;

    if (uv_thread_create(&thread, walk_thread, &walk) == 0)
        uv_thread_join(&thread);
    return walk.trace;
}

/* ---- whether pinning works: two threads at the same time ---- */

/* Two threads pass a number to each other and spin while they wait. On one CPU each pass needs a
 * preemption, and a scheduler makes only a few of these in a millisecond. Between two CPUs a pass
 * takes 100 ns. So PASSES_IN_A_ROW passes within ROW_WITHIN_NS are impossible on one CPU, under any
 * load. */
#define PASSES_IN_A_ROW 64
#define ROW_WITHIN_NS (100 * NS_PER_US)
#define SPINS_BETWEEN_CLOCK_READS 256

struct ping_pong {
    pin_function *pin;
    int cpu;
    uint64_t patience_ns;
    atomic_bool joined, over;
    atomic_uint number; /* even: the first thread's turn */
    bool seen;
};

static void run_second(void *argument)
{
    struct ping_pong *ping_pong = argument;

    if (ping_pong->pin(ping_pong->cpu) < 0)
        atomic_store(&ping_pong->over, true);
    atomic_store(&ping_pong->joined, true);
    while (!atomic_load(&ping_pong->over))
        if (atomic_load(&ping_pong->number) % 2)
            atomic_fetch_add(&ping_pong->number, 1);
}

/* Passes the number back and forth PASSES_IN_A_ROW times. False after `until_ns`. */
static bool pass_in_a_row(struct ping_pong *ping_pong, uint64_t until_ns)
{
    for (int i = 0; i < PASSES_IN_A_ROW; i += 2) {
        atomic_fetch_add(&ping_pong->number, 1);
        for (unsigned spins = 1; atomic_load(&ping_pong->number) % 2; spins++)
            if (spins % SPINS_BETWEEN_CLOCK_READS == 0 && clock_now_ns() > until_ns)
                return false;
    }
    return clock_now_ns() <= until_ns;
}

static void run_first(void *argument)
{
    struct ping_pong *ping_pong = argument;
    uint64_t now_ns, until_ns;

    if (ping_pong->pin(ping_pong->cpu) < 0)
        atomic_store(&ping_pong->over, true);
    while (!atomic_load(&ping_pong->joined))
        sched_yield();
    now_ns = clock_now_ns();
    until_ns = now_ns + ping_pong->patience_ns;
    while (!ping_pong->seen && !atomic_load(&ping_pong->over)) {
        uint64_t begun_ns = now_ns;

        if (!pass_in_a_row(ping_pong, until_ns))
            break;
        now_ns = clock_now_ns();
        ping_pong->seen = now_ns - begun_ns <= ROW_WITHIN_NS;
    }
    atomic_store(&ping_pong->over, true);
}

bool affinity_is_ignored(pin_function *pin, int cpu, uint64_t patience_ns)
{
    struct ping_pong ping_pong = {.pin = pin, .cpu = cpu, .patience_ns = patience_ns};
    uv_thread_t first, second;

    if (uv_thread_create(&second, run_second, &ping_pong) < 0)
        return false;
    if (uv_thread_create(&first, run_first, &ping_pong) < 0)
        atomic_store(&ping_pong.over, true);
    else
        uv_thread_join(&first);
    uv_thread_join(&second);
    return ping_pong.seen;
}

/* ---- whether pinning works: the verdict ---- */

#define ATTEMPT_NS (10 * NS_PER_MS)
#define ATTEMPTS_MAX 300 /* on a busy machine threads seldom overlap, but they move */

static bool works = true;

static void test_pinning(void)
{
    enum affinity_trace trace = AFFINITY_UNDECIDED;
    struct cores cores;

    if (cores_read(&cores) < 0 || cores.cpu_count < 2)
        return;
    for (int attempt = 0; attempt < ATTEMPTS_MAX && trace == AFFINITY_UNDECIDED && works; attempt++) {
        trace = affinity_follow(cores_pin_thread, cores.cpus[0], cores.cpus[cores.cpu_count - 1]);
        if (trace != AFFINITY_FOLLOWED)
            works = trace != AFFINITY_IGNORED &&
                    !affinity_is_ignored(cores_pin_thread, cores.cpus[0], ATTEMPT_NS);
    }
}

bool affinity_works(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, test_pinning);
    return works;
}
