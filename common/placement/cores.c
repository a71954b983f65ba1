/* SPDX-License-Identifier: MIT */
/* System differences in affinity live here. */
#include "placement/cores.h"

#include "base/scan.h"

#include <errno.h>
#include <stdio.h>

#if defined __linux__
#include <sched.h>
typedef cpu_set_t cpu_set;

static int get_allowed(cpu_set *set)
{
    return sched_getaffinity(0, sizeof *set, set);
}

static int set_allowed(const cpu_set *set)
{
    return sched_setaffinity(0, sizeof *set, set);
}

/* The lowest CPU of the core of `cpu`; `cpu` itself where the system does not report it. */
static int core_of(int cpu)
{
    char path[96];
    int first = cpu;

    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    scan_file(path, 1, "%d", &first);
    return first;
}

#elif defined __FreeBSD__
#include <sched.h>
#include <sys/param.h>

#include <sys/cpuset.h>
typedef cpuset_t cpu_set;

static int get_allowed(cpu_set *set)
{
    return cpuset_getaffinity(CPU_LEVEL_WHICH, CPU_WHICH_TID, -1, sizeof *set, set);
}

static int set_allowed(const cpu_set *set)
{
    return cpuset_setaffinity(CPU_LEVEL_WHICH, CPU_WHICH_TID, -1, sizeof *set, set);
}

/* No interface for SMT siblings here: each CPU counts as a core. */
static int core_of(int cpu)
{
    return cpu;
}

#endif

#ifdef CPU_SETSIZE

int cores_read(struct cores *cores)
{
    cpu_set allowed;
    int core[CORES_CPUS_MAX];

    *cores = (struct cores){0};
    if (get_allowed(&allowed) < 0)
        return -errno;
    for (int cpu = 0; cpu < CORES_CPUS_MAX; cpu++)
        core[cpu] = cpu < CPU_SETSIZE && CPU_ISSET(cpu, &allowed) ? core_of(cpu) : -1;
    for (int i = 0; i < CORES_CPUS_MAX; i++) {
        if (core[i] < 0)
            continue;
        cores->first[cores->count++] = cores->cpu_count;
        for (int cpu = i, of = core[i]; cpu < CORES_CPUS_MAX; cpu++) {
            if (core[cpu] == of) {
                cores->cpus[cores->cpu_count++] = cpu;
                core[cpu] = -1;
            }
        }
    }
    cores->first[cores->count] = cores->cpu_count;
    return cores->count ? 0 : -ENOENT;
}

int cores_pin_thread(int cpu)
{
    cpu_set set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (set_allowed(&set) < 0)
        return -errno;
    return sched_getcpu() == cpu ? 0 : -EOPNOTSUPP;
}

int cores_current(void)
{
    return sched_getcpu();
}

#else /* other systems cannot pin a thread, or (NetBSD) do not report on which CPU it runs */

int cores_read(struct cores *cores)
{
    (void)cores;
    return -ENOSYS;
}

int cores_pin_thread(int cpu)
{
    (void)cpu;
    return -ENOSYS;
}

int cores_current(void)
{
    return -1;
}

#endif

bool cores_allow(const struct cores *cores, int cpu)
{
    for (int i = 0; i < cores->cpu_count; i++)
        if (cores->cpus[i] == cpu)
            return true;
    return false;
}

void cores_take(const struct cores *cores, int from, int to, struct place_list *cpus)
{
    bool more = true;

    cpus->count = 0;
    for (int sibling = 0; more; sibling++) {
        more = false;
        for (int core = from; core < to && cpus->count < PLACE_CPUS_MAX; core++) {
            if (cores->first[core] + sibling >= cores->first[core + 1])
                continue;
            cpus->cpus[cpus->count++] = (uint16_t)cores->cpus[cores->first[core] + sibling];
            more = true;
        }
    }
}
