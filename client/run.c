/* SPDX-License-Identifier: MIT */
#include "run.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/version.h"
#include "connection/legality.h"
#include "control/channel.h"
#include "measure/facts.h"
#include "record.h"
#include "team/conduct.h"
#include "transport/sockets.h"
#include "transport/transport.h"

#include <stdio.h>
#include <string.h>

#define CONNECT_WITHIN_MS 4000
#define REPORT_WITHIN_MS 30000 /* a server drains what is still under way before it reports */

/* A run, or a question about facts: what is under way with a server. */
struct run {
    struct client *client;
    const struct plan *plan;
    struct address server;
    struct channel channel;
    struct team team;
    struct conduct conduct;
    uv_timer_t patience; /* with a server that lives and does not report */
    bool has_channel, has_patience, has_team, team_done, server_done, over;
    int open_parts;
    struct long_value received;
    json_t *answer; /* the server's report or facts */
    struct run_result result;
};

/* ---- the end ---- */

static void part_closed(void *owner)
{
    struct run *run = owner;

    run->open_parts--;
}

/* The first problem stays. A team that runs ends first: on_reached() comes. */
static void give_up(struct run *run, const char *phase, const struct problem *problem)
{
    if (run->result.problem.kind == PROBLEM_NONE) {
        run->result.problem = *problem;
        snprintf(run->result.phase, sizeof run->result.phase, "%s", phase);
    }
    if (run->has_team && !run->team_done)
        team_cancel(&run->team, phase, problem);
    else
        run->over = true;
}

static void on_impatient(uv_timer_t *patience)
{
    struct problem problem = {0};

    problem_failure(&problem, "the server did not report within %d s", REPORT_WITHIN_MS / 1000);
    give_up(patience->data, "report", &problem);
}

static void await_report(struct run *run)
{
    run->has_patience = true;
    run->open_parts++;
    uv_timer_init(&run->client->loop, &run->patience);
    run->patience.data = run;
    uv_timer_start(&run->patience, on_impatient, REPORT_WITHIN_MS, 0);
}

static void on_patience_closed(uv_handle_t *patience)
{
    part_closed(patience->data);
}

static void finish_if_done(struct run *run)
{
    struct problem problem = {0};

    if (run->team_done && run->has_channel && !run->server_done && !run->has_patience)
        await_report(run);
    if (!run->team_done || (run->has_channel && !run->server_done))
        return;
    run->result.client = team_report(&run->team);
    run->result.server = run->answer;
    if (run->has_channel && record_check(run->result.client, run->answer, &problem) < 0)
        give_up(run, "report", &problem);
    run->over = true;
}

/* ---- the team ---- */

static void on_reached(void *owner, enum stage stage)
{
    struct run *run = owner;
    const struct problem *problem;
    const char *phase = "run";

    conduct_reached(&run->conduct, stage);
    if (stage != STAGE_DONE)
        return;
    run->team_done = true;
    problem = team_problem(&run->team, &phase);
    if (problem && run->has_channel)
        channel_send(&run->channel, CONTROL_FAILED,
                     json_pack("{s:s, s:s, s:s}", "kind", problem_kind_name(problem->kind), "phase", phase,
                               "text", problem->text));
    if (problem)
        give_up(run, phase, problem);
    else
        finish_if_done(run);
}

static const struct team_events team_events = {.reached = on_reached, .closed = part_closed};

static int start_team(struct run *run, bool remote, struct problem *problem)
{
    run->has_team = true;
    run->open_parts++;
    run->conduct = (struct conduct){.team = &run->team, .channel = run->has_channel ? &run->channel : NULL};
    return team_open(&run->team, &run->client->loop, run->plan, END_CLIENT, remote, &team_events, run,
                     problem);
}

static int parse_token(uint8_t token[TOKEN_SIZE], const char *text)
{
    for (size_t i = 0; i < TOKEN_SIZE; i++) {
        unsigned byte;

        if (sscanf(text + 2 * i, "%2x", &byte) != 1)
            return -1;
        token[i] = (uint8_t)byte;
    }
    return 0;
}

static int learn_target(struct run *run, const json_t *body, struct problem *problem)
{
    const char *token = json_string_value(json_object_get(body, "token"));

    if (address_parse(&run->team.target, json_string_value(json_object_get(body, "address")), problem) < 0)
        return -1;
    address_take_scope(&run->team.target, &run->server);
    return strlen(token) == 2 * TOKEN_SIZE ? parse_token(run->team.token, token) : -1;
}

static void take_ready(struct run *run, const json_t *body)
{
    bool remote = strcmp(json_string_value(json_object_get(body, "host")), facts_host_id()) != 0;
    struct problem problem = {0};

    if (run->has_team || start_team(run, remote, &problem) < 0 || learn_target(run, body, &problem) < 0 ||
        team_start(&run->team, &problem) < 0) {
        problem_failure(&problem, "the server's ready message makes no sense");
        run->team_done = true; /* no thread runs that could tell */
        give_up(run, "connect", &problem);
    }
}

/* ---- messages ---- */

static void take_problem(struct run *run, const json_t *body, const char *phase)
{
    struct problem problem = {.kind = problem_kind_parse(json_string_value(json_object_get(body, "kind")))};

    snprintf(problem.text, sizeof problem.text, "%s", json_string_value(json_object_get(body, "text")));
    give_up(run, phase, &problem);
}

static void take_answer(struct run *run, const json_t *body)
{
    struct problem problem = {0};
    int result = run->answer ? problem_failure(&problem, "the server reported twice")
                             : long_value_add(&run->received, body, &run->answer, &problem);

    if (result < 0)
        give_up(run, "report", &problem);
    if (result <= 0)
        return;
    run->server_done = true;
    if (run->has_team)
        finish_if_done(run);
    else
        run->over = true;
}

static void on_message(void *owner, enum control_type type, const json_t *body)
{
    struct run *run = owner;
    struct problem problem = {0};

    switch (type) {
    case CONTROL_WAIT:
        fprintf(stderr, "uncork-client: the server is busy with another session; waiting\n");
        break;
    case CONTROL_READY:
        take_ready(run, body);
        break;
    case CONTROL_JOINED:
        if (run->has_team)
            conduct_start(&run->conduct);
        break;
    case CONTROL_REFUSED:
        take_problem(run, body, "start");
        break;
    case CONTROL_FAILED:
        take_problem(run, body, json_string_value(json_object_get(body, "phase")));
        break;
    case CONTROL_REPORT:
    case CONTROL_FACTS:
        take_answer(run, body);
        break;
    default:
        if (!run->has_team || conduct_message(&run->conduct, type, body, &problem) <= 0) {
            problem_failure(&problem, "the server sent a message that does not belong here");
            give_up(run, "run", &problem);
        }
    }
}

static void on_ended(void *owner, const char *why)
{
    struct run *run = owner;
    struct problem problem = {0};
    char address[ADDRESS_MAX];

    address_format(address, &run->server);
    problem_failure(&problem, "the server %s %s", address, why);
    give_up(run, run->has_team ? team_phase(&run->team) : "start", &problem);
}

static const struct channel_events channel_events = {
    .message = on_message, .ended = on_ended, .closed = part_closed};

/* ---- the beginning ---- */

static int find_server(struct run *run, struct problem *problem)
{
    struct client *client = run->client;

    if (strcmp(run->plan->server, "own") != 0)
        return address_parse(&run->server, run->plan->server, problem);
    if (own_server_start(&client->own, &client->loop, client->where, problem) < 0)
        return -1;
    run->server = client->own.address;
    return 0;
}

static int open_channel(struct run *run, struct problem *problem)
{
    int fd = sockets_make(run->server.storage.ss_family, SOCK_STREAM), result;

    address_format(run->result.peer, &run->server);
    if (fd < 0)
        return problem_failure(problem, "cannot make a socket for %s: %s", run->result.peer, strerror(errno));
    if (address_connect(fd, &run->server, CONNECT_WITHIN_MS, problem) < 0) {
        close(fd);
        return -1;
    }
    run->has_channel = true;
    run->open_parts++;
    result = channel_open(&run->channel, &run->client->loop, fd, &channel_events, run);
    return result < 0 ? problem_failure(problem, "control channel: %s", uv_strerror(result)) : 0;
}

static int begin_with_server(struct run *run, enum control_type type, json_t *body, struct problem *problem)
{
    CLEANUP_JSON json_t *stolen = body;

    if (find_server(run, problem) < 0 || open_channel(run, problem) < 0)
        return -1;
    channel_send(&run->channel, type, json_incref(stolen));
    return 0;
}

static json_t *plan_message(const struct plan *plan)
{
    CLEANUP_JSON json_t *words = plan_words(plan);
    json_t *list = json_array(), *value;
    const char *key;

    json_object_foreach(words, key, value)
    {
        if (strcmp(key, "server") != 0) /* where it is, it knows */
            json_array_append_new(list, json_sprintf("%s=%s", key, json_string_value(value)));
    }
    return json_pack("{s:s, s:s, s:o}", "version", UNCORK_VERSION, "host", facts_host_id(), "words", list);
}

/* Where no server of ours is the other end there is nothing to wait for. */
static int begin_alone(struct run *run, struct problem *problem)
{
    const struct plan *plan = run->plan;
    struct address peer = {.size = 0};
    bool remote = false;

    if (plan_has_peer(plan)) {
        if (address_parse(&peer, plan->peer, problem) < 0)
            return -1;
        address_format(run->result.peer, &peer);
        remote = !address_is_local(&peer);
    }
    if (start_team(run, remote, problem) < 0)
        return -1;
    run->team.target = peer;
    if (team_start(&run->team, problem) < 0)
        return -1;
    conduct_start(&run->conduct);
    return 0;
}

static void give_up_orphaned(struct run *run)
{
    struct problem problem = {0};

    problem_failure(&problem, "standard input was closed: whoever asked for this run has gone");
    give_up(run, "run", &problem);
}

static void complete(struct run *run)
{
    run->client->running = run;
    if (run->client->orphaned)
        give_up_orphaned(run);
    while (!run->over)
        uv_run(&run->client->loop, UV_RUN_ONCE);
    run->client->running = NULL;
}

static void clear(struct run *run)
{
    if (run->has_team)
        team_close(&run->team);
    if (run->has_channel)
        channel_close(&run->channel);
    if (run->has_patience)
        uv_close((uv_handle_t *)&run->patience, on_patience_closed);
    while (run->open_parts > 0)
        uv_run(&run->client->loop, UV_RUN_ONCE);
    free(run->received.text);
}

/* A failed run never leaves a server of ours to the next, which might find it dying. */
static void dismiss_own_server(struct client *client, struct problem *reason)
{
    char fate[64];
    const char *ended = own_server_fate(&client->own, fate);
    size_t length = strlen(reason->text);

    if (ended)
        snprintf(reason->text + length, sizeof reason->text - length, "; %s", ended);
    own_server_stop(&client->own);
}

json_t *run_cell(struct client *client, const struct plan *plan, struct problem *problem)
{
    struct run run = {.client = client, .plan = plan, .result.started_unix_ns = clock_unix_ns()};
    struct problem *reason = &run.result.problem;
    uint64_t started = clock_now_ns();
    json_t *record = NULL;
    int result;

    strcpy(run.result.phase, "start");
    if (legality_check(plan, END_CLIENT, false, reason) == 0) {
        result = plan_has_server(plan) ? begin_with_server(&run, CONTROL_PLAN, plan_message(plan), reason)
                                       : begin_alone(&run, reason);
        if (result == 0)
            complete(&run);
    }
    clear(&run);
    if (reason->kind == PROBLEM_FAILURE)
        dismiss_own_server(client, reason);
    run.result.wall_ns = clock_now_ns() - started;
    if (reason->kind == PROBLEM_USAGE)
        *problem = *reason;
    else
        record = record_make(plan, &run.result);
    json_decref(run.result.client);
    json_decref(run.answer);
    return record;
}

json_t *run_facts(struct client *client, const struct plan *plan, struct problem *problem)
{
    struct run run = {.client = client, .plan = plan};
    json_t *facts = NULL;

    if (!plan_has_server(plan))
        return json_pack("{s:o}", "client", facts_collect(NULL));
    if (begin_with_server(&run, CONTROL_ASK, json_pack("{s:s}", "version", UNCORK_VERSION),
                          &run.result.problem) == 0)
        complete(&run);
    clear(&run);
    if (run.result.problem.kind == PROBLEM_NONE)
        facts = json_pack("{s:o, s:O}", "client", facts_collect(&run.server), "server", run.answer);
    else
        *problem = run.result.problem;
    json_decref(run.answer);
    return facts;
}

void client_open(struct client *client, const struct where *where)
{
    *client = (struct client){.where = where};
    uv_loop_init(&client->loop);
}

static void on_parent_gone(void *owner)
{
    struct client *client = owner;

    client->orphaned = true;
    if (client->running)
        give_up_orphaned(client->running);
}

void client_follow_parent(struct client *client)
{
    lifeline_hold(&client->parent, &client->loop, on_parent_gone, client);
}

void client_close(struct client *client)
{
    own_server_stop(&client->own);
    lifeline_release(&client->parent);
    uv_run(&client->loop, UV_RUN_NOWAIT);
    uv_loop_close(&client->loop);
}
