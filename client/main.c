/* SPDX-License-Identifier: MIT */
/* uncork-client: the side that offers load and measures. */
#include "answer.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "base/version.h"
#include "base/whole_file.h"
#include "batch.h"
#include "list.h"
#include "plan/expand.h"
#include "plan/scheduling.h"
#include "print.h"
#include "run.h"
#include "transport/probe.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "Usage: uncork-client [OPTIONS] [key=value ...]\n"
    "       uncork-client [OPTIONS] --json [FILE] [--with-parent[=FD]] [key=value ...]\n"
    "       uncork-client [OPTIONS] --batch FILE [--with-parent[=FD]]\n"
    "       uncork-client [OPTIONS] --facts [key=value ...]\n"
    "       uncork-client --check FILE | --list[=json] | --expand key=value,value ...\n"
    "\n"
    "Measures what a way of writing to a socket costs. Starts a server of its own unless server= says "
    "otherwise.\n"
    "\n"
    "  uncork-client message=15x2 reply=2 write=cork\n"
    "  uncork-client workload=stream message=64K write=writev transport=unix duration=1s\n"
    "\n"
    "OPTIONS for a server or a proxy that is there already\n"
    "  --psk FILE      speak to it by TLS, with the first key of FILE (IDENTITY:KEY, as psktool writes it)\n"
    "  --insecure      speak to it in the clear, although it is on another machine\n"
    "\n"
    "OPTION for capture=on\n"
    "  --pcap FILE     write the packets to FILE, for tcpdump and others\n"
    "\n"
    "OPTIONS for lab=on: this process is in one network namespace of a lab\n"
    "  --server-in ADDRESS@FILE\n"
    "                  its server shall be in that of FILE and listen on ADDRESS there\n"
    "  --proxy-in ADDRESS@FILE\n"
    "                  the same of its proxy, for workload=proxy\n"
    "\n"
    "  --json [FILE]   print the whole record, or write it to FILE\n"
    "  --batch FILE    run the words of each line and print a record for each, then {\"end\": N}\n"
    "                  (FILE ends at a line \"end\", so that - may stay open for --with-parent)\n"
    "  --with-parent   give up when standard input, or descriptor FD, closes\n"
    "  --check FILE    say for each line which words it uses and whether this machine supports it\n"
    "  --list[=json]   words, values, and what this machine supports\n"
    "  --expand        write out the lists and ranges of words\n"
    "  --facts         what kind of machines both ends are\n"
    "  --version       print the version\n"
    "  -h, --help      print this\n";

struct words {
    const char *const *list;
    size_t count;
};

static struct words skip_words(struct words words, size_t count)
{
    return (struct words){words.list + count, words.count - count};
}

static bool is_word(const char *argument)
{
    return strchr(argument, '=') != NULL;
}

static int write_json(const json_t *record, const char *path, struct problem *problem)
{
    struct whole_file file;

    if (whole_file_open(&file, path, problem) < 0)
        return -1;
    if (json_dumpf(record, file.file, JSON_COMPACT) == 0)
        return whole_file_keep(&file, problem);
    problem_failure(problem, "cannot write %s: %s", path, strerror(errno));
    whole_file_drop(&file);
    return -1;
}

/* ---- what the process can do ---- */

#define NO_LIFELINE -1

/* What becomes of a run: a record (`json`) in the file `path` or, NULL, on standard output; else an answer
 * for people. */
struct output {
    bool json;
    const char *path;
    int lifeline; /* closes when whoever asked has gone; NO_LIFELINE: nobody says so */
};

static int follow(struct client *client, int lifeline, struct problem *problem)
{
    return lifeline == NO_LIFELINE ? 0 : client_follow_parent(client, lifeline, problem);
}

/* Before the run: what it came to shall have its place. */
static int check_output(const struct options *options, const struct output *output, struct problem *problem)
{
    if (!output->path)
        return 0;
    if (options->pcap && !strcmp(options->pcap, output->path))
        return problem_usage(problem, "--json and --pcap name the same file, %s", output->path);
    return whole_file_check(output->path, problem);
}

static int do_run(const struct options *options, struct words words, const struct output *output,
                  struct problem *problem)
{
    CLEANUP_JSON json_t *record = NULL;
    struct client client;
    struct plan plan;
    int result = 0;

    if (plan_parse(&plan, words.list, words.count, problem) < 0)
        return -1;
    if (batch_refuse_unused(&plan, problem) == 0 && options_check(options, &plan, problem) == 0 &&
        check_output(options, output, problem) == 0) {
        probe_counters();
        client_open(&client, options);
        if (follow(&client, output->lifeline, problem) == 0)
            record = run_cell(&client, &plan, problem);
        client_close(&client);
    }
    plan_free(&plan);
    if (!record)
        return -1;
    if (output->path)
        result = write_json(record, output->path, problem);
    else if (output->json)
        result = print_json(json_incref(record), problem);
    if (strcmp(json_string_value(json_object_get(record, "status")), "ok") != 0)
        return problem_failure(problem, "%s: %s", json_string_value(json_object_get(record, "status")),
                               json_string_value(json_object_get(record, "reason")));
    if (!output->json)
        answer_print(stdout, record);
    return result;
}

static int do_batch(const struct options *options, const char *path, int lifeline, struct problem *problem)
{
    struct client client;
    struct batch batch;
    int result;

    if (batch_read(&batch, path, problem) < 0)
        return -1;
    probe_counters();
    client_open(&client, options);
    result = follow(&client, lifeline, problem);
    if (result == 0)
        result = batch_run(&batch, &client, problem);
    client_close(&client);
    batch_free(&batch);
    return result;
}

static int do_check(const char *path, struct problem *problem)
{
    struct batch batch;
    int result;

    if (batch_read(&batch, path, problem) < 0)
        return -1;
    result = batch_check(&batch, problem);
    batch_free(&batch);
    return result;
}

static int do_expand(struct words words, struct problem *problem)
{
    json_t *expanded = expand_words(words.list, words.count, problem);

    return expanded ? print_json(json_pack("{s:o}", "words", expanded), problem) : -1;
}

static int do_facts(const struct options *options, struct words words, struct problem *problem)
{
    struct client client;
    struct plan plan;
    json_t *facts = NULL;

    if (plan_parse(&plan, words.list, words.count, problem) < 0)
        return -1;
    if (options_check(options, &plan, problem) == 0) {
        client_open(&client, options);
        facts = run_facts(&client, &plan, problem);
        client_close(&client);
    }
    plan_free(&plan);
    return facts ? print_json(facts, problem) : -1;
}

static int do_list(bool json, struct problem *problem)
{
    CLEANUP_JSON json_t *list = list_make();

    if (json)
        return print_json(json_incref(list), problem);
    list_print(stdout, list);
    return 0;
}

static int refuse(const char *argument, struct problem *problem)
{
    return problem_usage(
        problem, "'%.60s' is neither an option nor a word like key=value; uncork-client --help shows both",
        argument);
}

/* Takes --with-parent[=FD] from the beginning of the words. 0, or -1 with a usage problem. */
static int take_lifeline(struct words *words, int *lifeline, struct problem *problem)
{
    static const char name[] = "--with-parent";
    const char *value = words->count ? words->list[0] : "";
    uint64_t fd = STDIN_FILENO;

    *lifeline = NO_LIFELINE;
    if (strncmp(value, name, sizeof name - 1) != 0)
        return 0;
    value += sizeof name - 1;
    if (*value && (*value != '=' || units_parse_count(value + 1, &fd) < 0 || fd > INT_MAX))
        return problem_usage(problem, "%s%.40s: write %s, or %s=FD with the number of a descriptor", name,
                             value, name, name);
    *lifeline = (int)fd;
    *words = skip_words(*words, 1);
    return 0;
}

/* --json [FILE] [--with-parent[=FD]] [key=value ...] */
static int dispatch_json(const struct options *options, struct words rest, struct problem *problem)
{
    struct output output = {.json = true};

    if (rest.count && !is_word(rest.list[0]) && rest.list[0][0] && strncmp(rest.list[0], "--", 2) != 0) {
        output.path = rest.list[0];
        rest = skip_words(rest, 1);
    }
    if (take_lifeline(&rest, &output.lifeline, problem) < 0)
        return -1;
    return do_run(options, rest, &output, problem);
}

static int dispatch_batch(const struct options *options, const char *option, struct words rest,
                          struct problem *problem)
{
    const char *path = rest.count ? rest.list[0] : NULL;
    int lifeline = NO_LIFELINE;

    if (path)
        rest = skip_words(rest, 1);
    if (take_lifeline(&rest, &lifeline, problem) < 0)
        return -1;
    if (!path || rest.count)
        return problem_usage(problem, "%s takes one file (or - for standard input) and nothing else", option);
    return do_batch(options, path, lifeline, problem);
}

/* What speaks to other ends. */
static int dispatch_run(const struct options *options, struct words words, struct problem *problem)
{
    const char *first = words.count ? words.list[0] : "";
    struct words rest = words.count ? skip_words(words, 1) : words;

    if (!strcmp(first, "--batch"))
        return dispatch_batch(options, first, rest, problem);
    if (!strcmp(first, "--facts"))
        return do_facts(options, rest, problem);
    if (!strcmp(first, "--json"))
        return dispatch_json(options, rest, problem);
    for (size_t i = 0; i < words.count; i++)
        if (!is_word(words.list[i]))
            return refuse(words.list[i], problem);
    return do_run(options, words, &(struct output){.lifeline = NO_LIFELINE}, problem);
}

static int dispatch_behind_options(struct words words, struct problem *problem)
{
    struct options options;
    int taken = options_parse(&options, words.list, words.count, problem), result = -1;

    if (taken >= 0)
        result = dispatch_run(&options, skip_words(words, (size_t)taken), problem);
    options_free(&options);
    return result;
}

static int dispatch(struct words words, struct problem *problem)
{
    const char *first = words.count ? words.list[0] : "";

    if (!strcmp(first, "--expand"))
        return do_expand(skip_words(words, 1), problem);
    if (strcmp(first, "--check") != 0)
        return dispatch_behind_options(words, problem);
    if (words.count != 2)
        return problem_usage(problem, "%s takes one file (or - for standard input) and nothing else", first);
    return do_check(words.list[1], problem);
}

static int run(int count, char **arguments, struct problem *problem)
{
    struct words words = {(const char *const *)arguments + 1, (size_t)count - 1};
    const char *first = words.count ? words.list[0] : "";

    bool asks_help = !strcmp(first, "-h") || !strcmp(first, "--help");

    if (asks_help || !strcmp(first, "--version") || !strncmp(first, "--list", 6)) {
        if (words.count > 1)
            return refuse(words.list[1], problem);
        if (asks_help)
            return fputs(help, stdout) < 0;
        if (!strcmp(first, "--version"))
            return printf("uncork %s (%s)\n", UNCORK_VERSION, version_revision()) < 0;
        if (!strcmp(first, "--list") || !strcmp(first, "--list=json"))
            return do_list(first[6] == '=', problem);
    }
    return dispatch(words, problem);
}

int main(int count, char **arguments)
{
    struct problem problem = {0};

    signal(SIGPIPE, SIG_IGN); /* the other end may go at any moment: every write says so by its result */
    scheduling_give_back();
    run(count, arguments, &problem);
    if (problem.kind != PROBLEM_NONE)
        fprintf(stderr, "uncork-client: %s\n", problem.text);
    return problem_exit_status(&problem);
}
