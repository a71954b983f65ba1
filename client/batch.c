/* SPDX-License-Identifier: MIT */
#include "batch.h"

#include "base/cleanup.h"
#include "legality/legality.h"
#include "record.h"
#include "words/parse.h"
#include "words/word.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LINE_WORDS_MAX 256
#define BATCH_END "end" /* last line of the input: it may stay open as a lifeline */

static int append_line(struct batch *batch, char *line, struct problem *problem)
{
    struct plan *grown = realloc(batch->plans, (batch->count + 1) * sizeof *grown);
    const char *words[LINE_WORDS_MAX], *word;
    size_t count = 0;

    if (!grown)
        return problem_failure(problem, "out of memory");
    batch->plans = grown;
    while ((word = strsep(&line, " \t\r\n"))) {
        if (!*word)
            continue;
        if (count == LINE_WORDS_MAX)
            return problem_usage(problem, "more than %d words", LINE_WORDS_MAX);
        words[count++] = word;
    }
    if (plan_parse(&grown[batch->count], words, count, problem) < 0)
        return -1;
    batch->count++;
    return 0;
}

static int read_lines(struct batch *batch, FILE *file, const char *path, struct problem *problem)
{
    CLEANUP_FREE char *line = NULL;
    size_t size = 0;

    for (unsigned long number = 1; getline(&line, &size, file) >= 0; number++) {
        struct problem why = {0};

        if (!strcmp(line, BATCH_END "\n"))
            break;
        if (line[strspn(line, " \t\r\n")] == '\0' || *line == '#')
            continue;
        if (append_line(batch, line, &why) < 0)
            return problem_usage(problem, "%s:%lu: %.500s", path, number, why.text);
    }
    return 0;
}

int batch_read(struct batch *batch, const char *path, struct problem *problem)
{
    bool is_stdin = !strcmp(path, "-");
    FILE *file = is_stdin ? stdin : fopen(path, "re");
    int result;

    *batch = (struct batch){0};
    if (!file)
        return problem_usage(problem, "%s: %s", path, strerror(errno));
    result = read_lines(batch, file, is_stdin ? "standard input" : path, problem);
    if (!is_stdin)
        fclose(file);
    if (result < 0)
        batch_free(batch);
    return result;
}

void batch_free(struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        plan_free(&batch->plans[i]);
    free(batch->plans);
    *batch = (struct batch){0};
}

int batch_refuse_unused(const struct plan *plan, struct problem *problem)
{
    CLEANUP_JSON json_t *unused = plan_words_unused(plan);
    const char *key = json_string_value(json_array_get(unused, 0));

    if (!key)
        return 0;
    if (word_is_of_lab(key))
        return problem_usage(problem, "'%s' is of a lab; uncork run ... lab=on %s=... makes one", key, key);
    return problem_usage(problem, "'%s' has no effect with these other words; leave it out", key);
}

static int print_end(const struct batch *batch, struct problem *problem)
{
    return print_json(json_pack("{s:I}", "end", (json_int_t)batch->count), problem);
}

int batch_run(const struct batch *batch, struct client *client, struct problem *problem)
{
    for (size_t i = 0; i < batch->count; i++)
        if (batch_refuse_unused(&batch->plans[i], problem) < 0 ||
            options_check(client->options, &batch->plans[i], problem) < 0)
            return -1;
    if (client->options->pcap && batch->count > 1)
        return problem_usage(problem, "--pcap is for one run, and this batch has %zu", batch->count);
    for (size_t i = 0; i < batch->count; i++) {
        json_t *record = run_cell(client, &batch->plans[i], problem);

        if (client->orphaned) {
            json_decref(record);
            return problem_failure(problem, "the process that asked for these runs has ended");
        }
        if (!record || print_json(record, problem) < 0)
            return -1;
    }
    return print_end(batch, problem);
}

/* The reason why an end does not support the plan. For server and proxy only if they are ours:
 * then this machine decides. */
static int check_ends(const struct plan *plan, struct problem *problem)
{
    for (int end = 0; end < END_COUNT; end++)
        if (plan_has_end(plan, (enum end)end) && plan_is_own(plan, (enum end)end) &&
            legality_check(plan, (enum end)end, false, problem) < 0)
            return -1;
    return 0;
}

int batch_check(const struct batch *batch, struct problem *problem)
{
    for (size_t i = 0; i < batch->count; i++) {
        const struct plan *plan = &batch->plans[i];
        struct problem why = {0};
        json_t *line = json_pack("{s:o, s:o, s:o}", "words", plan_words(plan), "given",
                                 plan_words_given(plan), "unused", plan_words_unused(plan));

        if (!plan->messages && !plan->bytes)
            json_object_set_new(line, "planned_ns",
                                json_integer((json_int_t)(plan->warmup_ns + plan->duration_ns)));
        /* what only the run can find out makes the run fail */
        if (check_ends(plan, &why) < 0 && why.kind == PROBLEM_UNSUPPORTED)
            json_object_set_new(line, "unsupported", json_string(why.text));
        if (print_json(line, problem) < 0)
            return -1;
    }
    return print_end(batch, problem);
}
