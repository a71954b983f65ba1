/* SPDX-License-Identifier: MIT */
/* A trial: before a server says that it is ready, it is its own first client. So a policy of the
 * TLS library, a limit of this process or a missing right ends the start, and not each session. */
#include "control/channel.h"
#include "measure/facts.h"
#include "modes.h"

#include "base/version.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define CONNECT_WITHIN_MS 4000

struct trial {
    struct channel channel;
    const struct listener *listener;
    struct problem *problem;
    bool closed;
};

static void on_message(void *owner, enum control_type type, const json_t *body)
{
    struct trial *trial = owner;
    if (type == CONTROL_WAIT) /* for a client that was faster */
        return;
    if (type == CONTROL_REFUSED || type == CONTROL_FAILED)
        problem_failure(trial->problem, "a trial session failed, so no client could be served: %s",
                        control_text(body, "text"));
    channel_close(&trial->channel);
}

static void on_ended(void *owner, const char *why)
{
    struct trial *trial = owner;
    const struct problem *rejected = &trial->listener->first_rejected;
    if (rejected->kind != PROBLEM_NONE)
        problem_failure(trial->problem, "a trial session failed, so no client could be served: %s",
                        rejected->text);
    problem_failure(trial->problem, "a trial session failed, so no client could be served: the server %s",
                    why);
    channel_close(&trial->channel);
}

static void on_closed(void *owner)
{
    ((struct trial *)owner)->closed = true;
}

int trial_run(struct listener *listener, struct problem *problem)
{
    static const struct channel_events events = {
        .message = on_message, .ended = on_ended, .closed = on_closed};
    const struct options *options = listener->options;
    bool is_unix = listener->address.any.sa_family == AF_UNIX;
    struct trial trial = {.listener = listener, .problem = problem};
    int fd = sockets_make(listener->address.any.sa_family, SOCK_STREAM, 0, true);

    if (fd < 0)
        return problem_failure(problem, "cannot make a socket for a trial session: %s", strerror(errno));
    if (address_connect(fd, &listener->address, CONNECT_WITHIN_MS, problem) < 0) {
        close(fd);
        return -1;
    }
    sockets_set_blocking(fd, false);
    if (channel_open(&trial.channel, &listener->loop, fd, options->keys, &events, &trial, problem) == 0)
        channel_send(&trial.channel, CONTROL_PLAN,
                     json_pack("{s:s, s:s, s:s, s:[s, s, s, s, s]}", "version", UNCORK_VERSION, "end",
                               end_names[options->proxy ? END_PROXY : END_SERVER], "host", facts_host_id(),
                               "words", options->proxy ? "workload=proxy" : "workload=request",
                               is_unix ? "transport=unix" : "transport=tcp", "engine=block", "place=free",
                               "messages=1"));
    else
        channel_close(&trial.channel);
    while (!trial.closed)
        uv_run(&listener->loop, UV_RUN_ONCE);
    return problem->kind == PROBLEM_NONE ? 0 : -1;
}
