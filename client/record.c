/* SPDX-License-Identifier: MIT */
#include "record.h"

#include "base/version.h"

#include <inttypes.h>
#include <string.h>

uint64_t record_sum(const json_t *end, const char *key)
{
    const json_t *thread;
    uint64_t sum = 0;
    size_t i;

    json_array_foreach(json_object_get(end, "threads"), i, thread)
    {
        sum += (uint64_t)json_integer_value(json_object_get(thread, key));
    }
    return sum;
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
    json_t *record = json_pack("{s:i, s:s, s:s}", "schema", RECORD_SCHEMA, "uncork", UNCORK_VERSION, "status",
                               problem_kind_name(result->problem.kind));

    if (result->problem.kind != PROBLEM_NONE)
        json_object_set_new(record, "reason", json_string(result->problem.text));
    if (result->problem.kind == PROBLEM_FAILURE && *result->phase)
        json_object_set_new(record, "phase", json_string(result->phase));
    json_object_set_new(record, "words", plan_words(plan));
    json_object_set_new(record, "started_unix_ns", json_integer((json_int_t)result->started_unix_ns));
    json_object_set_new(record, "wall_ns", json_integer((json_int_t)result->wall_ns));
    if (*result->addresses[END_SERVER])
        json_object_set_new(record, "peer", json_string(result->addresses[END_SERVER]));
    if (*result->addresses[END_PROXY])
        json_object_set_new(record, "via", json_string(result->addresses[END_PROXY]));
    for (int end = 0; end < END_COUNT && result->problem.kind == PROBLEM_NONE; end++)
        if (result->reports[end])
            json_object_set(record, end_names[end], result->reports[end]);
    return record;
}

bool record_knows(const json_t *end, const char *key)
{
    return json_object_get(json_array_get(json_object_get(end, "threads"), 0), key) != NULL;
}

const char *record_word(const json_t *record, const char *key)
{
    const char *value = json_string_value(json_object_get(json_object_get(record, "words"), key));

    return value ? value : "";
}

bool record_says(const json_t *record, const char *key, const char *value)
{
    return !strcmp(record_word(record, key), value);
}
