/* SPDX-License-Identifier: MIT */
#include "run.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hex.h"
#include "command.h"
#include "measure/facts.h"
#include "net/sockets.h"
#include "record.h"
#include "segments.h"
#include "support/support.h"
#include "team/coordinator.h"
#include "transport/transport.h"
#include "words/parse.h"

#include <stdio.h>
#include <string.h>

#define CONNECT_WITHIN_MS 4000
#define REPORT_WITHIN_MS 30000        /* a server first receives the data in flight */
#define REASON_WITHIN_MS 300          /* for another end to report why our connections broke */
#define SUBJECT_REASON_WITHIN_MS 1000 /* for the server to report that its subject has ended */

struct link {
    struct run *run;
    enum end end;
    struct address address;
    struct channel channel;
    bool is_open, is_asked; /* is_asked: CONTROL_PLAN was sent */
    json_t *answer;         /* its report or facts */
};

struct run {
    struct client *client;
    const struct plan *plan;
    struct link links[END_COUNT]; /* by end; links[END_CLIENT] is unused */
    struct address target;        /* of the data connections */
    json_t *ready;                /* CONTROL_READY of the end that has their token; NULL: not yet */
    struct team team;
    struct coordinator coordinator;
    struct command *command; /* in place of the team; NULL: not yet */
    struct capture *capture; /* NULL: no capture */
    uv_timer_t timer;        /* for a missing report, or for another end's reason */
    bool remote;             /* the other end of the data connections is on another machine */
    bool wants_facts, has_team, team_done, awaits_reason, is_over;
    bool is_timed;  /* the timed run of the command has begun */
    int open_parts; /* links, team and timer */
    struct run_result result;
};

/* ---- all links ---- */

/* The first end without an answer; NULL: all have answered. */
static struct link *find_pending(struct run *run)
{
    for (int end = 0; end < END_COUNT; end++)
        if (run->links[end].is_open && !run->links[end].answer)
            return &run->links[end];
    return NULL;
}

static void send_failure(struct run *run, const char *phase, const struct problem *problem)
{
    for (int end = 0; end < END_COUNT; end++)
        if (run->links[end].is_open)
            channel_send_problem(&run->links[end].channel, phase, problem);
}

/* ---- the end ---- */

static void part_closed(void *owner)
{
    struct run *run = owner;

    run->open_parts--;
}

static void link_closed(void *owner)
{
    part_closed(((struct link *)owner)->run);
}

static void on_timer_closed(uv_handle_t *timer)
{
    part_closed(timer->data);
}

/* Ends the run. Stops the timer, which may be due in the same iteration. */
static void finish(struct run *run)
{
    run->is_over = true;
    uv_timer_stop(&run->timer);
}

/* Keeps the first problem, and appends a reason that another end reports. If a team runs, cancels
 * it: on_passed() follows. */
static void end_run(struct run *run, const char *phase, const struct problem *problem)
{
    if (run->awaits_reason && !run->is_over)
        problem_add(&run->result.problem, problem->text);
    if (run->result.problem.kind == PROBLEM_NONE) {
        run->result.problem = *problem;
        snprintf(run->result.phase, sizeof run->result.phase, "%s", phase);
    }
    if (run->has_team && !run->team_done)
        team_cancel(&run->team, phase, problem);
    else
        finish(run);
}

static void on_report_timeout(uv_timer_t *timer)
{
    struct run *run = timer->data;
    struct problem problem = {0};

    problem_failure(&problem, "the %s did not report within %d s", end_names[find_pending(run)->end],
                    REPORT_WITHIN_MS / 1000);
    end_run(run, "report", &problem);
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

static void finish_if_done(struct run *run)
{
    struct problem problem = {0};

    /* After a failure the team may have no figures: the run only waits for another end's reason. */
    if (!run->team_done || run->result.problem.kind != PROBLEM_NONE)
        return;
    if (find_pending(run)) {
        if (!uv_is_active((uv_handle_t *)&run->timer))
            uv_timer_start(&run->timer, on_report_timeout, REPORT_WITHIN_MS, 0);
        return;
    }
    if (make_reports(run, &problem) < 0)
        end_run(run, "report", &problem);
    finish(run);
}

/* ---- the team ---- */

static void on_reason_timeout(uv_timer_t *timer)
{
    struct run *run = timer->data;

    send_failure(run, run->result.phase, &run->result.problem);
    finish(run);
}

/* With a proxy, the failure of another connection may have broken this one. So the client first
 * waits for a reason from another end, then sends its own failure. The server of a subject gets the
 * failure at once, and then looks for a reason. */
static void fail_run(struct run *run, const char *phase, const struct problem *problem)
{
    bool is_first = run->result.problem.kind == PROBLEM_NONE;

    end_run(run, phase, problem);
    if (is_first && plan_has_subject(run->plan))
        send_failure(run, phase, problem);
    if (is_first && (plan_has_proxy(run->plan) || plan_has_subject(run->plan))) {
        run->is_over = false;
        run->awaits_reason = true;
        uv_timer_start(&run->timer, on_reason_timeout,
                       plan_has_subject(run->plan) ? SUBJECT_REASON_WITHIN_MS : REASON_WITHIN_MS, 0);
    } else {
        send_failure(run, phase, problem);
    }
}

/* CONTROL_MARKED makes the server read the CPU time of the subject, around the timed run. */
static void on_command_done(void *owner, const struct problem *problem)
{
    struct run *run = owner;

    if (problem->kind != PROBLEM_NONE) {
        fail_run(run, "run", problem);
        return;
    }
    run->team_done = run->is_timed;
    channel_send(&run->links[END_SERVER].channel, CONTROL_MARKED, NULL);
}

static int start_command(struct run *run, struct problem *problem)
{
    const char *file = run->client->options->locations[END_SERVER].subjects;
    struct command_task task = {.plan = run->plan,
                                .definitions = file,
                                .address = &run->target,
                                .key = control_text(run->ready, "key"),
                                .done = on_command_done,
                                .closed = part_closed,
                                .owner = run};

    if (plan_cpus(run->plan, END_CLIENT, run->remote, &task.cpus, problem) < 0 ||
        !(run->command = command_open(&task, &run->client->loop, problem)))
        return -1;
    run->open_parts += 2;
    return 0;
}

/* CONTROL_JOINED: the subject accepts connections. CONTROL_MARKED: its CPU time was read, so the
 * timed run begins. -1: the message does not belong here. */
static int continue_command(struct run *run, enum control_type type)
{
    if (type != CONTROL_JOINED && (type != CONTROL_MARKED || run->is_timed))
        return -1;
    if (type == CONTROL_MARKED) {
        run->is_timed = true;
        command_time(run->command);
    }
    return 0;
}

static void on_passed(void *owner, enum phase passed)
{
    struct run *run = owner;
    const struct problem *problem;
    const char *phase = "run";

    coordinator_passed(&run->coordinator, passed);
    if (passed != PHASE_REPORT)
        return;
    run->team_done = true;
    problem = team_problem(&run->team, &phase);
    if (problem)
        fail_run(run, phase, problem);
    else
        finish_if_done(run);
}

static const struct team_events team_events = {.passed = on_passed, .closed = part_closed};

/* Starts the capture first, then the threads, which make the connections. */
static int start_team(struct run *run, struct problem *problem)
{
    const struct plan *plan = run->plan;
    enum end neighbour = plan_neighbour(plan, END_CLIENT);
    struct team *team = &run->team;

    run->has_team = true;
    run->team_done = true; /* no thread runs yet that could reach PHASE_REPORT */
    run->open_parts++;
    run->coordinator = (struct coordinator){.team = team};
    for (int end = 0; end < END_COUNT; end++)
        if (run->links[end].is_open)
            run->coordinator.channels[end] = &run->links[end].channel;
    if (team_open(team, &run->client->loop, plan, END_CLIENT, run->remote, &team_events, run, problem) < 0)
        return -1;
    team->target = run->target;
    if (run->ready && (hex_parse(team->token, TOKEN_SIZE, control_text(run->ready, "token")) < 0 ||
                       (plan->encrypts && hex_parse(team->keys[neighbour], SECURITY_KEY_SIZE,
                                                    control_text(run->ready, "key")) < 0)))
        return problem_failure(problem, "the ready message of the %s has no valid token or key",
                               end_names[neighbour]);
    team->by_certificate =
        run->ready && !strcmp(control_text(run->ready, "handshake"), handshake_names[HANDSHAKE_CERTIFICATE]);
    if (plan_captures(plan) && !(run->capture = segments_watch(plan, &run->target, run->remote,
                                                               run->client->options->pcap, problem)))
        return -1;
    if (team_start(team, problem) < 0)
        return -1;
    run->team_done = false;
    return 0;
}

/* ---- connecting to the ends ---- */

/* Finds the address of an end, and starts the end if the client has to. An end with an address in
 * words may be on another machine only with TLS or --insecure. */
static int find_address(struct link *link, const struct psk_list **keys, struct problem *problem)
{
    struct client *client = link->run->client;
    const struct options *options = client->options;
    struct own_server *own = &client->own[link->end];
    char *name = link->run->result.addresses[link->end];
    bool is_own = plan_is_own(link->run->plan, link->end);

    if (is_own) {
        if (own_server_start(own, link->end == END_PROXY, &options->locations[link->end], problem) < 0)
            return -1;
        link->address = own->address;
    } else if (address_parse(&link->address, plan_address(link->run->plan, link->end), problem) < 0) {
        return -1;
    }
    *keys = is_own ? own->keys : options->keys;
    address_format(name, &link->address);
    if (is_own || options->keys || options->insecure || address_is_local(&link->address))
        return 0;
    return problem_usage(problem,
                         "the %s %s is on another machine: give --psk FILE here and there, or --insecure",
                         end_names[link->end], name);
}

static const struct channel_events channel_events;

static int open_link(struct run *run, enum end end, struct problem *problem)
{
    const char *name = run->result.addresses[end];
    struct link *link = &run->links[end];
    const struct psk_list *keys;
    int fd;

    *link = (struct link){.run = run, .end = end};
    if (find_address(link, &keys, problem) < 0)
        return -1;
    fd = sockets_make(link->address.storage.ss_family, SOCK_STREAM, 0, true);
    if (fd < 0)
        return problem_failure(problem, "cannot make a socket for %s: %s", name, strerror(errno));
    if (address_connect(fd, &link->address, CONNECT_WITHIN_MS, problem) < 0) {
        close(fd);
        return -1;
    }
    link->is_open = true;
    run->open_parts++;
    return channel_open(&link->channel, &run->client->loop, fd, keys, &channel_events, link, problem);
}

/* Opens a link and sends the plan. The server gets the host id of its neighbour, which is the proxy
 * or this client. */
static int send_plan(struct run *run, enum end end, struct problem *problem)
{
    const char *host =
        end == END_SERVER && plan_has_proxy(run->plan) ? control_text(run->ready, "host") : facts_host_id();
    CLEANUP_JSON json_t *words = NULL;
    json_t *list, *value;
    const char *key;

    if (open_link(run, end, problem) < 0)
        return -1;
    words = plan_words(run->plan);
    list = json_array();
    json_object_foreach(words, key, value)
        if (strcmp(key, "server") != 0 && strcmp(key, "via") != 0) /* the ends know the addresses */
            json_array_append_new(list, json_sprintf("%s=%s", key, json_string_value(value)));
    run->links[end].is_asked = true;
    channel_send(&run->links[end].channel, CONTROL_PLAN,
                 json_pack("{s:s, s:s, s:s, s:o}", "version", UNCORK_VERSION, "end", end_names[end], "host",
                           host, "words", list));
    return 0;
}

/* Gets the address of the data connections. The end chooses port or path, but not the machine. */
static int find_data(const struct link *link, struct address *data, const json_t *ready,
                     struct problem *problem)
{
    const struct transport *transport = link->run->plan->transport;
    const char *name = transport->variant.name, *end = end_names[link->end];

    switch (transport->data_target(data, &link->address, json_integer_value(json_object_get(ready, "port")),
                                   control_text(ready, "path"))) {
    case 0:
        return 0;
    case -EPERM:
        return problem_failure(problem, "transport=%s needs a %s at unix:PATH or on loopback, not at %s",
                               name, end, link->run->result.addresses[link->end]);
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

/* The proxy gets its plan first, because a client that waits for the proxy must not block a server.
 * Then the server gets its plan, and the proxy the address of the server. */
static int take_ready(struct run *run, struct link *link, const json_t *body, struct problem *problem)
{
    struct link *proxy = &run->links[END_PROXY];
    struct address data;

    if (run->has_team || !link->is_asked)
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
    if (link->end == END_PROXY)
        return send_plan(run, END_SERVER, problem);
    if (proxy->is_open && send_sink(run, &proxy->channel, &data, body, problem) < 0)
        return -1;
    return run->plan->runs_command ? start_command(run, problem) : start_team(run, problem);
}

/* ---- messages ---- */

static int reject_message(const struct link *link, struct problem *problem)
{
    return problem_failure(problem, "the %s sent a message that does not belong here", end_names[link->end]);
}

/* Rejects a report before the run, and facts in a run: both would end the run as a success. */
static int take_answer(struct run *run, struct link *link, enum control_type type, const json_t *body,
                       struct problem *problem)
{
    if (type == CONTROL_FACTS ? !run->wants_facts : !run->has_team && !run->command)
        return reject_message(link, problem);
    if (link->answer)
        return problem_failure(problem, "the %s reported twice", end_names[link->end]);
    link->answer = json_incref(json_object_get(body, "value"));
    if (run->has_team || run->command)
        finish_if_done(run);
    else if (!find_pending(run)) /* the last facts */
        finish(run);
    return 0;
}

static void on_message(void *owner, enum control_type type, const json_t *body)
{
    struct link *link = owner;
    struct run *run = link->run;
    struct problem problem = {0};
    const char *phase = "run";

    if (run->is_over) /* several messages may arrive together */
        return;
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
        take_answer(run, link, type, body, &problem);
        break;
    default:
        if (run->command ? continue_command(run, type) == 0
                         : run->has_team &&
                               coordinator_message(&run->coordinator, link->end, type, body, &problem) != 0)
            break;
        reject_message(link, &problem);
    }
    if (problem.kind != PROBLEM_NONE)
        end_run(run, phase, &problem);
}

static void on_ended(void *owner, const char *why)
{
    struct link *link = owner;
    struct run *run = link->run;
    struct problem problem = {0};

    problem_failure(&problem, "the %s %s %s", end_names[link->end], run->result.addresses[link->end], why);
    end_run(run, run->has_team ? team_phase(&run->team) : "start", &problem);
}

static const struct channel_events channel_events = {
    .message = on_message, .ended = on_ended, .closed = link_closed};

/* ---- the beginning ---- */

/* Starts a run without an uncork server: there is no other end to wait for. */
static int begin_alone(struct run *run, struct problem *problem)
{
    if (plan_has_peer(run->plan)) {
        if (address_parse(&run->target, run->plan->peer, problem) < 0)
            return -1;
        address_format(run->result.addresses[END_SERVER], &run->target);
        run->remote = !address_is_local(&run->target);
    }
    if (start_team(run, problem) < 0)
        return -1;
    coordinator_start(&run->coordinator);
    return 0;
}

static void complete(struct run *run)
{
    struct client *client = run->client;
    struct problem problem = {0};

    while (!run->is_over && !client->orphaned)
        uv_run(&client->loop, UV_RUN_ONCE);
    if (!run->is_over) {
        problem_failure(&problem, "the process that started this run has ended");
        end_run(run, "run", &problem);
    }
    while (!run->is_over)
        uv_run(&client->loop, UV_RUN_ONCE);
}

static void clear(struct run *run)
{
    if (run->has_team)
        team_close(&run->team);
    if (run->command)
        command_close(run->command);
    if (run->capture)
        capture_library->free(run->capture);
    for (int end = 0; end < END_COUNT; end++)
        if (run->links[end].is_open)
            channel_close(&run->links[end].channel);
    uv_close((uv_handle_t *)&run->timer, on_timer_closed);
    while (run->open_parts > 0)
        uv_run(&run->client->loop, UV_RUN_ONCE);
    for (int end = 0; end < END_COUNT; end++)
        json_decref(run->links[end].answer);
    json_decref(run->ready);
}

static void open_timer(struct run *run)
{
    uv_timer_init(&run->client->loop, &run->timer);
    run->timer.data = run;
    run->open_parts = 1;
}

json_t *run_cell(struct client *client, const struct plan *plan, struct problem *problem)
{
    struct run run = {.client = client, .plan = plan, .result.started_unix_ns = clock_unix_ns()};
    struct problem *reason = &run.result.problem;
    uint64_t started = clock_now_ns();
    json_t *record = NULL;
    int result;

    open_timer(&run);
    strcpy(run.result.phase, "start");
    if (support_check(plan, END_CLIENT, false, reason) == 0) {
        result =
            plan->has_server ? send_plan(&run, plan_second_end(plan), reason) : begin_alone(&run, reason);
        if (result == 0)
            complete(&run);
    }
    clear(&run);
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
    struct run run = {.client = client, .plan = plan, .wants_facts = true};
    struct problem *reason = &run.result.problem;
    json_t *facts = NULL;

    if (!plan->has_server)
        return json_pack("{s:o}", "client", facts_collect(NULL));
    open_timer(&run);
    /* First opens all links: an early answer must not look like the last one. */
    for (enum end end = END_CLIENT + 1; end < END_COUNT && reason->kind == PROBLEM_NONE; end++)
        if (plan_has_end(plan, end))
            open_link(&run, end, reason);
    for (enum end end = END_CLIENT + 1; end < END_COUNT; end++)
        if (run.links[end].is_open)
            channel_send(&run.links[end].channel, CONTROL_ASK, json_pack("{s:s}", "version", UNCORK_VERSION));
    if (reason->kind == PROBLEM_NONE)
        complete(&run);
    if (reason->kind == PROBLEM_NONE)
        facts = json_pack("{s:o, s:O*, s:O*}", "client",
                          facts_collect(&run.links[plan_second_end(plan)].address), end_names[END_SERVER],
                          run.links[END_SERVER].answer, end_names[END_PROXY], run.links[END_PROXY].answer);
    else
        *problem = *reason;
    clear(&run);
    return facts;
}
