/* SPDX-License-Identifier: MIT */
/* System differences in scheduling classes live here. */
#include "placement/scheduling.h"

#include "base/units.h"
#include "placement/realtime.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

static const char *const class_names[SCHEDULING_CLASS_COUNT] = {
    [SCHEDULING_OTHER] = "other", [SCHEDULING_RR] = "rr", [SCHEDULING_FIFO] = "fifo"};

/* ---- the word ---- */

int scheduling_parse(struct scheduling *scheduling, const char *text, struct problem *problem)
{
    size_t name = strcspn(text, ":");
    uint64_t priority = 0;

    for (int class = 0; class < SCHEDULING_CLASS_COUNT; class ++) {
        bool realtime = class != SCHEDULING_OTHER;

        if (strlen(class_names[class]) != name || strncmp(class_names[class], text, name) != 0 ||
            (text[name] == ':') != realtime)
            continue;
        if (realtime && (units_parse_count(text + name + 1, &priority) < 0 || !priority ||
                         priority > SCHEDULING_PRIORITY_MAX))
            break;
        *scheduling = (struct scheduling){(enum scheduling_class) class, (int)priority};
        return 0;
    }
    return problem_usage(problem,
                         "sched=%.40s: write other, rr:N or fifo:N with a priority from 1 to %d, like rr:2",
                         text, SCHEDULING_PRIORITY_MAX);
}

void scheduling_format(char text[SCHEDULING_TEXT_MAX], const struct scheduling *scheduling)
{
    if (scheduling_is_realtime(scheduling))
        snprintf(text, SCHEDULING_TEXT_MAX, "%s:%d", class_names[scheduling->class],
                 scheduling->priority % (SCHEDULING_PRIORITY_MAX + 1));
    else
        snprintf(text, SCHEDULING_TEXT_MAX, "%s", class_names[scheduling->class]);
}

/* ---- the calling thread: 0 or a negative errno value ---- */

#if defined __linux__ || defined __FreeBSD__

static const int policies[SCHEDULING_CLASS_COUNT] = {
    [SCHEDULING_OTHER] = SCHED_OTHER, [SCHEDULING_RR] = SCHED_RR, [SCHEDULING_FIFO] = SCHED_FIFO};

#ifdef __linux__

/* By system calls: pthread_getschedparam(3) returns the C library's copy. */
static int get_policy(int *policy, struct sched_param *parameters)
{
    int flags = sched_getscheduler(0);

    if (flags < 0 || sched_getparam(0, parameters) < 0)
        return -errno;
    *policy = flags & ~SCHED_RESET_ON_FORK;
    return 0;
}

static int set_policy(int policy, const struct sched_param *parameters)
{
    return sched_setscheduler(0, policy, parameters) < 0 ? -errno : 0;
}

#else

static int get_policy(int *policy, struct sched_param *parameters)
{
    return -pthread_getschedparam(pthread_self(), policy, parameters);
}

static int set_policy(int policy, const struct sched_param *parameters)
{
    return -pthread_setschedparam(pthread_self(), policy, parameters);
}

#endif

int scheduling_read_thread(struct scheduling *scheduling)
{
    struct sched_param parameters = {0};
    int policy = -1, result = get_policy(&policy, &parameters);

    for (int class = 0; result == 0 && class < SCHEDULING_CLASS_COUNT; class ++) {
        if (policies[class] != policy)
            continue;
        *scheduling = (struct scheduling){(enum scheduling_class) class,
                                          class == SCHEDULING_OTHER ? 0 : parameters.sched_priority};
        return 0;
    }
    return result < 0 ? result : -ENOTSUP;
}

static bool is_in(const struct scheduling *wanted)
{
    struct scheduling found;

    return scheduling_read_thread(&found) == 0 && found.class == wanted->class &&
           found.priority == wanted->priority;
}

static int set_thread(const struct scheduling *wanted)
{
    int policy = policies[wanted->class], result;
    struct sched_param parameters = {.sched_priority = wanted->priority};

    if (is_in(wanted))
        return 0;
    if (!scheduling_is_realtime(wanted))
        parameters.sched_priority = sched_get_priority_min(policy);
    else if (wanted->priority < sched_get_priority_min(policy) ||
             wanted->priority > sched_get_priority_max(policy))
        return -ERANGE;
    result = set_policy(policy, &parameters);
    if (result < 0)
        return result;
    return is_in(wanted) ? 0 : -EOPNOTSUPP;
}

#else /* other systems may have classes of these names with other guarantees */

int scheduling_read_thread(struct scheduling *scheduling)
{
    (void)scheduling;
    return -ENOSYS;
}

static int set_thread(const struct scheduling *wanted)
{
    return scheduling_is_realtime(wanted) ? -ENOSYS : 0;
}

#endif

/* ---- with the reason ---- */

static int refuse(const struct scheduling *wanted, int result, struct problem *problem)
{
    char word[SCHEDULING_TEXT_MAX];

    scheduling_format(word, wanted);
    switch (result) {
    case -EPERM:
        if (!scheduling_is_realtime(wanted))
            return problem_unsupported(problem,
                                       "sched=%s: this process was started in a class that it may not "
                                       "leave, as by chrt --idle; start it without",
                                       word);
        return realtime_refused(word, wanted->priority, problem);
    case -ERANGE:
        return problem_unsupported(problem, "sched=%s: this system has no priority %d in that class", word,
                                   wanted->priority);
    case -ENOSYS:
        return problem_unsupported(
            problem, "sched=%s: it is not known how a thread of this system gets a real-time class", word);
    case -EOPNOTSUPP:
        return problem_unsupported(problem, "sched=%s: the system says yes and schedules it otherwise", word);
    default:
        return problem_unsupported(problem, "sched=%s cannot be set here: %s", word, strerror(-result));
    }
}

int scheduling_set_thread(const struct scheduling *wanted, struct problem *problem)
{
    int result = set_thread(wanted);

    return result < 0 ? refuse(wanted, result, problem) : 0;
}

struct trial {
    struct scheduling wanted;
    int result;
};

static void try_it(void *argument)
{
    struct trial *trial = argument;

    trial->result = set_thread(&trial->wanted);
}

int scheduling_check(const struct scheduling *wanted, struct problem *problem)
{
    struct trial trial = {.wanted = *wanted};
    uv_thread_t thread;
    int result = uv_thread_create(&thread, try_it, &trial);

    if (result < 0)
        return problem_failure(problem, "sched: a thread to try it in cannot be started: %s",
                               uv_strerror(result));
    uv_thread_join(&thread);
    return trial.result < 0 ? refuse(wanted, trial.result, problem) : 0;
}

void scheduling_give_back(void)
{
    static const struct scheduling other = {SCHEDULING_OTHER, 0};

    set_thread(&other);
}
