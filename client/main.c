/* SPDX-License-Identifier: MIT */
/* uncork-client: the end that offers load and measures. */
#include "base/cleanup.h"
#include "base/files.h"
#include "base/json_memory.h"
#include "base/keylog.h"
#include "base/program.h"
#include "base/threads.h"
#include "base/version.h"
#include "placement/placement.h"
#include "run.h"
#include "support/support.h"
#include "words/word.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define LINE_WORDS_MAX 256
#define BLANKS " \t\r\n"
#define HELP_COLUMN 18
#define BATCH_END "end" /* last line of the input: it may stay open for --with-parent */

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
    "  uncork-client workload=stream message=64K write=writev transport=unix duration=1s\n";

static int write_json(FILE *file, void *record, struct problem *problem)
{
    return json_dumpf(record, file, JSON_COMPACT);
}

/* Prints `json` as one line and releases it. Returns 0, or -1 with a failure. */
static int print_json(json_t *json, struct problem *problem)
{
    CLEANUP_JSON json_t *owned = json;
    return standard_print(owned, JSON_COMPACT, problem);
}

/* ---- cells ---- */

/* One plan from the command line, or one for each line of a file. */
struct cells {
    struct plan *plans;
    size_t count;
};

static int append_cell(struct cells *cells, const char *const *words, size_t count, struct problem *problem)
{
    cells->plans = xrealloc(cells->plans, (cells->count + 1) * sizeof *cells->plans);
    if (plan_parse(&cells->plans[cells->count], words, count, problem) < 0)
        return -1;
    cells->count++;
    return 0;
}

/* Skips empty lines and lines that begin with #. A usage problem names file and line. */
static int read_lines(struct cells *cells, FILE *file, const char *path, struct problem *problem)
{
    CLEANUP_FREE char *line = NULL;
    size_t size = 0;

    for (unsigned long number = 1; getline(&line, &size, file) >= 0; number++) {
        const char *words[LINE_WORDS_MAX], *word;
        struct problem why = {0};
        size_t count = 0;
        char *rest;

        if (!strcmp(line, BATCH_END "\n"))
            break;
        if (line[strspn(line, BLANKS)] == '\0' || *line == '#')
            continue;
        for (word = strtok_r(line, BLANKS, &rest); word && count < LINE_WORDS_MAX;
             word = strtok_r(NULL, BLANKS, &rest))
            words[count++] = word;
        if (word)
            problem_usage(&why, "more than %d words", LINE_WORDS_MAX);
        if (word || append_cell(cells, words, count, &why) < 0)
            return problem_usage(problem, "%s:%lu: %.500s", path, number, why.text);
    }
    return ferror(file)
               ? problem_of_kind(problem, problem_kind_of_file(errno), "%s: %s", path, strerror(errno))
               : 0;
}

static int read_cells(struct cells *cells, const struct options *options, struct problem *problem)
{
    if (options->action != ACTION_BATCH && options->action != ACTION_CHECK)
        return append_cell(cells, options->words, options->word_count, problem);
    if (!strcmp(options->file, "-"))
        return read_lines(cells, stdin, "standard input", problem);
    CLEANUP_FILE FILE *file = fopen(options->file, "re");
    if (!file)
        return problem_of_kind(problem, problem_kind_of_file(errno), "%s: %s", options->file,
                               strerror(errno));
    return read_lines(cells, file, options->file, problem);
}

/* ---- actions ---- */

/* Checks all before the first run: also the file of the record, which can then be written. */
static int check_cells(const struct options *options, const struct cells *cells, struct problem *problem)
{
    for (size_t i = 0; i < cells->count; i++) {
        CLEANUP_JSON json_t *unused = json_array();
        json_decref(plan_words_given(&cells->plans[i], unused));
        const char *key = json_string_value(json_array_get(unused, 0));
        if (key && options->action != ACTION_FACTS) {
            const struct word *word = word_find(key, &(struct problem){0}); /* NULL: a key with a prefix */
            if (word && word->used[0].condition == CONDITION_lab)
                return problem_usage(problem, "'%s' is for a lab: uncork run ... lab=on %s=... makes one",
                                     key, key);
            return problem_usage(problem, "'%s' has no effect with these other words; leave it out", key);
        }
        if (options_check(options, &cells->plans[i], problem) < 0)
            return -1;
    }
    if (options->pcap && cells->count > 1)
        return problem_usage(problem, "--pcap is for one run, and this batch has %zu", cells->count);
    if (options->action != ACTION_RUN || !options->file)
        return 0;
    if (options->pcap && !strcmp(options->pcap, options->file))
        return problem_usage(problem, "--json and --pcap name the same file, %s", options->file);
    return atomic_file_write(options->file, NULL, NULL, problem);
}

static void on_parent_gone(void *client)
{
    ((struct client *)client)->orphaned = true;
}

/* The plan that would run: docs/record.md, --check. Server and proxy are checked only if this
 * client starts them: then they run on this machine. */
static json_t *describe(const struct plan *plan)
{
    json_t *unused = json_array(), *given = plan_words_given(plan, unused);
    bool is_planned = !plan->messages && !plan->bytes && !plan->runs_command;
    json_int_t planned_ns = (json_int_t)(plan->warmup_ns + plan->duration_ns);
    struct problem why = {0};

    for (enum end end = 0; end < END_COUNT && why.kind == PROBLEM_NONE; end++)
        if (plan_has_end(plan, end) && plan_is_own(plan, end))
            support_check(plan, end, false, &why);
    return json_pack("{s:o, s:o, s:o, s:o*, s:s*}", "words", plan_words(plan), "given", given, "unused",
                     unused, "planned_ns", is_planned ? json_integer(planned_ns) : NULL, "unsupported",
                     /* other problems are left to the run, which then fails */
                     why.kind == PROBLEM_UNSUPPORTED ? why.text : NULL);
}

/* Runs every line and prints its record, also that of a failed run. `client` NULL: only describes
 * the plans. */
static void print_cells(struct client *client, const struct cells *cells, struct problem *problem)
{
    for (size_t i = 0; i < cells->count; i++) {
        const struct plan *plan = &cells->plans[i];
        json_t *record = client ? run_cell(client, plan, problem) : describe(plan);

        if (client && client->orphaned) {
            json_decref(record);
            problem_failure(problem, "the process that started these runs has ended");
            return;
        }
        if ((client && !record) || print_json(record, problem) < 0)
            return;
    }
    print_json(json_pack("{s:I}", "end", (json_int_t)cells->count), problem);
}

static void run(const struct options *options, const struct cells *cells, struct problem *problem)
{
    struct client client = {.options = options};
    json_t *record = NULL;

    if (threads_try_pool(problem) < 0 || check_cells(options, cells, problem) < 0 ||
        loop_open(&client.loop, problem) < 0)
        return;
    if (options->action == ACTION_FACTS) {
        record = run_facts(&client, cells->plans, problem);
    } else if (options->parent_fd == NO_PARENT_FD ||
               parent_watch_start(&client.parent, &client.loop, options->parent_fd, on_parent_gone, &client,
                                  problem) == 0) {
        probe_counters();
        if (options->action == ACTION_BATCH)
            print_cells(&client, cells, problem);
        else
            record = run_cell(&client, cells->plans, problem);
    }
    for (enum end end = 0; end < END_COUNT; end++)
        own_server_stop(&client, end, NULL);
    parent_watch_stop(&client.parent);
    uv_run(&client.loop, UV_RUN_NOWAIT);
    uv_loop_close(&client.loop);
    const char *status = json_string_value(json_object_get(record, "status")); /* NULL: facts, or none */
    if (record && options->file)
        atomic_file_write(options->file, write_json, record, problem);
    else if (record && (options->json || !status))
        print_json(json_incref(record), problem);
    if (status && strcmp(status, "ok") != 0)
        problem_failure(problem, "%s: %s", status, json_string_value(json_object_get(record, "reason")));
    else if (status && !options->json)
        answer_print(record);
    json_decref(record);
}

static void act(const struct options *options, struct problem *problem)
{
    struct cells cells = {0};
    json_t *expanded;

    switch (options->action) {
    case ACTION_LIST:
        list_print();
        break;
    case ACTION_LIST_JSON:
        print_json(list_make(), problem);
        break;
    case ACTION_EXPAND:
        if ((expanded = expand_words(options->words, options->word_count, problem)))
            print_json(json_pack("{s:o}", "words", expanded), problem);
        break;
    case ACTION_VERSION:
        printf("uncork %s (%s)\n", UNCORK_VERSION, version_revision);
        break;
    case ACTION_HELP:
        fputs(help, stdout);
        option_print(client_options, HELP_COLUMN);
        break;
    default:
        if (read_cells(&cells, options, problem) == 0 && options->action == ACTION_CHECK)
            print_cells(NULL, &cells, problem);
        else if (problem->kind == PROBLEM_NONE)
            run(options, &cells, problem);
    }
    for (size_t i = 0; i < cells.count; i++)
        plan_free(&cells.plans[i]);
    free(cells.plans);
}

int main(int count, char **arguments)
{
    struct problem problem = {0};
    struct options options;
    standard_open();
    json_memory_watch(true);
    keylog_set(NULL, &problem);
    signal(SIGPIPE, SIG_IGN); /* the other end may close at any time: a write then returns EPIPE */
    scheduling_reset();
    if (options_parse(&options, count, arguments, &problem) == 0)
        act(&options, &problem);
    options_free(&options);
    return standard_end("uncork-client", &problem);
}
