/* SPDX-License-Identifier: MIT */
#include "team/team.h"

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
    if (coordinator->is_hub)
        hub_message(coordinator, coordinator->team->end, type, stolen);
    else if (coordinator->channel)
        channel_send(coordinator->channel, type, json_incref(stolen));
}

/* Announces the byte at which each connection of a driver will end, after `more` messages. */
static void announce(struct coordinator *coordinator, uint64_t more)
{
    const struct team *team = coordinator->team;
    json_t *bytes = json_array();
    for (size_t i = 0; i < team->connection_count; i++) {
        const struct connection *connection = team_numbered(team, i);
        const struct role *role = connection->role;
        uint64_t added =
            role->bytes_of ? role->bytes_of(connection, more) : more * connection->outgoing->bytes;
        json_array_append_new(bytes, json_integer((json_int_t)(connection->queue.flushed_bytes + added)));
    }
    tell_hub(coordinator, CONTROL_DRAIN,
             json_pack("{s:s, s:o}", "end", end_names[team->end], "bytes", bytes));
}

int coordinator_message(struct coordinator *coordinator, enum control_type type, const json_t *body)
{
    struct team *team = coordinator->team;
    if (type == CONTROL_DRAINING && driver_named_in(team->plan, body) != team->end)
        return -1;
    if (type != CONTROL_DRAIN) {
        team_release(team, type == CONTROL_DRAINING ? RELEASE_LAST : RELEASE_GO);
        return 0;
    }
    enum end driver = driver_named_in(team->plan, body);
    const json_t *bytes = json_object_get(body, "bytes");
    if (driver == END_COUNT || driver == team->end || team->part == PART_DRIVER ||
        json_array_size(bytes) != team->plan->connections)
        return -1;
    team_set_stops(team, driver, bytes);
    tell_hub(coordinator, CONTROL_DRAINING, body_of_end(driver));
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
static void tell(struct coordinator *hub, enum end end, enum control_type type, json_t *body)
{
    CLEANUP_JSON json_t *stolen = body;
    if (end == hub->team->end)
        coordinator_message(hub, type, stolen);
    else if (hub->channels[end])
        channel_send(hub->channels[end], type, json_incref(stolen));
}

/* `end` is ready for the release of `driver`. */
static void note_ready(struct coordinator *hub, enum release release, enum end driver, enum end end)
{
    unsigned receivers = receivers_of(hub->team->plan, release, driver),
             *ready = &hub->ready[release][driver];
    *ready |= 1u << end;
    if (!(receivers & 1u << end) || (*ready & receivers) != receivers)
        return;
    if (release == RELEASE_LAST)
        tell(hub, driver, CONTROL_DRAINING, body_of_end(driver));
    else
        tell(hub, driver, CONTROL_MARKED, NULL);
}

int hub_message(struct coordinator *hub, enum end from, enum control_type type, const json_t *body)
{
    struct team *team = hub->team;
    const struct plan *plan = team->plan;
    unsigned others = 0, receivers = 0;
    enum end driver;

    switch (type) {
    case CONTROL_JOINED:
        for (enum end end = 0; end < END_COUNT; end++)
            others |= (hub->channels[end] ? 1u : 0) << end;
        hub->joined |= 1u << from;
        if ((hub->joined & others) == others)
            team_release(team, RELEASE_START);
        return 0;
    case CONTROL_MARKED:
        hub->marked |= 1u << from;
        for (enum end end = 0; end < END_COUNT; end++)
            receivers |= receivers_of(plan, RELEASE_LAST, end);
        /* A subject that relays reads its start figures when all other ends have theirs, because no
         * data is in flight then. */
        if (plan_is_subject(plan, END_PROXY) && hub->marked == receivers)
            tell(hub, END_PROXY, CONTROL_MARKED, NULL);
        for (enum end end = 0; end < END_COUNT; end++)
            note_ready(hub, RELEASE_GO, end, from);
        return 0;
    case CONTROL_DRAINING:
        driver = driver_named_in(plan, body);
        if (driver == END_COUNT)
            return -1;
        note_ready(hub, RELEASE_LAST, driver, from);
        return 0;
    default: /* CONTROL_DRAIN: forwards the announcement of a driver to all other ends */
        if (driver_named_in(plan, body) != from)
            return -1;
        for (enum end end = 0; end < END_COUNT; end++)
            if (end != from && end != team->end)
                tell(hub, end, CONTROL_DRAIN, json_deep_copy(body));
        return from == team->end ? 0 : coordinator_message(hub, CONTROL_DRAIN, body);
    }
}

/* ---- phases ---- */

void coordinator_passed(struct coordinator *coordinator, enum phase phase)
{
    const struct team *team = coordinator->team;
    const struct plan *plan = team->plan;
    if (!coordinator->is_hub && !coordinator->channel) /* there is no other end */
        return;
    if (phase == PHASE_START) {
        tell_hub(coordinator, CONTROL_JOINED, NULL);
        if (!coordinator->is_hub) /* which waits for the other ends */
            team_release(coordinator->team, RELEASE_START);
    }
    if (phase == PHASE_WARM_UP)
        announce(coordinator, 1);
    if (phase == PHASE_MARK)
        tell_hub(coordinator, CONTROL_MARKED, NULL);
    /* With reconnects, the close of a descriptor does not end the work: announces the last byte. */
    if (phase == PHASE_REPORT && team->part != PART_FOLLOWER && !team->cancelled &&
        plan->workload->reconnects)
        announce(coordinator, 0);
    /* A subject reads its figures now. hub_message() asks one that relays for its start figures. */
    enum end subject = plan_second_end(plan);
    bool begins = subject == END_SERVER && phase == (plan->warmup_ns ? PHASE_WARM_UP : PHASE_START);
    bool ends = phase == PHASE_REPORT && !team->cancelled;
    if (coordinator->is_hub && plan_has_subject(plan) && (begins || ends))
        tell(coordinator, subject, CONTROL_MARKED, NULL);
}
