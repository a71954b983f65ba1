/* SPDX-License-Identifier: MIT */
#include "options.h"

#include "base/cleanup.h"
#include "base/keylog.h"
#include "base/program.h"
#include "base/units.h"
#include "control/channel.h"
#include "words/word.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* getopt_long(3) returns this for an argument, else a letter or an enum action. */
#define OPTION_ARGUMENT 1

static int reject_argument(const char *argument, struct problem *problem)
{
    return problem_usage(
        problem, "'%.60s' is neither an option nor a word like key=value; uncork-client --help shows both",
        argument);
}

static int take_action(struct options *options, enum action action, const char *file, struct problem *problem)
{
    if (options->action != ACTION_RUN || options->json)
        return problem_usage(problem,
                             "give only one of --json, --batch, --check, --list, --expand and --facts");
    options->action = action;
    options->json = action == ACTION_RUN;
    options->file = file;
    return 0;
}

/* Takes a word, or after --json the file for the record. */
static int take_argument(struct options *options, const char *argument, struct problem *problem)
{
    bool is_word = strchr(argument, '=') != NULL;
    if (!is_word && *argument && options->json && !options->file && !options->word_count)
        options->file = argument;
    else if (is_word)
        options->words[options->word_count++] = argument;
    else
        return reject_argument(argument, problem);
    return 0;
}

/* Parses "ADDRESS@NETNS" for `end`; the text must outlive `own`. Returns 0, or -1 with a usage
 * problem. */
static int parse_place(struct location *own, enum end end, const char *text, struct problem *problem)
{
    const char *at = strchr(text, '@');

    if (at && at[1] && at - text < ADDRESS_MAX - 2 && strncmp(text, "unix:", 5) != 0) {
        *own = (struct location){.netns = at + 1};
        snprintf(own->host, sizeof own->host, "%.*s", (int)(at - text), text);
        snprintf(own->listen, sizeof own->listen, "%.*s:0", (int)(at - text), text);
        if (address_check(own->listen) == 0)
            return 0;
    }
    return problem_usage(problem, "--%s-in %.80s: write ADDRESS@FILE like 198.18.2.3@/run/netns/uncork-c",
                         end_names[end], text);
}

static int take_option(struct options *options, int option, struct problem *problem)
{
    CLEANUP_JSON json_t *name = NULL;
    uint64_t fd = STDIN_FILENO;

    switch (option) {
    case 's':
        return parse_place(&options->locations[END_SERVER], END_SERVER, optarg, problem);
    case 'x':
        return parse_place(&options->locations[END_PROXY], END_PROXY, optarg, problem);
    case 'k':
        return channel_take_keys(&options->keys, optarg, "one key is shown to all", problem);
    case 'e':
        return keylog_set(optarg, problem);
    case 'u':
        options->subjects = optarg;
        return 0;
    case 'i':
        options->insecure = true;
        return 0;
    case 'c':
        if (!*optarg)
            return problem_usage(problem, "--pcap needs a FILE for the packets");
        if (!(name = json_string(optarg))) /* a record names the file; NULL: not UTF-8 */
            return problem_usage(problem, "--pcap: the name of the file is not valid UTF-8");
        if (options->pcap)
            return problem_usage(problem, "--pcap is given twice, but a run makes one file");
        options->pcap = optarg;
        return 0;
    case 'p':
        if (optarg && (units_parse(&units_count, optarg, &fd) < 0 || fd > INT_MAX))
            return problem_usage(problem,
                                 "--with-parent=%.40s: write --with-parent, or --with-parent=FD with the "
                                 "number of a descriptor",
                                 optarg);
        options->parent_fd = (int)fd;
        return 0;
    case 'l':
        if (optarg && strcmp(optarg, "json") != 0)
            return problem_usage(problem, "--list=%.40s: write --list or --list=json", optarg);
        return take_action(options, optarg ? ACTION_LIST_JSON : ACTION_LIST, NULL, problem);
    case OPTION_ARGUMENT:
        return take_argument(options, optarg, problem);
    default:
        return take_action(options, (enum action)option, optarg, problem);
    }
}

static int check_combination(const struct options *options, struct problem *problem)
{
    enum action action = options->action;
    bool runs = action == ACTION_RUN || action == ACTION_BATCH || action == ACTION_FACTS;
    bool takes_file = action == ACTION_BATCH || action == ACTION_CHECK;
    bool takes_words = action == ACTION_RUN || action == ACTION_EXPAND || action == ACTION_FACTS;

    if (options->keys && options->insecure)
        return problem_usage(problem, "--psk and --insecure contradict each other");
    if (!runs && options->for_runs)
        return problem_usage(problem, "--%s is for a run: leave it out", options->for_runs);
    if (takes_file && options->word_count)
        return problem_usage(problem, "%s takes one file (or - for standard input) and no words",
                             action == ACTION_BATCH ? "--batch" : "--check");
    if (!takes_words && options->word_count)
        return problem_usage(problem, "%.60s: --list takes no words", options->words[0]);
    return 0;
}

int options_parse(struct options *options, int count, char **arguments, struct problem *problem)
{
    static const struct option names[] = {
#define HEADING(text)
#define OPTION(name, argument, letter, value, help) {name, argument, NULL, letter},
#include "base/options_client.def"
        {0},
    };
    int option, index = 0;

    *options = (struct options){.parent_fd = NO_PARENT_FD, .words = xcalloc((size_t)count, sizeof(char *))};
    for (int end = 0; end < END_COUNT; end++)
        options->locations[end] = (struct location){.listen = "127.0.0.1:0"};
    opterr = 0;
    while ((option = getopt_long(count, arguments, "-:h", names, &index)) >= 0) {
        if (option == ACTION_VERSION || option == 'h') {
            options->action = option == 'h' ? ACTION_HELP : ACTION_VERSION;
            return 0;
        }
        if (option == ':')
            return problem_usage(problem, "'%s' needs a value; uncork-client --help shows which",
                                 arguments[optind - 1]);
        if (option == '?')
            return reject_argument(arguments[optind - 1], problem);
        if (strchr("sxukicp", option))
            options->for_runs = names[index].name;
        if (take_option(options, option, problem) < 0)
            return -1;
    }
    while (optind < count) /* after -- */
        if (take_argument(options, arguments[optind++], problem) < 0)
            return -1;
    return check_combination(options, problem);
}

void options_free(struct options *options)
{
    psk_free(options->keys);
    free(options->words);
}

static bool is_current_netns(const char *netns)
{
    struct stat own, other;
    return stat("/proc/self/ns/net", &own) == 0 && stat(netns, &other) == 0 && own.st_dev == other.st_dev &&
           own.st_ino == other.st_ino;
}

int options_check(const struct options *options, const struct plan *plan, struct problem *problem)
{
    unsigned facts = (options->keys ? FACT_PSK : 0) | (options->insecure ? FACT_INSECURE : 0) |
                     (options->pcap ? FACT_PCAP : 0);

    for (enum end end = 0; end < END_COUNT; end++) {
        const char *netns = options->locations[end].netns;
        if (exclusions_check(STAGE_options, plan, end, facts | (netns ? FACT_PLACE : 0), problem) < 0)
            return -1;
        if (netns && is_current_netns(netns))
            return problem_usage(problem,
                                 "--%s-in %s is the network namespace of this process; name another one",
                                 end_names[end], netns);
    }
    return 0;
}
