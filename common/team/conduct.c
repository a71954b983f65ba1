/* SPDX-License-Identifier: MIT */
#include "team/conduct.h"

#include "workload/workload.h"

#define DRAINS_PER_MESSAGE 1000 /* numbers of at most 20 digits: fits into 64 KiB */

static bool is_hub(const struct conduct *conduct)
{
    return conduct->team->end == END_CLIENT;
}

static unsigned bit_of(enum end end)
{
    return 1u << end;
}

static unsigned others(const struct conduct *conduct)
{
    unsigned ends = 0;

    for (int end = 0; end < END_COUNT; end++)
        if (conduct->channels[end])
            ends |= bit_of((enum end)end);
    return ends;
}

/* The ends that receive from a driver. */
static unsigned takers_of(const struct plan *plan, enum end driver)
{
    unsigned ends = 0;

    for (int end = 0; end < END_COUNT; end++)
        if (end != (int)driver && plan_has_end(plan, (enum end)end) && plan_follows(plan, (enum end)end))
            ends |= bit_of((enum end)end);
    return ends;
}

static void notify(struct conduct *conduct, enum end end, enum control_type type, json_t *body)
{
    if (conduct->channels[end])
        channel_send(conduct->channels[end], type, body);
    else
        json_decref(body);
}

static json_t *body_of_end(enum end end)
{
    return json_pack("{s:s}", "end", end_names[end]);
}

/* Then the close of a descriptor is not the end of the work: the follower also gets the end in
 * bytes. */
static bool reconnects(const struct team *team)
{
    return plan_role(team->plan, team->end)->reconnects;
}

void conduct_listen(struct conduct *conduct, enum end end, struct channel *channel)
{
    conduct->channels[end] = channel;
}

void conduct_start(struct conduct *conduct)
{
    team_release(conduct->team, others(conduct) ? RELEASE_START : RELEASE_GO);
}

/* ---- a driver's last byte ---- */

static json_t *drains_from(const struct team *team, size_t first,
                           uint64_t (*bytes_of)(const struct team *team, size_t index))
{
    json_t *bytes = json_array();

    for (size_t i = first; i < first + DRAINS_PER_MESSAGE && i < team->connection_count; i++)
        json_array_append_new(bytes, json_integer((json_int_t)bytes_of(team, i)));
    return json_pack("{s:s, s:I, s:o}", "end", end_names[team->end], "first", (json_int_t)first, "bytes",
                     bytes);
}

static void announce(struct conduct *conduct, uint64_t (*bytes_of)(const struct team *team, size_t index))
{
    const struct team *team = conduct->team;

    for (size_t first = 0; first < team->connection_count; first += DRAINS_PER_MESSAGE)
        for (int end = 0; end < END_COUNT; end++)
            notify(conduct, (enum end)end, CONTROL_DRAIN, drains_from(team, first, bytes_of));
}

/* `end` knows the stop of each connection of `driver`. */
static void note_knowing(struct conduct *conduct, enum end driver, enum end end)
{
    unsigned takers = takers_of(conduct->team->plan, driver);

    conduct->knowing[driver] |= bit_of(end);
    if (!is_hub(conduct))
        notify(conduct, END_CLIENT, CONTROL_DRAINING, body_of_end(driver));
    else if ((conduct->knowing[driver] & takers) == takers && driver == conduct->team->end)
        team_release(conduct->team, RELEASE_LAST);
    else if ((conduct->knowing[driver] & takers) == takers)
        notify(conduct, driver, CONTROL_DRAINING, body_of_end(driver));
}

static enum end driver_in(const struct conduct *conduct, const json_t *body)
{
    enum end end = end_parse(json_string_value(json_object_get(body, "end")));
    const struct plan *plan = conduct->team->plan;

    return end < END_COUNT && plan_has_end(plan, end) && plan_drives(plan, end) ? end : END_COUNT;
}

static int set_stops(struct conduct *conduct, enum end driver, const json_t *body)
{
    const json_t *bytes = json_object_get(body, "bytes"), *value;
    json_int_t first = json_integer_value(json_object_get(body, "first"));
    size_t *known = &conduct->stops_known[driver], count = conduct->team->plan->connections, i;

    if (json_array_size(bytes) == 0 || first < 0 || (size_t)first != *known ||
        (size_t)first + json_array_size(bytes) > count)
        return -1;
    json_array_foreach(bytes, i, value)
    {
        team_set_stop(conduct->team, driver, (*known)++, (uint64_t)json_integer_value(value));
    }
    if (*known == count) {
        *known = 0;
        team_stops_set(conduct->team);
        note_knowing(conduct, driver, conduct->team->end);
    }
    return 0;
}

/* The client forwards the announcement of the server to a proxy. */
static int learn_stops(struct conduct *conduct, enum end from, const json_t *body, struct problem *problem)
{
    enum end driver = driver_in(conduct, body);
    bool is_theirs = driver != END_COUNT && driver != conduct->team->end && conduct->team->follows;

    if (is_theirs && is_hub(conduct)) {
        is_theirs = driver == from;
        notify(conduct, END_PROXY, CONTROL_DRAIN, json_deep_copy(body));
    }
    if (!is_theirs || set_stops(conduct, driver, body) < 0)
        return problem_failure(problem, "the %s announced a warm-up of connections that there are not",
                               end_names[from]);
    return 1;
}

static int learn_knowing(struct conduct *conduct, enum end from, const json_t *body, struct problem *problem)
{
    enum end driver = driver_in(conduct, body);

    if (driver == END_COUNT || (!is_hub(conduct) && driver != conduct->team->end))
        return problem_failure(problem, "the %s knows of a warm-up that there is not", end_names[from]);
    if (is_hub(conduct))
        note_knowing(conduct, driver, from);
    else
        team_release(conduct->team, RELEASE_LAST);
    return 1;
}

/* ---- start figures ---- */

/* A driver continues when all its receivers have their start figures. */
static void note_marked(struct conduct *conduct, enum end end)
{
    const struct plan *plan = conduct->team->plan;
    unsigned before = conduct->marked;

    conduct->marked |= bit_of(end);
    for (int driver = 0; driver < END_COUNT; driver++) {
        unsigned takers = takers_of(plan, (enum end)driver);

        if (!plan_has_end(plan, (enum end)driver) || !plan_drives(plan, (enum end)driver) ||
            (before & takers) == takers || (conduct->marked & takers) != takers)
            continue;
        if (driver == (int)conduct->team->end)
            team_release(conduct->team, RELEASE_GO);
        else
            notify(conduct, (enum end)driver, CONTROL_MARKED, NULL);
    }
}

static void learn_joined(struct conduct *conduct, enum end from)
{
    conduct->joined |= bit_of(from);
    if (conduct->joined == others(conduct))
        conduct_start(conduct);
}

/* ---- what happens ---- */

void conduct_reached(struct conduct *conduct, enum stage stage)
{
    const struct team *team = conduct->team;

    if (!others(conduct))
        return;
    if (stage == STAGE_WARMED)
        announce(conduct, team_drain_bytes);
    if (stage == STAGE_DONE && team->drives && !team->cancelled && reconnects(team))
        announce(conduct, team_sent_bytes);
    if (stage == STAGE_MARKED && is_hub(conduct))
        note_marked(conduct, END_CLIENT);
    else if (stage == STAGE_MARKED)
        notify(conduct, END_CLIENT, CONTROL_MARKED, NULL);
}

int conduct_message(struct conduct *conduct, enum end from, enum control_type type, const json_t *body,
                    struct problem *problem)
{
    switch (type) {
    case CONTROL_JOINED:
        learn_joined(conduct, from);
        return 1;
    case CONTROL_DRAIN:
        return learn_stops(conduct, from, body, problem);
    case CONTROL_DRAINING:
        return learn_knowing(conduct, from, body, problem);
    case CONTROL_MARKED:
        if (is_hub(conduct))
            note_marked(conduct, from);
        else
            team_release(conduct->team, RELEASE_GO);
        return 1;
    default:
        return 0;
    }
}
