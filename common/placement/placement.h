/* SPDX-License-Identifier: MIT */
/* Where the threads of each end run, and how the system schedules them. */
#pragma once

#include "base/problem.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- place=: place.c ---- */

/* CPUs by number: "0.2/1.3/4" is client 0 and 2, server 1 and 3, proxy 4. */
enum place_kind { PLACE_TOGETHER, PLACE_APART, PLACE_FREE, PLACE_CPUS };

#define PLACE_CPUS_MAX 256
#define PLACE_LISTS 3 /* client, server, proxy; a missing list equals the one before it */

struct place {
    enum place_kind kind;
    struct place_list {
        uint16_t count;
        uint16_t cpus[PLACE_CPUS_MAX];
    } lists[PLACE_LISTS]; /* PLACE_CPUS only */
};

int place_parse(struct place *place, const char *text, struct problem *problem);

/* New memory. */
char *place_format(const struct place *place);

/* The CPUs for the data threads of end number `list` (0 client, 1 server, 2 proxy). Thread i takes
 * CPU number i % count. With place=apart, `half` is the half of the cores that this end gets (0:
 * the first). `remote`: the other ends are on other machines, so this end gets all cores. With
 * place=free, `count` is 0. 0, or -1 with an unsupported problem. */
int place_cpus(const struct place *place, int list, int half, bool remote, struct place_list *cpus,
               struct problem *problem);

/* ---- the CPUs that this process may use: place.c ---- */

#define CORES_CPUS_MAX 8192 /* the largest NR_CPUS of Linux: arch/x86/Kconfig, arch/powerpc */

/* Ordered by core: SMT siblings are adjacent. */
struct cores {
    int count;                          /* cores */
    int cpu_count;                      /* CPUs */
    uint16_t cpus[CORES_CPUS_MAX];      /* by core, then by number */
    uint16_t first[CORES_CPUS_MAX + 1]; /* core i has cpus[first[i]] to cpus[first[i + 1] - 1] */
};

/* 0, or a negative errno value if the system does not report them (-ENOSYS: it has no affinity). */
int cores_read(struct cores *cores);

bool cores_allow(const struct cores *cores, int cpu);

/* The CPUs of cores `from` to `to` - 1: first one CPU of each core, then their siblings. */
void cores_take(const struct cores *cores, int from, int to, struct place_list *cpus);

/* Restricts the calling thread and all that it starts to these CPUs. 0 or -errno. */
int cores_restrict(const struct place_list *cpus);

/* Pins the calling thread. 0 if the system then reports that it runs there, else -errno. */
int cores_pin_thread(int cpu);

/* The CPU on which the calling thread runs, as the system reports it; -1 where it does not. */
int cores_current(void);

/* Whether a thread that is pinned to a CPU runs there; true if there is only one CPU, or if load on
 * the machine leaves it undecided. A system may report that CPU but run the thread anywhere, so the
 * first call tests the effect, for up to a second: not in a thread that measures. */
bool affinity_works(void);

/* Like cores_pin_thread(), which the two parts of that test call. */
typedef int pin_function(int cpu);

/* Pins a thread to `a`, `b`, `a` and so on. Each time reads the number of its CPU from the
 * processor itself, not from the system. */
enum affinity_trace {
    AFFINITY_FOLLOWED,  /* two processors in turn: pinning works */
    AFFINITY_IGNORED,   /* not always the same processor for the same CPU: pinning has no effect */
    AFFINITY_UNDECIDED, /* always the same processor, or pinning failed */
    AFFINITY_UNKNOWN,   /* a program cannot read the number of the processor */
};
enum affinity_trace affinity_follow(pin_function *pin, int a, int b);

/* Pins two threads to `cpu`. True if they run at the same time within `patience_ns`. */
bool affinity_is_ignored(pin_function *pin, int cpu, uint64_t patience_ns);

/* ---- sched=: scheduling.c ---- */

enum scheduling_class { SCHEDULING_OTHER, SCHEDULING_RR, SCHEDULING_FIFO, SCHEDULING_CLASS_COUNT };

#define SCHEDULING_PRIORITY_MAX 99
#define SCHEDULING_TEXT_MAX 16

struct scheduling {
    enum scheduling_class class;
    int priority; /* 1 to 99, 99 the highest; 0 in the class `other` */
};

/* Parses other, rr:N or fifo:N. 0, or -1 with a usage problem. */
int scheduling_parse(struct scheduling *scheduling, const char *text, struct problem *problem);

/* The spelling that scheduling_parse() reads back. Returns `text`. scheduling_text() has it in
 * memory that the block of the caller owns. */
const char *scheduling_format(char text[SCHEDULING_TEXT_MAX], const struct scheduling *scheduling);
#define scheduling_text(scheduling) scheduling_format((char[SCHEDULING_TEXT_MAX]){0}, scheduling)

/* True for a real-time class: its thread keeps its CPU until it sleeps. */
static inline bool scheduling_is_realtime(const struct scheduling *scheduling)
{
    return scheduling->class != SCHEDULING_OTHER;
}

/* Sets the class of the calling thread and reads it back. 0, or -1 with an unsupported problem. */
int scheduling_set_thread(const struct scheduling *wanted, struct problem *problem);

/* Calls scheduling_set_thread() in a new thread, which then ends. */
int scheduling_check(const struct scheduling *wanted, struct problem *problem);

/* Reads the class of the calling thread from the system. 0, or a negative errno value if the system
 * does not report it or `enum scheduling_class` lacks it. */
int scheduling_read_thread(struct scheduling *scheduling);

/* Sets the class `other`. Call at the start of a program, which may inherit a real-time class;
 * `sched` is for data threads only. A real-time control thread could spin forever: uv_async_send()
 * of a thread of class `other` wakes it, and it waits for that thread, which gets no CPU. */
void scheduling_reset(void);
