/* SPDX-License-Identifier: MIT */
/* How the system schedules the data threads of an end: word sched. */
#ifndef UNCORK_PLAN_SCHEDULING_H
#define UNCORK_PLAN_SCHEDULING_H

#include "base/problem.h"

#include <stdbool.h>

enum scheduling_class { SCHEDULING_OTHER, SCHEDULING_RR, SCHEDULING_FIFO, SCHEDULING_CLASS_COUNT };

#define SCHEDULING_PRIORITY_MAX 99
#define SCHEDULING_TEXT_MAX 16

struct scheduling {
    enum scheduling_class class;
    int priority; /* 1 to 99, the higher goes first; 0 in the class `other` */
};

/* Parses other, rr:N or fifo:N. 0, or -1 with a usage problem. */
int scheduling_parse(struct scheduling *scheduling, const char *text, struct problem *problem);
void scheduling_format(char text[SCHEDULING_TEXT_MAX], const struct scheduling *scheduling);

/* A thread of a real-time class keeps its CPU until it sleeps. */
static inline bool scheduling_is_realtime(const struct scheduling *scheduling)
{
    return scheduling->class != SCHEDULING_OTHER;
}

/* Puts the calling thread into that class. 0 only if it is in it now; else -1 with an unsupported problem
 * that says what would allow it. */
int scheduling_set_thread(const struct scheduling *wanted, struct problem *problem);

/* The same for a thread that ends at once: whether another could. */
int scheduling_check(const struct scheduling *wanted, struct problem *problem);

/* The class of the calling thread as the system tells it. 0, or a negative errno value where it does not, or
 * where the class has no name here. */
int scheduling_read_thread(struct scheduling *scheduling);

/* At the start of a program: gives back a real-time class that it was started in, which the word gives to
 * data threads. A control thread that has one and wakes up inside uv_async_send() of a thread that has none
 * burns there until that goes on, which it cannot. */
void scheduling_give_back(void);

#endif
