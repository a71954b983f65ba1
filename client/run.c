/* SPDX-License-Identifier: MIT */
#include "run.h"

#include "base/clock.h"
#include "capture/capture.h"
#include "measure/facts.h"

#include <stdio.h>

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
    work_close(run);
    for (int end = 0; end < END_COUNT; end++)
        link_close(&run->links[end]);
    session_close(&run->session);
}

/* Tells all ends why the run fails. */
static void tell_all(struct run *run)
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

/* Whether another end may still say why the run failed. */
static bool may_explain(const struct run *run)
{
    for (int end = 0; end < END_COUNT; end++)
        if (run->links[end].is_open && !run->links[end].channel.ended)
            return true;
    return false;
}

/* A symptom gets the kind of its reason. */
static void add_reason(struct problem *problem, const struct problem *reason)
{
    problem_add(problem, reason->text);
    if (problem->is_symptom)
        problem->kind = reason->kind;
    problem->is_symptom &= reason->is_symptom;
}

/* Another end has failed or left, or a step of this end. If the team works, it ends first: then
 * run_work_ended() follows. The first problem stays, as after a suspension; if it is a symptom, the
 * reason of another end is added. Without a proxy no second symptom is added: it would only say
 * that this client closed. With a proxy it names an end further away. */
static void fail(struct run *run, const char *phase, const struct problem *problem)
{
    bool is_working = run->session.state == SESSION_RUNNING && team_is_open(&run->team);
    const struct problem *own = is_working ? team_problem(&run->team, &(const char *){NULL}) : NULL;
    const struct problem *first = run->result.problem.kind != PROBLEM_NONE ? &run->result.problem : own;
    bool explains = !problem->is_symptom || plan_has_proxy(run->plan);

    if (own) {
        if (first->is_symptom && explains && run->reason.kind == PROBLEM_NONE)
            run->reason = *problem;
        return;
    }
    if (run->session.state == SESSION_EXPLAINING) {
        if (!explains && may_explain(run))
            return;
        if (explains)
            add_reason(&run->result.problem, problem);
    }
    note_problem(run, phase, problem);
    if (is_working)
        team_cancel(&run->team, false, phase, problem);
    else
        close_run(run);
}

/* The first open link without an answer; NULL: all have answered. */
static const struct link *find_pending(const struct run *run)
{
    for (int end = 0; end < END_COUNT; end++)
        if (run->links[end].is_open && !run->links[end].answer)
            return &run->links[end];
    return NULL;
}

/* EXPLAINING keeps the problem that it has; CLOSING comes from session_enter(). */
static void on_timed_out(void *owner)
{
    struct run *run = owner;
    const struct link *late = find_pending(run);
    struct problem problem = {0};
    problem_failure(&problem, "the %s did not report within %d s", end_names[late ? late->end : END_CLIENT],
                    (int)(session_limit_ms(SESSION_REPORTING, true, run->plan) / 1000));
    note_problem(run, "report", &problem);
    tell_all(run);
    close_run(run);
}

/* Collects what this end and the others have reported, or the facts of all machines. After a
 * failure the team may have no figures. */
static void finish_if_answered(struct run *run)
{
    bool is_report = run->session.state == SESSION_REPORTING;
    struct problem problem = {0};

    if (find_pending(run) || (!is_report && run->session.state != SESSION_ANSWERING))
        return;
    json_t *parts = run->result.parts = json_object();
    if (!is_report)
        json_object_set_new(parts, end_names[END_CLIENT],
                            facts_collect(&run->links[plan_second_end(run->plan)].address));
    for (enum end end = END_CLIENT + 1; end < END_COUNT; end++)
        json_object_set(parts, is_report && plan_is_subject(run->plan, end) ? "subject" : end_names[end],
                        run->links[end].answer); /* NULL: no such key */
    if (is_report && (work_report(run, &problem) < 0 || record_check(parts, &problem) < 0))
        note_problem(run, "report", &problem);
    close_run(run);
}

/* If a failure of the team or the command is a symptom, another end may know why: its message is on
 * its way. With a proxy or a subject the client waits in any case. A server gets the failure of
 * this end at once: one with a subject then looks for a reason. A proxy gets it last, because it
 * may itself have broken the connection for a reason that it has not reported yet. */
void run_work_ended(struct run *run, const char *phase, const struct problem *problem)
{
    if (run->session.state != SESSION_RUNNING) {
        if (problem)
            fail(run, "start", problem);
        return;
    }
    if (!problem) {
        session_enter(&run->session, SESSION_REPORTING);
        finish_if_answered(run);
        return;
    }
    bool is_first = run->result.problem.kind == PROBLEM_NONE;
    bool has_proxy = plan_has_proxy(run->plan), has_subject = plan_has_subject(run->plan);
    bool has_reason = run->reason.kind != PROBLEM_NONE;
    note_problem(run, phase, problem);
    if (has_reason)
        add_reason(&run->result.problem, &run->reason);
    bool lacks_reason = run->result.problem.is_symptom || (is_first && (has_proxy || has_subject));
    bool waits = lacks_reason && !has_reason && may_explain(run);
    if (!waits || !has_proxy || has_subject)
        tell_all(run);
    if (waits)
        session_enter(&run->session, SESSION_EXPLAINING);
    else
        close_run(run);
}

/* ---- messages ---- */

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
        link_take_ready(link, body, &problem);
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
        if (link->answer) {
            problem_failure(&problem, "the %s reported twice", end_names[link->end]);
            break;
        }
        link->answer = json_incref(json_object_get(body, "value"));
        finish_if_answered(run);
        break;
    default:
        if (!belongs || work_message(run, link->end, type, body, &problem) < 0)
            problem_failure(&problem, "the %s sent a message that does not belong here",
                            end_names[link->end]);
    }
    if (problem.kind != PROBLEM_NONE)
        fail(run, phase, &problem);
}

void run_link_failed(struct link *link, const struct problem *problem)
{
    struct run *run = link->run;
    fail(run, team_is_open(&run->team) ? team_phase(&run->team) : run->command ? "run" : "start", problem);
}

/* ---- the beginning ---- */

static void on_checked(uv_work_t *request, int status)
{
    struct run *run = request->data;
    struct problem problem = run->check_problem;

    run_part_closed(run);
    if (run->session.state == SESSION_CLOSING)
        return;
    if (plan_has_peer(run->plan) && problem.kind == PROBLEM_NONE)
        address_format(run->result.addresses[END_SERVER], &run->target);
    if (problem.kind == PROBLEM_NONE && run->plan->has_server)
        link_open(run, plan_second_end(run->plan));
    else if (problem.kind != PROBLEM_NONE || work_start(run, &problem) < 0)
        fail(run, "start", &problem);
}

/* Takes a cell, or a question for facts, from its first state until all its parts are closed. */
static void complete(struct run *run, struct client *client, const struct plan *plan, bool wants_facts)
{
    struct problem problem = {0};

    *run = (struct run){.client = client,
                        .plan = plan,
                        .session = {.is_client = true,
                                    .plan = plan,
                                    .timed_out = on_timed_out,
                                    .closed = run_part_closed,
                                    .owner = run},
                        .wants_facts = wants_facts,
                        .open_parts = 2, /* the timer of the session, and the work */
                        .result = {.started_unix_ns = clock_read_ns(CLOCK_REALTIME), .phase = "start"}};
    session_open(&run->session, &client->loop, wants_facts ? SESSION_CONNECTING : SESSION_CHECKING);
    if (wants_facts) {
        link_ask_for_facts(run);
    } else {
        run->open_parts++;
        run->check.data = run;
        uv_queue_work(&client->loop, &run->check, work_check, on_checked);
    }
    while (run->open_parts > 0) {
        if (client->orphaned && run->session.state != SESSION_CLOSING) {
            problem_failure(&problem, "the process that started this run has ended");
            note_problem(run, "run", &problem);
            close_run(run);
        }
        uv_run(&client->loop, UV_RUN_ONCE);
    }
    if (run->capture)
        capture_free(run->capture); /* waits for its thread */
    json_decref(run->ready);
}

json_t *run_cell(struct client *client, const struct plan *plan, struct problem *problem)
{
    uint64_t started = clock_now_ns();
    json_t *record = NULL;
    struct run run;
    struct problem *reason = &run.result.problem;

    complete(&run, client, plan, false);
    for (enum end end = 0; end < END_COUNT && reason->kind == PROBLEM_FAILURE; end++)
        own_server_stop(client, end, reason); /* the next run starts new ones */
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
    complete(&run, client, plan, true);
    *problem = run.result.problem;
    return run.result.parts;
}
