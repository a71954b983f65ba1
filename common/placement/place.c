/* SPDX-License-Identifier: MIT */
#include "placement/place.h"

#include "base/cleanup.h"
#include "base/units.h"
#include "placement/cores.h"

#include <stdio.h>
#include <string.h>

static const char *const kind_names[] = {
    [PLACE_TOGETHER] = "together", [PLACE_APART] = "apart", [PLACE_FREE] = "free"};

static int parse_lists(struct place *place, const char *at)
{
    struct place_list *list = place->lists, *end = list + PLACE_LISTS;

    for (;;) {
        uint64_t cpu;

        if (list == end || list->count == PLACE_CPUS_MAX || units_take_number(&at, &cpu) < 0 ||
            cpu > UINT16_MAX)
            return -1;
        list->cpus[list->count++] = (uint16_t)cpu;
        if (*at != '.' && *at != '/')
            break;
        list += *at++ == '/';
    }
    while (++list < end)
        *list = list[-1];
    return *at ? -1 : 0;
}

int place_parse(struct place *place, const char *text, struct problem *problem)
{
    *place = (struct place){.kind = PLACE_CPUS};
    for (size_t i = 0; i < sizeof kind_names / sizeof *kind_names; i++) {
        if (!strcmp(text, kind_names[i])) {
            place->kind = (enum place_kind)i;
            return 0;
        }
    }
    if (parse_lists(place, text) == 0)
        return 0;
    return problem_usage(problem,
                         "place=%.60s: write together, apart, free, or CPUs of client and server like "
                         "0.2/1.3; a third list, after another /, is of a proxy",
                         text);
}

/* memcmp(3) works because the unused CPUs of a list are zero. */
char *place_format(const struct place *place)
{
    char *text = NULL;
    size_t size = 0;

    if (place->kind != PLACE_CPUS)
        return strdup(kind_names[place->kind]);
    FILE *out = check_nonnull(open_memstream(&text, &size));
    int lists = memcmp(&place->lists[2], &place->lists[1], sizeof *place->lists) ? 3 : 2;
    for (int i = 0; i < lists; i++)
        for (int j = 0; j < place->lists[i].count; j++)
            fprintf(out, "%s%u", j ? "." : i ? "/" : "", place->lists[i].cpus[j]);
    fclose(out);
    return check_nonnull(text);
}

static int take_listed(const struct cores *cores, const struct place_list *wanted, struct place_list *cpus,
                       struct problem *problem)
{
    for (int i = 0; i < wanted->count; i++)
        if (!cores_allow(cores, wanted->cpus[i]))
            return problem_unsupported(problem,
                                       "place: CPU %u does not exist here, or this process may not use it",
                                       wanted->cpus[i]);
    *cpus = *wanted;
    return 0;
}

/* If the number of cores is odd, the first half is smaller. */
static int take_half(const struct cores *cores, int which, bool remote, struct place_list *cpus,
                     struct problem *problem)
{
    int middle = remote ? 0 : cores->count / 2;

    if (!remote && middle == 0)
        return problem_unsupported(problem, "place=apart needs two cores, but this process may use only one; "
                                            "write place=together");
    cores_take(cores, which == 0 ? 0 : middle, which == 0 && !remote ? middle : cores->count, cpus);
    return 0;
}

static int reject_useless_pinning(const struct place *place, struct problem *problem)
{
    bool is_listed = place->kind == PLACE_CPUS;

    return problem_unsupported(
        problem,
        "place%s%s: pinning has no effect here: two threads pinned to one CPU ran at the same time; "
        "%splace=free runs anywhere",
        is_listed ? "" : "=", is_listed ? "" : kind_names[place->kind],
        place->kind == PLACE_TOGETHER ? "pin the whole system from outside (taskset -c 0 ...), or " : "");
}

int place_cpus(const struct place *place, int list, int half, bool remote, struct place_list *cpus,
               struct problem *problem)
{
    bool works = affinity_works(); /* also for place=free: records need the answer */
    struct cores cores;

    cpus->count = 0;
    if (place->kind == PLACE_FREE)
        return 0;
    int result = cores_read(&cores);
    if (result < 0)
        return problem_unsupported(
            problem,
            "place: this system does not report which CPUs a process may use (%s); place=free runs anywhere",
            strerror(-result));
    if (!works)
        return reject_useless_pinning(place, problem);
    switch (place->kind) {
    case PLACE_CPUS:
        return take_listed(&cores, &place->lists[list], cpus, problem);
    case PLACE_APART:
        return take_half(&cores, half, remote, cpus, problem);
    default:
        cpus->cpus[cpus->count++] = cores.cpus[0];
        return 0;
    }
}
