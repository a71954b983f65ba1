/* SPDX-License-Identifier: MIT */
#include "measure/cpu.h"

#include "base/clock.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

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

#else
static int event_open(enum cpu_event event)
{
    (void)event;
    return -1;
}

#endif

static const char *const event_names[CPU_EVENT_COUNT] = {
    [CPU_CYCLES] = "cycles", [CPU_INSTRUCTIONS] = "instructions"};

void cpu_meter_open(struct cpu_meter *meter, bool events_wanted)
{
    for (int event = 0; event < CPU_EVENT_COUNT; event++)
        meter->fds[event] = events_wanted ? event_open((enum cpu_event)event) : -1;
}

/* How often the calling thread moved to another CPU: sched(7) debugging figures, -1 where the kernel shows
 * none. */
static int64_t read_migrations(void)
{
    FILE *file = fopen("/proc/thread-self/sched", "re");
    char line[128];
    long long migrations = -1;

    while (file && fgets(line, sizeof line, file) &&
           sscanf(line, "se.nr_migrations : %lld", &migrations) != 1)
        ;
    if (file)
        fclose(file);
    return migrations;
}

void cpu_meter_close(struct cpu_meter *meter)
{
    for (int event = 0; event < CPU_EVENT_COUNT; event++)
        if (meter->fds[event] >= 0)
            close(meter->fds[event]);
}

static uint64_t timeval_ns(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * NS_PER_S + (uint64_t)time->tv_usec * NS_PER_US;
}

void cpu_meter_read(const struct cpu_meter *meter, struct cpu_reading *reading)
{
    struct rusage usage = {0};

    *reading = (struct cpu_reading){0};
    reading->migrations = read_migrations();
    clock_read_ns(CLOCK_THREAD_CPUTIME_ID); /* brings the account of a running thread up to date */
#ifdef RUSAGE_THREAD
    reading->known = getrusage(RUSAGE_THREAD, &usage) == 0;
#endif
    reading->user_ns = timeval_ns(&usage.ru_utime);
    reading->system_ns = timeval_ns(&usage.ru_stime);
    reading->voluntary_switches = (uint64_t)usage.ru_nvcsw;
    reading->forced_switches = (uint64_t)usage.ru_nivcsw;
    for (int event = 0; event < CPU_EVENT_COUNT; event++)
        reading->counted[event] =
            meter->fds[event] >= 0 && read(meter->fds[event], &reading->events[event],
                                           sizeof reading->events[event]) == sizeof reading->events[event];
}

json_t *cpu_to_json(const struct cpu_reading *before, const struct cpu_reading *after)
{
    json_t *cpu =
        json_pack("{s:I, s:I, s:I, s:I}", "user_ns", (json_int_t)(after->user_ns - before->user_ns),
                  "system_ns", (json_int_t)(after->system_ns - before->system_ns), "voluntary_switches",
                  (json_int_t)(after->voluntary_switches - before->voluntary_switches), "forced_switches",
                  (json_int_t)(after->forced_switches - before->forced_switches));

    if (before->migrations >= 0 && after->migrations >= 0)
        json_object_set_new(cpu, "migrations", json_integer(after->migrations - before->migrations));
    for (int event = 0; event < CPU_EVENT_COUNT; event++)
        if (before->counted[event] && after->counted[event])
            json_object_set_new(cpu, event_names[event],
                                json_integer((json_int_t)(after->events[event] - before->events[event])));
    return cpu;
}
