/* SPDX-License-Identifier: MIT */
#include "record.h"

#include "base/version.h"
#include "words/word.h"

#include <inttypes.h>
#include <string.h>

static const json_t *find_path(const json_t *value, const char *path)
{
    for (size_t size; value && *path; path += size + (path[size] == '.')) {
        size = strcspn(path, ".");
        value = json_object_getn(value, path, size);
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
    uint64_t sum = 0;
    const json_t *thread;
    size_t i;
    json_array_foreach(json_object_get(end, "threads"), i, thread)
        sum += record_number(thread, path);
    return sum;
}

const json_t *record_first(const json_t *end, const char *path)
{
    return find_path(json_array_get(json_object_get(end, "threads"), 0), path);
}

int record_check(const json_t *parts, struct problem *problem)
{
    static const enum end other[] = {[END_CLIENT] = END_SERVER, [END_SERVER] = END_CLIENT};
    const json_t *proxy = json_object_get(parts, "proxy"), *server = json_object_get(parts, "server");
    uint64_t sent[END_COUNT], received[END_COUNT];

    if (!server)
        return 0;
    for (int end = 0; end < END_COUNT; end++) {
        const json_t *report = json_object_get(parts, end_names[end]);
        if (report && !json_array_size(json_object_get(report, "threads")))
            return problem_failure(problem, "the report of the %s has no threads", end_names[end]);
        sent[end] = record_sum(report, "bytes_sent");
        received[end] = record_sum(report, "bytes_received");
    }
    for (enum end from = END_CLIENT; from <= END_SERVER; from++)
        if (sent[from] != received[other[from]])
            return problem_failure(problem, "the %s sent %" PRIu64 " bytes and the %s received %" PRIu64,
                                   end_names[from], sent[from], end_names[other[from]],
                                   received[other[from]]);
    uint64_t all = sent[END_CLIENT] + sent[END_SERVER];
    if (!proxy || (received[END_PROXY] == all && sent[END_PROXY] == all))
        return 0;
    return problem_failure(
        problem, "client and server sent %" PRIu64 " bytes, the proxy received %" PRIu64 " and sent %" PRIu64,
        all, received[END_PROXY], sent[END_PROXY]);
}

json_t *record_make(const struct plan *plan, const struct run_result *result)
{
    static const char *const parts[] = {"client", "server", "proxy", "subject", "load", "hyperfine"};
    const struct problem *problem = &result->problem;
    const char *server = result->addresses[END_SERVER], *proxy = result->addresses[END_PROXY];
    bool has_phase = problem->kind == PROBLEM_FAILURE && *result->phase;
    json_t *record = json_pack(
        "{s:i, s:s, s:s, s:s*, s:s*, s:o, s:I, s:I, s:s*, s:s*}", "schema", RECORD_SCHEMA, "uncork",
        UNCORK_VERSION, "status", problem_kind_names[problem->kind], "reason",
        problem->kind == PROBLEM_NONE ? NULL : problem->text, "phase", has_phase ? result->phase : NULL,
        "words", plan_words(plan), "started_unix_ns", (json_int_t)result->started_unix_ns, "wall_ns",
        (json_int_t)result->wall_ns, "peer", *server ? server : NULL, "via", *proxy ? proxy : NULL);

    for (size_t i = 0; problem->kind == PROBLEM_NONE && i < sizeof parts / sizeof *parts; i++)
        json_object_set(record, parts[i], json_object_get(result->parts, parts[i])); /* NULL: absent */
    return record;
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
