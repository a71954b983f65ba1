/* SPDX-License-Identifier: MIT */
#include "client.h"

#include <stdio.h>

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
