/* SPDX-License-Identifier: MIT */
/* uncork-server: the side that answers. It knows only where to listen; the client sends the whole plan. */
#include "base/version.h"
#include "server.h"
#include "transport/probe.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "Usage: uncork-server --listen ADDRESS\n"
    "\n"
    "Answers uncork clients, one run at a time. Prints one line of JSON when it is ready.\n"
    "\n"
    "  --listen ADDRESS   HOST:PORT, [IPV6]:PORT or unix:PATH; port 0 takes a free one\n"
    "  --insecure         allow an address that other machines can reach, without any protection\n"
    "  --with-parent      end when standard input closes\n"
    "  --version          print the version\n"
    "  --help             print this\n";

struct options {
    const char *listen;
    bool insecure, with_parent;
};

/* 0 to go on, 1 when all is done, -1 with a usage problem. */
static int parse_options(struct options *options, int count, char **arguments, struct problem *problem)
{
    static const struct option names[] = {
        {"listen", required_argument, NULL, 'l'}, {"insecure", no_argument, NULL, 'i'},
        {"with-parent", no_argument, NULL, 'p'},  {"version", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},         {0},
    };
    int option;

    opterr = 0;
    while ((option = getopt_long(count, arguments, ":", names, NULL)) >= 0) {
        switch (option) {
        case 'l':
            options->listen = optarg;
            break;
        case 'i':
            options->insecure = true;
            break;
        case 'p':
            options->with_parent = true;
            break;
        case 'v':
            printf("uncork %s (%s)\n", UNCORK_VERSION, version_revision());
            return 1;
        case 'h':
            fputs(help, stdout);
            return 1;
        default:
            return problem_usage(problem, "'%s' %s; uncork-server --help lists the options",
                                 arguments[optind - 1], option == ':' ? "needs a value" : "is no option");
        }
    }
    if (optind < count)
        return problem_usage(problem, "'%s': the server takes no words, the client sends them",
                             arguments[optind]);
    if (!options->listen)
        return problem_usage(problem,
                             "where to listen is missing; write --listen 127.0.0.1:0 or --listen unix:PATH");
    return 0;
}

static int check_address(const struct options *options, struct address *address, struct problem *problem)
{
    if (address_parse(address, options->listen, problem) < 0)
        return -1;
    if (address_is_local(address))
        return 0;
    if (!options->insecure)
        return problem_usage(problem,
                             "--listen %s can be reached by other machines; give --insecure if that is meant",
                             options->listen);
    fprintf(stderr, "uncork-server: warning: %s is open to everyone who can reach it\n", options->listen);
    return 0;
}

static int run(int count, char **arguments, struct problem *problem)
{
    struct options options = {0};
    struct address address;
    int result = parse_options(&options, count, arguments, problem);

    if (result != 0)
        return result;
    if (check_address(&options, &address, problem) < 0)
        return -1;
    probe_counters();
    return server_run(&address, options.with_parent, problem);
}

int main(int count, char **arguments)
{
    struct problem problem = {0};

    signal(SIGPIPE, SIG_IGN); /* the other end may go at any moment: every write says so by its result */
    run(count, arguments, &problem);
    if (problem.kind != PROBLEM_NONE)
        fprintf(stderr, "uncork-server: %s\n", problem.text);
    return problem_exit_status(&problem);
}
