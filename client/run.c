/* SPDX-License-Identifier: MIT */
#include "run.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/version.h"
#include "command.h"
#include "link.h"
#include "measure/facts.h"
#include "record.h"
#include "segments.h"
#include "support/support.h"
#include "team/coordinator.h"
#include "team/session.h"
#include "transport/transport.h"
#include "words/parse.h"

#include <stdio.h>
#include <string.h>

struct run {
    struct client *client;
    const struct plan *plan;
    struct session session;
    struct link links[END_COUNT]; /* by end; links[END_CLIENT] is unused */
    uv_work_t check;
    struct problem check_problem;
    struct address target;                         /* of the data connections */
    struct address peers[CONNECTOR_ADDRESSES_MAX]; /* a foreign peer: all addresses of its name */
    int peer_count;
    json_t *ready; /* CONTROL_READY of the end that has their token; NULL: not yet */
    struct team team;
    struct coordinator coordinator;
    struct hub hub;
    struct command *command; /* in place of the team; NULL: not yet */
    struct capture *capture; /* NULL: no capture */
    bool remote;             /* the other end of the data connections is on another machine */
    bool wants_facts;        /* in place of a run */
    bool is_timed;           /* the timed run of the command has begun */
    int open_parts;          /* timer, links, check, team, command */
    json_t *facts;           /* of all ends; NULL: not yet */
    struct run_result result;
};

static bool has_team(const struct run *run)
{
    return run->team.events != NULL;
}

/* ---- the end ---- */

static void part_closed(void *owner)
{
    struct run *run = owner;

    run->open_parts--;
}

static void close_run(struct run *run)
{
    if (run->session.state == SESSION_CLOSING)
        return;
    session_enter(&run->session, SESSION_CLOSING);
    if (has_team(run))
        team_close(&run->team);
    if (run->command)
        command_close(run->command);
    for (int end = 0; end < END_COUNT; end++)
        link_close(&run->links[end]);
    session_close(&run->session);
}

static void send_failure(struct run *run)
{
    for (int end = 0; end < END_COUNT; end++)
        if (run->links[end].is_open)
            channel_send_problem(&run->links[end].channel, run->result.phase, &run->result.problem);
}

/* Keeps the first problem. */
static void note_problem(struct run *run, const char *phase, const struct problem *problem)
{
    if (run->result.problem.kind != PROBLEM_NONE)
        return;
    run->result.problem = *problem;
    snprintf(run->result.phase, sizeof run->result.phase, "%s", phase);
}

/* Another end has failed or left, or a step of this end. If the team works, it ends first: then
 * fail_in_run() follows. */
static void fail(struct run *run, const char *phase, const struct problem *problem)
{
    if (run->session.state == SESSION_EXPLAINING)
        problem_add(&run->result.problem, problem->text);
    note_problem(run, phase, problem);
    if (run->session.state == SESSION_RUNNING && has_team(run))
        team_cancel(&run->team, phase, problem);
    else
        close_run(run);
}

/* The team or the command has failed. With a proxy, the failure of another connection may have broken
 * this one. So the client first waits for a reason from another end, then sends its own failure. The
 * server of a subject gets the failure at once, and then looks for a reason. */
static void fail_in_run(struct run *run, const char *phase, const struct problem *problem)
{
    bool is_first = run->result.problem.kind == PROBLEM_NONE;

    note_problem(run, phase, problem);
    if (is_first && (plan_has_proxy(run->plan) || plan_has_subject(run->plan))) {
        if (plan_has_subject(run->plan))
            send_failure(run);
        session_enter(&run->session, SESSION_EXPLAINING);
        return;
    }
    send_failure(run);
    close_run(run);
}

/* The first end without an answer; NULL: all have answered. */
static struct link *find_pending(struct run *run)
{
    for (int end = 0; end < END_COUNT; end++)
        if (run->links[end].is_open && !run->links[end].answer)
            return &run->links[end];
    return NULL;
}

static void on_timed_out(void *owner)
{
    struct run *run = owner;
    struct problem problem = {0};

    if (run->session.state == SESSION_EXPLAINING) {
        send_failure(run);
        close_run(run);
        return;
    }
    problem_failure(&problem, "the %s did not report within %d s", end_names[find_pending(run)->end],
                    (int)(session_limit_ms(SESSION_REPORTING, true, run->plan) / 1000));
    fail(run, "report", &problem);
}

static int make_reports(struct run *run, struct problem *problem)
{
    json_t **reports = run->result.reports, *capture;

    if (run->command)
        command_report(run->command, &run->result.load, &run->result.times);
    else
        reports[END_CLIENT] = team_report(&run->team);
    for (int end = END_CLIENT + 1; end < END_COUNT; end++)
        reports[end] = json_incref(run->links[end].answer);
    if (plan_has_peer(run->plan)) /* the address that accepted */
        address_format(run->result.addresses[END_SERVER], team_target(&run->team));
    if (plan_has_subject(run->plan)) {
        run->result.subject = reports[plan_second_end(run->plan)];
        reports[plan_second_end(run->plan)] = NULL;
    }
    if (reports[END_SERVER] && record_check(&run->result, problem) < 0)
        return -1;
    if (!run->capture)
        return 0;
    capture = segments_report(run->capture, &run->team, problem);
    return capture ? json_object_set_new(reports[END_CLIENT], "capture", capture) : -1;
}

static json_t *make_facts(struct run *run)
{
    const struct link *links = run->links;

    return json_pack("{s:o, s:O*, s:O*}", "client", facts_collect(&links[plan_second_end(run->plan)].address),
                     end_names[END_SERVER], links[END_SERVER].answer, end_names[END_PROXY],
                     links[END_PROXY].answer);
}

static void finish_if_answered(struct run *run)
{
    struct problem problem = {0};

    if (find_pending(run) || run->session.state == SESSION_RUNNING)
        return;
    if (run->session.state == SESSION_ANSWERING)
        run->facts = make_facts(run);
    else if (make_reports(run, &problem) < 0)
        note_problem(run, "report", &problem);
    close_run(run);
}

/* ---- the command ---- */

/* CONTROL_MARKED makes the server read the CPU time of the subject, around the timed run. */
static void on_command_done(void *owner, const struct problem *problem)
{
    struct run *run = owner;

    if (problem->kind != PROBLEM_NONE) {
        if (run->session.state == SESSION_RUNNING)
            fail_in_run(run, "run", problem);
        else
            fail(run, "start", problem);
        return;
    }
    if (run->is_timed)
        session_enter(&run->session, SESSION_REPORTING);
    channel_send(&run->links[END_SERVER].channel, CONTROL_MARKED, NULL);
}

static void on_command_prepared(void *owner)
{
    session_enter(&((struct run *)owner)->session, SESSION_RUNNING);
}

static int start_command(struct run *run, struct problem *problem)
{
    struct command_task task = {.plan = run->plan,
                                .definitions = run->client->options->locations[END_SERVER].subjects,
                                .address = &run->target,
                                .key = control_text(run->ready, "key"),
                                .prepared = on_command_prepared,
                                .done = on_command_done,
                                .closed = part_closed,
                                .owner = run};

    if (plan_cpus(run->plan, END_CLIENT, run->remote, &task.cpus, problem) < 0 ||
        !(run->command = command_open(&task, &run->client->loop, problem)))
        return -1;
    run->open_parts++;
    session_enter(&run->session, SESSION_STARTING);
    return 0;
}

/* CONTROL_JOINED: the subject accepts connections. CONTROL_MARKED: its CPU time was read, so the
 * timed run begins. -1: the message does not belong here. */
static int continue_command(struct run *run, enum control_type type)
{
    if (type == CONTROL_JOINED)
        return 0;
    if (type != CONTROL_MARKED || run->is_timed)
        return -1;
    run->is_timed = true;
    command_time(run->command);
    return 0;
}

/* ---- the team ---- */

static void on_passed(void *owner, enum phase passed)
{
    struct run *run = owner;
    const struct problem *problem;
    const char *phase = "run";

    coordinator_passed(&run->coordinator, passed);
    if (passed != PHASE_REPORT)
        return;
    if ((problem = team_problem(&run->team, &phase))) {
        fail_in_run(run, phase, problem);
        return;
    }
    session_enter(&run->session, SESSION_REPORTING);
    finish_if_answered(run);
}

static const struct team_events team_events = {.passed = on_passed, .closed = part_closed};

static int take_secrets(struct run *run, struct problem *problem)
{
    struct team *team = &run->team;
    enum end neighbour = plan_neighbour(run->plan, END_CLIENT);

    if (hex_parse(team->token, TOKEN_SIZE, control_text(run->ready, "token")) < 0 ||
        (run->plan->encrypts &&
         hex_parse(team->keys[neighbour], SECURITY_KEY_SIZE, control_text(run->ready, "key")) < 0))
        return problem_failure(problem, "the ready message of the %s has no valid token or key",
                               end_names[neighbour]);
    team->by_certificate =
        !strcmp(control_text(run->ready, "handshake"), handshake_names[HANDSHAKE_CERTIFICATE]);
    return 0;
}

/* Starts the capture first, then the threads, which make the connections. */
static int start_team(struct run *run, struct problem *problem)
{
    const struct plan *plan = run->plan;
    struct team *team = &run->team;

    run->open_parts++;
    run->coordinator = (struct coordinator){.team = team, .hub = plan->has_server ? &run->hub : NULL};
    run->hub = (struct hub){.own = &run->coordinator};
    for (int end = 0; end < END_COUNT; end++)
        if (run->links[end].is_open)
            run->hub.channels[end] = &run->links[end].channel;
    if (team_open(team, &run->client->loop, plan, END_CLIENT, run->remote, &team_events, run, problem) < 0)
        return -1;
    team->target = run->target;
    team->candidates = run->peer_count > 1 ? run->peers : NULL;
    team->candidate_count = (size_t)run->peer_count;
    if (run->ready && take_secrets(run, problem) < 0)
        return -1;
    if (plan_captures(plan) && !(run->capture = segments_watch(plan, &run->target, run->remote,
                                                               run->client->options->pcap, problem)))
        return -1;
    if (team_start(team, problem) < 0)
        return -1;
    session_enter(&run->session, SESSION_RUNNING);
    if (!plan->has_server)
        team_release(team, RELEASE_GO); /* there is no other end to wait for */
    return 0;
}

/* ---- connecting to the ends ---- */

static const struct link_events link_events;

static void open_link(struct run *run, enum end end)
{
    struct client *client = run->client;
    struct link *link = &run->links[end];

    *link = (struct link){.end = end,
                          .plan = run->plan,
                          .options = client->options,
                          .own = &client->own[end],
                          .name = run->result.addresses[end],
                          .events = &link_events,
                          .owner = run};
    run->open_parts++;
    link_open(link, &client->loop);
}

/* Connects to the end that gets its plan next. */
static void connect_to(struct run *run, enum end end)
{
    session_enter(&run->session, SESSION_CONNECTING);
    open_link(run, end);
}

/* The server gets the host id of its neighbour, which is the proxy or this client. */
static void send_plan(struct run *run, struct link *link)
{
    const char *host = link->end == END_SERVER && plan_has_proxy(run->plan) ? control_text(run->ready, "host")
                                                                            : facts_host_id();
    CLEANUP_JSON json_t *words = plan_words(run->plan);
    json_t *list = json_array(), *value;
    const char *key;

    json_object_foreach(words, key, value)
        if (strcmp(key, "server") != 0 && strcmp(key, "via") != 0) /* the ends know the addresses */
            json_array_append_new(list, json_sprintf("%s=%s", key, json_string_value(value)));
    link->is_asked = true;
    session_enter(&run->session, SESSION_AGREEING);
    channel_send(&link->channel, CONTROL_PLAN,
                 json_pack("{s:s, s:s, s:s, s:o}", "version", UNCORK_VERSION, "end", end_names[link->end],
                           "host", host, "words", list));
}

/* Asks for facts when all links are open: an early answer must not look like the last one. */
static void ask_for_facts(struct run *run)
{
    for (enum end end = END_CLIENT + 1; end < END_COUNT; end++)
        if (plan_has_end(run->plan, end) && !run->links[end].is_open) {
            if (!run->links[end].open_parts)
                open_link(run, end);
            return;
        }
    session_enter(&run->session, SESSION_ANSWERING);
    for (enum end end = END_CLIENT + 1; end < END_COUNT; end++)
        if (run->links[end].is_open)
            channel_send(&run->links[end].channel, CONTROL_ASK,
                         json_pack("{s:s}", "version", UNCORK_VERSION));
}

static void on_link_opened(struct link *link)
{
    struct run *run = link->owner;

    if (run->wants_facts)
        ask_for_facts(run);
    else
        send_plan(run, link);
}

static void on_link_failed(struct link *link, const struct problem *problem)
{
    fail(link->owner, "start", problem);
}

static void on_link_closed(struct link *link)
{
    part_closed(link->owner);
}

/* Gets the address of the data connections. The end chooses port or path, but not the machine. */
static int find_data(const struct link *link, struct address *data, const json_t *ready,
                     struct problem *problem)
{
    const struct transport *transport = link->plan->transport;
    const char *name = transport->variant.name, *end = end_names[link->end];

    switch (transport->data_target(data, &link->address, json_integer_value(json_object_get(ready, "port")),
                                   control_text(ready, "path"))) {
    case 0:
        return 0;
    case -EPERM:
        return problem_failure(problem, "transport=%s needs a %s at unix:PATH or on loopback, not at %s",
                               name, end, link->name);
    default:
        return problem_failure(
            problem, "the ready message of the %s has no valid port or path for transport=%s", end, name);
    }
}

static int send_sink(const struct run *run, struct channel *proxy, const struct address *data,
                     const json_t *ready, struct problem *problem)
{
    bool trusts = !plan_has_subject(run->plan); /* a subject relays bytes that it cannot decrypt */
    char address[ADDRESS_MAX];

    if (trusts && run->plan->encrypts && !channel_is_private(proxy))
        return problem_usage(problem, "the key of the server may not cross the control channel of the proxy, "
                                      "which others can read; give --psk FILE to all ends");
    address_format(address, data);
    channel_send(proxy, CONTROL_SINK,
                 json_pack("{s:s, s:s, s:s, s:O}", "address", address, "token",
                           trusts ? control_text(ready, "token") : "", "key",
                           trusts ? control_text(ready, "key") : "", "host", json_object_get(ready, "host")));
    return 0;
}

/* The end with the data connections of the client is ready, and so are all behind it. */
static int start(struct run *run, struct problem *problem)
{
    return run->plan->runs_command ? start_command(run, problem) : start_team(run, problem);
}

/* Whether a subject relays: it starts when it knows the sink, and JOINED says that it accepts. */
static bool awaits_relay(const struct run *run)
{
    return plan_has_subject(run->plan) && run->plan->relays;
}

/* The proxy gets its plan first, because a client that waits for the proxy must not block a server.
 * Then the server gets its plan, and the proxy the address of the server. */
static int take_ready(struct run *run, struct link *link, const json_t *body, struct problem *problem)
{
    struct link *proxy = &run->links[END_PROXY];
    struct address data;

    if (!link->is_asked)
        return problem_failure(problem, "the %s sent its ready message twice", end_names[link->end]);
    link->is_asked = false;
    if (find_data(link, &data, body, problem) < 0)
        return -1;
    if (link->end == plan_second_end(run->plan)) {
        run->target = data;
        run->remote = strcmp(control_text(body, "host"), facts_host_id()) != 0;
    }
    if (!run->ready || link->end == plan_neighbour(run->plan, END_CLIENT)) {
        json_decref(run->ready);
        run->ready = json_deep_copy(body);
    }
    if (link->end == END_PROXY) {
        connect_to(run, END_SERVER);
        return 0;
    }
    if (proxy->is_open && send_sink(run, &proxy->channel, &data, body, problem) < 0)
        return -1;
    return awaits_relay(run) ? 0 : start(run, problem);
}

/* ---- messages ---- */

static int take_answer(struct run *run, struct link *link, const json_t *body, struct problem *problem)
{
    if (link->answer)
        return problem_failure(problem, "the %s reported twice", end_names[link->end]);
    link->answer = json_incref(json_object_get(body, "value"));
    finish_if_answered(run);
    return 0;
}

/* -1: the message does not belong here. */
static int take_phase(struct run *run, const struct link *link, enum control_type type, const json_t *body,
                      struct problem *problem)
{
    if (run->command)
        return continue_command(run, type);
    if (run->session.state == SESSION_AGREEING) {
        const struct link *server = &run->links[END_SERVER];

        if (!awaits_relay(run) || link->end != END_PROXY || !server->is_open || server->is_asked)
            return -1;
        if (start(run, problem) < 0)
            return 0;
    }
    return hub_message(&run->hub, link->end, type, body);
}

static void on_message(struct link *link, enum control_type type, const json_t *body)
{
    struct run *run = link->owner;
    struct problem problem = {0};
    const char *phase = "run";

    if (!session_accepts(&run->session, type)) {
        problem_failure(&problem, "the %s sent a message that does not belong here", end_names[link->end]);
        fail(run, phase, &problem);
        return;
    }
    switch (type) {
    case CONTROL_WAIT:
        fprintf(stderr, "uncork-client: the %s is busy with another session; waiting\n",
                end_names[link->end]);
        break;
    case CONTROL_READY:
        phase = "connect";
        take_ready(run, link, body, &problem);
        break;
    case CONTROL_REFUSED:
    case CONTROL_FAILED:
        phase = type == CONTROL_REFUSED ? "start" : control_text(body, "phase");
        problem_of_kind(&problem, problem_kind_parse(control_text(body, "kind")), "%s",
                        control_text(body, "text"));
        break;
    case CONTROL_REPORT:
    case CONTROL_FACTS:
        phase = "report";
        take_answer(run, link, body, &problem);
        break;
    default:
        if (take_phase(run, link, type, body, &problem) < 0)
            problem_failure(&problem, "the %s sent a message that does not belong here",
                            end_names[link->end]);
    }
    if (problem.kind != PROBLEM_NONE)
        fail(run, phase, &problem);
}

static void on_link_ended(struct link *link, const char *why)
{
    struct run *run = link->owner;
    struct problem problem = {0};

    problem_failure(&problem, "the %s %s %s", end_names[link->end], link->name, why);
    fail(run, has_team(run) ? team_phase(&run->team) : "start", &problem);
}

static const struct link_events link_events = {.opened = on_link_opened,
                                               .failed = on_link_failed,
                                               .message = on_message,
                                               .ended = on_link_ended,
                                               .closed = on_link_closed};

/* ---- the beginning ---- */

/* In a thread: probes this machine, and finds the address of a foreign peer. */
static void check(uv_work_t *work)
{
    struct run *run = work->data;
    struct problem *problem = &run->check_problem;

    if (support_check(run->plan, END_CLIENT, false, problem) == 0 && plan_has_peer(run->plan))
        run->peer_count = address_find(run->peers, CONNECTOR_ADDRESSES_MAX, run->plan->peer, problem);
}

static void on_checked(uv_work_t *work, int status)
{
    struct run *run = work->data;
    struct problem problem = run->check_problem;

    (void)status;
    part_closed(run);
    if (run->session.state == SESSION_CLOSING)
        return;
    if (problem.kind == PROBLEM_NONE && run->plan->has_server) {
        connect_to(run, plan_second_end(run->plan));
        return;
    }
    if (problem.kind == PROBLEM_NONE && plan_has_peer(run->plan)) {
        run->target = run->peers[0];
        address_format(run->result.addresses[END_SERVER], &run->target);
        run->remote = !address_is_local(&run->target);
    }
    if (problem.kind != PROBLEM_NONE || start_team(run, &problem) < 0)
        fail(run, "start", &problem);
}

static void begin_check(struct run *run)
{
    session_open(&run->session, &run->client->loop, SESSION_CHECKING);
    run->check.data = run;
    run->open_parts++;
    uv_queue_work(&run->client->loop, &run->check, check, on_checked);
}

/* Turns the loop until all parts of the run are closed. */
static void complete(struct run *run)
{
    struct client *client = run->client;
    struct problem problem = {0};

    while (run->open_parts > 0) {
        if (client->orphaned && run->session.state != SESSION_CLOSING) {
            problem_failure(&problem, "the process that started this run has ended");
            note_problem(run, "run", &problem);
            close_run(run);
        }
        uv_run(&client->loop, UV_RUN_ONCE);
    }
    if (run->capture)
        capture_library->free(run->capture);
    json_decref(run->ready);
}

static void open_run(struct run *run, struct client *client, const struct plan *plan)
{
    *run = (struct run){.client = client,
                        .plan = plan,
                        .session = {.is_client = true,
                                    .plan = plan,
                                    .timed_out = on_timed_out,
                                    .closed = part_closed,
                                    .owner = run},
                        .open_parts = 1, /* the timer of the session */
                        .result = {.started_unix_ns = clock_unix_ns(), .phase = "start"}};
    for (int end = 0; end < END_COUNT; end++)
        own_server_clear(&client->own[end]);
}

json_t *run_cell(struct client *client, const struct plan *plan, struct problem *problem)
{
    struct run run;
    struct problem *reason = &run.result.problem;
    uint64_t started = clock_now_ns();
    json_t *record = NULL;

    open_run(&run, client, plan);
    begin_check(&run);
    complete(&run);
    for (int end = 0; end < END_COUNT && reason->kind == PROBLEM_FAILURE; end++)
        own_server_stop_failed(&client->own[end], end_names[end], reason); /* the next run starts new ones */
    run.result.wall_ns = clock_now_ns() - started;
    if (reason->kind == PROBLEM_USAGE)
        *problem = *reason;
    else
        record = record_make(plan, &run.result);
    for (int end = 0; end < END_COUNT; end++)
        json_decref(run.result.reports[end]);
    json_decref(run.result.subject);
    json_decref(run.result.load);
    json_decref(run.result.times);
    return record;
}

json_t *run_facts(struct client *client, const struct plan *plan, struct problem *problem)
{
    struct run run;

    if (!plan->has_server)
        return json_pack("{s:o}", "client", facts_collect(NULL));
    open_run(&run, client, plan);
    run.wants_facts = true;
    session_open(&run.session, &client->loop, SESSION_CONNECTING);
    ask_for_facts(&run);
    complete(&run);
    *problem = run.result.problem;
    return run.facts;
}
