/* SPDX-License-Identifier: MIT */
#include "team/conduct.h"

#include "base/cleanup.h"
#include "connection/workload.h"

static bool is_hub(const struct conduct *conduct)
{
    return conduct->team->end == END_CLIENT;
}

static unsigned others(const struct conduct *conduct)
{
    unsigned ends = 0;

    for (int end = 0; end < END_COUNT; end++)
        if (conduct->channels[end])
            ends |= 1u << end;
    return ends;
}

/* The end with a subject counts no bytes. The hub asks it for its figures. END_COUNT: none has one. */
static enum end subject_end(const struct plan *plan)
{
    return plan_has_subject(plan) ? plan_second_end(plan) : END_COUNT;
}

/* The ends that receive from `driver`; none if it is no driver of the plan. A subject that relays is
 * none. */
static unsigned receivers_of(const struct plan *plan, int driver)
{
    unsigned ends = 0;

    if (!plan_has_end(plan, (enum end)driver) || !plan->ends[driver].drives)
        return 0;
    for (int end = 0; end < END_COUNT; end++)
        if (end != driver && plan_has_end(plan, (enum end)end) && plan->ends[end].follows &&
            (end != END_PROXY || subject_end(plan) != END_PROXY))
            ends |= 1u << end;
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

void conduct_start(struct conduct *conduct)
{
    team_release(conduct->team, others(conduct) ? RELEASE_START : RELEASE_GO);
}

/* ---- receivers are ready ---- */

/* The hub releases a driver when all its receivers are ready. */
static void note_ready(struct conduct *conduct, enum release release, int driver, enum end end)
{
    unsigned receivers = receivers_of(conduct->team->plan, driver), *ready = &conduct->ready[release][driver];

    *ready |= 1u << end;
    if (!(receivers & 1u << end) || (*ready & receivers) != receivers)
        return;
    if (driver == (int)conduct->team->end)
        team_release(conduct->team, release);
    else if (release == RELEASE_LAST)
        notify(conduct, (enum end)driver, CONTROL_DRAINING, body_of_end((enum end)driver));
    else
        notify(conduct, (enum end)driver, CONTROL_MARKED, NULL);
}

/* `end` has its start figures. Of a subject that relays they are taken when all others have theirs:
 * then no data is in flight. */
static void note_marked(struct conduct *conduct, enum end end)
{
    const struct plan *plan = conduct->team->plan;
    bool relays = subject_end(plan) == END_PROXY;
    unsigned receivers = 0;

    if (!is_hub(conduct)) {
        notify(conduct, END_CLIENT, CONTROL_MARKED, NULL);
        return;
    }
    conduct->marked |= 1u << end;
    for (int driver = 0; driver < END_COUNT; driver++)
        receivers |= receivers_of(plan, driver);
    if (relays && conduct->marked == receivers)
        notify(conduct, END_PROXY, CONTROL_MARKED, NULL);
    if (relays && end != END_PROXY)
        return;
    for (int driver = 0; driver < END_COUNT; driver++)
        for (int each = 0; each < END_COUNT; each++)
            if (relays || each == (int)end)
                note_ready(conduct, RELEASE_GO, driver, (enum end)each);
}

/* The phases after which a subject reads its figures; one that relays is asked by note_marked(). */
static void ask_subject(struct conduct *conduct, enum phase passed)
{
    const struct team *team = conduct->team;
    enum end end = subject_end(team->plan);
    bool begins = end == END_SERVER && passed == (team->plan->warmup_ns ? PHASE_WARM_UP : PHASE_START);

    if (is_hub(conduct) && end != END_COUNT && (begins || (passed == PHASE_REPORT && !team->cancelled)))
        notify(conduct, end, CONTROL_MARKED, NULL);
}

/* ---- a driver's last byte ---- */

/* Announces the byte at which each connection will end, after `more` messages. */
static void announce(struct conduct *conduct, uint64_t more)
{
    const struct team *team = conduct->team;
    CLEANUP_JSON json_t *bytes = json_array();

    for (size_t i = 0; i < team->connection_count; i++)
        json_array_append_new(bytes, json_integer((json_int_t)team_sent_bytes(team, i, more)));
    for (int end = 0; end < END_COUNT; end++)
        notify(conduct, (enum end)end, CONTROL_DRAIN,
               json_pack("{s:s, s:O}", "end", end_names[team->end], "bytes", bytes));
}

static enum end driver_in(const struct conduct *conduct, const json_t *body)
{
    enum end end = end_parse(json_string_value(json_object_get(body, "end")));
    const struct plan *plan = conduct->team->plan;

    return end < END_COUNT && plan_has_end(plan, end) && plan->ends[end].drives ? end : END_COUNT;
}

static int set_stops(struct conduct *conduct, enum end driver, const json_t *body)
{
    const json_t *bytes = json_object_get(body, "bytes"), *value;
    size_t i;

    if (json_array_size(bytes) != conduct->team->plan->connections)
        return -1;
    json_array_foreach(bytes, i, value)
        team_set_stop(conduct->team, driver, i, (uint64_t)json_integer_value(value));
    team_stops_set(conduct->team);
    if (is_hub(conduct))
        note_ready(conduct, RELEASE_LAST, driver, END_CLIENT);
    else
        notify(conduct, END_CLIENT, CONTROL_DRAINING, body_of_end(driver));
    return 0;
}

/* The client forwards the announcement of the server to a proxy. */
static int learn_stops(struct conduct *conduct, enum end from, const json_t *body, struct problem *problem)
{
    enum end driver = driver_in(conduct, body);
    bool is_theirs =
        driver != END_COUNT && driver != conduct->team->end && conduct->team->part != PART_DRIVER;

    if (is_theirs && is_hub(conduct)) {
        is_theirs = driver == from;
        notify(conduct, END_PROXY, CONTROL_DRAIN, json_deep_copy(body));
    }
    if (!is_theirs || set_stops(conduct, driver, body) < 0)
        return problem_failure(problem, "the %s announced a warm-up of connections that there are not",
                               end_names[from]);
    return 1;
}

static int learn_draining(struct conduct *conduct, enum end from, const json_t *body, struct problem *problem)
{
    enum end driver = driver_in(conduct, body);

    if (driver == END_COUNT || (!is_hub(conduct) && driver != conduct->team->end))
        return problem_failure(problem, "the %s knows of a warm-up that there is not", end_names[from]);
    if (is_hub(conduct))
        note_ready(conduct, RELEASE_LAST, driver, from);
    else
        team_release(conduct->team, RELEASE_LAST);
    return 1;
}

/* ---- what happens ---- */

void conduct_passed(struct conduct *conduct, enum phase phase)
{
    const struct team *team = conduct->team;

    if (!others(conduct))
        return;
    if (phase == PHASE_START && !is_hub(conduct)) {
        notify(conduct, END_CLIENT, CONTROL_JOINED, NULL);
        conduct_start(conduct);
    }
    if (phase == PHASE_WARM_UP)
        announce(conduct, 1);
    if (phase == PHASE_MARK)
        note_marked(conduct, team->end);
    /* With reconnects, the close of a descriptor is not the end of the work. */
    if (phase == PHASE_REPORT && team->part != PART_FOLLOWER && !team->cancelled &&
        team->plan->workload->reconnects)
        announce(conduct, 0);
    ask_subject(conduct, phase);
}

int conduct_message(struct conduct *conduct, enum end from, enum control_type type, const json_t *body,
                    struct problem *problem)
{
    switch (type) {
    case CONTROL_JOINED:
        conduct->joined |= 1u << from;
        if (conduct->joined == others(conduct))
            conduct_start(conduct);
        return 1;
    case CONTROL_DRAIN:
        return learn_stops(conduct, from, body, problem);
    case CONTROL_DRAINING:
        return learn_draining(conduct, from, body, problem);
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
