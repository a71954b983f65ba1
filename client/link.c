/* SPDX-License-Identifier: MIT */
#include "link.h"

#include "base/cleanup.h"
#include "base/version.h"
#include "measure/facts.h"
#include "transport/transport.h"
#include "words/parse.h"

#include <string.h>

#define CONNECT_WITHIN_MS 4000

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
    struct problem problem = {0};
    struct link *link = owner;

    problem_failure(&problem, "the %s %s %s", end_names[link->end], link->name, why);
    run_link_failed(link, &problem);
}

/* An end with an address in words may be on another machine only with TLS or --insecure. */
static int check_address(void *owner, const struct address *address, struct problem *problem)
{
    struct link *link = owner;
    const struct options *options = link->client->options;

    link->address = *address;
    address_format(link->name, address);
    if (plan_is_own(link->plan, link->end) || options->keys || options->insecure || address_is_local(address))
        return 0;
    return problem_usage(problem,
                         "the %s %s is on another machine: give --psk FILE here and there, or --insecure",
                         end_names[link->end], link->name);
}

static void on_connected(void *owner, int fd, const struct problem *problem)
{
    static const struct channel_events events = {
        .message = run_link_message, .ended = on_ended, .closed = on_part_closed};
    struct link *link = owner;
    struct problem failure = *problem;

    if (fd >= 0) {
        link->open_parts++;
        link->is_open =
            channel_open(&link->channel, &link->client->loop, fd, link->keys, &events, link, &failure) == 0;
    }
    if (link->is_open)
        run_link_opened(link);
    else
        run_link_failed(link, &failure);
}

static void on_ready(void *owner, const struct problem *problem)
{
    struct link *link = owner;
    const struct own_server *own = &link->client->own[link->end];

    link->keys = own->keys;
    if (problem->kind == PROBLEM_NONE)
        connector_begin(&link->connector, &own->address, CONNECT_WITHIN_MS, false);
    else
        run_link_failed(link, problem);
}

void link_open(struct link *link)
{
    link->open_parts = 1;
    link->connector = (struct connector){
        .done = on_connected, .check = check_address, .closed = on_part_closed, .owner = link};
    connector_open(&link->connector, &link->client->loop);
    link->keys = link->client->options->keys;
    if (plan_is_own(link->plan, link->end))
        own_server_start(&link->client->own[link->end], on_ready, link);
    else
        connector_find(&link->connector, plan_address(link->plan, link->end), CONNECT_WITHIN_MS);
}

void link_close(struct link *link)
{
    if (!link->open_parts)
        return;
    own_server_forget(&link->client->own[link->end]);
    if (link->open_parts > 1)
        channel_close(&link->channel);
    connector_close(&link->connector);
}

/* ---- messages ---- */

void link_send_plan(struct link *link, const char *host)
{
    CLEANUP_JSON json_t *words = plan_words(link->plan);
    json_t *list = json_array(), *value;
    const char *key;

    json_object_foreach(words, key, value)
        if (strcmp(key, "server") != 0 && strcmp(key, "via") != 0) /* the ends know the addresses */
            json_array_append_new(list, json_sprintf("%s=%s", key, json_string_value(value)));
    link->is_asked = true;
    channel_send(&link->channel, CONTROL_PLAN,
                 json_pack("{s:s, s:s, s:s, s:o}", "version", UNCORK_VERSION, "end", end_names[link->end],
                           "host", host, "words", list));
}

int link_find_data(const struct link *link, struct address *data, const json_t *ready,
                   struct problem *problem)
{
    const struct transport *transport = link->plan->transport;
    const char *name = transport->variant.name, *end = end_names[link->end];
    int error =
        transport->data_target(data, &link->address, json_integer_value(json_object_get(ready, "port")),
                               control_text(ready, "path"));

    if (error == -EPERM)
        return problem_failure(problem, "transport=%s needs a %s at unix:PATH or on loopback, not at %s",
                               name, end, link->name);
    if (error < 0)
        return problem_failure(
            problem, "the ready message of the %s has no valid port or path for transport=%s", end, name);
    return 0;
}

int link_send_sink(struct link *proxy, const struct address *data, const json_t *ready,
                   struct problem *problem)
{
    bool trusts = !plan_has_subject(proxy->plan); /* a subject relays bytes that it cannot decrypt */
    char address[ADDRESS_MAX];

    if (trusts && proxy->plan->encrypts && !channel_is_private(&proxy->channel))
        return problem_usage(problem, "the key of the server may not cross the control channel of the proxy, "
                                      "which others can read; give --psk FILE to all ends");
    address_format(address, data);
    channel_send(&proxy->channel, CONTROL_SINK,
                 json_pack("{s:s, s:s, s:s, s:O}", "address", address, "token",
                           trusts ? control_text(ready, "token") : "", "key",
                           trusts ? control_text(ready, "key") : "", "host", json_object_get(ready, "host")));
    return 0;
}

int link_take_answer(struct link *link, const json_t *body, struct problem *problem)
{
    if (link->answer)
        return problem_failure(problem, "the %s reported twice", end_names[link->end]);
    link->answer = json_incref(json_object_get(body, "value"));
    return 0;
}

/* ---- all links of a run ---- */

const struct link *links_pending(const struct link links[END_COUNT])
{
    for (int end = 0; end < END_COUNT; end++)
        if (links[end].is_open && !links[end].answer)
            return &links[end];
    return NULL;
}

void links_send_problem(struct link links[END_COUNT], const char *phase, const struct problem *problem)
{
    for (int end = 0; end < END_COUNT; end++)
        if (links[end].is_open)
            channel_send_problem(&links[end].channel, phase, problem);
}

json_t *links_facts(const struct link links[END_COUNT], const struct plan *plan)
{
    return json_pack("{s:o, s:O*, s:O*}", "client", facts_collect(&links[plan_second_end(plan)].address),
                     end_names[END_SERVER], links[END_SERVER].answer, end_names[END_PROXY],
                     links[END_PROXY].answer);
}
