/* SPDX-License-Identifier: MIT */
#include "measure/cpu.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/files.h"

#include <inttypes.h>
#include <sys/resource.h>

#if defined __APPLE__
#include <mach/mach.h>
#elif defined __linux__
#include <linux/perf_event.h>
#include <sys/syscall.h>
#endif

#define CPU_COUNT_KEY(count, key) [count] = key,
static const char *const keys[CPU_COUNT_COUNT] = {CPU_COUNTS(CPU_COUNT_KEY)};

static void set(struct cpu_reading *reading, enum cpu_count count, uint64_t value)
{
    reading->counts[count] = value;
    reading->known |= 1u << count;
}

static uint64_t timeval_ns(struct timeval time)
{
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_usec * NS_PER_US;
}

static uint32_t trusted = UINT32_MAX; /* narrowed by cpu_probe() */

static void read_usage(struct cpu_reading *reading)
{
#ifdef __APPLE__
    thread_basic_info_data_t info = {0};
    mach_msg_type_number_t count = THREAD_BASIC_INFO_COUNT;
    mach_port_t self = mach_thread_self();

    if (thread_info(self, THREAD_BASIC_INFO, (thread_info_t)&info, &count) == KERN_SUCCESS) {
        set(reading, CPU_USER,
            timeval_ns((struct timeval){info.user_time.seconds, info.user_time.microseconds}));
        set(reading, CPU_SYSTEM,
            timeval_ns((struct timeval){info.system_time.seconds, info.system_time.microseconds}));
    }
    mach_port_deallocate(mach_task_self(), self);
#elif defined RUSAGE_THREAD
    struct rusage usage;

    clock_read_ns(CLOCK_THREAD_CPUTIME_ID); /* makes the kernel update the counts of this thread */
    if (getrusage(RUSAGE_THREAD, &usage) == 0) {
        set(reading, CPU_USER, timeval_ns(usage.ru_utime));
        set(reading, CPU_SYSTEM, timeval_ns(usage.ru_stime));
        set(reading, CPU_VOLUNTARY, (uint64_t)usage.ru_nvcsw);
        set(reading, CPU_FORCED, (uint64_t)usage.ru_nivcsw);
    }
#endif /* NetBSD has one clock per thread, without a split into user and system time */
    reading->known &= trusted;
}

/* Some systems only sample: the thread that runs at a tick gets the whole tick, or no thread gets
 * it. Others return zeros. A true time grows with each portion of work, however small and under any
 * load. A true count of switches grows with each sleep. */
#define PORTIONS 8
#define PORTION_STEPS 20000 /* some tens of microseconds; times are in microseconds */
#define SLEEPS 8
#define SLEEP_NS 1000

uint32_t cpu_test_counts(void (*read)(struct cpu_reading *reading))
{
    struct cpu_reading before = {0}, after = {0};
    uint32_t wrong = 0;

    for (int i = 0; i < PORTIONS; i++) {
        read(&before);
        for (volatile unsigned step = 0; step < PORTION_STEPS;)
            step = step + 1;
        read(&after);
        if (after.counts[CPU_USER] + after.counts[CPU_SYSTEM] ==
            before.counts[CPU_USER] + before.counts[CPU_SYSTEM])
            wrong |= CPU_TIMES;
    }
    for (int i = 0; i < SLEEPS && after.counts[CPU_VOLUNTARY] <= before.counts[CPU_VOLUNTARY]; i++) {
        nanosleep(&(struct timespec){.tv_nsec = SLEEP_NS}, NULL);
        read(&after);
    }
    if (after.counts[CPU_VOLUNTARY] <= before.counts[CPU_VOLUNTARY])
        wrong |= CPU_SWITCHES;
    return (CPU_TIMES | CPU_SWITCHES) & ~(wrong & after.known);
}

void cpu_probe(void)
{
    trusted = UINT32_MAX; /* the test needs all that the system reports */
    trusted = ~(CPU_TIMES | CPU_SWITCHES) | cpu_test_counts(read_usage);
}

static const enum cpu_count events[CPU_EVENT_COUNT] = {CPU_CYCLES, CPU_INSTRUCTIONS};

void cpu_meter_open(struct cpu_meter *meter, bool events_wanted)
{
    *meter = CPU_METER_CLOSED;
#ifdef __linux__
    for (int event = 0; events_wanted && event < CPU_EVENT_COUNT; event++) {
        struct perf_event_attr attributes = {
            .size = sizeof attributes,
            .type = PERF_TYPE_HARDWARE,
            .config = events[event] == CPU_CYCLES ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_HW_INSTRUCTIONS};
        meter->fds[event] = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    }
#endif
}

void cpu_meter_close(struct cpu_meter *meter)
{
    for (int event = 0; event < CPU_EVENT_COUNT; event++)
        if (meter->fds[event] >= 0)
            close(meter->fds[event]);
}

static void read_events(const struct cpu_meter *meter, struct cpu_reading *reading)
{
    uint64_t value;
    for (int event = 0; event < CPU_EVENT_COUNT; event++)
        if (meter->fds[event] >= 0 && read(meter->fds[event], &value, sizeof value) == sizeof value)
            set(reading, events[event], value);
}

void cpu_meter_begin(const struct cpu_meter *meter, struct cpu_reading *reading)
{
    read_events(meter, reading);
    read_usage(reading);
}

void cpu_meter_end(const struct cpu_meter *meter, struct cpu_reading *reading)
{
    read_usage(reading);
    read_events(meter, reading);
}

/* Debugging figures of the scheduler (sched(7)). Not every kernel has them. */
void cpu_read_migrations(struct cpu_reading *reading)
{
    uint64_t migrations;
    if (scan_file("/proc/thread-self/sched", 1, "se.nr_migrations : %" SCNu64, &migrations))
        set(reading, CPU_MIGRATIONS, migrations);
}

struct cpu_reading cpu_sum(const struct cpu_reading *a, const struct cpu_reading *b)
{
    struct cpu_reading sum = {.known = a->known & b->known};
    for (int count = 0; count < CPU_COUNT_COUNT; count++)
        sum.counts[count] = a->counts[count] + b->counts[count];
    return sum;
}

json_t *cpu_to_json(const struct cpu_reading *before, const struct cpu_reading *after)
{
    CLEANUP_JSON json_t *cpu = json_object();
    for (int count = 0; count < CPU_COUNT_COUNT; count++)
        if (before->known & after->known & 1u << count)
            json_object_set_new(cpu, keys[count],
                                json_integer((json_int_t)(after->counts[count] - before->counts[count])));
    return json_object_size(cpu) ? json_incref(cpu) : NULL;
}

/* ---- the process and the machine ---- */

json_t *cpu_process_to_json(void)
{
    struct rusage usage;
    if (!(trusted & CPU_TIMES) || getrusage(RUSAGE_SELF, &usage) < 0)
        return NULL;
    return json_pack("{s:I, s:I}", "user_ns", (json_int_t)timeval_ns(usage.ru_utime), "system_ns",
                     (json_int_t)timeval_ns(usage.ru_stime));
}

/* proc_stat(5), in clock ticks. Some systems print a line of zeros, which is not known. */
void cpu_read_machine(struct cpu_reading *reading)
{
    unsigned long long user, nice, system, idle, iowait, irq, softirq, steal;
    uint64_t tick_ns = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);

    *reading = (struct cpu_reading){0};
    if (!scan_file("/proc/stat", 8, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system,
                   &idle, &iowait, &irq, &softirq, &steal) ||
        user + system + idle == 0)
        return;
    set(reading, CPU_USER, (user + nice) * tick_ns);
    set(reading, CPU_SYSTEM, system * tick_ns);
    set(reading, CPU_IDLE, (idle + iowait) * tick_ns);
    set(reading, CPU_IRQ, irq * tick_ns);
    set(reading, CPU_SOFTIRQ, softirq * tick_ns);
    set(reading, CPU_STEAL, steal * tick_ns);
}

uint64_t memory_resident_bytes(void)
{
    uint64_t pages = 0;
    scan_file("/proc/self/statm", 1, "%*u %" SCNu64, &pages);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}
