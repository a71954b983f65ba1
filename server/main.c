/* SPDX-License-Identifier: MIT */
/* uncork-server: the end that answers. Options give its address, the client sends the plan. */
#include "base/json_memory.h"
#include "base/memory.h"
#include "base/keylog.h"
#include "base/units.h"
#include "base/version.h"
#include "connection/memory.h"
#include "connection/protocol.h"
#include "control/channel.h"
#include "modes.h"
#include "process.h"
#include "words/definition.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define HELP_COLUMN 21
#define SIZE_LEAST (UINT64_C(4) << 10)
#define SIZE_MOST (UINT64_C(64) << 30)
#define IDLE_MAX_NS (UINT64_C(24) * 3600 * NS_PER_S)

static void print_help(void)
{
    puts("Usage: uncork-server --listen ADDRESS [--psk FILE] [--proxy [--allow-sink PREFIX]...]\n"
         "       uncork-server --listen ADDRESS --plain SERVICE\n"
         "       uncork-server --listen ADDRESS --serve PROTOCOL [--size SIZE] [--psk FILE] [key=value ...]\n"
         "\n"
         "Answers uncork clients, one run at a time, or other programs. Prints one line of JSON when it is "
         "ready.\n");
    option_print(server_options, HELP_COLUMN);
    puts("\nServices for other programs; a connection ends when the client half-closes it:\n");
    for (size_t i = 0; i < plain_axis.count; i++)
        printf("  %-18s %s\n", plain_axis.variants[i]->name, plain_axis.variants[i]->help);
}

static int parse_serve(struct options *options, const char *name, struct problem *problem)
{
    options->serve = axis_find(&protocol_axis, name, problem);
    const struct protocol *protocol = (const struct protocol *)options->serve; /* its first member */
    if (!protocol || protocol->kinds)
        return protocol ? 0 : -1;
    return problem_usage(problem, "--serve %s: this protocol has no requests; --plain echo serves raw bytes",
                         name);
}

static int allow_sink(struct options *options, const char *text, struct problem *problem)
{
    if (options->sink_count == SINKS_MAX)
        return problem_usage(problem, "--allow-sink is given more than %d times", SINKS_MAX);
    return prefix_parse(&options->sinks[options->sink_count++], text, problem);
}

/* Checks that the options fit, looks up the address, and warns if everyone can reach it. */
static int check_options(struct options *options, struct problem *problem)
{
    const struct variant *plain = options->plain, *serve = options->serve;
    const struct {
        bool is_wrong;
        const char *text;
    } rules[] = {
        {!options->listen && options->inherited < 0,
         "--listen is missing; write --listen 127.0.0.1:0 or --listen unix:PATH"},
        {serve && plain, "--serve and --plain contradict each other; start two servers"},
        {serve && options->proxy, "--serve and --proxy contradict each other; start two servers"},
        {serve && options->subjects, "--serve and --subjects contradict each other; start two servers"},
        {options->size && !serve, "--size is for --serve"},
        {options->keys && plain, "--plain serves clients without a key: leave --psk out"},
        {options->keys && options->insecure, "--psk and --insecure contradict each other"},
        {options->proxy && plain, "--proxy and --plain contradict each other; start two servers"},
        {options->idle_ms && plain, "--idle and --plain contradict each other: foreign clients have no runs"},
        {options->proxy && options->subjects && !options->sink_count && !options->keys &&
             !options->with_parent,
         "--subjects lets any client reach any service through a --proxy: give --allow-sink or --psk"},
        {options->sink_count && !options->proxy, "--allow-sink is for a proxy: add --proxy"},
        {options->rights.sandbox == SANDBOX_ON && options->subjects,
         "--sandbox on and --subjects contradict each other: a sandbox starts no programs"},
    };

    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].is_wrong)
            return problem_usage(problem, "%s", rules[i].text);
    if (!options->sink_count) {
        allow_sink(options, "127.0.0.0/8", problem);
        allow_sink(options, "::1", problem);
        allow_sink(options, "unix", problem);
    }
    const char *listen = options->inherited < 0 ? options->listen : address_text(&options->address);
    if (options->inherited < 0 && address_find(&options->address, 1, listen, problem) < 0)
        return -1;
    if (options->inherited >= 0 && options->listen)
        listener_log("listens on %s, which it inherited, and not on %s", listen, options->listen);
    if (address_is_local(&options->address) || options->keys)
        return 0;
    if (!options->insecure)
        return problem_usage(problem, "--listen %s can be reached by other machines; give %s--insecure",
                             listen, plain ? "" : "--psk FILE, or ");
    fprintf(stderr, "uncork-server: warning: %s is open to everyone who can reach it\n", listen);
    return 0;
}

enum mode { RUNS = 1, SERVES = 2, PLAIN = 4 };

#define LIMIT(name, option, units, value, least, most, preset, modes, help)                                  \
    {&units_##units, "--" option, least, most, preset, modes},
static const struct {
    const struct units *units;
    const char *option, *least, *most, *preset;
    enum mode modes;
} limits[] = {
#include "base/limits.def"
};
#undef LIMIT

static int take_limit(struct options *options, enum limit limit, const char *text, struct problem *problem)
{
    uint64_t value, least, most;
    units_parse(limits[limit].units, limits[limit].least, &least);
    units_parse(limits[limit].units, limits[limit].most, &most);
    if (units_parse(limits[limit].units, text, &value) == 0 && value >= least && value <= most) {
        options->limits[limit] = value;
        return 0;
    }
    return problem_usage(problem, "%s %.40s: write a value from %s to %s", limits[limit].option, text,
                         limits[limit].least, limits[limit].most);
}

/* Sets those that are not given. The run of a parent is as long as the parent wants. */
static int preset_limits(struct options *options, struct problem *problem)
{
    enum mode mode = options->plain ? PLAIN : options->serve ? SERVES : RUNS;

    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++) {
        bool is_longer = limit == LIMIT_TIME && options->with_parent;
        if (options->limits[limit] && !(limits[limit].modes & mode))
            return problem_usage(problem, "%s %s", limits[limit].option,
                                 mode == RUNS     ? "is for --serve and --plain"
                                 : mode == SERVES ? "has no effect with --serve"
                                                  : "has no effect with --plain");
        if (limit == LIMIT_MEMORY && options->limits[limit])
            memory_bound_set(options->limits[limit]);
        if (!options->limits[limit])
            units_parse(limits[limit].units, is_longer ? limits[limit].most : limits[limit].preset,
                        &options->limits[limit]);
    }
    return 0;
}

static int take_sandbox(struct rights *rights, const char *text, struct problem *problem)
{
    rights->sandbox = strcmp(text, "on") != 0 ? SANDBOX_OFF : SANDBOX_ON;
    if (rights->sandbox == SANDBOX_OFF && strcmp(text, "off") != 0)
        return problem_usage(problem, "--sandbox %.40s: write on or off", text);
    return rights->sandbox == SANDBOX_ON ? sandbox_check(problem) : 0;
}

/* Returns 0 to continue, more if the program is done, -1 with a usage problem. */
static int take_option(struct options *options, int option, struct problem *problem)
{
    uint64_t ns;

    switch (option) {
    case 'l':
        options->listen = optarg;
        return 0;
    case 's':
        if (options->plain)
            return problem_usage(problem, "--plain is given twice, but a server has one service");
        options->plain = axis_find(&plain_axis, optarg, problem);
        return options->plain ? 0 : -1;
    case 'p':
        return parse_serve(options, optarg, problem);
    case 'z':
        if (units_parse(&units_size, optarg, &options->size) == 0 && options->size >= SIZE_LEAST &&
            options->size <= SIZE_MOST)
            return 0;
        return problem_usage(problem, "--size %.40s: write a size from 4K to 64G", optarg);
    case 'a':
        return allow_sink(options, optarg, problem);
    case 'k':
        return channel_take_keys(&options->keys, optarg, "a file may have many identities", problem);
    case 'e':
        return keylog_set(optarg, problem);
    case 'u':
        json_decref(options->subjects);
        options->subjects = definitions_load(optarg, problem);
        return options->subjects ? 0 : -1;
    case 'd':
        if (units_parse(&units_duration, optarg, &ns) < 0 || ns < NS_PER_S || ns > IDLE_MAX_NS)
            return problem_usage(problem, "--idle %.40s: write a time from 1s to 86400s", optarg);
        options->idle_ms = ns / NS_PER_MS;
        return 0;
    case 'U':
        return rights_take_user(&options->rights, optarg, problem);
    case 'r':
        return rights_allow_word(&options->rights, optarg, problem);
    case 'b':
        return take_sandbox(&options->rights, optarg, problem);
    case 'x':
        options->proxy = true;
        return 0;
    case 'i':
        options->insecure = true;
        return 0;
    case 'w':
        options->with_parent = true;
        return 0;
    case 'v':
        return printf("uncork %s (%s)\n", UNCORK_VERSION, version_revision);
    case 'h':
        print_help();
        return 1;
    default:
        return take_limit(options, (enum limit)option, optarg, problem);
    }
}

/* Returns as take_option(). */
static int parse_options(struct options *options, int count, char **arguments, struct problem *problem)
{
    static const struct option names[] = {
#define HEADING(text)
#define OPTION(name, argument, letter, value, help) {name, argument, NULL, letter},
#include "base/options_server.def"
        {0},
    };

    opterr = 0;
    for (int option, result; (option = getopt_long(count, arguments, ":h", names, NULL)) >= 0;) {
        if (option == ':' || option == '?')
            return problem_usage(problem, "'%s' %s; uncork-server --help lists the options",
                                 arguments[optind - 1], option == ':' ? "needs a value" : "is no option");
        if ((result = take_option(options, option, problem)) != 0)
            return result;
    }
    for (; options->serve && optind < count && options->word_count < SERVE_WORDS_MAX; optind++)
        options->words[options->word_count++] = arguments[optind];
    if (optind < count)
        return problem_usage(problem, "'%s': the server takes no words%s", arguments[optind],
                             options->plain ? "" : "; give them to uncork-client or uncork run");
    options->rights.hides_memory = options->keys;
    options->rights.starts_programs = options->subjects;
    options->rights.has_parent = options->with_parent;
    for (size_t i = 0; i < options->word_count; i++)
        rights_keep_for(&options->rights, options->words[i]);
    if (activation_take(&options->address, &options->inherited, problem) < 0 ||
        preset_limits(options, problem) < 0)
        return -1;
    return check_options(options, problem);
}

int main(int count, char **arguments)
{
    struct problem problem = {0};
    struct options options = {.inherited = -1};

    standard_open();
    memory_keep_little();
    json_memory_watch(false);
    if (count > PROCESS_BECOME_LEAST && !strcmp(arguments[1], PROCESS_START_CHILD))
        process_become(arguments + 2);
    keylog_set(NULL, &problem);
    signal(SIGPIPE, SIG_IGN); /* the other end may close at any time: a write then returns EPIPE */
    scheduling_reset();
    if (parse_options(&options, count, arguments, &problem) == 0)
        (options.plain ? plain_run : options.serve ? serve_run : server_run)(&options, &problem);
    psk_free(options.keys);
    json_decref(options.subjects);
    return standard_end("uncork-server", &problem);
}
