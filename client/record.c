/* SPDX-License-Identifier: MIT */
#include "record.h"

#include "base/version.h"
#include "words/parse.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const json_t *find_path(const json_t *value, const char *path)
{
    char key[32];
    size_t size;

    for (; value && *path; path += size + (path[size] == '.')) {
        size = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)size, path);
        value = json_object_get(value, key);
    }
    return value;
}

const char *record_text(const json_t *value, const char *path)
{
    const char *text = json_string_value(find_path(value, path));

    return text ? text : "";
}

uint64_t record_number(const json_t *value, const char *path)
{
    return (uint64_t)json_integer_value(find_path(value, path));
}

uint64_t record_sum(const json_t *end, const char *path)
{
    const json_t *thread;
    uint64_t sum = 0;
    size_t i;

    json_array_foreach(json_object_get(end, "threads"), i, thread)
        sum += record_number(thread, path);
    return sum;
}

const json_t *record_first(const json_t *end, const char *path)
{
    return find_path(json_array_get(json_object_get(end, "threads"), 0), path);
}

static int check_way(const struct run_result *result, enum end sender, enum end receiver,
                     struct problem *problem)
{
    uint64_t sent = record_sum(result->reports[sender], "bytes_sent");
    uint64_t received = record_sum(result->reports[receiver], "bytes_received");

    if (sent == received)
        return 0;
    return problem_failure(problem, "the %s sent %" PRIu64 " bytes and the %s received %" PRIu64,
                           end_names[sender], sent, end_names[receiver], received);
}

static int check_proxy(const struct run_result *result, struct problem *problem)
{
    const json_t *proxy = result->reports[END_PROXY];
    uint64_t all = record_sum(result->reports[END_CLIENT], "bytes_sent") +
                   record_sum(result->reports[END_SERVER], "bytes_sent");
    uint64_t received = record_sum(proxy, "bytes_received"), sent = record_sum(proxy, "bytes_sent");

    if (!proxy || (received == all && sent == all))
        return 0;
    return problem_failure(
        problem, "client and server sent %" PRIu64 " bytes, the proxy received %" PRIu64 " and sent %" PRIu64,
        all, received, sent);
}

int record_check(const struct run_result *result, struct problem *problem)
{
    for (int end = 0; end < END_COUNT; end++)
        if (result->reports[end] && !json_array_size(json_object_get(result->reports[end], "threads")))
            return problem_failure(problem, "the report of the %s has no threads", end_names[end]);
    if (check_way(result, END_CLIENT, END_SERVER, problem) < 0 ||
        check_way(result, END_SERVER, END_CLIENT, problem) < 0)
        return -1;
    return check_proxy(result, problem);
}

json_t *record_make(const struct plan *plan, const struct run_result *result)
{
    const struct problem *problem = &result->problem;
    const char *server = result->addresses[END_SERVER], *proxy = result->addresses[END_PROXY];
    bool has_phase = problem->kind == PROBLEM_FAILURE && *result->phase;
    json_t *record = json_pack(
        "{s:i, s:s, s:s, s:s*, s:s*, s:o, s:I, s:I, s:s*, s:s*}", "schema", RECORD_SCHEMA, "uncork",
        UNCORK_VERSION, "status", problem_kind_name(problem->kind), "reason",
        problem->kind == PROBLEM_NONE ? NULL : problem->text, "phase", has_phase ? result->phase : NULL,
        "words", plan_words(plan), "started_unix_ns", (json_int_t)result->started_unix_ns, "wall_ns",
        (json_int_t)result->wall_ns, "peer", *server ? server : NULL, "via", *proxy ? proxy : NULL);

    if (problem->kind != PROBLEM_NONE)
        return record;
    for (int end = 0; end < END_COUNT; end++)
        json_object_set(record, end_names[end],
                        result->reports[end]); /* NULL: the key is absent, also below */
    json_object_set(record, "subject", result->subject);
    json_object_set(record, "load", result->load);
    json_object_set(record, "hyperfine", result->times);
    return record;
}

void record_free(struct run_result *result)
{
    for (int end = 0; end < END_COUNT; end++)
        json_decref(result->reports[end]);
    json_decref(result->subject);
    json_decref(result->load);
    json_decref(result->times);
}

const char *record_word(const json_t *record, const char *key)
{
    const char *value = json_string_value(json_object_get(json_object_get(record, "words"), key));

    return value ? value : "";
}

bool record_word_is(const json_t *record, const char *key, const char *value)
{
    return !strcmp(record_word(record, key), value);
}
