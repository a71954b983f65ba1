/* SPDX-License-Identifier: MIT */
/* CPU cost of a thread, CPU time of the machine, and memory of the process. System differences live in cpu.c
 * and machine.c. */
#ifndef UNCORK_MEASURE_CPU_H
#define UNCORK_MEASURE_CPU_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum cpu_event { CPU_CYCLES, CPU_INSTRUCTIONS, CPU_EVENT_COUNT };

/* Counters of the calling thread. Only this thread opens, reads and closes them. */
struct cpu_meter {
    int fds[CPU_EVENT_COUNT]; /* perf_event_open(2), -1 where it is not permitted or not wanted */
};

struct cpu_reading {
    bool times_known, switches_known; /* false: not counted per thread, or counted wrongly */
    uint64_t user_ns, system_ns, voluntary_switches, forced_switches;
    int64_t migrations; /* -1 where the system does not report them */
    uint64_t events[CPU_EVENT_COUNT];
    bool counted[CPU_EVENT_COUNT];
};

/* `events` opens the counters of cycles and instructions. The kernel saves and restores them at
 * every thread switch: request and reply were seen to be 12 % slower. So they are optional. */
void cpu_meter_open(struct cpu_meter *meter, bool events);
void cpu_meter_close(struct cpu_meter *meter);

/* Readings directly before and after an interval. Times and switches are read last before it and
 * first after it: they exclude the calls that read the events. */
void cpu_meter_begin(const struct cpu_meter *meter, struct cpu_reading *reading);
void cpu_meter_end(const struct cpu_meter *meter, struct cpu_reading *reading);

/* Reads the migrations from a file of /proc, which takes 12 us: call it outside of an interval. */
void cpu_look(struct cpu_reading *reading);

/* Which counts of a thread follow its work; true also for counts that the system does not
 * report. */
struct cpu_account {
    bool times, switches;
};

/* Tests the counts that `read` returns: the calling thread works and sleeps for a moment. */
struct cpu_account cpu_account_try(void (*read)(struct cpu_reading *reading));

/* Tests which counts work here; later readings omit the others. Call it once, before threads
 * read. */
void cpu_probe(void);

/* Sum of two threads: the counts that both have. */
struct cpu_reading cpu_sum(const struct cpu_reading *a, const struct cpu_reading *b);

/* The `cpu` object of a thread in the record: `after` - `before`. Counts that are not known are
 * absent; NULL where none is. New reference. */
json_t *cpu_to_json(const struct cpu_reading *before, const struct cpu_reading *after);

/* The `process` object of an end: the use of this process since its start. NULL where the system
 * does not report it, or where its counts per thread are wrong. New reference. */
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

/* Resident memory of this process in bytes, shared libraries included; 0 where the system does not
 * report it. */
uint64_t memory_resident_bytes(void);

#endif
