/* SPDX-License-Identifier: MIT */
#include "base/cleanup.h"
#include "measure/facts.h"
#include "run.h"
#include "transport/transport.h"
#include "words/word.h"

#include <string.h>

#define CONNECT_WITHIN_MS 4000

static char *name_of(const struct link *link)
{
    return link->run->result.addresses[link->end];
}

static void on_part_closed(void *owner)
{
    struct link *link = owner;
    if (--link->open_parts > 0)
        return;
    json_decref(link->answer);
    run_part_closed(link->run);
}

static void on_ended(void *owner, const char *why)
{
    struct link *link = owner;
    struct problem problem = {0};
    problem_symptom(&problem, "the %s %s %s", end_names[link->end], name_of(link), why);
    run_link_failed(link, &problem);
}

/* Sends the plan, with the id of the machine whose data connections the end gets: that of the proxy
 * or of this client. */
static void send_plan(struct link *link)
{
    struct run *run = link->run;
    bool is_behind = link->end == END_SERVER && plan_has_proxy(run->plan);
    const char *host = is_behind ? control_text(run->ready, "host") : facts_host_id();
    CLEANUP_JSON json_t *words = plan_words(run->plan);
    json_t *list = json_array(), *value;
    const char *key;

    session_enter(&run->session, SESSION_AGREEING);
    json_object_foreach(words, key, value)
        if (strcmp(key, "server") != 0 && strcmp(key, "via") != 0) /* the ends know the addresses */
            check_stored(json_array_append_new(list, json_sprintf("%s=%s", key, json_string_value(value))));
    link->is_asked = true;
    channel_send(&link->channel, CONTROL_PLAN,
                 json_pack("{s:s, s:s, s:s, s:o}", "version", UNCORK_VERSION, "end", end_names[link->end],
                           "host", host, "words", list));
}

/* An end with an address in words may be on another machine only with TLS or --insecure. */
static int check_address(void *owner, const struct address *address, struct problem *problem)
{
    struct link *link = owner;
    const struct options *options = link->run->client->options;
    link->address = *address;
    address_format(name_of(link), address);
    if (plan_is_own(link->run->plan, link->end) || options->keys || options->insecure ||
        address_is_local(address))
        return 0;
    return problem_usage(problem,
                         "the %s %s is on another machine: give --psk FILE here and there, or --insecure",
                         end_names[link->end], name_of(link));
}

static void on_connected(void *owner, int fd, const struct problem *problem)
{
    static const struct channel_events events = {
        .message = run_link_message, .ended = on_ended, .closed = on_part_closed};
    struct link *link = owner;
    struct problem failure = *problem;

    if (fd >= 0) {
        link->open_parts++;
        link->is_open = channel_open(&link->channel, &link->run->client->loop, fd, link->keys, &events, link,
                                     &failure) == 0;
    }
    if (!link->is_open)
        run_link_failed(link, &failure);
    else if (link->run->wants_facts)
        link_ask_for_facts(link->run);
    else
        send_plan(link);
}

void link_server_ready(struct link *link, const struct problem *problem)
{
    const struct own_server *own = &link->run->client->own[link->end];
    link->keys = own->keys;
    if (problem->kind == PROBLEM_NONE)
        connector_begin(&link->connector, &own->address, CONNECT_WITHIN_MS, false);
    else
        run_link_failed(link, problem);
}

void link_open(struct run *run, enum end end)
{
    struct client *client = run->client;
    struct link *link = &run->links[end];

    if (run->session.state != SESSION_CONNECTING)
        session_enter(&run->session, SESSION_CONNECTING);
    *link = (struct link){
        .end = end,
        .run = run,
        .keys = client->options->keys,
        .open_parts = 1,
        .connector = {.done = on_connected, .check = check_address, .closed = on_part_closed, .owner = link}};
    run->open_parts++;
    run->coordinator.channels[end] = &link->channel;
    connector_open(&link->connector, &client->loop);
    if (plan_is_own(run->plan, end))
        own_server_start(link);
    else
        connector_find(&link->connector, plan_address(run->plan, end), CONNECT_WITHIN_MS);
}

void link_close(struct link *link)
{
    if (!link->open_parts)
        return;
    link->run->client->own[link->end].waiting = NULL;
    if (link->open_parts > 1)
        channel_close(&link->channel);
    connector_close(&link->connector);
}

/* Asks when all links are open: an early answer must not look like the last one. */
void link_ask_for_facts(struct run *run)
{
    for (enum end end = END_CLIENT + 1; end < END_COUNT; end++)
        if (plan_has_end(run->plan, end) && !run->links[end].is_open) {
            if (!run->links[end].open_parts)
                link_open(run, end);
            return;
        }
    session_enter(&run->session, SESSION_ANSWERING);
    for (enum end end = END_CLIENT + 1; end < END_COUNT; end++)
        if (run->links[end].is_open)
            channel_send(&run->links[end].channel, CONTROL_ASK,
                         json_pack("{s:s}", "version", UNCORK_VERSION));
}

/* Tells a proxy the address of the server's data connections, and their token and key. 0, or -1
 * with a problem. */
static int send_sink(struct link *proxy, const struct address *data, const json_t *ready,
                     struct problem *problem)
{
    const struct plan *plan = proxy->run->plan;
    bool trusts = !plan_has_subject(plan); /* a subject relays bytes that it cannot decrypt */

    int is_private = trusts && plan->encrypts ? channel_is_private(&proxy->channel, problem) : 1;
    if (is_private < 0)
        return -1;
    if (!is_private)
        return problem_usage(problem, "the key of the server may not cross the control channel of the proxy, "
                                      "which others can read; give --psk FILE to all ends");
    channel_send(&proxy->channel, CONTROL_SINK,
                 json_pack("{s:s, s:s, s:s, s:O}", "address", address_text(data), "token",
                           trusts ? control_text(ready, "token") : "", "key",
                           trusts ? control_text(ready, "key") : "", "host", json_object_get(ready, "host")));
    return 0;
}

/* The proxy gets its plan first, because a client that waits for the proxy must not block a server.
 * Then the server gets its plan, and the proxy the address of the server. An end chooses port or
 * path of its data connections, but not the machine. */
int link_take_ready(struct link *link, const json_t *ready, struct problem *problem)
{
    struct run *run = link->run;
    struct link *proxy = &run->links[END_PROXY];
    const struct transport *transport = run->plan->transport;
    const char *name = transport->variant.name, *end = end_names[link->end];
    json_int_t port = json_integer_value(json_object_get(ready, "port"));
    struct address data;

    if (!link->is_asked)
        return problem_failure(problem, "the %s sent its ready message twice", end);
    link->is_asked = false;
    int error = transport->data_target(&data, &link->address, port, control_text(ready, "path"));
    if (error == -EPERM)
        return problem_failure(problem, "transport=%s needs a %s at unix:PATH or on loopback, not at %s",
                               name, end, name_of(link));
    if (error < 0)
        return problem_failure(
            problem, "the ready message of the %s has no valid port or path for transport=%s", end, name);
    if (link->end == plan_second_end(run->plan)) {
        run->target = data;
        run->remote = strcmp(control_text(ready, "host"), facts_host_id()) != 0;
    }
    if (!run->ready || link->end == plan_neighbour(run->plan, END_CLIENT)) {
        json_decref(run->ready);
        run->ready = json_deep_copy(ready);
    }
    if (link->end == END_PROXY) {
        link_open(run, END_SERVER);
        return 0;
    }
    if (proxy->is_open && send_sink(proxy, &data, ready, problem) < 0)
        return -1;
    /* if a subject relays, its JOINED says that it accepts connections */
    return plan_is_subject(run->plan, END_PROXY) ? 0 : work_start(run, problem);
}
