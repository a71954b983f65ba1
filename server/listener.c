/* SPDX-License-Identifier: MIT */
#include "modes.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "support/support.h"
#include "transport/transport.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#define FILES_OF_PLAIN 16 /* standard ones, the listening socket, those of the loop */
#define QUIET_MS 1000
#define LINE_EVERY_MS 1000   /* between two lines of listener_log_rarely() */
#define ACCEPTS_PER_EVENT 16 /* so that those that were rejected leave meanwhile */

void listener_log(const char *format, ...)
{
    static unsigned lost;
    struct pollfd ready = {STDERR_FILENO, POLLOUT, 0};
    char line[1024], before[64] = "";
    va_list arguments;

    if (poll(&ready, 1, 0) != 1) {
        lost++;
        return;
    }
    if (lost)
        snprintf(before, sizeof before, "(%u lines were lost before) ", lost);
    lost = 0;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    fprintf(stderr, "uncork-server: %s%s\n", before, line);
}

int clients_fit(struct options *options, uint64_t files, struct problem *problem)
{
    uint64_t *clients = &options->limits[LIMIT_CLIENTS], *strangers = &options->limits[LIMIT_STRANGERS];
    uint64_t beside = options->serve ? DESCRIPTORS_OF_ONE - 1 : FILES_OF_PLAIN;
    uint64_t wanted = beside + (options->serve ? *strangers : 0) + *clients * files,
             allowed = descriptors_allow(wanted);

    if (allowed > beside && options->serve) {
        *strangers = MIN(*strangers, MAX(1, (allowed - beside) / 4));
        beside += *strangers;
    }
    if (allowed < beside + files)
        return problem_failure(problem,
                               "no client could be served: it needs %" PRIu64 " open files, and only %" PRIu64
                               " are allowed (ulimit -n)",
                               beside + files, allowed);
    if (allowed < wanted)
        listener_log("so few files may be open (ulimit -n) that --max-clients is %" PRIu64,
                     *clients = (allowed - beside) / files);
    return 0;
}

void listener_log_rarely(struct listener *listener, const char *text)
{
    uint64_t now_ms = uv_now(&listener->loop);
    char others[64] = "";

    if (now_ms < listener->next_line_ms) {
        listener->unlogged++;
        return;
    }
    if (listener->unlogged)
        snprintf(others, sizeof others, "; %" PRIu64 " such lines were left out", listener->unlogged);
    listener_log("%s%s", text, others);
    listener->unlogged = 0;
    listener->next_line_ms = now_ms + LINE_EVERY_MS;
}

static void stop(void *owner)
{
    struct listener *listener = owner;
    if (listener->is_stopped)
        return;
    listener->is_stopped = true;
    uv_close((uv_handle_t *)&listener->poll, NULL);
    /* Sessions end in their own time, and a second signal must not end them half-way. */
    for (size_t i = 0; i < 2; i++)
        uv_unref((uv_handle_t *)&listener->signals[i]);
    uv_close((uv_handle_t *)&listener->idle, NULL);
    uv_close((uv_handle_t *)&listener->quiet, NULL);
    parent_watch_stop(&listener->parent);
    strangers_close(listener);
    close(listener->fd);
    if (listener->options->inherited < 0)
        address_remove_stale(&listener->address); /* another server may have the path by now */
    listener->stopped(listener->owner);
}

static void on_signal(uv_signal_t *signal, int number)
{
    stop(signal->data);
}

static void on_idle(uv_timer_t *timer)
{
    struct listener *listener = timer->data;
    listener_log("no client for %" PRIu64 " s: it ends because of --idle", listener->options->idle_ms / 1000);
    stop(listener);
}

static void on_quiet(uv_timer_t *timer)
{
    memory_trim();
}

/* Without a client, the timer of --idle starts. After a second, memory goes back to the system. */
void listener_settle(struct listener *listener)
{
    bool is_empty = !listener->is_occupied && TAILQ_EMPTY(&listener->strangers.list);
    uint64_t idle_ms = listener->options->idle_ms;

    if (listener->is_stopped || is_empty == listener->is_quiet)
        return;
    listener->is_quiet = is_empty;
    uv_timer_stop(&listener->quiet);
    uv_timer_stop(&listener->idle);
    if (!is_empty)
        return;
    uv_timer_start(&listener->quiet, on_quiet, QUIET_MS, 0);
    if (idle_ms)
        uv_timer_start(&listener->idle, on_idle, idle_ms, 0);
}

void listener_set_occupied(struct listener *listener, bool is_occupied)
{
    listener->is_occupied = is_occupied;
    listener_settle(listener);
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    struct listener *listener = poll->data;
    for (int i = 0, fd; i < ACCEPTS_PER_EVENT && (fd = sockets_accept(listener->fd, false)) >= 0; i++)
        if (listener->reject_unknown)
            strangers_take(listener, fd);
        else
            listener->accepted(listener->owner, fd);
    listener_settle(listener);
}

static int print_ready(const struct listener *listener, struct problem *problem)
{
    const struct variant *plain = listener->options->plain, *serve = listener->options->serve;
    bool is_unix = listener->address.storage.ss_family == AF_UNIX;
    char text[ADDRESS_MAX];

    address_format(text, &listener->address);
    if (!is_unix)
        *strrchr(text, ':') = '\0';
    CLEANUP_JSON json_t *ready =
        json_pack("{s:{s:s, s:s, s:o*, s:o*, s:s*, s:s*, s:b}}", "ready", "version", UNCORK_VERSION,
                  "address", text, "port", is_unix ? NULL : json_integer(address_port(&listener->address)),
                  "proxy", listener->options->proxy ? json_true() : NULL, "plain", plain ? plain->name : NULL,
                  "serve", serve ? serve->name : NULL, "sandbox", listener->is_sandboxed);
    return standard_print(ready, JSON_SORT_KEYS, problem);
}

/* Gives up what is not needed from here on. A start that could have a sandbox and gets none says why,
 * unless a parent sees it in the ready line. */
static int restrict_self(struct listener *listener, struct problem *problem)
{
    const struct rights *rights = &listener->options->rights;
    struct problem trouble = {0};

    if (rights_drop(rights, problem) < 0)
        return -1;
    if (rights->sandbox == SANDBOX_OFF ||
        (rights->sandbox == SANDBOX_DEFAULT && (rights->has_parent || sandbox_check(&trouble) < 0)))
        return 0;
    if (rights->starts_programs)
        problem_failure(&trouble, "--subjects starts other programs");
    else
        listener->is_sandboxed = sandbox_enter(rights, &trouble) == 0;
    if (!listener->is_sandboxed && rights->sandbox == SANDBOX_ON)
        return problem_failure(problem, "--sandbox on: %s", trouble.text);
    if (!listener->is_sandboxed)
        listener_log("no sandbox: %s", trouble.text);
    return 0;
}

/* The socket listens, with the options of the plan. 0, or -1 with a problem. */
static int open_socket(struct listener *listener, const struct plan *plan, struct problem *problem)
{
    const struct options *options = listener->options;

    listener->address = options->address;
    listener->fd = options->inherited;
    if (options->inherited >= 0)
        return plan ? transport_adopt(plan, END_SERVER, listener->fd, problem) : 0;
    listener->fd = plan ? transport_socket(plan, END_SERVER, &listener->address, problem) : -1;
    if (plan && listener->fd < 0)
        return -1;
    listener->fd = address_listen(listener->fd, &listener->address, problem);
    return listener->fd < 0 ? -1 : 0;
}

void listener_serve(struct listener *listener, const struct plan *plan, struct problem *problem)
{
    static const int numbers[] = {SIGTERM, SIGINT};
    uv_loop_t *loop = &listener->loop;

    if (loop_open(loop, problem) < 0)
        return;
    if (open_socket(listener, plan, problem) < 0) {
        uv_loop_close(loop);
        return;
    }
    int result = uv_poll_init(loop, &listener->poll, listener->fd);
    if (result < 0) {
        problem_failure(problem, "cannot watch the listening socket: %s", uv_strerror(result));
        close(listener->fd);
        address_remove_stale(&listener->address);
        uv_loop_close(loop);
        return;
    }
    uv_timer_init(loop, &listener->idle);
    uv_timer_init(loop, &listener->quiet);
    strangers_open(listener);
    listener->poll.data = listener->idle.data = listener;
    uv_poll_start(&listener->poll, UV_READABLE, on_connection);
    for (size_t i = 0; i < 2; i++) {
        uv_signal_init(loop, &listener->signals[i]);
        listener->signals[i].data = listener;
        uv_signal_start(&listener->signals[i], on_signal, numbers[i]);
    }
    listener_settle(listener);
    if ((listener->options->with_parent &&
         parent_watch_start(&listener->parent, loop, STDIN_FILENO, stop, listener, problem) < 0) ||
        restrict_self(listener, problem) < 0 || (listener->check && listener->check(listener, problem) < 0) ||
        (!listener->is_stopped && print_ready(listener, problem) < 0))
        stop(listener);
    else if (!plan && !listener->options->with_parent && transport_forbids_cubic())
        listener_log("congestion=default is not cubic here: sysctl net.ipv4.tcp_allowed_congestion_control "
                     "lacks it; --allow-word congestion lets a server of root choose it");
    listener->is_ready = true;
    uv_run(loop, UV_RUN_DEFAULT);
    for (size_t i = 0; i < 2; i++)
        uv_close((uv_handle_t *)&listener->signals[i], NULL);
    uv_run(loop, UV_RUN_DEFAULT);
    uv_loop_close(loop);
}
