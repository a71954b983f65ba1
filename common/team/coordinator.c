/* SPDX-License-Identifier: MIT */
#include "team/coordinator.h"

#include "base/cleanup.h"
#include "connection/workload.h"

static bool is_hub(const struct coordinator *coordinator)
{
    return coordinator->team->end == END_CLIENT;
}

static unsigned other_ends(const struct coordinator *coordinator)
{
    unsigned ends = 0;

    for (int end = 0; end < END_COUNT; end++)
        if (coordinator->channels[end])
            ends |= 1u << end;
    return ends;
}

/* The end that runs a subject, or END_COUNT if none does. That end counts no bytes, so the hub asks
 * it to read its figures. */
static enum end subject_end(const struct plan *plan)
{
    return plan_has_subject(plan) ? plan_second_end(plan) : END_COUNT;
}

/* The ends that must be ready for this release of `driver`; none if the end is no driver of the
 * plan. A subject that relays only reads its start figures: it needs no announced byte. */
static unsigned receivers_of(const struct plan *plan, enum release release, int driver)
{
    unsigned ends = 0;

    if (!plan_has_end(plan, (enum end)driver) || !plan->ends[driver].drives)
        return 0;
    for (int end = 0; end < END_COUNT; end++)
        if (end != driver && plan_has_end(plan, (enum end)end) && plan->ends[end].follows &&
            (release == RELEASE_GO || end != END_PROXY || subject_end(plan) != END_PROXY))
            ends |= 1u << end;
    return ends;
}

static void notify(struct coordinator *coordinator, enum end end, enum control_type type, json_t *body)
{
    if (coordinator->channels[end])
        channel_send(coordinator->channels[end], type, body);
    else
        json_decref(body);
}

static json_t *body_of_end(enum end end)
{
    return json_pack("{s:s}", "end", end_names[end]);
}

void coordinator_start(struct coordinator *coordinator)
{
    team_release(coordinator->team, other_ends(coordinator) ? RELEASE_START : RELEASE_GO);
}

/* ---- receivers are ready ---- */

/* `end` is ready for the release of `driver`. The hub releases the driver when all its receivers
 * are ready. */
static void note_ready(struct coordinator *coordinator, enum release release, int driver, enum end end)
{
    unsigned receivers = receivers_of(coordinator->team->plan, release, driver),
             *ready = &coordinator->ready[release][driver];

    *ready |= 1u << end;
    if (!(receivers & 1u << end) || (*ready & receivers) != receivers)
        return;
    if (driver == (int)coordinator->team->end)
        team_release(coordinator->team, release);
    else if (release == RELEASE_LAST)
        notify(coordinator, (enum end)driver, CONTROL_DRAINING, body_of_end((enum end)driver));
    else
        notify(coordinator, (enum end)driver, CONTROL_MARKED, NULL);
}

/* `end` has its start figures. A subject that relays reads its own when all other ends have theirs,
 * because no data is in flight then. */
static void note_marked(struct coordinator *coordinator, enum end end)
{
    const struct plan *plan = coordinator->team->plan;
    unsigned others = 0;

    if (!is_hub(coordinator)) {
        notify(coordinator, END_CLIENT, CONTROL_MARKED, NULL);
        return;
    }
    coordinator->marked |= 1u << end;
    for (int driver = 0; driver < END_COUNT; driver++)
        others |= receivers_of(plan, RELEASE_LAST, driver);
    if (subject_end(plan) == END_PROXY && coordinator->marked == others)
        notify(coordinator, END_PROXY, CONTROL_MARKED, NULL);
    for (int driver = 0; driver < END_COUNT; driver++)
        note_ready(coordinator, RELEASE_GO, driver, end);
}

/* Asks a subject to read its figures after these phases. note_marked() asks one that relays for its
 * start figures. */
static void ask_subject(struct coordinator *coordinator, enum phase passed)
{
    const struct team *team = coordinator->team;
    enum end end = subject_end(team->plan);
    bool begins = end == END_SERVER && passed == (team->plan->warmup_ns ? PHASE_WARM_UP : PHASE_START);

    if (is_hub(coordinator) && end != END_COUNT && (begins || (passed == PHASE_REPORT && !team->cancelled)))
        notify(coordinator, end, CONTROL_MARKED, NULL);
}

/* ---- the last byte of a driver ---- */

/* Announces the byte at which each connection will end, after `more` messages. */
static void announce(struct coordinator *coordinator, uint64_t more)
{
    const struct team *team = coordinator->team;
    CLEANUP_JSON json_t *bytes = json_array();

    for (size_t i = 0; i < team->connection_count; i++)
        json_array_append_new(bytes, json_integer((json_int_t)team_sent_bytes(team, i, more)));
    for (int end = 0; end < END_COUNT; end++)
        notify(coordinator, (enum end)end, CONTROL_DRAIN,
               json_pack("{s:s, s:O}", "end", end_names[team->end], "bytes", bytes));
}

static enum end driver_named_in(const struct coordinator *coordinator, const json_t *body)
{
    enum end end = end_parse(json_string_value(json_object_get(body, "end")));
    const struct plan *plan = coordinator->team->plan;

    return end < END_COUNT && plan_has_end(plan, end) && plan->ends[end].drives ? end : END_COUNT;
}

static int set_stops(struct coordinator *coordinator, enum end driver, const json_t *body)
{
    const json_t *bytes = json_object_get(body, "bytes"), *value;
    size_t i;

    if (json_array_size(bytes) != coordinator->team->plan->connections)
        return -1;
    json_array_foreach(bytes, i, value)
        team_set_stop(coordinator->team, driver, i, (uint64_t)json_integer_value(value));
    team_stops_set(coordinator->team);
    if (is_hub(coordinator))
        note_ready(coordinator, RELEASE_LAST, driver, END_CLIENT);
    else
        notify(coordinator, END_CLIENT, CONTROL_DRAINING, body_of_end(driver));
    return 0;
}

/* The client forwards the announcement of the server to a proxy. */
static int on_drain(struct coordinator *coordinator, enum end from, const json_t *body,
                    struct problem *problem)
{
    enum end driver = driver_named_in(coordinator, body);
    bool is_valid =
        driver != END_COUNT && driver != coordinator->team->end && coordinator->team->part != PART_DRIVER;

    if (is_valid && is_hub(coordinator)) {
        is_valid = driver == from;
        notify(coordinator, END_PROXY, CONTROL_DRAIN, json_deep_copy(body));
    }
    if (!is_valid || set_stops(coordinator, driver, body) < 0)
        return problem_failure(problem, "the %s sent a drain message that does not fit the plan",
                               end_names[from]);
    return 1;
}

static int on_draining(struct coordinator *coordinator, enum end from, const json_t *body,
                       struct problem *problem)
{
    enum end driver = driver_named_in(coordinator, body);

    if (driver == END_COUNT || (!is_hub(coordinator) && driver != coordinator->team->end))
        return problem_failure(problem, "the %s sent a draining message that does not fit the plan",
                               end_names[from]);
    if (is_hub(coordinator))
        note_ready(coordinator, RELEASE_LAST, driver, from);
    else
        team_release(coordinator->team, RELEASE_LAST);
    return 1;
}

/* ---- events ---- */

void coordinator_passed(struct coordinator *coordinator, enum phase phase)
{
    const struct team *team = coordinator->team;

    if (!other_ends(coordinator))
        return;
    if (phase == PHASE_START && !is_hub(coordinator)) {
        notify(coordinator, END_CLIENT, CONTROL_JOINED, NULL);
        coordinator_start(coordinator);
    }
    if (phase == PHASE_WARM_UP)
        announce(coordinator, 1);
    if (phase == PHASE_MARK)
        note_marked(coordinator, team->end);
    /* With reconnects, the close of a descriptor does not end the work: announces the last byte. */
    if (phase == PHASE_REPORT && team->part != PART_FOLLOWER && !team->cancelled &&
        team->plan->workload->reconnects)
        announce(coordinator, 0);
    ask_subject(coordinator, phase);
}

int coordinator_message(struct coordinator *coordinator, enum end from, enum control_type type,
                        const json_t *body, struct problem *problem)
{
    switch (type) {
    case CONTROL_JOINED:
        coordinator->joined |= 1u << from;
        if (coordinator->joined == other_ends(coordinator))
            coordinator_start(coordinator);
        return 1;
    case CONTROL_DRAIN:
        return on_drain(coordinator, from, body, problem);
    case CONTROL_DRAINING:
        return on_draining(coordinator, from, body, problem);
    case CONTROL_MARKED:
        if (is_hub(coordinator))
            note_marked(coordinator, from);
        else
            team_release(coordinator->team, RELEASE_GO);
        return 1;
    default:
        return 0;
    }
}
