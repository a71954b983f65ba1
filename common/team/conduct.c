/* SPDX-License-Identifier: MIT */
#include "team/conduct.h"

#include "workload/workload.h"

#define DRAINS_PER_MESSAGE 1000 /* numbers of at most 20 digits: fits into 64 KiB */

/* The end of a descriptor is not the end of the work: the follower is told that in bytes as well. */
static bool renews(const struct team *team)
{
    return plan_half(team->plan, team->end)->renews;
}

void conduct_start(struct conduct *conduct)
{
    team_release(conduct->team, conduct->channel ? RELEASE_START : RELEASE_GO);
}

static void announce(struct conduct *conduct, uint64_t (*bytes_of)(const struct team *team, size_t index))
{
    const struct team *team = conduct->team;

    for (size_t first = 0; first < team->connection_count; first += DRAINS_PER_MESSAGE) {
        json_t *bytes = json_array();

        for (size_t i = first; i < first + DRAINS_PER_MESSAGE && i < team->connection_count; i++)
            json_array_append_new(bytes, json_integer((json_int_t)bytes_of(team, i)));
        channel_send(conduct->channel, CONTROL_DRAIN,
                     json_pack("{s:I, s:o}", "first", (json_int_t)first, "bytes", bytes));
    }
}

void conduct_reached(struct conduct *conduct, enum stage stage)
{
    if (!conduct->channel)
        return;
    if (stage == STAGE_WARMED)
        announce(conduct, team_drain_bytes);
    if (stage == STAGE_DONE && conduct->team->drives && !conduct->team->cancelled && renews(conduct->team))
        announce(conduct, team_sent_bytes);
    if (stage == STAGE_MARKED)
        channel_send(conduct->channel, CONTROL_MARKED, NULL);
}

static int learn_stops(struct conduct *conduct, const json_t *body, struct problem *problem)
{
    json_int_t first = json_integer_value(json_object_get(body, "first"));
    const json_t *bytes = json_object_get(body, "bytes"), *value;
    size_t i;

    if (!conduct->team->follows || json_array_size(bytes) == 0 || first < 0 ||
        (size_t)first != conduct->stops_known ||
        (size_t)first + json_array_size(bytes) > conduct->team->connection_count)
        return problem_failure(problem,
                               "the other end announced a warm-up of connections that there are not");
    json_array_foreach(bytes, i, value)
    {
        team_set_stop(conduct->team, conduct->stops_known++, (uint64_t)json_integer_value(value));
    }
    if (conduct->stops_known == conduct->team->connection_count) {
        conduct->stops_known = 0;
        team_stops_set(conduct->team);
        channel_send(conduct->channel, CONTROL_DRAINING, NULL);
    }
    return 1;
}

int conduct_message(struct conduct *conduct, enum control_type type, const json_t *body,
                    struct problem *problem)
{
    switch (type) {
    case CONTROL_DRAIN:
        return learn_stops(conduct, body, problem);
    case CONTROL_DRAINING:
        team_release(conduct->team, RELEASE_LAST);
        return 1;
    case CONTROL_MARKED:
        team_release(conduct->team, RELEASE_GO);
        return 1;
    default:
        return 0;
    }
}
