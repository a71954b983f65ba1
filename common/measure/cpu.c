/* SPDX-License-Identifier: MIT */
#include "measure/cpu.h"

#include "base/clock.h"
#include "base/scan.h"

#include <inttypes.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* ---- cycles, instructions, migrations: Linux ---- */

#ifdef __linux__
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>

static const struct {
    uint32_t type;
    uint64_t config;
} events[CPU_EVENT_COUNT] = {
    [CPU_CYCLES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    [CPU_INSTRUCTIONS] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
};

static int event_open(enum cpu_event event)
{
    struct perf_event_attr attributes;

    memset(&attributes, 0, sizeof attributes);
    attributes.size = sizeof attributes;
    attributes.type = events[event].type;
    attributes.config = events[event].config;
    return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Debugging figures of the scheduler (sched(7)), which not every kernel has. */
void cpu_look(struct cpu_reading *reading)
{
    reading->migrations = -1;
    scan_file("/proc/thread-self/sched", 1, "se.nr_migrations : %" SCNd64, &reading->migrations);
}

#else

static int event_open(enum cpu_event event)
{
    (void)event;
    return -1;
}

void cpu_look(struct cpu_reading *reading)
{
    reading->migrations = -1;
}

#endif

/* ---- times and switches of the calling thread ---- */

static uint64_t timeval_ns(struct timeval time)
{
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_usec * NS_PER_US;
}

#ifdef __APPLE__
#include <mach/mach.h>

static uint64_t time_ns(time_value_t time)
{
    return (uint64_t)time.seconds * NS_PER_S + (uint64_t)time.microseconds * NS_PER_US;
}

static void read_usage(struct cpu_reading *reading)
{
    thread_basic_info_data_t info = {0};
    mach_msg_type_number_t count = THREAD_BASIC_INFO_COUNT;
    mach_port_t self = mach_thread_self();

    reading->switches_known = false;
    reading->times_known = thread_info(self, THREAD_BASIC_INFO, (thread_info_t)&info, &count) == KERN_SUCCESS;
    mach_port_deallocate(mach_task_self(), self);
    reading->user_ns = time_ns(info.user_time);
    reading->system_ns = time_ns(info.system_time);
}

#elif defined RUSAGE_THREAD

static void read_usage(struct cpu_reading *reading)
{
    struct rusage usage = {0};

    clock_read_ns(CLOCK_THREAD_CPUTIME_ID); /* updates the counts of a running thread */
    reading->times_known = reading->switches_known = getrusage(RUSAGE_THREAD, &usage) == 0;
    reading->user_ns = timeval_ns(usage.ru_utime);
    reading->system_ns = timeval_ns(usage.ru_stime);
    reading->voluntary_switches = (uint64_t)usage.ru_nvcsw;
    reading->forced_switches = (uint64_t)usage.ru_nivcsw;
}

#else /* NetBSD has one clock per thread, without a split into user and system time */

static void read_usage(struct cpu_reading *reading)
{
    reading->times_known = reading->switches_known = false;
}

#endif

/* ---- whether the counts are true ---- */

/*
 * Some systems only sample their threads: a thread that runs at a tick gets the whole tick, or no
 * thread gets it. Others return zeros. A true count grows with each portion of work, however small
 * and whatever other threads do, and counts each sleep.
 */
#define PORTIONS 8
#define PORTION_STEPS 20000 /* some tens of microseconds; times are in microseconds */
#define SLEEPS 8
#define SLEEP_NS 1000

static void work(void)
{
    volatile unsigned step = 0;

    while (step < PORTION_STEPS)
        step = step + 1;
}

static uint64_t spent_ns(const struct cpu_reading *reading)
{
    return reading->user_ns + reading->system_ns;
}

static bool times_move(void (*read)(struct cpu_reading *reading))
{
    struct cpu_reading before = {0}, after = {0};

    read(&before);
    for (int i = 0; i < PORTIONS && before.times_known; i++) {
        read(&before);
        work();
        read(&after);
        if (spent_ns(&after) == spent_ns(&before))
            return false;
    }
    return true;
}

static bool switches_move(void (*read)(struct cpu_reading *reading))
{
    struct cpu_reading before = {0}, after = {0};

    read(&before);
    if (!before.switches_known)
        return true;
    for (int i = 0; i < SLEEPS && after.voluntary_switches <= before.voluntary_switches; i++) {
        nanosleep(&(struct timespec){.tv_nsec = SLEEP_NS}, NULL);
        read(&after);
    }
    return after.voluntary_switches > before.voluntary_switches;
}

struct cpu_account cpu_account_try(void (*read)(struct cpu_reading *reading))
{
    return (struct cpu_account){times_move(read), switches_move(read)};
}

static struct cpu_account believed = {true, true};

void cpu_probe(void)
{
    believed = cpu_account_try(read_usage);
}

/* ---- readings ---- */

static const char *const event_names[CPU_EVENT_COUNT] = {
    [CPU_CYCLES] = "cycles", [CPU_INSTRUCTIONS] = "instructions"};

void cpu_meter_open(struct cpu_meter *meter, bool events_wanted)
{
    for (int event = 0; event < CPU_EVENT_COUNT; event++)
        meter->fds[event] = events_wanted ? event_open((enum cpu_event)event) : -1;
}

void cpu_meter_close(struct cpu_meter *meter)
{
    for (int event = 0; event < CPU_EVENT_COUNT; event++)
        if (meter->fds[event] >= 0)
            close(meter->fds[event]);
}

static void read_events(const struct cpu_meter *meter, struct cpu_reading *reading)
{
    for (int event = 0; event < CPU_EVENT_COUNT; event++)
        reading->counted[event] =
            meter->fds[event] >= 0 && read(meter->fds[event], &reading->events[event],
                                           sizeof reading->events[event]) == sizeof reading->events[event];
}

static void read_account(struct cpu_reading *reading)
{
    read_usage(reading);
    reading->times_known &= believed.times;
    reading->switches_known &= believed.switches;
}

void cpu_meter_begin(const struct cpu_meter *meter, struct cpu_reading *reading)
{
    read_events(meter, reading);
    read_account(reading);
}

void cpu_meter_end(const struct cpu_meter *meter, struct cpu_reading *reading)
{
    read_account(reading);
    read_events(meter, reading);
}

struct cpu_reading cpu_sum(const struct cpu_reading *a, const struct cpu_reading *b)
{
    struct cpu_reading sum = {
        .times_known = a->times_known && b->times_known,
        .switches_known = a->switches_known && b->switches_known,
        .user_ns = a->user_ns + b->user_ns,
        .system_ns = a->system_ns + b->system_ns,
        .voluntary_switches = a->voluntary_switches + b->voluntary_switches,
        .forced_switches = a->forced_switches + b->forced_switches,
        .migrations = a->migrations < 0 || b->migrations < 0 ? -1 : a->migrations + b->migrations,
    };

    for (int event = 0; event < CPU_EVENT_COUNT; event++) {
        sum.counted[event] = a->counted[event] && b->counted[event];
        sum.events[event] = a->events[event] + b->events[event];
    }
    return sum;
}

static void put_difference(json_t *cpu, const char *key, uint64_t before, uint64_t after)
{
    json_object_set_new(cpu, key, json_integer((json_int_t)(after - before)));
}

json_t *cpu_to_json(const struct cpu_reading *before, const struct cpu_reading *after)
{
    json_t *cpu = json_object();

    if (before->times_known && after->times_known) {
        put_difference(cpu, "user_ns", before->user_ns, after->user_ns);
        put_difference(cpu, "system_ns", before->system_ns, after->system_ns);
    }
    if (before->switches_known && after->switches_known) {
        put_difference(cpu, "voluntary_switches", before->voluntary_switches, after->voluntary_switches);
        put_difference(cpu, "forced_switches", before->forced_switches, after->forced_switches);
    }
    if (before->migrations >= 0 && after->migrations >= 0)
        json_object_set_new(cpu, "migrations", json_integer(after->migrations - before->migrations));
    for (int event = 0; event < CPU_EVENT_COUNT; event++)
        if (before->counted[event] && after->counted[event])
            put_difference(cpu, event_names[event], before->events[event], after->events[event]);
    if (json_object_size(cpu))
        return cpu;
    json_decref(cpu);
    return NULL;
}

json_t *cpu_process_to_json(void)
{
    struct rusage usage;

    if (!believed.times || getrusage(RUSAGE_SELF, &usage) < 0)
        return NULL;
    return json_pack("{s:I, s:I}", "user_ns", (json_int_t)timeval_ns(usage.ru_utime), "system_ns",
                     (json_int_t)timeval_ns(usage.ru_stime));
}
