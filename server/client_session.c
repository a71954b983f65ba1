/* SPDX-License-Identifier: MIT */
#include "client_session.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json_memory.h"
#include "base/units.h"
#include "base/version.h"
#include "connection/memory.h"
#include "measure/facts.h"
#include "support/support.h"
#include "words/word.h"

#include <inttypes.h>
#include <string.h>

#define WHO_MAX (ADDRESS_MAX + sizeof(((struct channel_tls *)NULL)->identity) + 4)

/* ---- the end ---- */

void client_session_part_closed(void *part_of)
{
    struct client_session *client = part_of;
    if (--client->open_parts > 0)
        return;
    subject_free(&client->subject);
    plan_free(&client->plan);
    secret_wipe(client->data.key, sizeof client->data.key);
    server_session_closed(client->server, client);
}

void client_session_handle_closed(uv_handle_t *handle)
{
    client_session_part_closed(handle->data);
}

/* Who the client is: its address, and the identity of its key. */
static const char *name_of(const struct client_session *client, char text[WHO_MAX])
{
    const struct channel_tls *tls = client->channel.tls;
    bool has_identity = tls && *tls->identity, is_unix = client->peer.any.sa_family == AF_UNIX;
    snprintf(text, WHO_MAX, has_identity ? "%s (%s)" : "%s",
             address_text(is_unix ? &client->listener->address : &client->peer),
             has_identity ? tls->identity : "");
    return text;
}

/* A session that has begun has two lines in the log. One that was refused has one at most. */
static void log_end(const struct client_session *client)
{
    uint64_t ms = uv_now(client->session.timer.loop) - client->began_ms;
    const char *outcome = client->outcome.kind == PROBLEM_NONE ? "its report was sent" : client->outcome.text;
    char name[WHO_MAX], text[sizeof name + sizeof client->outcome.text + 16];

    if (!client->is_logged)
        return;
    if (client->began_ms) {
        listener_log("%s: the session ended after %.3f s: %s", name_of(client, name), (double)ms / 1000,
                     outcome);
    } else if (client->outcome.kind != PROBLEM_NONE) {
        snprintf(text, sizeof text, "%s: no session: %s", name_of(client, name), outcome);
        listener_log_rarely(client->listener, text);
    }
}

/* Closes all parts; the server is then told. */
static void close_session(struct client_session *client)
{
    if (client->is_closing)
        return;
    client->is_closing = true;
    log_end(client);
    if (client->session.state != SESSION_CLOSING)
        session_enter(&client->session, SESSION_CLOSING);
    if (team_is_open(&client->team))
        team_close(&client->team);
    if (client->subject.step != SUBJECT_NONE)
        subject_close(client);
    if (!team_is_open(&client->team) || client->data.accepts) /* else a data thread accepts */
        data_listener_close(client);
    session_close(&client->session);
    channel_close(&client->channel);
}

#define TOO_LONG "the run took longer than this server allows: twice its time or --max-time, and a minute"

/* By state: the phase of a failure, as a record names it (NULL: no run has begun, the plan is
 * refused), and what is said of a client that is too late (NULL: on_timed_out()). */
static const struct {
    const char *phase, *too_late;
} states[SESSION_STATE_COUNT] = {
    [SESSION_ACCEPTED] = {NULL, "no plan came on the control connection"},
    [SESSION_ANSWERING] = {NULL, "the facts were not taken"},
    [SESSION_AGREEING] = {"connect", "the client did not send the address of the server"},
    [SESSION_STARTING] = {NULL, TOO_LONG},
    [SESSION_JOINING] = {"hello", NULL},
    [SESSION_RUNNING] = {"run", TOO_LONG},
    [SESSION_REPORTING] = {"run", "the report was not taken"},
    [SESSION_EXPLAINING] = {"run", NULL},
};

void client_session_fail(struct client_session *client, const struct problem *problem)
{
    enum session_state state = client->session.state;
    bool runs = state >= SESSION_RUNNING && team_is_open(&client->team);
    const char *phase = states[state].phase;
    channel_send_problem(&client->channel, phase && runs ? team_phase(&client->team) : phase, problem);
    problem_failure(&client->outcome, "%s", problem->text);
    close_session(client);
}

void client_session_drop(struct client_session *client)
{
    client->channel.ended = true;
    close_session(client);
}

static void on_timed_out(void *owner)
{
    struct client_session *client = owner;
    const struct plan *plan = &client->plan;
    enum session_state state = client->session.state;
    struct problem problem = {0};

    if (state == SESSION_ACCEPTED && !client->channel.is_identified) {
        listener_rejected(client->listener, &client->peer, "it sent no valid message within 3 s");
    } else if (states[state].too_late) {
        problem_failure(&problem, "%s", states[state].too_late);
    } else if (state == SESSION_LISTENING) {
        problem_failure(
            &problem, "the subject %s accepted no connection on %s within %g s; ready= gives it more time",
            plan->subject.name, address_text(&client->data.address), (double)plan->ready_ns / NS_PER_S);
    } else if (state == SESSION_JOINING) {
        problem_failure(&problem, "%zu of %" PRIu64 " data connections came with the right token",
                        client->data.joined, plan->connections);
    } /* SESSION_EXPLAINING: the client knows a reason; SESSION_CLOSING: session_enter() */
    if (problem.kind == PROBLEM_NONE)
        close_session(client);
    else
        client_session_fail(client, &problem);
}

/* ---- the run ---- */

static void on_passed(void *owner, enum phase passed)
{
    struct client_session *client = owner;
    const char *phase;

    coordinator_passed(&client->coordinator, passed);
    if (passed != PHASE_REPORT)
        return;
    const struct problem *problem = team_problem(&client->team, &phase);
    if (problem) {
        channel_send_problem(&client->channel, phase, problem);
        problem_failure(&client->outcome, "%s", problem->text);
        close_session(client);
        return;
    }
    json_t *report = team_report(&client->team);
    uint64_t strangers = client->data.strangers + team_strangers(&client->team),
             *rejected = &client->listener->strangers.rejected;
    json_object_set_new(report, "strangers", json_integer((json_int_t)strangers));
    json_object_set_new(report, "turned_away", json_integer((json_int_t)*rejected));
    *rejected = 0;
    if (json_memory_lacked()) {
        struct problem lack = {0};
        json_decref(report);
        problem_failure(&lack, "the %s has no memory left for its report", end_names[client->end]);
        client_session_fail(client, &lack);
        return;
    }
    channel_send(&client->channel, CONTROL_REPORT, json_pack("{s:o}", "value", report));
    session_enter(&client->session, SESSION_REPORTING);
}

static void on_team_closed(void *owner)
{
    data_listener_close(owner);
    client_session_part_closed(owner);
}

static const struct team_events team_events = {.passed = on_passed, .closed = on_team_closed};

void client_session_start_team(struct client_session *client)
{
    struct problem problem = {0};
    if (team_start(&client->team, &problem) < 0)
        client_session_fail(client, &problem);
    else
        session_enter(&client->session, SESSION_RUNNING);
}

static int open_team(struct client_session *client, struct problem *problem)
{
    const struct plan *plan = &client->plan;
    enum end from = client->end == END_PROXY ? END_CLIENT : plan_neighbour(plan, END_SERVER);
    struct team *team = &client->team;

    client->open_parts++;
    client->coordinator = (struct coordinator){.team = team, .channel = &client->channel};
    if (team_open(team, client->session.timer.loop, plan, client->end, client->remote, &team_events, client,
                  problem) < 0)
        return -1;
    memcpy(team->keys[from], client->data.key, sizeof client->data.key);
    if (plan->workload->reconnects) { /* its data thread accepts */
        team->listener = client->data.fd;
        memcpy(team->token, client->data.token, TOKEN_SIZE);
        return 0;
    }
    return data_listener_accept(client, problem);
}

/* The client has failed. If the team has, its reason is sent, even if its threads have not ended
 * yet. If the subject has ended or is stopped, that is the reason. */
static void explain_failure(struct client_session *client, struct problem *problem)
{
    const char *phase;
    const struct problem *own = team_is_open(&client->team) ? team_problem(&client->team, &phase) : NULL;
    if (own && !client->is_closing)
        channel_send_problem(&client->channel, phase, own);
    if (client->subject.step == SUBJECT_NONE || !session_may_enter(client->session.state, SESSION_EXPLAINING))
        close_session(client);
    else if (subject_is_halted(&client->subject))
        subject_explain_halt(client, problem);
    else
        session_enter(&client->session, SESSION_EXPLAINING);
}

/* ---- the beginning ---- */

/* Probes sockets, rings, TLS layers and placement; a subject needs none of them. */
static void check(uv_work_t *work)
{
    struct client_session *client = work->data;
    const struct plan *plan = &client->plan;
    struct problem *problem = &client->problem;

    if (plan_is_subject(plan, client->end))
        return;
    if (engine_threads(plan, client->end) > client->options->limits[LIMIT_THREADS])
        problem_failure(problem,
                        "connections=%" PRIu64 ": this server starts at most %" PRIu64
                        " threads a run (--max-threads); engine=poll needs fewer",
                        plan->connections, client->options->limits[LIMIT_THREADS]);
    else if (plan_check_in_flight(plan, problem) == 0)
        support_check(plan, client->end, client->remote, problem);
}

/* A proxy starts its team or subject later, when it knows the sink. */
static void on_checked(uv_work_t *work, int status)
{
    struct client_session *client = work->data;
    struct problem problem = client->problem;
    bool goes_on = client->session.state == SESSION_CHECKING;

    client_session_part_closed(client);
    if (!goes_on)
        return;
    if (problem.kind == PROBLEM_NONE && data_listener_open(client, &problem) == 0) {
        if (client->end == END_PROXY) {
            session_enter(&client->session, SESSION_AGREEING);
            data_listener_send_ready(client);
        } else if (plan_is_subject(&client->plan, client->end)) {
            subject_start(client, NULL);
        } else if (open_team(client, &problem) == 0) {
            data_listener_send_ready(client);
            if (client->data.accepts)
                session_enter(&client->session, SESSION_JOINING);
            else
                client_session_start_team(client);
        }
    }
    if (problem.kind != PROBLEM_NONE)
        client_session_fail(client, &problem);
}

void client_session_begin(struct client_session *client)
{
    char name[WHO_MAX];
    if (client->is_logged)
        listener_log("%s: the session begins", name_of(client, name));
    client->began_ms = uv_now(client->session.timer.loop);
    session_enter(&client->session, SESSION_CHECKING);
    client->check.data = client;
    client->open_parts++;
    uv_queue_work(client->session.timer.loop, &client->check, check, on_checked);
}

/* ---- messages ---- */

static bool is_of_this_host(const json_t *body)
{
    return !strcmp(control_text(body, "host"), facts_host_id());
}

static int check_version(const json_t *body, struct problem *problem)
{
    const char *version = control_text(body, "version");
    if (!strcmp(version, UNCORK_VERSION))
        return 0;
    return problem_failure(problem,
                           "this server is uncork %s, the client is %.40s; use the same version on both ends",
                           UNCORK_VERSION, version);
}

static int take_plan(struct client_session *client, const json_t *body, struct problem *problem)
{
    const json_t *words = json_object_get(body, "words");
    size_t count = json_array_size(words);
    uint64_t longest_ns = client->options->limits[LIMIT_TIME];
    bool is_proxy = client->options->proxy;

    client->end = is_proxy ? END_PROXY : END_SERVER;
    client->remote = !is_of_this_host(body);
    if (check_version(body, problem) < 0)
        return -1;
    if (end_parse(control_text(body, "end")) != client->end)
        return problem_failure(
            problem, is_proxy ? "this is a proxy, not a server: give its address as via="
                              : "this is a server, not a proxy: start one with uncork-server --proxy");
    CLEANUP_FREE const char **texts = calloc(count + 1, sizeof *texts);
    if (!texts)
        return problem_failure(problem, "no memory for a plan of %zu words", count);
    for (size_t i = 0; i < count; i++)
        texts[i] = json_string_value(json_array_get(words, i));
    int is_private = channel_is_private(&client->channel, problem);
    if (is_private < 0 || plan_parse(&client->plan, texts, count, problem) < 0 ||
        exclusions_check(STAGE_session, &client->plan, client->end, is_private ? 0 : FACT_PUBLIC_CHANNEL,
                         problem) < 0)
        return -1;
    if (plan_is_timed(&client->plan) && client->plan.duration_ns > longest_ns)
        return problem_failure(problem, "duration=%s: this server allows %s (--max-time)",
                               units_text(&units_duration, client->plan.duration_ns),
                               units_text(&units_duration, longest_ns));
    client->plan.longest_ms = longest_ns / NS_PER_MS;
    session_enter(&client->session, SESSION_QUEUED);
    server_session_planned(client->server, client);
    return 0;
}

/* The proxy sends nothing to the sink until the source has connected too. */
static int take_sink(struct client_session *client, const json_t *body, struct problem *problem)
{
    const char *text = control_text(body, "address");
    const struct options *options = client->options;
    struct team *team = &client->team;
    struct address sink;
    bool is_allowed = false;

    if (address_parse_numeric(&sink, text, problem) < 0)
        return -1;
    for (size_t i = 0; i < options->sink_count && !is_allowed; i++)
        is_allowed = prefix_contains(&options->sinks[i], &sink);
    if (!is_allowed)
        return problem_failure(
            problem, "this proxy may not connect to %s; start it with an --allow-sink that contains it",
            text);
    client->remote = client->remote && !is_of_this_host(body);
    if (plan_is_subject(&client->plan, client->end)) {
        subject_start(client, &sink);
        return 0;
    }
    if (open_team(client, problem) < 0)
        return -1;
    if (hex_parse(team->token, TOKEN_SIZE, control_text(body, "token")) < 0)
        return problem_failure(problem, "the token of the server is not valid");
    if (client->plan.encrypts &&
        hex_parse(team->keys[END_SERVER], SECURITY_KEY_SIZE, control_text(body, "key")) < 0)
        return problem_failure(problem, "the key of the server is not valid");
    team->target = sink;
    session_enter(&client->session, SESSION_JOINING);
    return 0;
}

static void on_message(void *owner, enum control_type type, const json_t *body)
{
    struct client_session *client = owner;
    struct problem problem = {0};

    switch (session_accepts(&client->session, type) ? type : CONTROL_TYPE_COUNT) {
    case CONTROL_PLAN:
        take_plan(client, body, &problem);
        break;
    case CONTROL_ASK:
        if (check_version(body, &problem) < 0)
            break;
        session_enter(&client->session, SESSION_ANSWERING);
        channel_send(&client->channel, CONTROL_FACTS,
                     json_pack("{s:o}", "value", facts_collect(&client->peer)));
        break;
    case CONTROL_SINK:
        take_sink(client, body, &problem);
        break;
    case CONTROL_FAILED: /* the client knows the reason */
        problem_failure(&client->outcome, "the client failed: %s", control_text(body, "text"));
        explain_failure(client, &problem);
        break;
    case CONTROL_TYPE_COUNT:
        problem_failure(&problem, "a message that does not belong here");
        break;
    default: /* a subject counts no bytes; with CONTROL_MARKED no data is in flight, so it reads */
        if (team_is_open(&client->team)) {
            if (coordinator_message(&client->coordinator, type, body) < 0)
                problem_failure(&problem, "the client sent a message that does not fit the plan");
        } else if (type == CONTROL_MARKED && client->session.state == SESSION_RUNNING) {
            subject_mark(client, &problem);
        }
    }
    if (problem.kind != PROBLEM_NONE)
        client_session_fail(client, &problem);
}

static void on_ended(void *owner, const char *why)
{
    struct client_session *client = owner;
    if (client->channel.has_received && !client->channel.is_identified)
        listener_rejected(client->listener, &client->peer, why);
    if (client->session.state != SESSION_REPORTING && client->session.state != SESSION_ACCEPTED &&
        client->session.state != SESSION_ANSWERING)
        problem_failure(&client->outcome, "the client %s", why);
    close_session(client); /* the client is gone: no message */
}

static const struct channel_events channel_events = {
    .message = on_message, .ended = on_ended, .closed = client_session_part_closed, .is_server = true};

void client_session_open(struct client_session *client, uv_loop_t *loop, int fd)
{
    struct problem problem = {0};
    client->session = (struct session){.plan = &client->plan,
                                       .timed_out = on_timed_out,
                                       .closed = client_session_part_closed,
                                       .owner = client};
    client->open_parts = 2;
    listener_peer(&client->peer, fd);
    session_open(&client->session, loop, SESSION_ACCEPTED);
    if (channel_open(&client->channel, loop, fd, client->options->keys, &channel_events, client, &problem) <
        0)
        close_session(client);
}
