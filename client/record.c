/* SPDX-License-Identifier: MIT */
#include "record.h"

#include "base/version.h"

#include <inttypes.h>

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

static int check_way(const char *sender, const json_t *from, const char *receiver, const json_t *to,
                     struct problem *problem)
{
    uint64_t sent = record_sum(from, "bytes_sent"), received = record_sum(to, "bytes_received");

    if (sent == received)
        return 0;
    return problem_failure(problem, "the %s sent %" PRIu64 " bytes and the %s received %" PRIu64, sender,
                           sent, receiver, received);
}

int record_check(const json_t *client, const json_t *server, struct problem *problem)
{
    if (check_way("client", client, "server", server, problem) < 0)
        return -1;
    return check_way("server", server, "client", client, problem);
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
    if (*result->peer)
        json_object_set_new(record, "peer", json_string(result->peer));
    if (result->problem.kind == PROBLEM_NONE && result->client)
        json_object_set(record, "client", result->client);
    if (result->problem.kind == PROBLEM_NONE && result->server)
        json_object_set(record, "server", result->server);
    return record;
}
