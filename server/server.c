/* SPDX-License-Identifier: MIT */
#include "server.h"

#include "base/cleanup.h"
#include "base/hex.h"
#include "base/secret.h"
#include "base/version.h"
#include "connection/memory.h"
#include "connection/workload.h"
#include "data_listener.h"
#include "listener.h"
#include "measure/facts.h"
#include "subject.h"
#include "support/probe.h"
#include "support/support.h"
#include "team/coordinator.h"
#include "words/parse.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LINE_EVERY_MS 1000 /* between two lines about rejected clients */

#define LIMIT_CONTROL_CONNECTIONS 64   /* sessions, including the running one */
#define LIMIT_THREADS UINT64_C(4096)   /* of a session */
#define LIMIT_SLACK_MS UINT64_C(60000) /* beyond twice the planned time, to drain and to report */
#define LIMIT_TIME_MS UINT64_C(7200000)
#define LIMIT_JOIN_MS 3000          /* for all data connections, plus 1 ms for each */
#define LIMIT_CAPTURE_MS 3000       /* extra time if the client captures, which starts first */
#define LIMIT_RELAY_MS 5000         /* extra time if a subject relays, which starts last */
#define LIMIT_PLAN_MS 3000          /* for the first message of a control connection */
#define LIMIT_TAKE_REPORT_MS 10000  /* for a client to read its report and close */
#define LIMIT_SINK_MS LIMIT_TIME_MS /* for the client to name the sink: its server may be busy */

struct server {
    struct listener listener;
    const struct options *options;
    struct session *newest; /* first of a list */
    size_t count;
    struct session *running; /* other sessions wait until it has ended; NULL: none */
    struct {
        uint64_t count;        /* since the last report of a session */
        uint64_t unlogged;     /* since the last line on standard error */
        uint64_t next_line_ms; /* loop time before which no other line is printed */
    } rejected;                /* clients that ended or timed out before they were known */
};

/* The run of one client, from its control connection to the report. */
struct session {
    struct server *server;
    struct session *next; /* older */
    struct channel channel;
    uv_timer_t timer;
    const char *timeout_reason; /* why the session ends when the timer does; NULL: connections are missing */
    struct address peer;        /* address of the client */
    enum end end;               /* the role in the run: server or proxy */
    struct plan plan;
    struct data_listener data;
    struct team team;
    struct coordinator coordinator;
    struct subject subject;
    size_t joined; /* connections */
    bool remote, has_plan, waits, has_team, asked, ending;
    int open_parts; /* channel, timer, data listener, team; at zero the session is freed */
};

/* ---- limits ---- */

/* Checks this end of the plan. Returns 0, or -1 with a failure that names the limit. */
static int check_limits(const struct plan *plan, enum end end, struct problem *problem)
{
    if (engine_threads(plan, end) > LIMIT_THREADS)
        return problem_failure(problem,
                               "connections=%" PRIu64 ": this server starts at most %" PRIu64
                               " threads a session; engine=poll needs fewer",
                               plan->connections, LIMIT_THREADS);
    return plan_check_in_flight(plan, problem);
}

/* The time after which the server ends a run of this plan. */
static uint64_t run_limit_ms(const struct plan *plan)
{
    bool fixed = plan->messages || plan->bytes || plan->runs_command;

    return LIMIT_SLACK_MS + (fixed ? LIMIT_TIME_MS : 2 * (plan->warmup_ns + plan->duration_ns) / 1000000);
}

/* ---- the end ---- */

static void start_session(struct session *session);

/* Removes the session from the list. If it was running, starts the oldest session that waits. */
static void remove_session(struct session *session)
{
    struct server *server = session->server;
    struct session **at = &server->newest, *waiting = NULL;

    while (*at != session)
        at = &(*at)->next;
    *at = session->next;
    listener_set_occupied(&server->listener, --server->count > 0);
    if (server->running != session)
        return;
    for (struct session *other = server->newest; other; other = other->next)
        if (other->waits)
            waiting = other;
    server->running = waiting;
    if (waiting)
        start_session(waiting);
}

static void part_closed(void *owner)
{
    struct session *session = owner;

    if (--session->open_parts > 0)
        return;
    if (session->has_plan)
        plan_free(&session->plan);
    secret_wipe(session->data.key, sizeof session->data.key);
    remove_session(session);
    free(session);
}

static void on_timer_closed(uv_handle_t *handle)
{
    part_closed(handle->data);
}

static void close_parts(struct session *session)
{
    if (session->ending)
        return;
    session->ending = true;
    session->waits = false;
    if (session->has_team)
        team_close(&session->team);
    subject_stop(&session->subject);
    data_listener_close(&session->data);
    uv_close((uv_handle_t *)&session->timer, on_timer_closed);
    channel_close(&session->channel);
}

/* `phase` NULL: before the run. */
static void fail_session(struct session *session, const char *phase, const struct problem *problem)
{
    channel_send_problem(&session->channel, phase, problem);
    close_parts(session);
}

static void end_session(struct session *session, const char *why)
{
    struct problem problem = {0};

    problem_failure(&problem, "%s", why);
    fail_session(session, session->has_team ? team_phase(&session->team) : "start", &problem);
}

/* Counts a client that closed or timed out before it was known. Prints the reason, at most once a
 * second. A client of a Unix socket has no address: prints the address of the server. */
static void count_rejected(const struct session *session, const char *why)
{
    struct server *server = session->server;
    uint64_t now_ms = uv_now(&server->listener.loop);
    char text[ADDRESS_MAX], others[64] = "";

    if (session->channel.is_identified)
        return;
    server->rejected.count++;
    server->rejected.unlogged++;
    if (now_ms < server->rejected.next_line_ms)
        return;
    address_format(text,
                   session->peer.storage.ss_family == AF_UNIX ? &server->listener.address : &session->peer);
    if (server->rejected.unlogged > 1)
        snprintf(others, sizeof others, "; one of %" PRIu64 " since the last such line",
                 server->rejected.unlogged);
    fprintf(stderr, "uncork-server: rejected a client at %s (%s)%s\n", text, why, others);
    server->rejected.unlogged = 0;
    server->rejected.next_line_ms = now_ms + LINE_EVERY_MS;
}

static void on_timeout(uv_timer_t *timer)
{
    struct session *session = timer->data;
    struct problem problem = {0};

    if (!session->channel.is_identified) {
        count_rejected(session, "it sent no valid message within 3 s");
        close_parts(session);
    } else if (session->timeout_reason) {
        end_session(session, session->timeout_reason);
    } else {
        problem_failure(&problem, "%zu of %" PRIu64 " data connections came with the right token",
                        session->joined, session->plan.connections);
        fail_session(session, "hello", &problem);
    }
}

static void set_timeout(struct session *session, uint64_t ms, const char *timeout_reason)
{
    session->timeout_reason = timeout_reason;
    uv_timer_start(&session->timer, on_timeout, ms, 0);
}

/* ---- the run ---- */

static void on_passed(void *owner, enum phase passed)
{
    struct session *session = owner;
    const struct problem *problem;
    const char *phase;
    uint64_t strangers;
    json_t *report;

    coordinator_passed(&session->coordinator, passed);
    if (passed != PHASE_REPORT)
        return;
    if ((problem = team_problem(&session->team, &phase))) {
        fail_session(session, phase, problem);
        return;
    }
    report = team_report(&session->team);
    strangers = session->data.strangers + team_strangers(&session->team);
    json_object_set_new(report, "strangers", json_integer((json_int_t)strangers));
    json_object_set_new(report, "turned_away", json_integer((json_int_t)session->server->rejected.count));
    session->server->rejected.count = 0;
    channel_send_long(&session->channel, CONTROL_REPORT, report);
    set_timeout(session, LIMIT_TAKE_REPORT_MS, "the report was not taken");
}

static const struct team_events team_events = {.passed = on_passed, .closed = part_closed};

static void start_team(struct session *session)
{
    struct problem problem = {0};

    set_timeout(session, run_limit_ms(&session->plan), "the run took longer than this server allows");
    if (team_start(&session->team, &problem) < 0)
        fail_session(session, "hello", &problem);
}

static void on_joined(void *owner, size_t index, int fd)
{
    struct session *session = owner;

    team_set_descriptor(&session->team, index, fd);
    if (++session->joined < session->plan.connections)
        return;
    data_listener_close(&session->data);
    start_team(session);
}

static const struct data_listener_events data_listener_events = {.joined = on_joined, .closed = part_closed};

static int open_team(struct session *session, struct problem *problem)
{
    const struct plan *plan = &session->plan;
    enum end from = session->end == END_PROXY ? END_CLIENT : plan_neighbour(plan, END_SERVER);
    struct team *team = &session->team;

    session->has_team = true;
    session->open_parts++;
    session->coordinator = (struct coordinator){.team = team, .channels[END_CLIENT] = &session->channel};
    if (team_open(team, &session->server->listener.loop, plan, session->end, session->remote, &team_events,
                  session, problem) < 0)
        return -1;
    memcpy(team->keys[from], session->data.key, sizeof session->data.key);
    if (plan->workload->reconnects) { /* its data thread accepts */
        team->listener = session->data.fd;
        memcpy(team->token, session->data.token, TOKEN_SIZE);
        return 0;
    }
    session->open_parts++;
    data_listener_accept(&session->data, &session->server->listener.loop, &data_listener_events, session);
    return 0;
}

static void await_connections(struct session *session)
{
    const struct plan *plan = &session->plan;

    set_timeout(session,
                LIMIT_JOIN_MS + plan->connections + (plan_captures(plan) ? LIMIT_CAPTURE_MS : 0) +
                    (plan_has_subject(plan) ? LIMIT_RELAY_MS : 0),
                NULL);
}

/* ---- a subject ---- */

static bool has_subject(const struct session *session)
{
    return plan_has_subject(&session->plan) && plan_second_end(&session->plan) == session->end;
}

static int start_subject(struct session *session, const struct address *sink, struct problem *problem)
{
    session->subject =
        (struct subject){.plan = &session->plan, .channel = &session->channel, .data = &session->data};
    set_timeout(session, run_limit_ms(&session->plan), "the run took longer than this server allows");
    return subject_start(&session->subject, session->server->options->subjects, sink, session->remote,
                         problem);
}

static void take_mark(struct session *session)
{
    struct problem problem = {0};
    int result = subject_mark(&session->subject, &problem);

    if (result < 0)
        fail_session(session, "report", &problem);
    else if (result > 0)
        set_timeout(session, LIMIT_TAKE_REPORT_MS, "the report was not taken");
}

/* The client has failed. If the subject has ended, that is the reason, which the server reports.
 * Else the client closes. */
static void explain_failure(struct session *session, struct problem *problem)
{
    if (subject_explain_exit(&session->subject, problem) < 0 && !session->subject.process.pid)
        close_parts(session);
}

/* A proxy starts its team or subject later, when it knows the sink. support_check() probes
 * sockets, rings, TLS layers and placement. This blocks the loop and uses two CPUs for up to 3 s,
 * so no other session may run in that time. */
static void start_session(struct session *session)
{
    bool hosts = has_subject(session), waits = session->end == END_PROXY;
    const struct plan *plan = &session->plan;
    struct problem problem = {0};

    session->waits = false;
    if ((!hosts && (check_limits(plan, session->end, &problem) < 0 ||
                    support_check(plan, session->end, session->remote, &problem) < 0)) ||
        data_listener_open(&session->data, plan, session->end, &session->channel, &problem) < 0 ||
        (!waits && (hosts ? start_subject(session, NULL, &problem) : open_team(session, &problem)) < 0)) {
        fail_session(session, NULL, &problem);
        return;
    }
    channel_send(&session->channel, CONTROL_READY, data_listener_describe(&session->data));
    if (waits)
        set_timeout(session, LIMIT_SINK_MS, "the client did not send the address of the server");
    else if (hosts)
        channel_send(&session->channel, CONTROL_JOINED, NULL);
    else if (session->data.accepts)
        await_connections(session);
    else
        start_team(session);
}

/* ---- a proxy's sink ---- */

static bool is_this_host(const char *host)
{
    return !strcmp(host, facts_host_id());
}

static int take_secrets(struct session *session, const json_t *body, struct problem *problem)
{
    struct team *team = &session->team;

    if (hex_parse(team->token, TOKEN_SIZE, control_text(body, "token")) < 0)
        return problem_failure(problem, "the token of the server is not valid");
    if (session->plan.encrypts &&
        hex_parse(team->keys[END_SERVER], SECURITY_KEY_SIZE, control_text(body, "key")) < 0)
        return problem_failure(problem, "the key of the server is not valid");
    return 0;
}

/* Parses the numeric address of the sink. Returns -1 with a problem if not valid or not allowed. */
static int parse_sink(const struct options *options, const char *text, struct address *sink,
                      struct problem *problem)
{
    if (address_parse_numeric(sink, text, problem) < 0)
        return -1;
    for (size_t i = 0; i < options->sink_count; i++)
        if (prefix_contains(&options->sinks[i], sink))
            return 0;
    return problem_failure(
        problem, "this proxy may not connect to %s; start it with an --allow-sink that contains it", text);
}

/* The proxy sends nothing to the sink until the source has connected too. */
static int take_sink(struct session *session, const json_t *body, struct problem *problem)
{
    struct address sink;

    if (session->end != END_PROXY || !session->data.is_open || session->has_team || session->subject.plan)
        return problem_failure(problem, "a message that does not belong here");
    if (parse_sink(session->server->options, control_text(body, "address"), &sink, problem) < 0)
        return -1;
    session->remote = session->remote && !is_this_host(control_text(body, "host"));
    if (has_subject(session)) {
        if (start_subject(session, &sink, problem) < 0)
            return -1;
        channel_send(&session->channel, CONTROL_JOINED, NULL);
        return 0;
    }
    if (open_team(session, problem) < 0 || take_secrets(session, body, problem) < 0)
        return -1;
    session->team.target = sink;
    await_connections(session);
    return 0;
}

/* ---- messages ---- */

static int check_version(const json_t *body, struct problem *problem)
{
    const char *version = control_text(body, "version");

    if (!strcmp(version, UNCORK_VERSION))
        return 0;
    return problem_failure(problem,
                           "this server is uncork %s, the client is %.40s; use the same version on both ends",
                           UNCORK_VERSION, version);
}

static int parse_plan(struct session *session, const json_t *body, struct problem *problem)
{
    const json_t *words = json_object_get(body, "words");
    size_t count = json_array_size(words);
    CLEANUP_FREE const char **texts = calloc(count + 1, sizeof *texts);
    int result;

    if (!texts)
        return problem_failure(problem, "no memory for a plan of %zu words", count);
    for (size_t i = 0; i < count; i++)
        texts[i] = json_string_value(json_array_get(words, i));
    result = plan_parse(&session->plan, texts, count, problem);
    session->has_plan = result == 0;
    session->remote = !is_this_host(control_text(body, "host"));
    return result;
}

static int choose_end(struct session *session, const json_t *body, struct problem *problem)
{
    const char *name = control_text(body, "end");

    session->end = session->server->options->proxy ? END_PROXY : END_SERVER;
    if (end_parse(name) == session->end)
        return 0;
    return session->end == END_PROXY
               ? problem_failure(problem, "this is a proxy, not a server: give its address as via=")
               : problem_failure(problem,
                                 "this is a server, not a proxy: start one with uncork-server --proxy");
}

static int check_plan(const struct session *session, struct problem *problem)
{
    const struct plan *plan = &session->plan;

    if (!plan_has_end(plan, session->end))
        return problem_usage(problem, "transport=%s workload=%s has no %s", plan->transport->variant.name,
                             plan->workload->variant.name, end_names[session->end]);
    if (plan->encrypts && !channel_is_private(&session->channel))
        return problem_usage(problem,
                             "security=%s: the key may not cross this control channel, which others can "
                             "read; give --psk FILE to both ends",
                             plan->ends[session->end].security->variant.name);
    return 0;
}

static int take_plan(struct session *session, const json_t *body, struct problem *problem)
{
    uv_timer_stop(&session->timer);
    if (session->has_plan)
        return problem_failure(problem, "a session has one plan");
    if (check_version(body, problem) < 0 || choose_end(session, body, problem) < 0 ||
        parse_plan(session, body, problem) < 0 || check_plan(session, problem) < 0)
        return -1;
    if (session->server->running) {
        session->waits = true;
        channel_send(&session->channel, CONTROL_WAIT, NULL);
    } else {
        session->server->running = session;
        start_session(session);
    }
    return 0;
}

static int take_ask(struct session *session, const json_t *body, struct problem *problem)
{
    if (session->has_plan || session->asked)
        return problem_failure(problem, "the client asked for facts twice, or after its plan");
    if (check_version(body, problem) < 0)
        return -1;
    session->asked = true;
    set_timeout(session, LIMIT_TAKE_REPORT_MS, session->timeout_reason);
    channel_send_long(&session->channel, CONTROL_FACTS, facts_collect(&session->peer));
    return 0;
}

static void take_phase(struct session *session, enum control_type type, const json_t *body,
                       struct problem *problem)
{
    bool has_process = session->subject.process.pid != 0;

    if (has_process && type == CONTROL_MARKED)
        take_mark(session);
    else if (has_process && type == CONTROL_DRAIN)
        return; /* the subject counts no bytes */
    else if (!session->has_team ||
             coordinator_message(&session->coordinator, END_CLIENT, type, body, problem) == 0)
        problem_failure(problem, "a message that does not belong here");
}

static void on_message(void *owner, enum control_type type, const json_t *body)
{
    struct session *session = owner;
    struct problem problem = {0};
    const char *phase = "run";

    switch (type) {
    case CONTROL_PLAN:
        phase = NULL;
        take_plan(session, body, &problem);
        break;
    case CONTROL_ASK:
        phase = NULL;
        take_ask(session, body, &problem);
        break;
    case CONTROL_SINK:
        phase = "connect";
        take_sink(session, body, &problem);
        break;
    case CONTROL_FAILED: /* the client knows the reason */
        explain_failure(session, &problem);
        break;
    default:
        take_phase(session, type, body, &problem);
    }
    if (problem.kind != PROBLEM_NONE)
        fail_session(session, phase, &problem);
}

static void on_ended(void *owner, const char *why)
{
    struct session *session = owner;

    if (session->channel.has_received)
        count_rejected(session, why);
    close_parts(session); /* the client is gone: no message */
}

static const struct channel_events channel_events = {
    .message = on_message, .ended = on_ended, .closed = part_closed, .is_server = true};

/* ---- the daemon ---- */

/* Starts a session, which frees itself at its end. */
static void on_accepted(void *owner, int fd)
{
    struct server *server = owner;
    struct session *session = calloc(1, sizeof *session);
    struct problem problem = {0};

    if (!session) {
        close(fd);
        return;
    }
    session->server = server;
    session->next = server->newest;
    server->newest = session;
    session->open_parts = 2;
    uv_timer_init(&server->listener.loop, &session->timer);
    session->timer.data = session;
    set_timeout(session, LIMIT_PLAN_MS, "no plan came on the control connection");
    if (address_of_peer(&session->peer, fd) < 0)
        session->peer.storage.ss_family = AF_UNIX; /* the client is gone */
    if (channel_open(&session->channel, &server->listener.loop, fd, server->options->keys, &channel_events,
                     session, &problem) < 0) {
        close_parts(session);
    } else if (server->count >= LIMIT_CONTROL_CONNECTIONS) {
        problem_failure(&problem, "%d clients are connected to this server already, the maximum",
                        LIMIT_CONTROL_CONNECTIONS);
        fail_session(session, NULL, &problem);
    }
    server->count++;
    listener_set_occupied(&server->listener, true);
}

static void on_stopped(void *owner)
{
    struct server *server = owner;

    for (struct session *session = server->newest; session; session = session->next)
        end_session(session, server->options->proxy ? "the proxy was stopped" : "the server was stopped");
}

static const struct listener_events listener_events = {.accepted = on_accepted, .stopped = on_stopped};

void server_run(const struct options *options, struct problem *problem)
{
    struct server server = {.listener = {.options = options, .events = &listener_events, .owner = &server},
                            .options = options};

    probe_counters();
    listener_serve(&server.listener, -1, problem);
}
