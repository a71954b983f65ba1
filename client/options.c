/* SPDX-License-Identifier: MIT */
#include "options.h"

#include "control/channel_tls.h"

#include <string.h>

static int take_place(struct options *options, enum end end, const char *name, const char *value,
                      struct problem *problem)
{
    if (!value)
        return problem_usage(problem, "%s needs ADDRESS@FILE", name);
    return where_parse(options->where, end, value, problem) < 0 ? -1 : 2;
}

static int take_keys(struct options *options, const char *value, struct problem *problem)
{
    if (!value)
        return problem_usage(problem, "--psk needs a FILE of keys");
    if (options->keys)
        return problem_usage(problem, "--psk is given twice; one key is shown to all");
    if (channel_tls_check("--psk", problem) == 0)
        options->keys = psk_read(value, problem);
    return options->keys ? 2 : -1;
}

static int take_file(struct options *options, const char *value, struct problem *problem)
{
    if (!value || !*value)
        return problem_usage(problem, "--pcap needs a FILE for the packets");
    if (options->pcap)
        return problem_usage(problem, "--pcap is given twice; one run makes one file");
    options->pcap = value;
    return 2;
}

/* How many arguments the first option and its value are, 0: it is none of these options, -1: it is wrong. */
static int take_option(struct options *options, const char *name, const char *value, struct problem *problem)
{
    enum end end = where_option(name);

    if (end != END_COUNT)
        return take_place(options, end, name, value, problem);
    if (!strcmp(name, "--psk"))
        return take_keys(options, value, problem);
    if (!strcmp(name, "--pcap"))
        return take_file(options, value, problem);
    if (strcmp(name, "--insecure") != 0)
        return 0;
    options->insecure = true;
    return 1;
}

int options_parse(struct options *options, const char *const *arguments, size_t count,
                  struct problem *problem)
{
    size_t taken = 0;
    int part = 1;

    *options = (struct options){0};
    where_here(options->where);
    while (taken < count && part > 0) {
        part =
            take_option(options, arguments[taken], taken + 1 < count ? arguments[taken + 1] : NULL, problem);
        taken += part > 0 ? (size_t)part : 0;
    }
    if (part >= 0 && options->keys && options->insecure)
        part = problem_usage(problem, "--psk and --insecure contradict each other");
    return part < 0 ? -1 : (int)taken;
}

void options_free(struct options *options)
{
    psk_free(options->keys);
    options->keys = NULL;
}

static bool names_an_end(const struct plan *plan)
{
    for (int end = END_CLIENT + 1; end < END_COUNT; end++)
        if (plan_has_end(plan, (enum end)end) && !plan_is_own(plan, (enum end)end))
            return true;
    return false;
}

int options_check(const struct options *options, const struct plan *plan, struct problem *problem)
{
    if ((options->keys || options->insecure) && !names_an_end(plan))
        return problem_usage(problem, "%s is for a server that is there already: add server=HOST:PORT",
                             options->keys ? "--psk" : "--insecure");
    if (strcmp(plan->build, BUILD_THIS) != 0)
        return problem_usage(
            problem, "build=%s is not this one: uncork run starts it, or start the uncork-client in it",
            plan->build);
    if (strcmp(plan->target, TARGET_LOCAL) != 0)
        return problem_usage(problem,
                             "target=%s is not here: uncork run goes there, or start uncork-client there",
                             plan->target);
    if (options->pcap && !plan_captures(plan))
        return problem_usage(problem, "--pcap is for a run that captures packets: add capture=on");
    return where_check(options->where, plan, problem);
}

int options_check_address(const struct options *options, enum end end, const struct address *address,
                          struct problem *problem)
{
    char text[ADDRESS_MAX];

    if (options->keys || options->insecure || address_is_local(address))
        return 0;
    address_format(text, address);
    return problem_usage(problem,
                         "the %s %s is on another machine: give --psk FILE here and there, or --insecure",
                         end_names[end], text);
}
