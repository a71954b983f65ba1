/* SPDX-License-Identifier: MIT */
/* Word `sched`: how the system schedules the data threads of an end. */
#pragma once

#include "base/problem.h"

#include <stdbool.h>

enum scheduling_class { SCHEDULING_OTHER, SCHEDULING_RR, SCHEDULING_FIFO, SCHEDULING_CLASS_COUNT };

#define SCHEDULING_PRIORITY_MAX 99
#define SCHEDULING_TEXT_MAX 16

struct scheduling {
    enum scheduling_class class;
    int priority; /* 1 to 99, 99 the highest; 0 in the class `other` */
};

/* Parses other, rr:N or fifo:N. 0, or -1 with a usage problem. */
int scheduling_parse(struct scheduling *scheduling, const char *text, struct problem *problem);
void scheduling_format(char text[SCHEDULING_TEXT_MAX], const struct scheduling *scheduling);

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
