/* SPDX-License-Identifier: MIT */
#include "base/bytes.h"
#include "base/cleanup.h"
#include "capture/capture.h"
#include "command.h"
#include "connection/workload.h"
#include "run.h"
#include "support/support.h"

#include <string.h>

/* ---- the capture ---- */

/* The last CPU of this machine without a data thread. -1: none, so the scheduler chooses. */
static int spare_cpu(const struct plan *plan, bool remote)
{
    bool taken[CORES_CPUS_MAX] = {false};
    struct problem ignored = {0};
    struct cores cores;

    if (cores_read(&cores) < 0)
        return -1;
    for (enum end end = 0; end < END_COUNT; end++) {
        bool is_here = plan_has_end(plan, end) && (!remote || end == END_CLIENT);
        struct place_list list;

        if (is_here && plan_cpus(plan, end, remote, &list, &ignored) == 0)
            for (size_t i = 0; i < list.count; i++)
                taken[list.cpus[i]] = true;
    }
    for (int i = cores.cpu_count - 1; i >= 0; i--)
        if (!taken[cores.cpus[i]])
            return cores.cpus[i];
    return -1;
}

/* Sets the beginning of the measured interval of each connection. With reconnects, it begins after
 * the connections of the warm-up: the server reports the last message of all these connections
 * before a thread continues. */
static int set_beginnings(const struct team *team, struct tally *tally, struct problem *problem)
{
    bool reconnects = team->plan->workload->reconnects;
    struct address local;
    uint64_t sockets = 0;

    for (size_t i = 0; i < team->worker_count; i++) {
        const struct worker *worker = &team->workers[i];
        sockets += worker->before.calls.made[CALL_SOCKET]; /* a ring connects without one */
        for (size_t j = 0; !reconnects && j < worker->count; j++) {
            const struct tcp_reading *before = &worker->before.tcp[j];
            if (!before->knows_streams)
                return problem_unsupported(problem, "capture=on: TCP_INFO of this system does not report "
                                                    "sent bytes, as Linux does since 4.19");
            if (address_of_socket(&local, worker->connections[j].calls.fd) < 0)
                return problem_failure(problem, "capture: cannot read the port of a connection");
            tally_begin_at(tally, (uint16_t)address_port(&local), before->sent_bytes, before->received_bytes);
        }
    }
    if (reconnects)
        tally_begin_after(tally, sockets);
    return 0;
}

/* Stops the capture, writes its file and returns the `capture` object of the client
 * (docs/record.md). New reference, NULL with a problem. */
static json_t *report_capture(const struct run *run, struct problem *problem)
{
    CLEANUP_JSON json_t *report = capture_stop(run->capture, problem);
    /* the ways with a close_notify: with reconnects only the client sends one */
    unsigned ways = 1u << WAY_SENT | (run->plan->workload->reconnects ? 0 : 1u << WAY_RECEIVED);
    struct endpoint server;
    struct segment segment;

    if (!report)
        return NULL;
    endpoint_of(&server, &run->target);
    struct tally *tally = tally_create(&server, run->plan->encrypts ? ways : 0);
    int result = set_beginnings(&run->team, tally, problem);
    while (result == 0 && capture_next(run->capture, &segment))
        tally_add(tally, &segment);
    json_object_set_new(report, "sent", tally_to_json(tally, WAY_SENT));
    json_object_set_new(report, "received", tally_to_json(tally, WAY_RECEIVED));
    tally_free(tally);
    return result == 0 && capture_write(run->capture, problem) == 0 ? json_incref(report) : NULL;
}

/* ---- team or command ---- */

static void on_passed(void *owner, enum phase passed)
{
    struct run *run = owner;
    const char *phase = "run";
    coordinator_passed(&run->coordinator, passed);
    if (passed != PHASE_REPORT)
        return;
    const struct problem *problem = team_problem(&run->team, &phase);
    run_work_ended(run, phase, problem);
}

void work_check(uv_work_t *check)
{
    struct run *run = check->data;
    if (support_check(run->plan, END_CLIENT, false, &run->check_problem) < 0 || !plan_has_peer(run->plan))
        return;
    run->peer_count = address_find(run->peers, CONNECTOR_ADDRESSES_MAX, run->plan->peer, &run->check_problem);
    if (run->peer_count > 0) {
        run->target = run->peers[0];
        run->remote = !address_is_local(&run->target);
    }
}

/* Starts the capture first, then the threads, which make the connections. */
int work_start(struct run *run, struct problem *problem)
{
    static const struct team_events events = {.passed = on_passed, .closed = run_part_closed};
    const char *pcap = run->client->options->pcap;
    const struct plan *plan = run->plan;
    enum end neighbour = plan_neighbour(plan, END_CLIENT);
    struct team *team = &run->team;

    if (plan->runs_command) {
        session_enter(&run->session, SESSION_STARTING);
        run->command = command_open(run, problem);
        return run->command ? 0 : -1;
    }
    run->coordinator.team = team;
    run->coordinator.is_hub = plan->has_server;
    if (team_open(team, &run->client->loop, plan, END_CLIENT, run->remote, &events, run, problem) < 0)
        return -1;
    team->target = run->target;
    team->candidates = run->peer_count > 1 ? run->peers : NULL;
    team->candidate_count = (size_t)run->peer_count;
    if (run->ready) {
        if (hex_parse(team->token, TOKEN_SIZE, control_text(run->ready, "token")) < 0 ||
            (plan->encrypts &&
             hex_parse(team->keys[neighbour], SECURITY_KEY_SIZE, control_text(run->ready, "key")) < 0))
            return problem_failure(problem, "the ready message of the %s has no valid token or key",
                                   end_names[neighbour]);
        team->by_certificate =
            !strcmp(control_text(run->ready, "handshake"), handshake_names[HANDSHAKE_CERTIFICATE]);
    }
    if ((plan_captures(plan) &&
         !(run->capture = capture_start(&run->target, spare_cpu(plan, run->remote), pcap, problem))) ||
        team_start(team, problem) < 0)
        return -1;
    session_enter(&run->session, SESSION_RUNNING);
    if (!plan->has_server)
        team_release(team, RELEASE_GO); /* there is no other end to wait for */
    return 0;
}

int work_message(struct run *run, enum end from, enum control_type type, const json_t *body,
                 struct problem *problem)
{
    const struct link *server = &run->links[END_SERVER];

    /* a subject that relays starts when it knows the sink, and JOINED says that it accepts */
    if (run->session.state == SESSION_AGREEING) {
        if (!plan_is_subject(run->plan, from) || from != END_PROXY || !server->is_open || server->is_asked)
            return -1;
        if (work_start(run, problem) < 0)
            return 0;
    }
    return run->command ? command_message(run->command, type)
                        : hub_message(&run->coordinator, from, type, body);
}

int work_report(struct run *run, struct problem *problem)
{
    const struct address *target = team_target(&run->team);
    bool is_misplaced = run->remote == address_is_local(target); /* placed for the other kind of end */

    if (run->command) {
        command_report(run->command, run->result.parts);
        return 0;
    }
    /* the capture and the placement are those of the first address of a peer */
    if (atomic_load(&run->team.chosen) && (run->capture || is_misplaced))
        return problem_failure(problem, "the name of the peer has several addresses: write peer=%s",
                               address_text(target));
    json_t *report = team_report(&run->team);
    json_object_set_new(run->result.parts, end_names[END_CLIENT], report);
    if (plan_has_peer(run->plan)) /* the address that accepted */
        address_format(run->result.addresses[END_SERVER], target);
    if (!run->capture)
        return 0;
    return json_object_set_new(report, "capture", report_capture(run, problem));
}

void work_close(struct run *run)
{
    if (team_is_open(&run->team))
        team_close(&run->team);
    else if (run->command)
        command_close(run->command);
    else
        run_part_closed(run);
}
