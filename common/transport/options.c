/* SPDX-License-Identifier: MIT */
/* One table maps words to options: when each is set and how it is read back. Only this file depends
 * on the system. */

#include "base/clock.h"
#include "base/files.h"
#include "net/sockets.h"
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

enum moment { BEFORE_CONNECT, AFTER_CONNECT }; /* at a listener before listen(2), after accept(2) */

enum { SNDBUF, RCVBUF, NOTSENT_LOWAT, NODELAY, BUSY_POLL, QUICKACK, OPTION_COUNT };

#define SOCKET(name) #name, SOL_SOCKET, name
#define TCP(name) #name, IPPROTO_TCP, name

static const struct socket_option {
    const char *word, *spelled;
    int level, name;
    enum moment moment; /* of a buffer: see value_at() */
    bool is_buffer;     /* any socket has it, and may read back another value; the others are of TCP */
    const char *limit;  /* the sysctl that clamps a buffer; NULL: none */
    const char *key;    /* in the record */
} socket_options[OPTION_COUNT] = {
    [SNDBUF] = {"sndbuf", SOCKET(SO_SNDBUF), BEFORE_CONNECT, true, SNDBUF_LIMIT, "sndbuf_bytes"},
    [RCVBUF] = {"rcvbuf", SOCKET(SO_RCVBUF), BEFORE_CONNECT, true, RCVBUF_LIMIT, "rcvbuf_bytes"},
    [NOTSENT_LOWAT] = {"notsent_lowat", TCP(TCP_NOTSENT_LOWAT), BEFORE_CONNECT, .key = "notsent_lowat_bytes"},
    [NODELAY] = {"nodelay", TCP(TCP_NODELAY), AFTER_CONNECT, .key = "nodelay"},
    [BUSY_POLL] = {"busy_poll", SOCKET(SO_BUSY_POLL), AFTER_CONNECT, .key = "busy_poll_us"},
    [QUICKACK] = {"quickack", TCP(TCP_QUICKACK), AFTER_CONNECT, .key = "quickack"},
};

#define UNSET (-1)

static int wanted_value(const struct socket_option *option, const struct plan *plan, enum end end)
{
    const struct end_plan *own = &plan->ends[end];
    bool nodelay =
        own->nodelay == NODELAY_BY_STRATEGY ? own->strategy_sets_nodelay : own->nodelay == NODELAY_ON;
    const uint64_t values[OPTION_COUNT] = {[SNDBUF] = own->sndbuf_bytes,
                                           [RCVBUF] = own->rcvbuf_bytes,
                                           [NOTSENT_LOWAT] = own->notsent_lowat_bytes,
                                           [NODELAY] = nodelay,
                                           [BUSY_POLL] = own->busy_poll_ns / NS_PER_US,
                                           [QUICKACK] = own->quickack != QUICKACK_DEFAULT};
    int index = (int)(option - socket_options), value = (int)values[index];

    if (!option->is_buffer && !plan->transport->is_tcp)
        return UNSET;
    return value || index == NODELAY ? value : UNSET;
}

/* The value to set at this moment, or UNSET. A Unix socket from accept(2) has default buffers, so
 * they are always set after accept(2). */
static int value_at(const struct socket_option *option, const struct plan *plan, enum end end,
                    enum moment moment)
{
    bool after = !plan->transport->is_tcp || plan->ends[end].buffers == BUFFERS_AFTER;
    enum moment own = option->is_buffer && after ? AFTER_CONNECT : option->moment;

    return own == moment ? wanted_value(option, plan, end) : UNSET;
}

static bool read_option(int fd, int level, int name, int *value)
{
    socklen_t size = sizeof *value;

    return name != MISSING && getsockopt(fd, level, name, value, &size) == 0;
}

/* ---- congestion control ---- */

#ifdef __linux__
#define AVAILABLE "sysctl net.ipv4.tcp_available_congestion_control lists those that are"
#elif defined TCP_CONGESTION
#define AVAILABLE "sysctl net.inet.tcp.cc.available lists those that are"
#else
#define AVAILABLE "a program cannot choose it on this system"
#define TCP_CONGESTION MISSING
#endif

/* The value of congestion= in the plan. "system": the system's default. "default": cubic, or the
 * system's default if there is no cubic. */
static const char *congestion_of(const struct plan *plan, enum end end)
{
    return plan->transport->is_tcp ? plan->ends[end].congestion : "system";
}

static bool set_congestion(int fd, const char *word)
{
    const char *name = strcmp(word, "default") != 0 ? word : "cubic";

    return TCP_CONGESTION != MISSING &&
           setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name)) == 0;
}

static bool read_congestion(int fd, char name[CONGESTION_NAME_MAX])
{
    socklen_t size = CONGESTION_NAME_MAX - 1;

    memset(name, 0, CONGESTION_NAME_MAX);
    return TCP_CONGESTION != MISSING && getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &size) == 0;
}

/* False for `system` and `default`, which accept any algorithm. */
static bool names_algorithm(const char *word)
{
    return strcmp(word, "system") != 0 && strcmp(word, "default") != 0;
}

/* Reads a name back, because some systems accept any. The record says what `default` gave. */
static int choose_congestion(int fd, const char *word, struct problem *problem)
{
    char now[CONGESTION_NAME_MAX];
    bool chooses = strcmp(word, "system") != 0;

    if ((chooses && set_congestion(fd, word) && read_congestion(fd, now) && !strcmp(now, word)) ||
        !names_algorithm(word))
        return 0;
    return problem_unsupported(problem, "congestion=%s is not available here; " AVAILABLE, word);
}

/* ---- the largest segment ---- */

static bool mss_is_reliable = true;

/* Over loopback the MSS is many times the value before connect (536, RFC 9293). */
void options_probe_mss(const int fds[2])
{
    int fresh = socket(AF_INET, SOCK_STREAM, 0), before, after;

    if (fresh < 0)
        return;
    mss_is_reliable = !read_option(fresh, IPPROTO_TCP, TCP_MAXSEG, &before) ||
                      !read_option(fds[0], IPPROTO_TCP, TCP_MAXSEG, &after) || after != before;
    close(fresh);
}

/* ---- setting ---- */

static int refuse(const struct socket_option *option, int value, int error, struct problem *problem)
{
    if (option->name == SO_BUSY_POLL && error == EPERM)
        return problem_unsupported(problem,
                                   "busy_poll=%dus: a value above sysctl net.core.busy_read needs "
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
    if (option->is_buffer ||
        (read_option(fd, option->level, option->name, &now) &&
         (now == value || (now && value == 1)))) /* BSD reads back a bit for a switch that is on */
        return 0;
    return problem_unsupported(problem, "%s: the system accepts %s %d but reads back %d", option->word,
                               option->spelled, value, now);
}

/* Sets the options of this moment, and reads back those that the system might ignore. */
static int set_options(const struct plan *plan, enum end end, int fd, enum moment moment,
                       struct problem *problem)
{
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct socket_option *option = &socket_options[i];
        int value = value_at(option, plan, end, moment);

        if (value != UNSET && set_one(option, value, fd, problem) < 0)
            return -1;
    }
    return moment == BEFORE_CONNECT ? choose_congestion(fd, congestion_of(plan, end), problem) : 0;
}

static bool sets_before_connect(const struct plan *plan, enum end end)
{
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (value_at(&socket_options[i], plan, end, BEFORE_CONNECT) != UNSET)
            return true;
    return names_algorithm(congestion_of(plan, end));
}

static int check_inherited(const struct plan *plan, enum end end, int listener, int accepted,
                           struct problem *problem)
{
    const char *word = congestion_of(plan, end);
    char congestion[CONGESTION_NAME_MAX];

    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct socket_option *option = &socket_options[i];
        int given = 0, has = 0;

        if (value_at(option, plan, end, BEFORE_CONNECT) == UNSET ||
            !read_option(listener, option->level, option->name, &given) ||
            !read_option(accepted, option->level, option->name, &has) || has == given)
            continue;
        return problem_unsupported(
            problem, "%s: an accepted connection does not have the %s of its listener here%s", option->word,
            option->spelled, option->limit ? "; write buffers=after" : "");
    }
    if (!names_algorithm(word) || (read_congestion(accepted, congestion) && !strcmp(congestion, word)))
        return 0;
    return problem_unsupported(
        problem,
        "congestion=%s: an accepted connection does not have the congestion control of its "
        "listener here, but %s",
        word, congestion);
}

/* Sets the options of this moment by counted calls, and reads nothing back. */
static int set_again(const struct plan *plan, enum end end, struct calls *calls, enum moment moment)
{
    const char *word = congestion_of(plan, end);

    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct socket_option *option = &socket_options[i];
        int value = value_at(option, plan, end, moment), result = 0;

        if (value != UNSET)
            result = calls_set_option(calls, CALL_OPTION, option->level, option->name, value);
        if (result < 0)
            return result;
    }
    if (moment == BEFORE_CONNECT && TCP_CONGESTION != MISSING && strcmp(word, "system") != 0) {
        set_congestion(calls->fd, word);
        calls->counts.made[CALL_OPTION]++;
    }
    return 0;
}

/* ---- the sockets of a plan ---- */

int transport_socket(const struct plan *plan, enum end end, const struct address *address,
                     struct problem *problem)
{
    const struct transport *transport = plan->transport;
    int fd = sockets_make(address->storage.ss_family, SOCK_STREAM, transport->protocol, true);

    if (fd < 0)
        return problem_failure(problem, "cannot make a %s socket: %s", transport->variant.name,
                               strerror(errno));
    if (set_options(plan, end, fd, BEFORE_CONNECT, problem) == 0)
        return fd;
    close(fd);
    return -1;
}

int transport_prepare(const struct plan *plan, enum end end, int fd, struct problem *problem)
{
    int result = plan->ends[end].sets_zerocopy ? zerocopy_enable(fd) : 0;

    if (result < 0)
        return problem_unsupported(problem, "SO_ZEROCOPY cannot be set here: %s", strerror(-result));
    return set_options(plan, end, fd, AFTER_CONNECT, problem);
}

/* The effect of busy_poll shows only on a connection. Once data has arrived, SO_INCOMING_NAPI_ID
 * names the device queue. If that is 0, as on loopback, the kernel does not poll
 * (include/net/busy_poll.h, Linux 4.12). */
int transport_check_connection(const struct plan *plan, enum end end, int fd, struct problem *problem)
{
    int queue = 0;

    if (plan->transport->check_connection && plan->transport->check_connection(fd, problem) < 0)
        return -1;
    if (!plan->transport->is_tcp || !plan->ends[end].busy_poll_ns ||
        (read_option(fd, SOL_SOCKET, SO_INCOMING_NAPI_ID, &queue) && queue))
        return 0;
    return problem_unsupported(problem,
                               "busy_poll has no effect here: packets of this connection do not come "
                               "through a device queue that the kernel can poll "
                               "(SO_INCOMING_NAPI_ID is 0, as it always is on loopback)");
}

/* An end that accepts sets the options on its listener. Some systems do not inherit them. */
static int check_inheritance(const struct plan *plan, enum end end, int listener, struct problem *problem)
{
    int fds[2], result = tcp_pair_through(listener, plan->transport->protocol, fds);

    if (result < 0)
        return problem_failure(problem, "cannot accept a connection over loopback: %s", strerror(-result));
    result = check_inherited(plan, end, listener, fds[1], problem);
    close(fds[0]);
    close(fds[1]);
    return result;
}

int transport_check(const struct plan *plan, enum end end, struct problem *problem)
{
    const struct transport *transport = plan->transport;
    const struct address anywhere = {.storage.ss_family = (sa_family_t)transport->family};
    int fd, result;

    if (!transport->has_other_end)
        return 0;
    fd = transport_socket(plan, end, &anywhere, problem);
    if (fd < 0)
        return -1;
    result = transport_prepare(plan, end, fd, problem);
    if (result == 0 && end != END_CLIENT && transport->is_tcp && sets_before_connect(plan, end))
        result = check_inheritance(plan, end, fd, problem);
    close(fd);
    return result;
}

int transport_prepare_again(const struct plan *plan, enum end end, struct calls *calls, bool made)
{
    int result = made ? set_again(plan, end, calls, BEFORE_CONNECT) : 0;

    if (result == 0 && plan->ends[end].sets_zerocopy) {
        calls->counts.made[CALL_OPTION]++;
        result = zerocopy_enable(calls->fd);
    }
    return result < 0 ? result : set_again(plan, end, calls, AFTER_CONNECT);
}

/* ---- options of the data path ---- */

int options_set_quickack(struct calls *calls, bool on)
{
    return calls_set_option(calls, CALL_QUICKACK, IPPROTO_TCP, TCP_QUICKACK, on);
}

HOT int options_set_cork(struct calls *calls, bool on)
{
    return CORK == MISSING ? -ENOTSUP : calls_set_option(calls, CALL_SETSOCKOPT, IPPROTO_TCP, CORK, on);
}

/* ---- the record ---- */

/* True also if the file of the sysctl cannot be read, as in a network namespace. */
static bool sysctl_is(const char *sysctl, int value)
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

    if (given == value)
        return;
    clamp = json_pack("{s:i, s:i}", "asked_bytes", value, "given_bytes", given);
    if (given < value && option->limit && sysctl_is(option->limit, given))
        json_object_set_new(clamp, "sysctl", json_string(option->limit));
    json_object_set_new(clamped, option->word, clamp);
}

json_t *options_report(const struct plan *plan, enum end end, int fd)
{
    json_t *options = json_object(), *clamped = json_object();
    char congestion[CONGESTION_NAME_MAX];
    int mss;

    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct socket_option *option = &socket_options[i];
        int value = wanted_value(option, plan, end), now;

        if ((value == UNSET && !option->is_buffer) || !read_option(fd, option->level, option->name, &now))
            continue;
        json_object_set_new(options, option->key, json_integer(now));
        if (value != UNSET && option->is_buffer)
            report_clamp(option, value, now, clamped);
    }
    if (json_object_size(clamped))
        json_object_set(options, "clamped", clamped);
    json_decref(clamped);
    if (!plan->transport->is_tcp)
        return options;
    if (mss_is_reliable && read_option(fd, IPPROTO_TCP, TCP_MAXSEG, &mss))
        json_object_set_new(options, "mss_bytes", json_integer(mss));
    if (read_congestion(fd, congestion))
        json_object_set_new(options, "congestion", json_string(congestion));
    return options;
}
