/* SPDX-License-Identifier: MIT */
#include "team/thread.h"

#include "placement/affinity.h"
#include "placement/cores.h"

#include <errno.h>
#include <string.h>

int thread_settle(struct team_thread *thread, const struct end_plan *own, struct problem *problem)
{
    int result = 0;

    cpu_meter_open(&thread->meter, own->perf);
    if (thread->pinned_to >= 0)
        result = cores_pin_thread(thread->pinned_to);
    if (result < 0)
        return problem_unsupported(
            problem, "place: a thread cannot be pinned to CPU %d here: %s", thread->pinned_to,
            result == -EOPNOTSUPP ? "the system says yes and runs it elsewhere" : strerror(-result));
    return scheduling_set_thread(&own->scheduling, problem);
}

void thread_look(struct thread_reading *reading)
{
    cpu_look(&reading->cpu);
    reading->cpu_number = affinity_works() ? cores_current() : -1;
    reading->scheduling_known = scheduling_read_thread(&reading->scheduling) == 0;
}

void thread_report(json_t *object, const struct team_thread *thread, const struct thread_reading *before,
                   const struct thread_reading *after)
{
    char class[SCHEDULING_TEXT_MAX];
    json_t *cpus;

    if (after->scheduling_known) {
        scheduling_format(class, &after->scheduling);
        json_object_set_new(object, "sched", json_string(class));
    }
    if (before->cpu_number < 0)
        return;
    cpus = json_pack("{s:i, s:i}", "start", before->cpu_number, "end", after->cpu_number);
    if (thread->pinned_to >= 0)
        json_object_set_new(cpus, "asked", json_pack("[i]", thread->pinned_to));
    json_object_set_new(object, "cpus", cpus);
}
