/* SPDX-License-Identifier: MIT */
/* All differences between systems in scheduling classes are here. */
#include "placement/placement.h"

#include "base/cleanup.h"
#include "base/files.h"
#include "base/threads.h"
#include "base/units.h"

#include <errno.h>
#include <string.h>
#include <uv.h>

static const char *const class_names[SCHEDULING_CLASS_COUNT] = {
    [SCHEDULING_OTHER] = "other", [SCHEDULING_RR] = "rr:", [SCHEDULING_FIFO] = "fifo:"};

/* ---- the word ---- */

int scheduling_parse(struct scheduling *scheduling, const char *text, struct problem *problem)
{
    for (int class = 0; class < SCHEDULING_CLASS_COUNT; class ++) {
        size_t name = strlen(class_names[class]);
        uint64_t priority = 0;

        if (strncmp(text, class_names[class], name) != 0)
            continue;
        if (class == SCHEDULING_OTHER && text[name])
            break;
        if (class != SCHEDULING_OTHER && (units_parse(&units_count, text + name, &priority) < 0 ||
                                          !priority || priority > SCHEDULING_PRIORITY_MAX))
            break;
        *scheduling = (struct scheduling){(enum scheduling_class) class, (int)priority};
        return 0;
    }
    return problem_usage(problem,
                         "sched=%.40s: write other, rr:N or fifo:N with a priority from 1 to %d, like rr:2",
                         text, SCHEDULING_PRIORITY_MAX);
}

const char *scheduling_format(char text[SCHEDULING_TEXT_MAX], const struct scheduling *scheduling)
{
    /* %.0u prints nothing for 0, the priority of `other` */
    snprintf(text, SCHEDULING_TEXT_MAX, "%s%.0u", class_names[scheduling->class],
             (unsigned)scheduling->priority);
    return text;
}

/* ---- the calling thread: 0 or a negative errno value ---- */

#if defined __linux__ || defined __FreeBSD__

static const int policies[SCHEDULING_CLASS_COUNT] = {
    [SCHEDULING_OTHER] = SCHED_OTHER, [SCHEDULING_RR] = SCHED_RR, [SCHEDULING_FIFO] = SCHED_FIFO};

int scheduling_read_thread(struct scheduling *scheduling)
{
    struct sched_param parameters = {0};
#ifdef __linux__ /* by system calls: pthread_getschedparam(3) returns the C library's copy */
    int policy = sched_getscheduler(0);
    if (policy < 0 || sched_getparam(0, &parameters) < 0)
        return -errno;
    policy &= ~SCHED_RESET_ON_FORK;
#else
    int policy = -1, error = pthread_getschedparam(pthread_self(), &policy, &parameters);
    if (error)
        return -error;
#endif
    for (int class = 0; class < SCHEDULING_CLASS_COUNT; class ++) {
        if (policies[class] != policy)
            continue;
        *scheduling = (struct scheduling){(enum scheduling_class) class,
                                          class == SCHEDULING_OTHER ? 0 : parameters.sched_priority};
        return 0;
    }
    return -ENOTSUP;
}

static bool has_class(const struct scheduling *wanted)
{
    struct scheduling found = {0};
    return scheduling_read_thread(&found) == 0 && found.class == wanted->class &&
           found.priority == wanted->priority;
}

static int set_thread(const struct scheduling *wanted)
{
    int policy = policies[wanted->class];
    struct sched_param parameters = {.sched_priority = wanted->priority};

    if (has_class(wanted))
        return 0;
    if (!scheduling_is_realtime(wanted))
        parameters.sched_priority = sched_get_priority_min(policy);
    else if (wanted->priority < sched_get_priority_min(policy) ||
             wanted->priority > sched_get_priority_max(policy))
        return -ERANGE;
    int result = -pthread_setschedparam(pthread_self(), policy, &parameters);
    return result == 0 && !has_class(wanted) ? -EOPNOTSUPP : result;
}

#else /* other systems may have classes of these names, but with other guarantees */

int scheduling_read_thread(struct scheduling *scheduling)
{
    return -ENOSYS;
}

static int set_thread(const struct scheduling *wanted)
{
    return scheduling_is_realtime(wanted) ? -ENOSYS : 0;
}

#endif

/* ---- why Linux does not permit a real-time class ---- */

/* The reason is read from files of /proc and of the control group; without them it is less exact.
 * sched(7): a process needs CAP_SYS_NICE or a resource limit as high as the priority. A kernel
 * configured with RT_GROUP_SCHED also needs a real-time budget in the control group. A new group
 * has none: the kernel then rejects root too. */

#define CAP_SYS_NICE_BIT 23
#define GROUP_MAX 256 /* longest path that fits into a problem */

/* Whether "cpu" is in a list of words between commas, which this function takes apart. */
static bool has_cpu(char *list)
{
    for (const char *item; (item = strsep(&list, ","));)
        if (!strcmp(item, "cpu"))
            return true;
    return false;
}

/* Scans two texts from the first line with "cpu" in `list`, which is one of the two. */
static bool find_cpu(const char *path, const char *format, char *first, char *second, char *list)
{
    CLEANUP_FILE FILE *file = fopen(path, "re");
    char line[4 * GROUP_MAX];
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file))
        found = sscanf(line, format, first, second) == 2 && has_cpu(list);
    return found;
}

/* Why the system rejected a real-time class, and the command that would permit it. */
static int explain_rejection(const char *word, int priority, struct problem *problem)
{
    char mount[GROUP_MAX], group[GROUP_MAX], list[2 * GROUP_MAX] = "", path[2 * GROUP_MAX + 32];
    unsigned long long capabilities = 0;
    long long limit = 0; /* the highest priority that this process may have */
    long long budget_us = -1;

    /* lines "3:cpu,cpuacct:/name" and "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0" */
    if (find_cpu("/proc/self/cgroup", "%*[^:]:%511[^:]:%255[^\n]", list, group, list) &&
        find_cpu("/proc/self/mounts", "%*s %255s cgroup %511s", mount, list, list)) {
        snprintf(path, sizeof path, "%s%s/cpu.rt_runtime_us", mount, group);
        scan_file(path, 1, "%lld", &budget_us);
    }
    if (budget_us == 0)
        return problem_unsupported(
            problem,
            "sched=%s is not permitted: the control group has no real-time budget; as root: echo 500000 > %s",
            word, path);
    scan_file("/proc/self/status", 1, "CapEff: %llx", &capabilities);
    scan_file("/proc/self/limits", 1, "Max realtime priority %lld", &limit);
    if (capabilities >> CAP_SYS_NICE_BIT & 1 || limit >= priority)
        return problem_unsupported(
            problem,
            "sched=%s is not permitted although this process has the right: the control group has "
            "no real-time budget; as root: echo $$ > /sys/fs/cgroup/cgroup.procs",
            word);
    return problem_unsupported(
        problem,
        "sched=%s is not permitted: no CAP_SYS_NICE (a server keeps it for --allow-word sched), and the "
        "limit of real-time priorities is %lld; run first in the same shell: sudo prlimit --pid $$ "
        "--rtprio=%d",
        word, limit, priority);
}

/* ---- with the reason ---- */

int scheduling_set_thread(const struct scheduling *wanted, struct problem *problem)
{
    const char *word = scheduling_text(wanted);
    int result = set_thread(wanted);

    switch (result) {
    case 0:
        return 0;
    case -EPERM:
        if (!scheduling_is_realtime(wanted))
            return problem_unsupported(problem,
                                       "sched=%s: this process may not leave the class that it was started "
                                       "in, for example by chrt --idle; start it in class other",
                                       word);
        return explain_rejection(word, wanted->priority, problem);
    case -ERANGE:
        return problem_unsupported(problem, "sched=%s: this system has no priority %d in that class", word,
                                   wanted->priority);
    case -ENOSYS:
        return problem_unsupported(problem, "sched=%s: uncork cannot set real-time classes on this system",
                                   word);
    case -EOPNOTSUPP:
        return problem_unsupported(problem, "sched=%s: the system accepts it but does not apply it", word);
    default:
        return problem_unsupported(problem, "sched=%s cannot be set here: %s", word, strerror(-result));
    }
}

struct trial {
    const struct scheduling *wanted;
    struct problem *problem;
    int result;
};

static void check_in_thread(void *argument)
{
    struct trial *trial = argument;
    trial->result = scheduling_set_thread(trial->wanted, trial->problem);
}

int scheduling_check(const struct scheduling *wanted, struct problem *problem)
{
    struct trial trial = {.wanted = wanted, .problem = problem};
    uv_thread_t thread;
    int result = uv_thread_create(&thread, check_in_thread, &trial);
    if (result < 0)
        return thread_failure(problem, result, "a thread to test sched=");
    uv_thread_join(&thread);
    return trial.result;
}

void scheduling_reset(void)
{
    set_thread(&(struct scheduling){SCHEDULING_OTHER, 0});
}
