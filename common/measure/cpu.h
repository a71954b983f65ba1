/* SPDX-License-Identifier: MIT */
/* CPU cost of a thread, CPU time of the machine, memory of the process, on all systems. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Count, key in the record. A thread has the counts up to CPU_INSTRUCTIONS. The machine has the
 * times, as the sum over all CPUs since boot. */
#define CPU_COUNTS(X)                                                                                        \
    X(CPU_USER, "user_ns")                                                                                   \
    X(CPU_SYSTEM, "system_ns")                                                                               \
    X(CPU_VOLUNTARY, "voluntary_switches")                                                                   \
    X(CPU_FORCED, "forced_switches")                                                                         \
    X(CPU_MIGRATIONS, "migrations")                                                                          \
    X(CPU_CYCLES, "cycles")                                                                                  \
    X(CPU_INSTRUCTIONS, "instructions")                                                                      \
    X(CPU_IDLE, "idle_ns")                                                                                   \
    X(CPU_IRQ, "irq_ns")                                                                                     \
    X(CPU_SOFTIRQ, "softirq_ns")                                                                             \
    X(CPU_STEAL, "steal_ns")

#define CPU_COUNT_ENUM(count, key) count,
enum cpu_count { CPU_COUNTS(CPU_COUNT_ENUM) CPU_COUNT_COUNT };
#undef CPU_COUNT_ENUM

struct cpu_reading {
    uint32_t known; /* bit per count: the system reports it, and cpu_probe() found it true */
    uint64_t counts[CPU_COUNT_COUNT];
};

/* Counters of cycles and instructions. Only the counted thread opens, reads and closes them. */
#define CPU_EVENT_COUNT 2
struct cpu_meter {
    int fds[CPU_EVENT_COUNT]; /* of perf_event_open(2); -1: not permitted or not wanted */
};
#define CPU_METER_CLOSED ((struct cpu_meter){{-1, -1}}) /* one -1 for each event */

/* `events`: opens the counters. They are optional because the kernel saves and restores them at
 * every thread switch: request and reply were up to 12 % slower. */
void cpu_meter_open(struct cpu_meter *meter, bool events);
void cpu_meter_close(struct cpu_meter *meter);

/* Readings directly before and after an interval. begin() reads times and switches last, end()
 * reads them first: so they exclude the calls that read the events. */
void cpu_meter_begin(const struct cpu_meter *meter, struct cpu_reading *reading);
void cpu_meter_end(const struct cpu_meter *meter, struct cpu_reading *reading);

/* Reads the migrations from a file of /proc. This takes 12 us: call it outside of an interval. */
void cpu_read_migrations(struct cpu_reading *reading);

/* Tests the counts that `read` returns, while the calling thread works and sleeps for a moment. The
 * result has CPU_TIMES and CPU_SWITCHES, unless the system reports them and they do not grow. */
#define CPU_TIMES (1u << CPU_USER | 1u << CPU_SYSTEM)
#define CPU_SWITCHES (1u << CPU_VOLUNTARY | 1u << CPU_FORCED)
uint32_t cpu_test_counts(void (*read)(struct cpu_reading *reading));

/* Tests which counts are true here; later readings omit the others. Call once, before readings. */
void cpu_probe(void);

/* The sum of two threads, for the counts that both have. */
struct cpu_reading cpu_sum(const struct cpu_reading *a, const struct cpu_reading *b);

/* The `cpu` object of a thread or the `machine` object of an end in the record: `after` - `before`.
 * Counts that are not known are absent; NULL where none is. New reference. */
json_t *cpu_to_json(const struct cpu_reading *before, const struct cpu_reading *after);

/* The `process` object of an end: CPU time of this process since its start. NULL if the system does
 * not report it, or if its counts per thread are wrong. New reference. */
json_t *cpu_process_to_json(void);

void cpu_read_machine(struct cpu_reading *reading);

/* Resident memory of this process in bytes, with shared libraries; 0 if it is not reported. */
uint64_t memory_resident_bytes(void);
