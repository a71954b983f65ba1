/* SPDX-License-Identifier: MIT */
#include "door.h"

#include "base/cleanup.h"
#include "net/sockets.h"

#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void shut(void *owner)
{
    struct door *door = owner;

    if (door->is_shut)
        return;
    door->is_shut = true;
    uv_close((uv_handle_t *)&door->listener, NULL);
    uv_close((uv_handle_t *)&door->terminate, NULL);
    uv_close((uv_handle_t *)&door->interrupt, NULL);
    uv_close((uv_handle_t *)&door->idle, NULL);
    lifeline_release(&door->parent);
    close(door->fd);
    address_unlink(&door->address, false);
    door->events->shut(door->owner);
}

static void on_signal(uv_signal_t *signal, int number)
{
    (void)number;
    shut(signal->data);
}

static void on_idle(uv_timer_t *timer)
{
    struct door *door = timer->data;

    fprintf(stderr, "uncork-server: no client for %" PRIu64 " s: ends, as --idle says\n",
            door->options->idle_ms / 1000);
    shut(door);
}

void door_set_occupied(struct door *door, bool is_occupied)
{
    if (door->is_shut || !door->options->idle_ms)
        return;
    if (is_occupied)
        uv_timer_stop(&door->idle);
    else
        uv_timer_start(&door->idle, on_idle, door->options->idle_ms, 0);
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    struct door *door = poll->data;
    int fd;

    (void)status, (void)events;
    while ((fd = sockets_accept(door->fd, false)) >= 0)
        door->events->arrived(door->owner, fd);
}

static int print_ready(const struct door *door, struct problem *problem)
{
    const struct variant *plain = door->options->plain, *serve = door->options->serve;
    bool is_unix = door->address.storage.ss_family == AF_UNIX;
    CLEANUP_JSON json_t *ready = NULL;
    char text[ADDRESS_MAX];

    address_format(text, &door->address);
    if (!is_unix)
        *strrchr(text, ':') = '\0';
    ready = json_pack("{s:{s:s, s:s, s:o*, s:o*, s:s*, s:s*}}", "ready", "version", UNCORK_VERSION, "address",
                      text, "port", is_unix ? NULL : json_integer(address_port(&door->address)), "proxy",
                      door->options->proxy ? json_true() : NULL, "plain", plain ? plain->name : NULL, "serve",
                      serve ? serve->name : NULL);
    if (json_dumpf(ready, stdout, JSON_SORT_KEYS) < 0 || putchar('\n') == EOF || fflush(stdout) != 0)
        return problem_failure(problem, "cannot print the ready line");
    return 0;
}

static void start_handles(struct door *door)
{
    uv_poll_init(&door->loop, &door->listener, door->fd);
    uv_signal_init(&door->loop, &door->terminate);
    uv_signal_init(&door->loop, &door->interrupt);
    uv_timer_init(&door->loop, &door->idle);
    door->listener.data = door->terminate.data = door->interrupt.data = door->idle.data = door;
    uv_poll_start(&door->listener, UV_READABLE, on_connection);
    uv_signal_start(&door->terminate, on_signal, SIGTERM);
    uv_signal_start(&door->interrupt, on_signal, SIGINT);
    door_set_occupied(door, false);
    if (door->options->with_parent)
        lifeline_hold(&door->parent, &door->loop, STDIN_FILENO, shut, door);
}

void door_serve(struct door *door, int fd, struct problem *problem)
{
    uv_loop_init(&door->loop);
    door->address = door->options->address;
    door->fd = address_listen(fd, &door->address, problem);
    if (door->fd >= 0) {
        start_handles(door);
        if (print_ready(door, problem) < 0)
            shut(door);
        uv_run(&door->loop, UV_RUN_DEFAULT);
    }
    uv_loop_close(&door->loop);
}
