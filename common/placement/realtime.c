/* SPDX-License-Identifier: MIT */
/*
 * Why Linux does not permit a real-time class, from files of /proc and the control group. Without
 * these files the answer is short.
 *
 * sched(7): a process needs CAP_SYS_NICE or a resource limit as high as the priority. A kernel that
 * was configured with RT_GROUP_SCHED also needs real-time time in the control group. A new group
 * has none: the kernel then rejects root too.
 */
#include "placement/realtime.h"

#include "base/scan.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define CAP_SYS_NICE_BIT 23
#define GROUP_MAX 256 /* longest path that fits into a problem */

/* ---- rights ---- */

/* The highest priority that this process may have; 0 where the system does not report it. */
static long long priority_limit(void)
{
    long long limit = 0;

    scan_file("/proc/self/limits", 1, "Max realtime priority %lld", &limit);
    return limit;
}

static bool has_rights(int priority)
{
    unsigned long long capabilities = 0;

    scan_file("/proc/self/status", 1, "CapEff: %llx", &capabilities);
    return capabilities >> CAP_SYS_NICE_BIT & 1 || priority_limit() >= priority;
}

/* ---- the control group ---- */

static bool has_item(const char *list, const char *item)
{
    size_t length = strlen(item);

    for (const char *at = list; (at = strstr(at, item)); at += length)
        if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

/* The group of this process under the controller `cpu`, from its line "3:cpu,cpuacct:/name". */
static bool find_group(char group[GROUP_MAX])
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    char line[2 * GROUP_MAX], controllers[GROUP_MAX];
    bool found = false;

    while (file && !found && fgets(line, sizeof line, file))
        found = sscanf(line, "%*[^:]:%255[^:]:%255[^\n]", controllers, group) == 2 &&
                has_item(controllers, "cpu");
    if (file)
        fclose(file);
    return found;
}

/* The mount point of that controller, from a line "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0". */
static bool find_mount(char mount[GROUP_MAX])
{
    FILE *file = fopen("/proc/self/mounts", "re");
    char line[4 * GROUP_MAX], type[32], options[2 * GROUP_MAX];
    bool found = false;

    while (file && !found && fgets(line, sizeof line, file))
        found = sscanf(line, "%*s %255s %31s %511s", mount, type, options) == 3 && !strcmp(type, "cgroup") &&
                has_item(options, "cpu");
    if (file)
        fclose(file);
    return found;
}

/* The file that gives the group no real-time time; false where there is no such file. */
static bool find_empty_group(char path[2 * GROUP_MAX + 32])
{
    char mount[GROUP_MAX], group[GROUP_MAX];
    long long runtime_us;

    if (!find_group(group) || !find_mount(mount))
        return false;
    snprintf(path, 2 * GROUP_MAX + 32, "%s%s/cpu.rt_runtime_us", mount, group);
    return scan_file(path, 1, "%lld", &runtime_us) && runtime_us == 0;
}

int realtime_refused(const char *word, int priority, struct problem *problem)
{
    char path[2 * GROUP_MAX + 32];

    if (find_empty_group(path))
        return problem_unsupported(
            problem,
            "sched=%s is not permitted: the control group has no real-time time; as root: echo 500000 > %s",
            word, path);
    if (has_rights(priority))
        return problem_unsupported(
            problem,
            "sched=%s is not permitted, though rights are there: the control group has "
            "no real-time time; as root: echo $$ > /sys/fs/cgroup/cgroup.procs",
            word);
    return problem_unsupported(
        problem,
        "sched=%s is not permitted: no CAP_SYS_NICE, and the limit of real-time "
        "priorities is %lld; in the shell that starts it: sudo prlimit --pid $$ --rtprio=%d",
        word, priority_limit(), priority);
}
