/* SPDX-License-Identifier: MIT */
#include "transport/options.h"

#include "base/clock.h"
#include "base/scan.h"
#include "transport/transport.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MISSING (-1) /* this system does not have the option */

#ifndef SO_BUSY_POLL
#define SO_BUSY_POLL MISSING
#endif
#ifndef SO_INCOMING_NAPI_ID
#define SO_INCOMING_NAPI_ID MISSING
#endif
#ifndef TCP_QUICKACK
#define TCP_QUICKACK MISSING
#endif
#ifndef TCP_NOTSENT_LOWAT
#define TCP_NOTSENT_LOWAT MISSING
#endif

/* Linux: TCP_CORK (tcp(7)); BSD and macOS: TCP_NOPUSH (tcp(4)). */
#if defined TCP_CORK
#define CORK TCP_CORK
#elif defined TCP_NOPUSH
#define CORK TCP_NOPUSH
#else
#define CORK MISSING
#endif

/* Linux silently clamps the size, then doubles it "to allow space for bookkeeping overhead":
 * socket(7). Other systems reject a size that is too large. */
#ifdef __linux__
#define GIVEN(effective) ((effective) / 2)
#define SNDBUF_LIMIT "net.core.wmem_max"
#define RCVBUF_LIMIT "net.core.rmem_max"
#else
#define GIVEN(effective) (effective)
#define SNDBUF_LIMIT NULL
#define RCVBUF_LIMIT NULL
#endif

/* ---- the table ---- */

enum { SNDBUF, RCVBUF, NOTSENT_LOWAT, BUSY_POLL, QUICKACK, OPTION_COUNT };

static const struct socket_option {
    const char *word, *spelled;
    int level, name;
    enum moment moment;     /* of a buffer: see value_at() */
    bool of_tcp, is_buffer; /* only a buffer may read back another value than was set */
    const char *limit;      /* the sysctl that clamps a buffer, NULL: none */
    const char *key;        /* in the record; NULL: the record has it for every socket */
} socket_options[OPTION_COUNT] = {
    [SNDBUF] = {"sndbuf", "SO_SNDBUF", SOL_SOCKET, SO_SNDBUF, BEFORE_CONNECT, .is_buffer = true,
                .limit = SNDBUF_LIMIT},
    [RCVBUF] = {"rcvbuf", "SO_RCVBUF", SOL_SOCKET, SO_RCVBUF, BEFORE_CONNECT, .is_buffer = true,
                .limit = RCVBUF_LIMIT},
    [NOTSENT_LOWAT] = {"notsent_lowat", "TCP_NOTSENT_LOWAT", IPPROTO_TCP, TCP_NOTSENT_LOWAT, BEFORE_CONNECT,
                       .of_tcp = true, .key = "notsent_lowat_bytes"},
    [BUSY_POLL] = {"busy_poll", "SO_BUSY_POLL", SOL_SOCKET, SO_BUSY_POLL, AFTER_CONNECT, .of_tcp = true,
                   .key = "busy_poll_us"},
    [QUICKACK] = {"quickack", "TCP_QUICKACK", IPPROTO_TCP, TCP_QUICKACK, AFTER_CONNECT, .of_tcp = true,
                  .key = "quickack"},
};

/* 0: not set. */
static int wanted_value(const struct socket_option *option, const struct plan *plan, enum end end)
{
    const struct end_plan *own = &plan->ends[end];
    const uint64_t values[OPTION_COUNT] = {[SNDBUF] = own->sndbuf_bytes,
                                           [RCVBUF] = own->rcvbuf_bytes,
                                           [NOTSENT_LOWAT] = own->notsent_lowat_bytes,
                                           [BUSY_POLL] = own->busy_poll_ns / NS_PER_US,
                                           [QUICKACK] = own->quickack != QUICKACK_DEFAULT};

    return option->of_tcp && !plan->transport->counts_segments ? 0 : (int)values[option - socket_options];
}

/* The value to set at this moment; 0: none. A Unix socket from accept(2) has default buffers, so
 * they are always set after accept(2). */
static int value_at(const struct socket_option *option, const struct plan *plan, enum end end,
                    enum moment moment)
{
    bool after = !plan->transport->counts_segments || plan->ends[end].buffers == BUFFERS_AFTER;
    enum moment own = option->is_buffer && after ? AFTER_CONNECT : option->moment;

    return own == moment ? wanted_value(option, plan, end) : 0;
}

static bool read_option(const struct socket_option *option, int fd, int *value)
{
    socklen_t size = sizeof *value;

    return option->name != MISSING && getsockopt(fd, option->level, option->name, value, &size) == 0;
}

/* ---- setting ---- */

static int refuse(const struct socket_option *option, int value, int error, struct problem *problem)
{
    if (option->name == SO_BUSY_POLL && error == EPERM)
        return problem_unsupported(problem,
                                   "busy_poll=%dus: more than sysctl net.core.busy_read says needs "
                                   "CAP_NET_ADMIN; run it as root",
                                   value);
    return problem_unsupported(problem, "%s: the system refuses %s %d: %s", option->word, option->spelled,
                               value, strerror(error));
}

static int set_one(const struct socket_option *option, int value, int fd, struct problem *problem)
{
    int now = !value;

    if (option->name == MISSING)
        return problem_unsupported(problem, "%s: this system has no %s", option->word, option->spelled);
    if (setsockopt(fd, option->level, option->name, &value, sizeof value) < 0)
        return refuse(option, value, errno, problem);
    if (option->is_buffer || (read_option(option, fd, &now) && now == value))
        return 0;
    return problem_unsupported(problem, "%s: the system takes %s %d and reads back %d", option->word,
                               option->spelled, value, now);
}

int options_prove(const struct plan *plan, enum end end, int fd, struct problem *problem)
{
    int queue = 0;
    socklen_t size = sizeof queue;

    if (!plan->transport->counts_segments || !plan->ends[end].busy_poll_ns)
        return 0;
    if (SO_INCOMING_NAPI_ID != MISSING &&
        getsockopt(fd, SOL_SOCKET, SO_INCOMING_NAPI_ID, &queue, &size) == 0 && queue)
        return 0;
    return problem_unsupported(problem, "busy_poll has no effect here: packets of this connection come "
                                        "through no queue of a device that could be polled "
                                        "(SO_INCOMING_NAPI_ID is 0, as it always is on loopback)");
}

int options_set(const struct plan *plan, enum end end, int fd, enum moment moment, struct problem *problem)
{
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct socket_option *option = &socket_options[i];
        int value = value_at(option, plan, end, moment);

        if (value && set_one(option, value, fd, problem) < 0)
            return -1;
    }
    return 0;
}

bool options_ask_before(const struct plan *plan, enum end end)
{
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (value_at(&socket_options[i], plan, end, BEFORE_CONNECT))
            return true;
    return false;
}

int options_inherited(const struct plan *plan, enum end end, int listener, int accepted,
                      struct problem *problem)
{
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct socket_option *option = &socket_options[i];
        int given = 0, has = 0;

        if (!value_at(option, plan, end, BEFORE_CONNECT) || !read_option(option, listener, &given) ||
            !read_option(option, accepted, &has) || has == given)
            continue;
        return problem_unsupported(
            problem, "%s: a connection that is accepted here does not have the %s of its listener%s",
            option->word, option->spelled, option->limit ? "; write buffers=after" : "");
    }
    return 0;
}

int options_set_again(const struct plan *plan, enum end end, struct calls *calls, enum moment moment)
{
    int result = 0;

    for (size_t i = 0; i < OPTION_COUNT && result == 0; i++) {
        const struct socket_option *option = &socket_options[i];
        int value = value_at(option, plan, end, moment);

        if (value)
            result = calls_set_option(calls, CALL_OPTION, option->level, option->name, value);
    }
    return result;
}

int options_set_quickack(struct calls *calls, bool on)
{
    return calls_set_option(calls, CALL_QUICKACK, IPPROTO_TCP, TCP_QUICKACK, on);
}

int options_set_cork(struct calls *calls, bool on)
{
    return CORK == MISSING ? -ENOTSUP : calls_set_option(calls, CALL_SETSOCKOPT, IPPROTO_TCP, CORK, on);
}

/* ---- the largest segment ---- */

static bool mss_is_reliable = true;

static bool read_maxseg(int fd, int *bytes)
{
    socklen_t size = sizeof *bytes;

    return getsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, bytes, &size) == 0;
}

/* Over loopback the MSS is many times the value before connect (536, RFC 9293). */
void options_probe_mss(const int fds[2])
{
    int fresh = socket(AF_INET, SOCK_STREAM, 0), before, after;

    if (fresh < 0)
        return;
    mss_is_reliable = !read_maxseg(fresh, &before) || !read_maxseg(fds[0], &after) || after != before;
    close(fresh);
}

bool options_read_mss(int fd, int *bytes)
{
    return mss_is_reliable && read_maxseg(fd, bytes);
}

/* ---- the record ---- */

/* Whether this sysctl is the limit. True if its file cannot be read, as in a network namespace. */
static bool limits_to(const char *sysctl, int value)
{
    char path[64];
    int limit = value;

    snprintf(path, sizeof path, "/proc/sys/%s", sysctl);
    for (char *at = path; *at; at++)
        *at = *at == '.' ? '/' : *at;
    scan_file(path, 1, "%d", &limit);
    return limit == value;
}

static void report_clamp(const struct socket_option *option, int value, int effective, json_t *clamped)
{
    json_t *clamp;
    int given = GIVEN(effective);

    if (!value || given == value)
        return;
    clamp = json_pack("{s:i, s:i}", "asked_bytes", value, "given_bytes", given);
    if (given < value && option->limit && limits_to(option->limit, given))
        json_object_set_new(clamp, "sysctl", json_string(option->limit));
    json_object_set_new(clamped, option->word, clamp);
}

void options_report(const struct plan *plan, enum end end, int fd, json_t *options)
{
    json_t *clamped = json_object();

    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct socket_option *option = &socket_options[i];
        int value = wanted_value(option, plan, end), now = 0;

        if (!value || !read_option(option, fd, &now))
            continue;
        if (option->is_buffer)
            report_clamp(option, value, now, clamped);
        else
            json_object_set_new(options, option->key, json_integer(now));
    }
    if (json_object_size(clamped))
        json_object_set(options, "clamped", clamped);
    json_decref(clamped);
}
