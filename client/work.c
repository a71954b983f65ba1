/* SPDX-License-Identifier: MIT */
#include "work.h"

#include "base/hex.h"
#include "segments.h"
#include "support/support.h"

#include <string.h>

static int start_command(struct work *work, struct problem *problem)
{
    struct command_task task = {.plan = work->plan,
                                .definitions = work->client->options->locations[END_SERVER].subjects,
                                .address = &work->target,
                                .key = control_text(work->ready, "key"),
                                .server = work->hub.channels[END_SERVER],
                                .run = work->run};

    if (plan_cpus(work->plan, END_CLIENT, work->remote, &task.cpus, problem) < 0)
        return -1;
    work->command = command_open(&task, &work->client->loop, problem);
    return work->command ? 0 : -1;
}

/* ---- the team ---- */

static void on_passed(void *owner, enum phase passed)
{
    struct work *work = owner;
    const char *phase = "run";

    coordinator_passed(&work->coordinator, passed);
    if (passed != PHASE_REPORT)
        return;
    const struct problem *problem = team_problem(&work->team, &phase);

    run_work_ended(work->run, phase, problem);
}

static void on_closed(void *owner)
{
    run_part_closed(((struct work *)owner)->run);
}

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
    static const struct team_events events = {.passed = on_passed, .closed = on_closed};
    const struct client *client = work->client;
    const struct plan *plan = work->plan;
    struct team *team = &work->team;

    work->coordinator = (struct coordinator){.team = team, .hub = plan->has_server ? &work->hub : NULL};
    work->hub.own = &work->coordinator;
    if (team_open(team, &work->client->loop, plan, END_CLIENT, work->remote, &events, work, problem) < 0)
        return -1;
    team->target = work->target;
    team->candidates = work->peer_count > 1 ? work->peers : NULL;
    team->candidate_count = (size_t)work->peer_count;
    if (work->ready && take_secrets(work, problem) < 0)
        return -1;
    if (plan_captures(plan) &&
        !(work->capture = segments_watch(plan, &work->target, work->remote, client->options->pcap, problem)))
        return -1;
    if (team_start(team, problem) < 0)
        return -1;
    run_work_begun(work->run);
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
    return work->command ? command_message(work->command, type) : hub_message(&work->hub, from, type, body);
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

int work_report(const struct work *work, struct run_result *result, struct problem *problem)
{
    if (work->command) {
        command_report(work->command, result->parts);
        return 0;
    }
    if (check_chosen(work, problem) < 0)
        return -1;
    json_t *report = team_report(&work->team);

    json_object_set_new(result->parts, end_names[END_CLIENT], report);
    if (plan_has_peer(work->plan)) /* the address that accepted */
        address_format(result->addresses[END_SERVER], team_target(&work->team));
    if (!work->capture)
        return 0;
    return json_object_set_new(report, "capture", segments_report(work->capture, &work->team, problem));
}

void work_close(struct work *work)
{
    if (work->capture)
        capture_free(work->capture);
    if (team_is_open(&work->team))
        team_close(&work->team);
    else if (work->command)
        command_close(work->command);
    else
        run_part_closed(work->run);
}
