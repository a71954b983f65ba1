/* SPDX-License-Identifier: MIT */
#include "client_session.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "connection/thread_shared.h"
#include "connection/workload.h"
#include "demand.h"
#include "measure/facts.h"
#include "support/support.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- the end ---- */

static void part_closed(void *owner)
{
    struct client_session *client = owner;

    if (--client->open_parts > 0)
        return;
    if (client->session.plan)
        plan_free(&client->plan);
    secret_wipe(client->data.key, sizeof client->data.key);
    client->events->closed(client);
}

void client_session_close(struct client_session *client)
{
    if (client->is_closing)
        return;
    client->is_closing = true;
    if (client->session.state != SESSION_CLOSING)
        session_enter(&client->session, SESSION_CLOSING);
    if (team_is_open(&client->team))
        team_close(&client->team);
    if (subject_is_open(&client->subject))
        subject_close(&client->subject);
    if (!team_is_open(&client->team) || client->data.accepts) /* else a data thread accepts */
        data_listener_close(&client->data);
    session_close(&client->session);
    channel_close(&client->channel);
}

/* The phase of a failure now, as a record names it; NULL: no run has begun, the plan is refused. */
static const char *phase_of(const struct client_session *client)
{
    switch (client->session.state) {
    case SESSION_AGREEING:
        return "connect";
    case SESSION_JOINING:
        return "hello";
    case SESSION_RUNNING:
    case SESSION_REPORTING:
    case SESSION_EXPLAINING:
        return team_is_open(&client->team) ? team_phase(&client->team) : "run";
    default:
        return NULL;
    }
}

static void fail(struct client_session *client, const struct problem *problem)
{
    channel_send_problem(&client->channel, phase_of(client), problem);
    client_session_close(client);
}

void client_session_end(struct client_session *client, const char *why)
{
    struct problem problem = {0};

    problem_failure(&problem, "%s", why);
    fail(client, &problem);
}

/* ---- time limits ---- */

/* What is said of a client that is known; NULL: nothing. */
static const char *const too_late[SESSION_STATE_COUNT] = {
    [SESSION_ACCEPTED] = "no plan came on the control connection",
    [SESSION_ANSWERING] = "the facts were not taken",
    [SESSION_AGREEING] = "the client did not send the address of the server",
    [SESSION_STARTING] = "the run took longer than this server allows",
    [SESSION_RUNNING] = "the run took longer than this server allows",
    [SESSION_REPORTING] = "the report was not taken"};

static void on_timed_out(void *owner)
{
    struct client_session *client = owner;
    const struct plan *plan = &client->plan;
    enum session_state state = client->session.state;
    struct problem problem = {0};
    char address[ADDRESS_MAX];

    if (state == SESSION_ACCEPTED && !client->channel.is_identified) {
        client->events->rejected(client, "it sent no valid message within 3 s");
        client_session_close(client);
    } else if (too_late[state]) {
        client_session_end(client, too_late[state]);
    } else if (state == SESSION_LISTENING) {
        address_format(address, &client->data.address);
        problem_failure(&problem,
                        "the subject %s accepted no connection on %s within %g s; ready= gives it more time",
                        plan->subject.name, address, (double)plan->ready_ns / NS_PER_S);
        fail(client, &problem);
    } else if (state == SESSION_JOINING) {
        problem_failure(&problem, "%zu of %" PRIu64 " data connections came with the right token",
                        client->joined, plan->connections);
        fail(client, &problem);
    } else { /* SESSION_EXPLAINING: the client knows a reason; SESSION_CLOSING: session_enter() */
        client_session_close(client);
    }
}

/* ---- the run ---- */

static void send_report(struct client_session *client)
{
    json_t *report = team_report(&client->team);
    uint64_t strangers = client->data.strangers + team_strangers(&client->team);

    json_object_set_new(report, "strangers", json_integer((json_int_t)strangers));
    json_object_set_new(report, "turned_away", json_integer((json_int_t)*client->rejected));
    *client->rejected = 0;
    channel_send(&client->channel, CONTROL_REPORT, json_pack("{s:o}", "value", report));
    session_enter(&client->session, SESSION_REPORTING);
}

static void on_passed(void *owner, enum phase passed)
{
    struct client_session *client = owner;
    const struct problem *problem;
    const char *phase;

    coordinator_passed(&client->coordinator, passed);
    if (passed != PHASE_REPORT)
        return;
    if (!(problem = team_problem(&client->team, &phase))) {
        send_report(client);
        return;
    }
    channel_send_problem(&client->channel, phase, problem);
    client_session_close(client);
}

static void on_team_closed(void *owner)
{
    data_listener_close(&((struct client_session *)owner)->data);
    part_closed(owner);
}

static const struct team_events team_events = {.passed = on_passed, .closed = on_team_closed};

static void start_team(struct client_session *client)
{
    struct problem problem = {0};

    if (team_start(&client->team, &problem) < 0)
        fail(client, &problem);
    else
        session_enter(&client->session, SESSION_RUNNING);
}

static void on_joined(void *owner, size_t index, int fd)
{
    struct client_session *client = owner;

    team_set_descriptor(&client->team, index, fd);
    if (++client->joined < client->plan.connections)
        return;
    data_listener_close(&client->data);
    start_team(client);
}

static const struct data_listener_events data_listener_events = {.joined = on_joined, .closed = part_closed};

static int open_team(struct client_session *client, struct problem *problem)
{
    const struct plan *plan = &client->plan;
    enum end from = client->end == END_PROXY ? END_CLIENT : plan_neighbour(plan, END_SERVER);
    struct team *team = &client->team;
    uv_loop_t *loop = client->session.timer.loop;

    client->open_parts++;
    client->coordinator = (struct coordinator){.team = team, .channel = &client->channel};
    if (team_open(team, loop, plan, client->end, client->remote, &team_events, client, problem) < 0)
        return -1;
    memcpy(team->keys[from], client->data.key, sizeof client->data.key);
    if (plan->workload->reconnects) { /* its data thread accepts */
        team->listener = client->data.fd;
        memcpy(team->token, client->data.token, TOKEN_SIZE);
        return 0;
    }
    client->open_parts++;
    data_listener_accept(&client->data, loop, &data_listener_events, client);
    return 0;
}

/* ---- a subject ---- */

static bool has_subject(const struct client_session *client)
{
    return plan_has_subject(&client->plan) && plan_second_end(&client->plan) == client->end;
}

static void on_launched(void *owner)
{
    session_enter(&((struct client_session *)owner)->session, SESSION_LISTENING);
}

static void on_subject_ready(void *owner)
{
    struct client_session *client = owner;

    session_enter(&client->session, SESSION_RUNNING);
    if (client->end == END_SERVER)
        channel_send(&client->channel, CONTROL_READY, data_listener_describe(&client->data));
    channel_send(&client->channel, CONTROL_JOINED, NULL);
}

/* In a run, the connections of a subject that ends break, and the client reports a failure. */
static void on_subject_failed(void *owner, const struct problem *problem)
{
    struct client_session *client = owner;

    if (client->session.state != SESSION_RUNNING && client->session.state != SESSION_REPORTING)
        fail(client, problem);
}

static const struct subject_events subject_events = {
    .launched = on_launched, .ready = on_subject_ready, .failed = on_subject_failed, .closed = part_closed};

/* `sink`: to which a subject relays; NULL: it does not relay. */
static void start_subject(struct client_session *client, const struct address *sink)
{
    client->subject = (struct subject){.plan = &client->plan,
                                       .definitions = client->options->subjects,
                                       .channel = &client->channel,
                                       .data = &client->data,
                                       .remote = client->remote,
                                       .events = &subject_events,
                                       .owner = client};
    if (sink)
        client->subject.sink = *sink;
    client->open_parts++;
    session_enter(&client->session, SESSION_STARTING);
    subject_start(&client->subject, client->session.timer.loop);
}

/* The client has failed. If the subject has ended, that is the reason that this server reports. */
static void explain_failure(struct client_session *client, struct problem *problem)
{
    enum session_state state = client->session.state;

    if (!subject_is_open(&client->subject) || !session_may_enter(state, SESSION_EXPLAINING))
        client_session_close(client);
    else if (subject_has_ended(&client->subject))
        subject_explain_exit(&client->subject, problem);
    else
        session_enter(&client->session, SESSION_EXPLAINING);
}

/* ---- the beginning ---- */

/* Probes sockets, rings, TLS layers and placement. */
static void check(uv_work_t *work)
{
    struct client_session *client = work->data;

    if (demand_check_limits(&client->plan, client->end, &client->problem) == 0)
        support_check(&client->plan, client->end, client->remote, &client->problem);
}

static int begin_run(struct client_session *client, struct problem *problem)
{
    if (open_team(client, problem) < 0)
        return -1;
    channel_send(&client->channel, CONTROL_READY, data_listener_describe(&client->data));
    if (client->data.accepts)
        session_enter(&client->session, SESSION_JOINING);
    else
        start_team(client);
    return 0;
}

/* A proxy starts its team or subject later, when it knows the sink. */
static void begin_checked(struct client_session *client)
{
    struct problem problem = client->problem;

    if (problem.kind == PROBLEM_NONE &&
        data_listener_open(&client->data, &client->plan, client->end, &client->channel, &problem) == 0) {
        if (client->end == END_PROXY) {
            session_enter(&client->session, SESSION_AGREEING);
            channel_send(&client->channel, CONTROL_READY, data_listener_describe(&client->data));
        } else if (has_subject(client)) {
            start_subject(client, NULL);
        } else {
            begin_run(client, &problem);
        }
    }
    if (problem.kind != PROBLEM_NONE)
        fail(client, &problem);
}

static void on_checked(uv_work_t *work, int status)
{
    struct client_session *client = work->data;

    (void)status;
    if (client->session.state == SESSION_CHECKING)
        begin_checked(client);
    part_closed(client);
}

void client_session_begin(struct client_session *client)
{
    session_enter(&client->session, SESSION_CHECKING);
    if (has_subject(client)) {
        begin_checked(client);
        return;
    }
    client->check.data = client;
    client->open_parts++;
    uv_queue_work(client->session.timer.loop, &client->check, check, on_checked);
}

/* ---- a proxy's sink ---- */

/* The proxy sends nothing to the sink until the source has connected too. */
static int take_sink(struct client_session *client, const json_t *body, struct problem *problem)
{
    struct address sink;

    if (demand_sink(client->options, body, &sink, problem) < 0)
        return -1;
    client->remote = client->remote && !demand_is_of_this_host(body);
    if (has_subject(client)) {
        start_subject(client, &sink);
        return 0;
    }
    if (open_team(client, problem) < 0 ||
        demand_secrets(body, &client->plan, client->team.token, client->team.keys[END_SERVER], problem) < 0)
        return -1;
    client->team.target = sink;
    session_enter(&client->session, SESSION_JOINING);
    return 0;
}

/* ---- messages ---- */

static int take_plan(struct client_session *client, const json_t *body, struct problem *problem)
{
    client->end = client->options->proxy ? END_PROXY : END_SERVER;
    if (demand_check(body, client->end, problem) < 0 || demand_parse(&client->plan, body, problem) < 0)
        return -1;
    client->session.plan = &client->plan;
    client->remote = !demand_is_of_this_host(body);
    if (demand_check_plan(&client->plan, client->end, &client->channel, problem) < 0)
        return -1;
    session_enter(&client->session, SESSION_QUEUED);
    client->events->planned(client);
    return 0;
}

static int take_ask(struct client_session *client, const json_t *body, struct problem *problem)
{
    if (demand_check_version(body, problem) < 0)
        return -1;
    session_enter(&client->session, SESSION_ANSWERING);
    channel_send(&client->channel, CONTROL_FACTS, json_pack("{s:o}", "value", facts_collect(&client->peer)));
    return 0;
}

/* A subject counts no bytes. With CONTROL_MARKED no data is in flight, so it reads its figures. */
static void take_phase(struct client_session *client, enum control_type type, const json_t *body,
                       struct problem *problem)
{
    if (team_is_open(&client->team)) {
        if (coordinator_message(&client->coordinator, type, body) < 0)
            problem_failure(problem, "the client sent a message that does not fit the plan");
    } else if (type == CONTROL_MARKED && client->session.state == SESSION_RUNNING) {
        if (subject_has_ended(&client->subject))
            subject_explain_exit(&client->subject, problem);
        else if (subject_mark(&client->subject, problem) > 0)
            session_enter(&client->session, SESSION_REPORTING);
    }
}

static void on_message(void *owner, enum control_type type, const json_t *body)
{
    struct client_session *client = owner;
    struct problem problem = {0};

    if (!session_accepts(&client->session, type)) {
        client_session_end(client, "a message that does not belong here");
        return;
    }
    switch (type) {
    case CONTROL_PLAN:
        take_plan(client, body, &problem);
        break;
    case CONTROL_ASK:
        take_ask(client, body, &problem);
        break;
    case CONTROL_SINK:
        take_sink(client, body, &problem);
        break;
    case CONTROL_FAILED: /* the client knows the reason */
        explain_failure(client, &problem);
        break;
    default:
        take_phase(client, type, body, &problem);
    }
    if (problem.kind != PROBLEM_NONE)
        fail(client, &problem);
}

static void on_ended(void *owner, const char *why)
{
    struct client_session *client = owner;

    if (client->channel.has_received && !client->channel.is_identified)
        client->events->rejected(client, why);
    client_session_close(client); /* the client is gone: no message */
}

static const struct channel_events channel_events = {
    .message = on_message, .ended = on_ended, .closed = part_closed, .is_server = true};

void client_session_open(struct client_session *client, uv_loop_t *loop, int fd)
{
    struct problem problem = {0};

    client->session = (struct session){.timed_out = on_timed_out, .closed = part_closed, .owner = client};
    client->open_parts = 2;
    if (address_of_peer(&client->peer, fd) < 0)
        client->peer.storage.ss_family = AF_UNIX; /* the client is gone */
    session_open(&client->session, loop, SESSION_ACCEPTED);
    if (channel_open(&client->channel, loop, fd, client->options->keys, &channel_events, client, &problem) <
        0)
        client_session_close(client);
}
