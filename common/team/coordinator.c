/* SPDX-License-Identifier: MIT */
#include "team/coordinator.h"

#include "base/cleanup.h"

static enum end driver_named_in(const struct plan *plan, const json_t *body)
{
    enum end end = end_parse(json_string_value(json_object_get(body, "end")));
    return end < END_COUNT && plan_has_end(plan, end) && plan->ends[end].drives ? end : END_COUNT;
}

static json_t *body_of_end(enum end end)
{
    return json_pack("{s:s}", "end", end_names[end]);
}

/* ---- every end ---- */

/* Sends a message to the hub; steals `body`. */
static void tell_hub(struct coordinator *coordinator, enum control_type type, json_t *body)
{
    CLEANUP_JSON json_t *stolen = body;
    if (coordinator->hub)
        hub_message(coordinator->hub, coordinator->team->end, type, stolen);
    else if (coordinator->channel)
        channel_send(coordinator->channel, type, json_incref(stolen));
}

/* Announces the byte at which each connection will end, after `more` messages. */
static void announce(struct coordinator *coordinator, uint64_t more)
{
    const struct team *team = coordinator->team;
    json_t *bytes = json_array();
    for (size_t i = 0; i < team->connection_count; i++)
        json_array_append_new(bytes, json_integer((json_int_t)team_sent_bytes(team, i, more)));
    tell_hub(coordinator, CONTROL_DRAIN,
             json_pack("{s:s, s:o}", "end", end_names[team->end], "bytes", bytes));
}

static int set_stops(struct coordinator *coordinator, const json_t *body)
{
    struct team *team = coordinator->team;
    enum end driver = driver_named_in(team->plan, body);
    const json_t *bytes = json_object_get(body, "bytes"), *value;
    size_t i;

    if (driver == END_COUNT || driver == team->end || team->part == PART_DRIVER ||
        json_array_size(bytes) != team->plan->connections)
        return -1;
    json_array_foreach(bytes, i, value)
        team_set_stop(team, driver, i, (uint64_t)json_integer_value(value));
    team_stops_set(team);
    tell_hub(coordinator, CONTROL_DRAINING, body_of_end(driver));
    return 0;
}

int coordinator_message(struct coordinator *coordinator, enum control_type type, const json_t *body)
{
    if (type == CONTROL_DRAIN)
        return set_stops(coordinator, body);
    if (type == CONTROL_DRAINING && driver_named_in(coordinator->team->plan, body) != coordinator->team->end)
        return -1;
    team_release(coordinator->team, type == CONTROL_DRAINING ? RELEASE_LAST : RELEASE_GO);
    return 0;
}

/* ---- the hub ---- */

/* The ends that must be ready for this release of `driver`; none if the end is no driver of the
 * plan. A subject that relays only reads its start figures: it needs no announced byte. */
static unsigned receivers_of(const struct plan *plan, enum release release, enum end driver)
{
    unsigned ends = 0;
    if (!plan_has_end(plan, driver) || !plan->ends[driver].drives)
        return 0;
    for (enum end end = 0; end < END_COUNT; end++)
        if (end != driver && plan_has_end(plan, end) && plan->ends[end].follows &&
            (release == RELEASE_GO || end != END_PROXY || !plan_is_subject(plan, END_PROXY)))
            ends |= 1u << end;
    return ends;
}

/* Sends a message to an end; steals `body`. */
static void tell(struct hub *hub, enum end end, enum control_type type, json_t *body)
{
    CLEANUP_JSON json_t *stolen = body;
    if (end == hub->own->team->end)
        coordinator_message(hub->own, type, stolen);
    else if (hub->channels[end])
        channel_send(hub->channels[end], type, json_incref(stolen));
}

static void note_joined(struct hub *hub, enum end end)
{
    unsigned others = 0;
    for (enum end other = 0; other < END_COUNT; other++)
        if (hub->channels[other])
            others |= 1u << other;
    hub->joined |= 1u << end;
    if ((hub->joined & others) == others)
        team_release(hub->own->team, RELEASE_START);
}

/* `end` is ready for the release of `driver`. */
static void note_ready(struct hub *hub, enum release release, enum end driver, enum end end)
{
    unsigned receivers = receivers_of(hub->own->team->plan, release, driver),
             *ready = &hub->ready[release][driver];
    *ready |= 1u << end;
    if (!(receivers & 1u << end) || (*ready & receivers) != receivers)
        return;
    if (release == RELEASE_LAST)
        tell(hub, driver, CONTROL_DRAINING, body_of_end(driver));
    else
        tell(hub, driver, CONTROL_MARKED, NULL);
}

/* `end` has its start figures. A subject that relays reads its own when all other ends have theirs,
 * because no data is in flight then. */
static void note_marked(struct hub *hub, enum end end)
{
    const struct plan *plan = hub->own->team->plan;
    unsigned others = 0;
    hub->marked |= 1u << end;
    for (enum end driver = 0; driver < END_COUNT; driver++)
        others |= receivers_of(plan, RELEASE_LAST, driver);
    if (plan_is_subject(plan, END_PROXY) && hub->marked == others)
        tell(hub, END_PROXY, CONTROL_MARKED, NULL);
    for (enum end driver = 0; driver < END_COUNT; driver++)
        note_ready(hub, RELEASE_GO, driver, end);
}

/* Forwards the announcement of a driver to all other ends. */
static int forward_drain(struct hub *hub, enum end from, const json_t *body)
{
    const struct team *team = hub->own->team;
    if (driver_named_in(team->plan, body) != from)
        return -1;
    for (enum end end = 0; end < END_COUNT; end++)
        if (end != from && end != team->end)
            tell(hub, end, CONTROL_DRAIN, json_deep_copy(body));
    return from == team->end ? 0 : coordinator_message(hub->own, CONTROL_DRAIN, body);
}

int hub_message(struct hub *hub, enum end from, enum control_type type, const json_t *body)
{
    if (type == CONTROL_DRAIN)
        return forward_drain(hub, from, body);
    if (type == CONTROL_JOINED) {
        note_joined(hub, from);
    } else if (type == CONTROL_MARKED) {
        note_marked(hub, from);
    } else { /* CONTROL_DRAINING */
        enum end driver = driver_named_in(hub->own->team->plan, body);
        if (driver == END_COUNT)
            return -1;
        note_ready(hub, RELEASE_LAST, driver, from);
    }
    return 0;
}

/* Asks a subject to read its figures after these phases. note_marked() asks one that relays for its
 * start figures. */
static void ask_subject(struct hub *hub, enum phase passed)
{
    const struct team *team = hub->own->team;
    enum end end = plan_second_end(team->plan);
    bool begins = end == END_SERVER && passed == (team->plan->warmup_ns ? PHASE_WARM_UP : PHASE_START);
    bool ends = passed == PHASE_REPORT && !team->cancelled;
    if (plan_has_subject(team->plan) && (begins || ends))
        tell(hub, end, CONTROL_MARKED, NULL);
}

/* ---- phases ---- */

void coordinator_passed(struct coordinator *coordinator, enum phase phase)
{
    const struct team *team = coordinator->team;
    if (!coordinator->hub && !coordinator->channel) /* there is no other end */
        return;
    if (phase == PHASE_START) {
        tell_hub(coordinator, CONTROL_JOINED, NULL);
        if (!coordinator->hub) /* which waits for the other ends */
            team_release(coordinator->team, RELEASE_START);
    }
    if (phase == PHASE_WARM_UP)
        announce(coordinator, 1);
    if (phase == PHASE_MARK)
        tell_hub(coordinator, CONTROL_MARKED, NULL);
    /* With reconnects, the close of a descriptor does not end the work: announces the last byte. */
    if (phase == PHASE_REPORT && team->part != PART_FOLLOWER && !team->cancelled &&
        team->plan->workload->reconnects)
        announce(coordinator, 0);
    if (coordinator->hub)
        ask_subject(coordinator->hub, phase);
}
