/* SPDX-License-Identifier: MIT */
/* uncork-client: the side that offers load and measures. */
#include "answer.h"
#include "base/cleanup.h"
#include "base/version.h"
#include "base/whole_file.h"
#include "batch.h"
#include "legality/probe.h"
#include "list.h"
#include "placement/scheduling.h"
#include "record.h"
#include "run.h"
#include "words/expand.h"
#include "words/parse.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

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

/* Checks the file before the run, so that the record can be written. */
static int check_output(const struct options *options, struct problem *problem)
{
    if (!options->file)
        return 0;
    if (options->pcap && !strcmp(options->pcap, options->file))
        return problem_usage(problem, "--json and --pcap name the same file, %s", options->file);
    return whole_file_check(options->file, problem);
}

static int do_run(const struct options *options, struct problem *problem)
{
    CLEANUP_JSON json_t *record = NULL;
    struct client client;
    struct plan plan;
    int result = 0;

    if (plan_parse(&plan, options->words, options->word_count, problem) < 0)
        return -1;
    if (batch_refuse_unused(&plan, problem) == 0 && options_check(options, &plan, problem) == 0 &&
        check_output(options, problem) == 0) {
        probe_counters();
        client_open(&client, options);
        if (client_follow_parent(&client, problem) == 0)
            record = run_cell(&client, &plan, problem);
        client_close(&client);
    }
    plan_free(&plan);
    if (!record)
        return -1;
    if (options->file)
        result = write_json(record, options->file, problem);
    else if (options->json)
        result = print_json(json_incref(record), problem);
    if (strcmp(json_string_value(json_object_get(record, "status")), "ok") != 0)
        return problem_failure(problem, "%s: %s", json_string_value(json_object_get(record, "status")),
                               json_string_value(json_object_get(record, "reason")));
    if (!options->json)
        answer_print(stdout, record);
    return result;
}

/* Runs or checks the lines of a file. */
static int do_batch(const struct options *options, struct problem *problem)
{
    struct client client;
    struct batch batch;
    int result;

    if (batch_read(&batch, options->file, problem) < 0)
        return -1;
    if (options->action == ACTION_CHECK) {
        result = batch_check(&batch, problem);
    } else {
        probe_counters();
        client_open(&client, options);
        result = client_follow_parent(&client, problem);
        if (result == 0)
            result = batch_run(&batch, &client, problem);
        client_close(&client);
    }
    batch_free(&batch);
    return result;
}

static int do_expand(const struct options *options, struct problem *problem)
{
    json_t *expanded = expand_words(options->words, options->word_count, problem);

    return expanded ? print_json(json_pack("{s:o}", "words", expanded), problem) : -1;
}

static int do_facts(const struct options *options, struct problem *problem)
{
    struct client client;
    struct plan plan;
    json_t *facts = NULL;

    if (plan_parse(&plan, options->words, options->word_count, problem) < 0)
        return -1;
    if (options_check(options, &plan, problem) == 0) {
        client_open(&client, options);
        facts = run_facts(&client, &plan, problem);
        client_close(&client);
    }
    plan_free(&plan);
    return facts ? print_json(facts, problem) : -1;
}

static int do_list(const struct options *options, struct problem *problem)
{
    CLEANUP_JSON json_t *list = list_make();

    if (options->action == ACTION_LIST_JSON)
        return print_json(json_incref(list), problem);
    list_print(stdout, list);
    return 0;
}

static int do_print(const struct options *options, struct problem *problem)
{
    (void)problem;
    if (options->action == ACTION_HELP)
        return fputs(help, stdout);
    return printf("uncork %s (%s)\n", UNCORK_VERSION, version_revision());
}

static int (*const actions[])(const struct options *options, struct problem *problem) = {
    [ACTION_RUN] = do_run,     [ACTION_BATCH] = do_batch,    [ACTION_CHECK] = do_batch,
    [ACTION_LIST] = do_list,   [ACTION_LIST_JSON] = do_list, [ACTION_EXPAND] = do_expand,
    [ACTION_FACTS] = do_facts, [ACTION_VERSION] = do_print,  [ACTION_HELP] = do_print,
};

int main(int count, char **arguments)
{
    struct problem problem = {0};
    struct options options;

    signal(SIGPIPE, SIG_IGN); /* the other end may close at any time: a write then returns EPIPE */
    scheduling_give_back();
    if (options_parse(&options, count, arguments, &problem) == 0)
        actions[options.action](&options, &problem);
    options_free(&options);
    if (problem.kind != PROBLEM_NONE)
        fprintf(stderr, "uncork-client: %s\n", problem.text);
    return problem_exit_status(&problem);
}
