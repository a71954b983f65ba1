/* SPDX-License-Identifier: MIT */
/* One table maps words to options: when each is set and how it is read back. Only this file depends
 * on the system. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/files.h"
#include "transport/transport.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>

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
#define LIMIT(name) "net.core." name, "/proc/sys/net/core/" name
#else
#define GIVEN(effective) (effective)
#define LIMIT(name) NULL, NULL
#endif

/* ---- the table ---- */

enum moment { BEFORE_CONNECT = 1, AFTER_CONNECT = 2 }; /* at a listener before listen(2), after accept(2) */

enum { SNDBUF, RCVBUF, NOTSENT_LOWAT, NODELAY, BUSY_POLL, QUICKACK, OPTION_COUNT };

#define SOCKET(name) #name, SOL_SOCKET, name
#define TCP(name) #name, IPPROTO_TCP, name

/* The last has no word. */
static const struct socket_option {
    const char *word, *spelled;
    int level, name;
    enum moment moment; /* of a buffer: see value_at() */
    bool is_buffer;     /* any socket has it, and may read back another value; the others are of TCP */
    const char *limit, *limit_file; /* the sysctl that clamps a buffer; NULL: none */
    const char *key;                /* in the record */
} socket_options[OPTION_COUNT + 1] = {
    [SNDBUF] = {"sndbuf", SOCKET(SO_SNDBUF), BEFORE_CONNECT, true, LIMIT("wmem_max"), "sndbuf_bytes"},
    [RCVBUF] = {"rcvbuf", SOCKET(SO_RCVBUF), BEFORE_CONNECT, true, LIMIT("rmem_max"), "rcvbuf_bytes"},
    [NOTSENT_LOWAT] = {"notsent_lowat", TCP(TCP_NOTSENT_LOWAT), BEFORE_CONNECT, .key = "notsent_lowat_bytes"},
    [NODELAY] = {"nodelay", TCP(TCP_NODELAY), AFTER_CONNECT, .key = "nodelay"},
    [BUSY_POLL] = {"busy_poll", SOCKET(SO_BUSY_POLL), AFTER_CONNECT, .key = "busy_poll_us"},
    [QUICKACK] = {"quickack", TCP(TCP_QUICKACK), AFTER_CONNECT, .key = "quickack"},
};

#define UNSET (-1)

/* The value to set at one of these moments, or UNSET. A Unix socket from accept(2) has default
 * buffers, so they are always set after accept(2). */
static int value_at(const struct socket_option *option, const struct plan *plan, enum end end,
                    unsigned moments)
{
    const struct end_plan *own = &plan->ends[end];
    bool is_tcp = plan->transport->is_tcp, is_late = !is_tcp || own->buffers == BUFFERS_AFTER;
    bool nodelay =
        own->nodelay == NODELAY_BY_STRATEGY ? own->strategy_sets_nodelay : own->nodelay == NODELAY_ON;
    const uint64_t values[OPTION_COUNT] = {[SNDBUF] = own->sndbuf_bytes,
                                           [RCVBUF] = own->rcvbuf_bytes,
                                           [NOTSENT_LOWAT] = own->notsent_lowat_bytes,
                                           [NODELAY] = nodelay,
                                           [BUSY_POLL] = own->busy_poll_ns / NS_PER_US,
                                           [QUICKACK] = own->quickack != QUICKACK_DEFAULT};
    int index = (int)(option - socket_options), value = (int)values[index];

    if (!(moments & (option->is_buffer && is_late ? AFTER_CONNECT : option->moment)) ||
        (!option->is_buffer && !is_tcp))
        return UNSET;
    return value || index == NODELAY ? value : UNSET;
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

#define DEFAULT_CONGESTION "cubic"

/* The value of congestion= in the plan. "system": the system's default. "default": cubic, or the
 * system's default if there is no cubic. */
static const char *congestion_of(const struct plan *plan, enum end end)
{
    return plan->transport->is_tcp ? plan->ends[end].congestion : "system";
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

/* 0, or -1 and errno. */
static int write_congestion(int fd, const char *name)
{
    return setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name));
}

bool transport_forbids_cubic(void)
{
    int fd = sockets_make(AF_INET, SOCK_STREAM, 0, true);
    bool is_forbidden = fd >= 0 && write_congestion(fd, DEFAULT_CONGESTION) < 0 && errno == EPERM;
    if (fd >= 0)
        close(fd);
    return is_forbidden;
}

/* Reads a name back, because some systems accept any; not without a `problem`. The record says what
 * `default` gave. */
static int choose_congestion(struct calls *calls, const char *word, struct problem *problem)
{
    const char *name = names_algorithm(word) ? word : DEFAULT_CONGESTION;
    char now[CONGESTION_NAME_MAX];
    bool is_set = false, is_permitted = true;

    if (TCP_CONGESTION != MISSING && strcmp(word, "system") != 0) {
        calls->counts.made[CALL_OPTION]++;
        is_set = write_congestion(calls->fd, name) == 0;
        is_permitted = is_set || errno != EPERM;
    }
    if (!problem || !names_algorithm(word) ||
        (is_set && read_congestion(calls->fd, now) && !strcmp(now, word)))
        return 0;
    if (!is_permitted)
        return problem_unsupported(problem,
                                   "congestion=%s: sysctl net.ipv4.tcp_allowed_congestion_control lacks it; "
                                   "run it as root, a server with --allow-word congestion",
                                   word);
    return problem_unsupported(problem, "congestion=%s is not available here; " AVAILABLE, word);
}

/* ---- the largest segment ---- */

static bool mss_is_reliable = true;

/* Over loopback the MSS is many times the value before connect (536, RFC 9293). */
void options_probe_mss(const int fds[2])
{
    CLEANUP_CLOSE int fresh = socket(AF_INET, SOCK_STREAM, 0);
    int before, after;
    mss_is_reliable = !read_option(fresh, IPPROTO_TCP, TCP_MAXSEG, &before) ||
                      !read_option(fds[0], IPPROTO_TCP, TCP_MAXSEG, &after) || after != before;
}

/* ---- setting ---- */

/* Judges a call that set the option with this `result`. Reads back what the system might ignore. */
static int check_option(const struct socket_option *option, int value, int result, int fd,
                        struct problem *problem)
{
    int now = !value;

    if (option->name == MISSING)
        return problem_unsupported(problem, "%s: this system has no %s", option->word, option->spelled);
    if (option->name == SO_BUSY_POLL && result == -EPERM)
        return problem_unsupported(
            problem,
            "busy_poll=%dus: a value above sysctl net.core.busy_read "
            "needs CAP_NET_ADMIN; run it as root, a server with --allow-word busy_poll",
            value);
    if (result < 0)
        return problem_unsupported(problem, "%s: the system refuses %s %d: %s", option->word, option->spelled,
                                   value, strerror(-result));
    if (option->is_buffer ||
        (read_option(fd, option->level, option->name, &now) &&
         (now == value || (now && value == 1)))) /* BSD reads back a bit for a switch that is on */
        return 0;
    return problem_unsupported(problem, "%s: the system accepts %s %d but reads back %d", option->word,
                               option->spelled, value, now);
}

/* Sets the options of this moment by counted calls. 0 or a negative errno value. With a `problem`
 * also reads back those that the system might ignore, and returns 0, or -1 with a problem. */
static int set_options(const struct plan *plan, enum end end, struct calls *calls, enum moment moment,
                       struct problem *problem)
{
    for (const struct socket_option *option = socket_options; option->word; option++) {
        int value = value_at(option, plan, end, moment);

        if (value == UNSET)
            continue;
        int result = calls_set_option(calls, CALL_OPTION, option->level, option->name, value);
        if (problem)
            result = check_option(option, value, result, calls->fd, problem);
        if (result < 0)
            return result;
    }
    return moment == BEFORE_CONNECT ? choose_congestion(calls, congestion_of(plan, end), problem) : 0;
}

static bool sets_before_connect(const struct plan *plan, enum end end)
{
    for (const struct socket_option *option = socket_options; option->word; option++)
        if (value_at(option, plan, end, BEFORE_CONNECT) != UNSET)
            return true;
    return names_algorithm(congestion_of(plan, end));
}

static int check_inherited(const struct plan *plan, enum end end, int listener, int accepted,
                           struct problem *problem)
{
    const char *word = congestion_of(plan, end);
    char congestion[CONGESTION_NAME_MAX];

    for (const struct socket_option *option = socket_options; option->word; option++) {
        int given = 0, has = 0;

        if (value_at(option, plan, end, BEFORE_CONNECT) != UNSET &&
            read_option(listener, option->level, option->name, &given) &&
            read_option(accepted, option->level, option->name, &has) && has != given)
            return problem_unsupported(
                problem, "%s: an accepted connection does not have the %s of its listener here%s",
                option->word, option->spelled, option->limit ? "; write buffers=after" : "");
    }
    if (!names_algorithm(word) || (read_congestion(accepted, congestion) && !strcmp(congestion, word)))
        return 0;
    return problem_unsupported(problem,
                               "congestion=%s: an accepted connection does not have the congestion "
                               "control of its listener here, but %s",
                               word, congestion);
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

/* ---- the sockets of a plan ---- */

int transport_socket(const struct plan *plan, enum end end, const struct address *address,
                     struct problem *problem)
{
    const struct transport *transport = plan->transport;
    struct calls calls = {.table = transport->calls,
                          .fd = sockets_make(address->any.sa_family, SOCK_STREAM, transport->protocol, true)};
    if (calls.fd < 0)
        return problem_failure(problem, "cannot make a %s socket: %s", transport->variant.name,
                               strerror(errno));
    if (set_options(plan, end, &calls, BEFORE_CONNECT, problem) == 0)
        return calls.fd;
    close(calls.fd);
    return -1;
}

int transport_adopt(const struct plan *plan, enum end end, int fd, struct problem *problem)
{
    struct calls calls = {.table = plan->transport->calls, .fd = fd};
    return set_options(plan, end, &calls, BEFORE_CONNECT, problem);
}

static int prepare(const struct plan *plan, enum end end, struct calls *calls, struct problem *problem)
{
    if (plan->ends[end].sets_zerocopy) {
        int result = zerocopy_enable(calls->fd);

        calls->counts.made[CALL_OPTION]++;
        if (result < 0 && problem)
            problem_unsupported(problem, "SO_ZEROCOPY cannot be set here: %s", strerror(-result));
        if (result < 0)
            return result;
    }
    return set_options(plan, end, calls, AFTER_CONNECT, problem);
}

int transport_prepare(const struct plan *plan, enum end end, int fd, struct problem *problem)
{
    return prepare(plan, end, &(struct calls){.table = plan->transport->calls, .fd = fd}, problem);
}

int transport_prepare_again(const struct plan *plan, enum end end, struct calls *calls, bool made)
{
    int result = made ? set_options(plan, end, calls, BEFORE_CONNECT, NULL) : 0;
    return result < 0 ? result : prepare(plan, end, calls, NULL);
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
    return problem_unsupported(problem, "busy_poll has no effect here: packets of this connection do not "
                                        "come through a device queue that the kernel can poll "
                                        "(SO_INCOMING_NAPI_ID is 0, as it always is on loopback)");
}

int transport_check(const struct plan *plan, enum end end, struct problem *problem)
{
    const struct transport *transport = plan->transport;
    const struct address anywhere = {.storage.ss_family = (sa_family_t)transport->family};
    if (!transport->has_other_end)
        return 0;
    CLEANUP_CLOSE int fd = transport_socket(plan, end, &anywhere, problem);
    if (fd < 0 || transport_prepare(plan, end, fd, problem) < 0)
        return -1;
    if (end == END_CLIENT || !transport->is_tcp || !sets_before_connect(plan, end))
        return 0;
    return check_inheritance(plan, end, fd, problem);
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

/* {"asked_bytes", "given_bytes", "sysctl"}; NULL: the buffer has the size of the word. */
static json_t *clamp_of(const struct socket_option *option, int asked, int effective)
{
    int given = GIVEN(effective), limit = given; /* if the file cannot be read, as in a network namespace */
    if (given == asked)
        return NULL;
    if (option->limit_file)
        scan_file(option->limit_file, 1, "%d", &limit);
    return json_pack("{s:i, s:i, s:s*}", "asked_bytes", asked, "given_bytes", given, "sysctl",
                     given < asked && given == limit ? option->limit : NULL);
}

json_t *options_report(const struct plan *plan, enum end end, int fd)
{
    json_t *options = json_object();
    CLEANUP_JSON json_t *clamped = json_object();
    char congestion[CONGESTION_NAME_MAX];
    int now;

    for (const struct socket_option *option = socket_options; option->word; option++) {
        int value = value_at(option, plan, end, BEFORE_CONNECT | AFTER_CONNECT);

        if ((value == UNSET && !option->is_buffer) || !read_option(fd, option->level, option->name, &now))
            continue;
        json_object_set_new(options, option->key, json_integer(now));
        if (value != UNSET && option->is_buffer)
            json_object_set_new(clamped, option->word, clamp_of(option, value, now));
    }
    if (json_object_size(clamped))
        json_object_set(options, "clamped", clamped);
    if (plan->transport->is_tcp && mss_is_reliable && read_option(fd, IPPROTO_TCP, TCP_MAXSEG, &now))
        json_object_set_new(options, "mss_bytes", json_integer(now));
    if (plan->transport->is_tcp && read_congestion(fd, congestion))
        json_object_set_new(options, "congestion", json_string(congestion));
    return options;
}
