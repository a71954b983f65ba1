/* SPDX-License-Identifier: MIT */
/* What a thread cost, and what the machine did meanwhile. System differences live in cpu.c and machine.c. */
#ifndef UNCORK_MEASURE_CPU_H
#define UNCORK_MEASURE_CPU_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum cpu_event { CPU_CYCLES, CPU_INSTRUCTIONS, CPU_EVENT_COUNT };

/* Counters of the calling thread. Only that thread opens, reads and closes them. */
struct cpu_meter {
    int fds[CPU_EVENT_COUNT]; /* perf_event_open(2), -1 where it is not permitted or not wanted */
};

struct cpu_reading {
    bool times_known, switches_known; /* false where the system does not count them by thread, or pretends */
    uint64_t user_ns, system_ns, voluntary_switches, forced_switches;
    int64_t migrations; /* -1 where the system does not tell */
    uint64_t events[CPU_EVENT_COUNT];
    bool counted[CPU_EVENT_COUNT];
};

/* `events` opens the counters of cycles and instructions. They are switched with the thread: that was seen to
 * make a request and reply 12 % slower, so it is for those who ask. */
void cpu_meter_open(struct cpu_meter *meter, bool events);
void cpu_meter_close(struct cpu_meter *meter);

/* What the thread has used, directly before an interval and directly after it. Times and switches
 * are read last before it and first after it, so that they do not include the calls that read the
 * events. */
void cpu_meter_begin(const struct cpu_meter *meter, struct cpu_reading *reading);
void cpu_meter_end(const struct cpu_meter *meter, struct cpu_reading *reading);

/* The migrations, from a file of /proc, which takes 12 us: outside of an interval. */
void cpu_look(struct cpu_reading *reading);

/* Which parts of a thread's account move with what the thread does; true of those that the system does not
 * tell. */
struct cpu_account {
    bool times, switches;
};

/* Tries it with the calling thread, whose account `read` reads: it works and sleeps for a moment. */
struct cpu_account cpu_account_try(void (*read)(struct cpu_reading *reading));

/* Finds out which parts move here; others are not known in any reading from then on. To be called once,
 * before threads read. */
void cpu_probe(void);

/* Of two threads together: what both of them know. */
struct cpu_reading cpu_sum(const struct cpu_reading *a, const struct cpu_reading *b);

/* The `cpu` object of a thread in the record: after less before, absent where not counted, NULL where nothing
 * is. New reference. */
json_t *cpu_to_json(const struct cpu_reading *before, const struct cpu_reading *after);

/* The `process` object of an end: what this process has used since it began, NULL where the system does not
 * tell, or pretends of its threads. New reference. */
json_t *cpu_process_to_json(void);

/* All CPUs of the machine since boot, from /proc/stat. */
enum machine_time {
    MACHINE_USER,
    MACHINE_SYSTEM,
    MACHINE_IDLE,
    MACHINE_IRQ,
    MACHINE_SOFTIRQ,
    MACHINE_STEAL,
    MACHINE_TIME_COUNT
};

struct machine_reading {
    bool known; /* false where the system does not count */
    uint64_t ns[MACHINE_TIME_COUNT];
};

void machine_read(struct machine_reading *reading);

/* The `machine` object of an end, NULL where the system does not count. New reference. */
json_t *machine_to_json(const struct machine_reading *before, const struct machine_reading *after);

#endif
