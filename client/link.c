/* SPDX-License-Identifier: MIT */
#include "link.h"

#define CONNECT_WITHIN_MS 4000

static void on_part_closed(void *owner)
{
    struct link *link = owner;

    if (--link->open_parts > 0)
        return;
    json_decref(link->answer);
    link->events->closed(link);
}

static void on_message(void *owner, enum control_type type, const json_t *body)
{
    struct link *link = owner;

    link->events->message(link, type, body);
}

static void on_ended(void *owner, const char *why)
{
    struct link *link = owner;

    link->events->ended(link, why);
}

static const struct channel_events channel_events = {
    .message = on_message, .ended = on_ended, .closed = on_part_closed};

/* An end with an address in words may be on another machine only with TLS or --insecure. */
static int check_address(void *owner, const struct address *address, struct problem *problem)
{
    struct link *link = owner;

    link->address = *address;
    address_format(link->name, address);
    if (plan_is_own(link->plan, link->end) || link->options->keys || link->options->insecure ||
        address_is_local(address))
        return 0;
    return problem_usage(problem,
                         "the %s %s is on another machine: give --psk FILE here and there, or --insecure",
                         end_names[link->end], link->name);
}

static void on_connected(void *owner, int fd, const struct problem *problem)
{
    struct link *link = owner;
    struct problem failure = *problem;

    if (fd >= 0) {
        link->open_parts++;
        link->is_open = channel_open(&link->channel, link->connector.timer.loop, fd, link->keys,
                                     &channel_events, link, &failure) == 0;
    }
    if (link->is_open)
        link->events->opened(link);
    else
        link->events->failed(link, &failure);
}

static void on_ready(void *owner, const struct problem *problem)
{
    struct link *link = owner;

    if (problem->kind != PROBLEM_NONE) {
        link->events->failed(link, problem);
        return;
    }
    link->keys = link->own->keys;
    connector_begin(&link->connector, &link->own->address, CONNECT_WITHIN_MS, false);
}

void link_open(struct link *link, uv_loop_t *loop)
{
    link->open_parts = 1;
    link->connector = (struct connector){
        .done = on_connected, .check = check_address, .closed = on_part_closed, .owner = link};
    connector_open(&link->connector, loop);
    link->keys = link->options->keys;
    if (plan_is_own(link->plan, link->end))
        own_server_start(link->own, loop, link->end == END_PROXY, &link->options->locations[link->end],
                         on_ready, link);
    else
        connector_find(&link->connector, plan_address(link->plan, link->end), CONNECT_WITHIN_MS);
}

void link_close(struct link *link)
{
    if (!link->open_parts || link->is_closing)
        return;
    link->is_closing = true;
    own_server_forget(link->own);
    if (link->open_parts > 1)
        channel_close(&link->channel);
    connector_close(&link->connector);
}
