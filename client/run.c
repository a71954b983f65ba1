/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "base/version.h"
#include "client.h"
#include "link.h"
#include "measure/facts.h"
#include "team/session.h"
#include "work.h"

#include <stdio.h>
#include <string.h>

struct run {
    struct client *client;
    const struct plan *plan;
    struct session session;
    struct link links[END_COUNT]; /* by end; links[END_CLIENT] is unused */
    uv_work_t check;
    struct work work;
    bool wants_facts; /* in place of a run */
    bool is_closing;
    int open_parts; /* timer, links, check, work */
    struct run_result result;
};

/* ---- the end ---- */

void run_part_closed(void *owner)
{
    struct run *run = owner;

    run->open_parts--;
}

static void close_run(struct run *run)
{
    if (run->is_closing)
        return;
    run->is_closing = true;
    if (run->session.state != SESSION_CLOSING)
        session_enter(&run->session, SESSION_CLOSING);
    work_close(&run->work);
    for (int end = 0; end < END_COUNT; end++)
        link_close(&run->links[end]);
    session_close(&run->session);
}

/* Tells all ends why, and closes. */
static void give_up(struct run *run)
{
    links_send_problem(run->links, run->result.phase, &run->result.problem);
    close_run(run);
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
 * fail_in_run() follows. Its own reason comes first, as after a suspension. */
static void fail(struct run *run, const char *phase, const struct problem *problem)
{
    bool is_running = run->session.state == SESSION_RUNNING;

    if (run->session.state == SESSION_EXPLAINING)
        problem_add(&run->result.problem, problem->text);
    if (is_running && run->work.team.by_control)
        return;
    note_problem(run, phase, problem);
    if (!is_running || !work_cancel(&run->work, phase, problem))
        close_run(run);
}

/* The team or the command has failed. With a proxy, the failure of another connection may have
 * broken this one. So the client first waits for a reason from another end, then sends its own
 * failure. The server of a subject gets the failure at once, and then looks for a reason. */
static void fail_in_run(struct run *run, const char *phase, const struct problem *problem)
{
    bool is_first = run->result.problem.kind == PROBLEM_NONE;

    note_problem(run, phase, problem);
    if (is_first && (plan_has_proxy(run->plan) || plan_has_subject(run->plan))) {
        if (plan_has_subject(run->plan))
            links_send_problem(run->links, run->result.phase, &run->result.problem);
        session_enter(&run->session, SESSION_EXPLAINING);
    } else {
        give_up(run);
    }
}

/* EXPLAINING keeps the problem that it has; CLOSING comes from session_enter(). */
static void on_timed_out(void *owner)
{
    struct run *run = owner;
    const struct link *late = links_pending(run->links);
    struct problem problem = {0};

    problem_failure(&problem, "the %s did not report within %d s", end_names[late ? late->end : END_CLIENT],
                    (int)(session_limit_ms(SESSION_REPORTING, true, run->plan) / 1000));
    note_problem(run, "report", &problem);
    give_up(run);
}

static int make_reports(struct run *run, struct problem *problem)
{
    json_t *parts = run->result.parts = json_object();

    if (work_report(&run->work, &run->result, problem) < 0)
        return -1;
    for (enum end end = END_CLIENT + 1; end < END_COUNT; end++)
        json_object_set(parts, plan_is_subject(run->plan, end) ? "subject" : end_names[end],
                        run->links[end].answer); /* NULL: no such key */
    return json_object_get(parts, end_names[END_SERVER]) ? record_check(parts, problem) : 0;
}

/* After a failure the team may have no figures. */
static void finish_if_answered(struct run *run)
{
    enum session_state state = run->session.state;
    struct problem problem = {0};

    if (links_pending(run->links) || (state != SESSION_REPORTING && state != SESSION_ANSWERING))
        return;
    if (state == SESSION_ANSWERING)
        run->result.parts = links_facts(run->links, run->plan);
    else if (make_reports(run, &problem) < 0)
        note_problem(run, "report", &problem);
    close_run(run);
}

/* ---- the work ---- */

void run_work_begun(struct run *run)
{
    session_enter(&run->session, SESSION_RUNNING);
}

void run_work_ended(struct run *run, const char *phase, const struct problem *problem)
{
    if (run->session.state != SESSION_RUNNING) {
        if (problem)
            fail(run, "start", problem);
    } else if (problem) {
        fail_in_run(run, phase, problem);
    } else {
        session_enter(&run->session, SESSION_REPORTING);
        finish_if_answered(run);
    }
}

/* The end with the data connections of the client is ready, and so are all behind it. */
static int start_work(struct run *run, struct problem *problem)
{
    for (int end = 0; end < END_COUNT; end++)
        if (run->links[end].is_open)
            run->work.hub.channels[end] = &run->links[end].channel;
    if (run->plan->runs_command)
        session_enter(&run->session, SESSION_STARTING);
    return work_start(&run->work, problem);
}

/* ---- connecting to the ends ---- */

static void connect_to(struct run *run, enum end end)
{
    run->links[end] = (struct link){
        .end = end, .plan = run->plan, .client = run->client, .run = run, .name = run->result.addresses[end]};
    run->open_parts++;
    if (run->session.state != SESSION_CONNECTING)
        session_enter(&run->session, SESSION_CONNECTING);
    link_open(&run->links[end]);
}

/* Asks for facts when all links are open: an early answer must not look like the last one. */
static void ask_for_facts(struct run *run)
{
    for (enum end end = END_CLIENT + 1; end < END_COUNT; end++)
        if (plan_has_end(run->plan, end) && !run->links[end].is_open) {
            if (!run->links[end].open_parts)
                connect_to(run, end);
            return;
        }
    session_enter(&run->session, SESSION_ANSWERING);
    for (enum end end = END_CLIENT + 1; end < END_COUNT; end++)
        if (run->links[end].is_open)
            channel_send(&run->links[end].channel, CONTROL_ASK,
                         json_pack("{s:s}", "version", UNCORK_VERSION));
}

/* The server gets the host id of its neighbour, which is the proxy or this client. */
void run_link_opened(struct link *link)
{
    struct run *run = link->run;
    bool is_behind = link->end == END_SERVER && plan_has_proxy(run->plan);

    if (run->wants_facts) {
        ask_for_facts(run);
        return;
    }
    session_enter(&run->session, SESSION_AGREEING);
    link_send_plan(link, is_behind ? control_text(run->work.ready, "host") : facts_host_id());
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
    if (link_find_data(link, &data, body, problem) < 0)
        return -1;
    if (link->end == plan_second_end(run->plan)) {
        run->work.target = data;
        run->work.remote = strcmp(control_text(body, "host"), facts_host_id()) != 0;
    }
    if (!run->work.ready || link->end == plan_neighbour(run->plan, END_CLIENT)) {
        json_decref(run->work.ready);
        run->work.ready = json_deep_copy(body);
    }
    if (link->end == END_PROXY) {
        connect_to(run, END_SERVER);
        return 0;
    }
    if (proxy->is_open && link_send_sink(proxy, &data, body, problem) < 0)
        return -1;
    return awaits_relay(run) ? 0 : start_work(run, problem);
}

/* ---- messages ---- */

/* -1: the message does not belong here. */
static int take_phase(struct run *run, const struct link *link, enum control_type type, const json_t *body,
                      struct problem *problem)
{
    if (run->session.state == SESSION_AGREEING) {
        const struct link *server = &run->links[END_SERVER];

        if (!awaits_relay(run) || link->end != END_PROXY || !server->is_open || server->is_asked)
            return -1;
        if (start_work(run, problem) < 0)
            return 0;
    }
    return work_message(&run->work, link->end, type, body);
}

void run_link_message(void *owner, enum control_type type, const json_t *body)
{
    struct link *link = owner;
    struct run *run = link->run;
    struct problem problem = {0};
    const char *phase = "run";
    bool belongs = session_accepts(&run->session, type);

    switch (belongs ? type : CONTROL_TYPE_COUNT) {
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
        if (link_take_answer(link, body, &problem) == 0)
            finish_if_answered(run);
        break;
    default:
        if (!belongs || take_phase(run, link, type, body, &problem) < 0)
            problem_failure(&problem, "the %s sent a message that does not belong here",
                            end_names[link->end]);
    }
    if (problem.kind != PROBLEM_NONE)
        fail(run, phase, &problem);
}

void run_link_failed(struct link *link, const struct problem *problem)
{
    fail(link->run, work_phase(&link->run->work), problem);
}

/* ---- the beginning ---- */

static void check(uv_work_t *request)
{
    work_check(&((struct run *)request->data)->work);
}

static void on_checked(uv_work_t *request, int status)
{
    struct run *run = request->data;
    struct problem problem = run->work.problem;

    (void)status;
    run_part_closed(run);
    if (run->session.state == SESSION_CLOSING)
        return;
    if (plan_has_peer(run->plan) && problem.kind == PROBLEM_NONE)
        address_format(run->result.addresses[END_SERVER], &run->work.target);
    if (problem.kind == PROBLEM_NONE && run->plan->has_server)
        connect_to(run, plan_second_end(run->plan));
    else if (problem.kind != PROBLEM_NONE || start_work(run, &problem) < 0)
        fail(run, "start", &problem);
}

static void open_run(struct run *run, struct client *client, const struct plan *plan,
                     enum session_state first)
{
    *run = (struct run){.client = client,
                        .plan = plan,
                        .session = {.is_client = true,
                                    .plan = plan,
                                    .timed_out = on_timed_out,
                                    .closed = run_part_closed,
                                    .owner = run},
                        .work = {.plan = plan, .client = client, .run = run},
                        .open_parts = 2, /* the timer of the session, and the work */
                        .result = {.started_unix_ns = clock_unix_ns(), .phase = "start"}};
    session_open(&run->session, &client->loop, first);
}

/* Turns the loop until all parts of the run are closed. */
static void complete(struct run *run)
{
    struct problem problem = {0};

    while (run->open_parts > 0) {
        if (run->client->orphaned && run->session.state != SESSION_CLOSING) {
            problem_failure(&problem, "the process that started this run has ended");
            note_problem(run, "run", &problem);
            close_run(run);
        }
        uv_run(&run->client->loop, UV_RUN_ONCE);
    }
    json_decref(run->work.ready);
}

json_t *run_cell(struct client *client, const struct plan *plan, struct problem *problem)
{
    uint64_t started = clock_now_ns();
    json_t *record = NULL;
    struct run run;
    struct problem *reason = &run.result.problem;

    open_run(&run, client, plan, SESSION_CHECKING);
    run.open_parts++;
    run.check.data = &run;
    uv_queue_work(&client->loop, &run.check, check, on_checked);
    complete(&run);
    for (int end = 0; end < END_COUNT && reason->kind == PROBLEM_FAILURE; end++)
        own_server_stop_failed(&client->own[end], reason); /* the next run starts new ones */
    run.result.wall_ns = clock_now_ns() - started;
    if (reason->kind == PROBLEM_USAGE)
        *problem = *reason;
    else
        record = record_make(plan, &run.result);
    json_decref(run.result.parts);
    return record;
}

json_t *run_facts(struct client *client, const struct plan *plan, struct problem *problem)
{
    struct run run;

    if (!plan->has_server)
        return json_pack("{s:o}", "client", facts_collect(NULL));
    open_run(&run, client, plan, SESSION_CONNECTING);
    run.wants_facts = true;
    ask_for_facts(&run);
    complete(&run);
    *problem = run.result.problem;
    return run.result.parts;
}
