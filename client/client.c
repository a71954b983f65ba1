/* SPDX-License-Identifier: MIT */
#include "client.h"

#include "base/cleanup.h"
#include "base/version.h"
#include "net/sockets.h"
#include "transport/transport.h"
#include "words/parse.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CONNECT_WITHIN_MS 4000

void client_open(struct client *client, const struct options *options)
{
    *client = (struct client){.options = options};
    uv_loop_init(&client->loop);
}

static void on_parent_gone(void *owner)
{
    struct client *client = owner;

    client->orphaned = true;
    if (client->on_orphaned)
        client->on_orphaned(client->owner);
}

int client_follow_parent(struct client *client, struct problem *problem)
{
    int fd = client->options->lifeline;

    if (fd == NO_LIFELINE)
        return 0;
    if (uv_guess_handle(fd) != UV_NAMED_PIPE)
        return problem_usage(problem, "--with-parent needs a pipe or a socket, which descriptor %d is not",
                             fd);
    lifeline_hold(&client->parent, &client->loop, fd, on_parent_gone, client);
    return 0;
}

void client_close(struct client *client)
{
    for (int end = 0; end < END_COUNT; end++)
        own_server_stop(&client->own[end]);
    lifeline_release(&client->parent);
    uv_run(&client->loop, UV_RUN_NOWAIT);
    uv_loop_close(&client->loop);
}

void client_dismiss_own(struct client *client, struct problem *reason)
{
    for (int end = 0; end < END_COUNT; end++) {
        char fate[64];
        const char *ended = own_server_fate(&client->own[end], fate);
        char text[96];

        snprintf(text, sizeof text, "the %s %s", end_names[end], ended ? ended : "");
        if (ended)
            problem_add(reason, text);
        own_server_stop(&client->own[end]);
    }
}

/* ---- control connections ---- */

static int find_address(struct link *link, struct client *client, struct problem *problem)
{
    const struct plan *plan = link->plan;
    struct own_server *own = &client->own[link->end];

    if (!plan_is_own(plan, link->end)) {
        link->keys = client->options->keys;
        if (address_parse(&link->address, plan_address(plan, link->end), problem) < 0)
            return -1;
        return options_check_address(client->options, link->end, &link->address, problem);
    }
    if (own_server_start(own, link->end == END_PROXY, &client->options->where[link->end], problem) < 0)
        return -1;
    link->address = own->address;
    link->keys = own->keys;
    return 0;
}

int link_open(struct link *link, struct client *client, const struct channel_events *events,
              struct problem *problem)
{
    int fd;

    if (find_address(link, client, problem) < 0)
        return -1;
    address_format(link->name, &link->address);
    fd = sockets_make(link->address.storage.ss_family, SOCK_STREAM, 0);
    if (fd < 0)
        return problem_failure(problem, "cannot make a socket for %s: %s", link->name, strerror(errno));
    if (address_connect(fd, &link->address, CONNECT_WITHIN_MS, problem) < 0) {
        close(fd);
        return -1;
    }
    link->is_open = true;
    return channel_open(&link->channel, &client->loop, fd, link->keys, events, link, problem);
}

void link_send_plan(struct link *link, const char *host)
{
    CLEANUP_JSON json_t *words = plan_words(link->plan);
    json_t *list = json_array(), *value;
    const char *key;

    json_object_foreach(words, key, value)
    {
        if (strcmp(key, "server") != 0 && strcmp(key, "via") != 0) /* the ends know the addresses */
            json_array_append_new(list, json_sprintf("%s=%s", key, json_string_value(value)));
    }
    link->is_asked = true;
    channel_send(&link->channel, CONTROL_PLAN,
                 json_pack("{s:s, s:s, s:s, s:o}", "version", UNCORK_VERSION, "end", end_names[link->end],
                           "host", host, "words", list));
}

/* An end chooses the port or the path of its data connections, but not the machine. */
int link_find_data(const struct link *link, struct address *data, const json_t *ready,
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
        return problem_failure(problem, "the %s's ready message names no place for transport=%s", end, name);
    }
}

int link_refuse_message(const struct link *link, struct problem *problem)
{
    return problem_failure(problem, "the %s sent a message that does not belong here", end_names[link->end]);
}
