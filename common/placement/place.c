/* SPDX-License-Identifier: MIT */
/* All differences between systems in CPU affinity are here. */
#include "placement/placement.h"

#include "base/clock.h"
#include "base/files.h"
#include "base/units.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <uv.h>

/* ---- the CPUs of this process ---- */

#if defined __linux__ || defined __FreeBSD__
#ifdef __FreeBSD__ /* its mask is one cpuset_t */
#include <sys/param.h>

#include <sys/cpuset.h>

#define OWN_CPUS CPU_LEVEL_WHICH, CPU_WHICH_TID, -1, sizeof(cpuset_t)
#define sched_getaffinity(thread, size, sets) cpuset_getaffinity(OWN_CPUS, sets)
#define sched_setaffinity(thread, size, sets) cpuset_setaffinity(OWN_CPUS, sets)
#endif

/* Linux rejects a mask with fewer bits than the kernel has possible CPUs: with a cpu_set_t, that is
 * more than 1024 (sched_getaffinity() in kernel/sched/core.c). */
struct mask {
    cpu_set_t sets[CORES_CPUS_MAX / CPU_SETSIZE];
};

int cores_read(struct cores *cores)
{
    struct mask allowed = {0};
    int core[CORES_CPUS_MAX]; /* of a CPU: the lowest of its core; -1: not allowed, or taken already */
    char path[96];

    *cores = (struct cores){0};
    if (sched_getaffinity(0, sizeof allowed, allowed.sets) < 0)
        return -errno;
    for (int cpu = 0; cpu < CORES_CPUS_MAX; cpu++) {
        core[cpu] = CPU_ISSET_S(cpu, sizeof allowed, allowed.sets) ? cpu : -1;
        if (core[cpu] < 0)
            continue;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
        scan_file(path, 1, "%d", &core[cpu]);
    }
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
    struct mask mask = {0};
    for (int i = 0; i < cpus->count; i++)
        CPU_SET_S(cpus->cpus[i], sizeof mask, mask.sets);
    return sched_setaffinity(0, sizeof mask, mask.sets) < 0 ? -errno : 0;
}

int cores_current(void)
{
    return sched_getcpu();
}

#else /* other systems cannot pin a thread, or (NetBSD) do not report on which CPU it runs */

int cores_read(struct cores *cores)
{
    return -ENOSYS;
}

int cores_restrict(const struct place_list *cpus)
{
    return -ENOSYS;
}

int cores_current(void)
{
    return -1;
}

#endif

int cores_pin_thread(int cpu)
{
    struct place_list one = {.count = 1, .cpus = {(uint16_t)cpu}};
    int result = cores_restrict(&one);
    return result < 0 ? result : cores_current() == cpu ? 0 : -EOPNOTSUPP;
}

bool cores_allow(const struct cores *cores, int cpu)
{
    for (int i = 0; i < cores->cpu_count; i++)
        if (cores->cpus[i] == cpu)
            return true;
    return false;
}

void cores_take(const struct cores *cores, int from, int to, struct place_list *cpus)
{
    cpus->count = 0;
    for (int sibling = 0, before = -1; before < cpus->count; sibling++) {
        before = cpus->count;
        for (int core = from; core < to && cpus->count < PLACE_CPUS_MAX; core++)
            if (cores->first[core] + sibling < cores->first[core + 1])
                cpus->cpus[cpus->count++] = cores->cpus[cores->first[core] + sibling];
    }
}

/* ---- whether pinning works: the number of the processor ---- */

#if defined __x86_64__ || defined __i386__
#include <cpuid.h>
#endif

/* The APIC id: all its bits where the CPU has leaf 0xb, else the lowest 8 bits. -1: unknown. */
static int64_t processor_number(void)
{
#if defined __x86_64__ || defined __i386__
    unsigned a, b, c, d;
    if (__get_cpuid_count(0xb, 0, &a, &b, &c, &d) && b)
        return d;
    if (__get_cpuid(1, &a, &b, &c, &d))
        return b >> 24;
#endif
    return -1;
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
    int64_t seen[2] = {0};

    for (int step = 0; step < STEPS; step++) {
        if (walk->pin(walk->cpus[step % 2]) < 0)
            return;
        int64_t now = processor_number();
        if (now < 0 || (step >= 2 && seen[step % 2] != now)) {
            walk->trace = now < 0 ? AFFINITY_UNKNOWN : AFFINITY_IGNORED;
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

/* One thread counts, the other watches the number. On one CPU the number changes for the second
 * only while it is preempted, which a scheduler does a few times in a millisecond. Between two CPUs
 * a change takes 100 ns. So on one CPU, CHANGES_IN_A_ROW within ROW_WITHIN_NS are impossible. */
#define CHANGES_IN_A_ROW 64
#define ROW_WITHIN_NS (100 * NS_PER_US)
#define SPINS_BETWEEN_CLOCK_READS 256

struct watch {
    pin_function *pin;
    int cpu;
    uint64_t patience_ns;
    atomic_bool over;
    atomic_uint number;
    bool seen;
};

static void count_thread(void *argument)
{
    struct watch *watch = argument;
    if (watch->pin(watch->cpu) < 0)
        atomic_store(&watch->over, true);
    while (!atomic_load(&watch->over))
        atomic_fetch_add(&watch->number, 1);
}

static bool changes_in_a_row(struct watch *watch)
{
    uint64_t until_ns = clock_now_ns() + ROW_WITHIN_NS;
    unsigned last = atomic_load(&watch->number);

    for (unsigned changes = 0, spins = 1; changes < CHANGES_IN_A_ROW; spins++) {
        unsigned number = atomic_load(&watch->number);
        changes += number != last;
        last = number;
        if (spins % SPINS_BETWEEN_CLOCK_READS == 0 && clock_now_ns() > until_ns)
            return false;
    }
    return clock_now_ns() <= until_ns;
}

static void watch_thread(void *argument)
{
    struct watch *watch = argument;
    if (watch->pin(watch->cpu) < 0)
        atomic_store(&watch->over, true);
    while (!atomic_load(&watch->number) && !atomic_load(&watch->over))
        sched_yield();
    uint64_t end_ns = clock_now_ns() + watch->patience_ns;
    while (!watch->seen && !atomic_load(&watch->over) && clock_now_ns() < end_ns)
        watch->seen = changes_in_a_row(watch);
    atomic_store(&watch->over, true);
}

bool affinity_is_ignored(pin_function *pin, int cpu, uint64_t patience_ns)
{
    struct watch watch = {.pin = pin, .cpu = cpu, .patience_ns = patience_ns};
    uv_thread_t counting, watching;
    if (uv_thread_create(&counting, count_thread, &watch) < 0)
        return false;
    if (uv_thread_create(&watching, watch_thread, &watch) < 0)
        atomic_store(&watch.over, true);
    else
        uv_thread_join(&watching);
    uv_thread_join(&counting);
    return watch.seen;
}

/* ---- whether pinning works: the verdict ---- */

#define ATTEMPT_NS (10 * NS_PER_MS)
#define ATTEMPTS_MAX 300 /* on a busy machine threads seldom overlap, but they move */

static bool pinning_works = true;

static void test_pinning(void)
{
    enum affinity_trace trace = AFFINITY_UNDECIDED;
    struct cores cores;
    if (cores_read(&cores) < 0 || cores.cpu_count < 2)
        return;
    for (int attempt = 0; attempt < ATTEMPTS_MAX && trace == AFFINITY_UNDECIDED && pinning_works; attempt++) {
        trace = affinity_follow(cores_pin_thread, cores.cpus[0], cores.cpus[cores.cpu_count - 1]);
        if (trace != AFFINITY_FOLLOWED)
            pinning_works = trace != AFFINITY_IGNORED &&
                            !affinity_is_ignored(cores_pin_thread, cores.cpus[0], ATTEMPT_NS);
    }
}

bool affinity_works(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, test_pinning);
    return pinning_works;
}

/* ---- the word place= ---- */

static const char *const kind_names[] = {
    [PLACE_TOGETHER] = "together", [PLACE_APART] = "apart", [PLACE_FREE] = "free"};

static int parse_lists(struct place *place, const char *at)
{
    struct place_list *list = place->lists, *end = list + PLACE_LISTS;

    for (;;) {
        uint64_t cpu;
        if (list == end || list->count == PLACE_CPUS_MAX || units_take_number(&at, &cpu) < 0 ||
            cpu > UINT16_MAX)
            return -1;
        list->cpus[list->count++] = (uint16_t)cpu;
        if (*at != '.' && *at != '/')
            break;
        list += *at++ == '/';
    }
    while (++list < end)
        *list = list[-1];
    return *at ? -1 : 0;
}

int place_parse(struct place *place, const char *text, struct problem *problem)
{
    *place = (struct place){.kind = PLACE_CPUS};
    for (size_t i = 0; i < sizeof kind_names / sizeof *kind_names; i++) {
        if (!strcmp(text, kind_names[i])) {
            place->kind = (enum place_kind)i;
            return 0;
        }
    }
    if (parse_lists(place, text) == 0)
        return 0;
    return problem_usage(problem,
                         "place=%.60s: write together, apart, free, or CPUs of client and server like "
                         "0.2/1.3; a third list, after another /, is of a proxy",
                         text);
}

/* memcmp(3) works because the unused CPUs of a list are zero. */
char *place_format(const struct place *place)
{
    char *text = NULL;
    size_t size = 0;

    if (place->kind != PLACE_CPUS)
        return strdup(kind_names[place->kind]);
    FILE *out = open_memstream(&text, &size);
    bool failed = false;
    int lists = memcmp(&place->lists[2], &place->lists[1], sizeof *place->lists) ? 3 : 2;
    for (int i = 0; out && i < lists; i++)
        for (int j = 0; j < place->lists[i].count; j++)
            failed |= fprintf(out, "%s%u", j ? "." : i ? "/" : "", place->lists[i].cpus[j]) < 0;
    return text_close(out, &text, failed);
}

/* ---- the CPUs of an end ---- */

int place_cpus(const struct place *place, int list, int half, bool remote, struct place_list *cpus,
               struct problem *problem)
{
    bool works = affinity_works(); /* also for place=free: records need the answer */
    bool is_listed = place->kind == PLACE_CPUS;
    const struct place_list *listed = &place->lists[list];
    struct cores cores;

    cpus->count = 0;
    if (place->kind == PLACE_FREE)
        return 0;
    int result = cores_read(&cores);
    if (result < 0)
        return problem_unsupported(
            problem,
            "place: this system does not report which CPUs a process may use (%s); place=free runs anywhere",
            strerror(-result));
    if (!works)
        return problem_unsupported(
            problem,
            "place%s%s: pinning has no effect here: two threads pinned to one CPU ran at the same time; "
            "%splace=free runs anywhere",
            is_listed ? "" : "=", is_listed ? "" : kind_names[place->kind],
            place->kind == PLACE_TOGETHER ? "pin the whole system from outside (taskset -c 0 ...), or " : "");
    if (is_listed) {
        for (int i = 0; i < listed->count; i++)
            if (!cores_allow(&cores, listed->cpus[i]))
                return problem_unsupported(
                    problem, "place: CPU %u does not exist here, or this process may not use it",
                    listed->cpus[i]);
        *cpus = *listed;
    } else if (place->kind == PLACE_APART) {
        int middle = remote ? 0 : cores.count / 2; /* of an odd number, the first half is smaller */
        if (!remote && middle == 0)
            return problem_unsupported(problem, "place=apart needs two cores, but this process may use only "
                                                "one; write place=together");
        cores_take(&cores, half == 0 ? 0 : middle, half == 0 && !remote ? middle : cores.count, cpus);
    } else {
        cpus->cpus[cpus->count++] = cores.cpus[0];
    }
    return 0;
}
