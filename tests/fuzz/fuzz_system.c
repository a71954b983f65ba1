/* SPDX-License-Identifier: MIT */
/* Every file of /proc and /sys has any content: control groups, limits, CPUs, ports, facts. What is
 * read is usable, or is left out. */
#include "fuzz.h"

#include "base/files.h"
#include "connection/memory.h"
#include "measure/cpu.h"
#include "measure/facts.h"
#include "override/override.h"
#include "placement/placement.h"

#include <errno.h>
#include <pthread.h>

static struct input content; /* of all files */

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode)
{
    if (strncmp(path, "/proc/", 6) != 0 && strncmp(path, "/sys/", 5) != 0)
        return __real_fopen(path, mode);
    return content.size ? fmemopen((void *)(uintptr_t)content.data, content.size, "r") : NULL;
}

int __wrap_pthread_setschedparam(pthread_t thread, int policy, const struct sched_param *parameters);
int __wrap_pthread_setschedparam(pthread_t thread, int policy, const struct sched_param *parameters)
{
    return EPERM; /* so that the reason is looked for */
}

static void read_cores(struct problem *problem)
{
    static struct cores cores;
    if (cores_read(&cores) < 0)
        return;
    abort_if(cores.count < 1 || cores.count > cores.cpu_count || cores.first[cores.count] != cores.cpu_count);
    for (int i = 0; i < cores.count; i++)
        abort_if(cores.first[i] >= cores.first[i + 1]);
}

static void read_cpu(struct problem *problem)
{
    struct cpu_reading reading;
    memset(&reading, 0, sizeof reading);
    cpu_read_machine(&reading);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    uint8_t kind = input_byte(&input);
    struct problem problem = {0};
    struct address address = {.in.sin_family = AF_INET, .size = sizeof address.in};
    char tail[64];

    content = input;
    switch (kind % 7) {
    case 0: {
        CLEANUP_JSON json_t *facts = facts_collect(NULL);
        abort_if(!json_is_object(facts));
        break;
    }
    case 1:
        abort_if(!memory_bound().bytes || !*memory_bound().whose);
        break;
    case 2:
        if (ports_check(65536, &problem) < 0)
            abort_if(problem.kind != PROBLEM_UNSUPPORTED);
        address_refused(&address, EADDRNOTAVAIL, &problem);
        break;
    case 3:
        read_cores(&problem);
        break;
    case 4:
        scheduling_set_thread(&(struct scheduling){.class = SCHEDULING_FIFO, .priority = 1}, &problem);
        abort_if(problem.kind != PROBLEM_UNSUPPORTED);
        break;
    case 5:
        read_cpu(&problem);
        if (reach_check_process(getpid(), &problem) < 0)
            abort_if(problem.kind != PROBLEM_UNSUPPORTED);
        break;
    default:
        scan_tail("/proc/log", tail, sizeof tail);
        abort_if(strlen(tail) >= sizeof tail);
    }
    return 0;
}
