/* SPDX-License-Identifier: MIT */
#include "work.h"

#include "base/bytes.h"
#include "segments.h"
#include "support/support.h"

#include <string.h>

static void on_closed(void *owner)
{
    const struct work *work = owner;

    work->events->closed(work->owner);
}

/* ---- the command ---- */

/* CONTROL_MARKED makes the server read the CPU time of the subject, around the timed run. */
static void on_command_done(void *owner, const struct problem *problem)
{
    struct work *work = owner;

    if (problem->kind != PROBLEM_NONE) {
        work->events->ended(work->owner, "run", problem);
        return;
    }
    if (work->is_timed)
        work->events->ended(work->owner, "run", NULL);
    channel_send(work->channels[END_SERVER], CONTROL_MARKED, NULL);
}

static void on_command_prepared(void *owner)
{
    const struct work *work = owner;

    work->events->begun(work->owner);
}

static int start_command(struct work *work, struct problem *problem)
{
    struct command_task task = {.plan = work->plan,
                                .definitions = work->options->locations[END_SERVER].subjects,
                                .address = &work->target,
                                .key = control_text(work->ready, "key"),
                                .prepared = on_command_prepared,
                                .done = on_command_done,
                                .closed = on_closed,
                                .owner = work};

    if (plan_cpus(work->plan, END_CLIENT, work->remote, &task.cpus, problem) < 0)
        return -1;
    work->command = command_open(&task, work->loop, problem);
    return work->command ? 0 : -1;
}

/* CONTROL_JOINED: the subject accepts connections. CONTROL_MARKED: its CPU time was read, so the
 * timed run begins. */
static int continue_command(struct work *work, enum control_type type)
{
    if (type == CONTROL_JOINED)
        return 0;
    if (type != CONTROL_MARKED || work->is_timed)
        return -1;
    work->is_timed = true;
    command_time(work->command);
    return 0;
}

/* ---- the team ---- */

static void on_passed(void *owner, enum phase passed)
{
    struct work *work = owner;
    const struct problem *problem;
    const char *phase = "run";

    coordinator_passed(&work->coordinator, passed);
    if (passed != PHASE_REPORT)
        return;
    problem = team_problem(&work->team, &phase);
    work->events->ended(work->owner, phase, problem);
}

static const struct team_events team_events = {.passed = on_passed, .closed = on_closed};

static int take_secrets(struct work *work, struct problem *problem)
{
    struct team *team = &work->team;
    enum end neighbour = plan_neighbour(work->plan, END_CLIENT);

    if (hex_parse(team->token, TOKEN_SIZE, control_text(work->ready, "token")) < 0 ||
        (work->plan->encrypts &&
         hex_parse(team->keys[neighbour], SECURITY_KEY_SIZE, control_text(work->ready, "key")) < 0))
        return problem_failure(problem, "the ready message of the %s has no valid token or key",
                               end_names[neighbour]);
    team->by_certificate =
        !strcmp(control_text(work->ready, "handshake"), handshake_names[HANDSHAKE_CERTIFICATE]);
    return 0;
}

/* Starts the capture first, then the threads, which make the connections. */
static int start_team(struct work *work, struct problem *problem)
{
    const struct plan *plan = work->plan;
    struct team *team = &work->team;

    work->coordinator = (struct coordinator){.team = team, .hub = plan->has_server ? &work->hub : NULL};
    work->hub = (struct hub){.own = &work->coordinator};
    memcpy(work->hub.channels, work->channels, sizeof work->channels);
    if (team_open(team, work->loop, plan, END_CLIENT, work->remote, &team_events, work, problem) < 0)
        return -1;
    team->target = work->target;
    team->candidates = work->peer_count > 1 ? work->peers : NULL;
    team->candidate_count = (size_t)work->peer_count;
    if (work->ready && take_secrets(work, problem) < 0)
        return -1;
    if (plan_captures(plan) &&
        !(work->capture = segments_watch(plan, &work->target, work->remote, work->options->pcap, problem)))
        return -1;
    if (team_start(team, problem) < 0)
        return -1;
    work->events->begun(work->owner);
    if (!plan->has_server)
        team_release(team, RELEASE_GO); /* there is no other end to wait for */
    return 0;
}

/* ---- both ---- */

void work_check(struct work *work)
{
    if (support_check(work->plan, END_CLIENT, false, &work->problem) < 0 || !plan_has_peer(work->plan))
        return;
    work->peer_count = address_find(work->peers, CONNECTOR_ADDRESSES_MAX, work->plan->peer, &work->problem);
    if (work->peer_count > 0) {
        work->target = work->peers[0];
        work->remote = !address_is_local(&work->target);
    }
}

int work_start(struct work *work, struct problem *problem)
{
    return work->plan->runs_command ? start_command(work, problem) : start_team(work, problem);
}

int work_message(struct work *work, enum end from, enum control_type type, const json_t *body)
{
    return work->command ? continue_command(work, type) : hub_message(&work->hub, from, type, body);
}

bool work_was_cancelled(const struct work *work)
{
    return team_is_open(&work->team) && work->team.by_control;
}

bool work_cancel(struct work *work, const char *phase, const struct problem *problem)
{
    if (team_is_open(&work->team))
        team_cancel(&work->team, phase, problem);
    return team_is_open(&work->team);
}

const char *work_phase(const struct work *work)
{
    return team_is_open(&work->team) ? team_phase(&work->team) : work->command ? "run" : "start";
}

/* The capture and the placement are those of the first address of a peer. */
static int check_chosen(const struct work *work, struct problem *problem)
{
    const struct address *chosen = team_target(&work->team);
    char text[ADDRESS_MAX];

    if (!atomic_load(&work->team.chosen) || (!work->capture && work->remote == !address_is_local(chosen)))
        return 0;
    address_format(text, chosen);
    return problem_failure(problem, "the name of the peer has several addresses: write peer=%s", text);
}

int work_report(struct work *work, struct run_result *result, struct problem *problem)
{
    json_t *report, *capture;

    if (work->command) {
        command_report(work->command, &result->load, &result->times);
        return 0;
    }
    if (check_chosen(work, problem) < 0)
        return -1;
    report = result->reports[END_CLIENT] = team_report(&work->team);
    if (plan_has_peer(work->plan)) /* the address that accepted */
        address_format(result->addresses[END_SERVER], team_target(&work->team));
    if (!work->capture)
        return 0;
    capture = segments_report(work->capture, &work->team, problem);
    return capture ? json_object_set_new(report, "capture", capture) : -1;
}

void work_close(struct work *work)
{
    if (team_is_open(&work->team))
        team_close(&work->team);
    else if (work->command)
        command_close(work->command);
    else
        on_closed(work);
}

void work_free(struct work *work)
{
    if (work->capture)
        capture_free(work->capture);
}
