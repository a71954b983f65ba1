/* SPDX-License-Identifier: MIT */
/* The probes must detect a system that accepts an option and does nothing. */
#include "unit.h"

#include "connection/layer.h"
#include "connection/security.h"
#include "connection/strategy.h"
#include "ring/ring.h"
#include "support/support.h"
#include "transport/transport.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

/* ---- a system with faults: the linker redirects its calls to this file ---- */

static struct {
    bool ignores_cork, ignores_more, ignores_nodelay, ignores_truncate, ignores_bundle, ignores_tls;
    bool ignores_quickack, accepts_with_defaults;
    int slow_sends; /* so many sends take longer than a cork holds */
} faults;

#define WRAPPED(type, name, ...)                                                                             \
    type __real_##name(__VA_ARGS__);                                                                         \
    type __wrap_##name(__VA_ARGS__);

WRAPPED(ssize_t, send, int fd, const void *data, size_t size, int flags)
WRAPPED(ssize_t, recv, int fd, void *data, size_t size, int flags)
WRAPPED(int, setsockopt, int fd, int level, int name, const void *value, socklen_t size)
WRAPPED(int, accept, int fd, struct sockaddr *address, socklen_t *size)

ssize_t __wrap_send(int fd, const void *data, size_t size, int flags)
{
    ssize_t sent = __real_send(fd, data, size, faults.ignores_more ? flags & ~MSG_MORE : flags);

    if (faults.slow_sends && faults.slow_sends--)
        poll(NULL, 0, 250);
    return sent;
}

ssize_t __wrap_recv(int fd, void *data, size_t size, int flags)
{
    return __real_recv(fd, data, size, faults.ignores_truncate ? flags & ~MSG_TRUNC : flags);
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
    bool tcp = level == IPPROTO_TCP;

    if ((tcp && name == TCP_CORK && faults.ignores_cork) ||
        (tcp && name == TCP_NODELAY && faults.ignores_nodelay) ||
        (tcp && name == TCP_QUICKACK && faults.ignores_quickack) ||
        (faults.ignores_tls && (level == SOL_TLS || (tcp && name == TCP_ULP))))
        return 0;
    return __real_setsockopt(fd, level, name, value, size);
}

/* With the fault, an accepted connection has default options, not those of its listener. */
int __wrap_accept(int fd, struct sockaddr *address, socklen_t *size)
{
    static const int usual_bytes = 300000;
    int accepted = __real_accept(fd, address, size);

    if (faults.accepts_with_defaults && accepted >= 0) {
        setsockopt(accepted, SOL_SOCKET, SO_SNDBUF, &usual_bytes, sizeof usual_bytes);
        setsockopt(accepted, IPPROTO_TCP, TCP_CONGESTION, "reno", sizeof "reno" - 1);
    }
    return accepted;
}

#ifdef UNCORK_HAS_LIBURING
WRAPPED(int, ring_send, struct ring_slot *slot, const struct send_request *request)
WRAPPED(int, ring_receive, struct ring_slot *slot, unsigned options)

int __wrap_ring_send(struct ring_slot *slot, const struct send_request *request)
{
    struct send_request asked = *request;

    asked.options &= faults.ignores_bundle ? ~(unsigned)SEND_BUNDLE : ~0u;
    return __real_ring_send(slot, &asked);
}

int __wrap_ring_receive(struct ring_slot *slot, unsigned options)
{
    return __real_ring_receive(slot, faults.ignores_bundle ? options & ~(unsigned)RECEIVE_BUNDLE : options);
}
#endif

static const void *the(const struct axis *axis, const char *name)
{
    return axis_find(axis, name, &unit_problem);
}

/* A copy of this transport that was never probed: answers are kept by transport. */
static const struct transport *unprobed(const char *name)
{
    static struct transport transports[64];
    static size_t used;

    assert_true(used < COUNT_OF(transports));
    transports[used] = *(const struct transport *)the(&transport_axis, name);
    return &transports[used++];
}

static const struct transport *tcp; /* not probed before the test */

static void clear_faults(void)
{
    memset(&faults, 0, sizeof faults);
    tcp = unprobed("tcp");
}

struct unit_fixture unit_fixture = {.before = clear_faults};

static void allows(const struct transport *transport, const char *strategy)
{
    assert_accepted(support_of_variant(WORD_write, the(&strategy_axis, strategy), transport, &unit_problem));
}

static void forbids(const struct transport *transport, const char *strategy, const char *why)
{
    assert_refused(support_of_variant(WORD_write, the(&strategy_axis, strategy), transport, &unit_problem),
                   PROBLEM_UNSUPPORTED, why);
    assert_problem(&unit_problem, PROBLEM_UNSUPPORTED, strategy);
}

static unsigned found(const struct transport *transport, unsigned wanted)
{
    unsigned capabilities;

    assert_int_equal(probe_capabilities(transport, wanted, &capabilities), 0);
    return capabilities;
}

/* ---- this system ---- */

#ifdef __linux__
TEST(tcp_on_linux_has_every_capability)
{
    unsigned all = ((1u << CAPABILITY_COUNT) - 1) & ~CAPABILITIES_OF_LAYERS;

    assert_int_equal(found(unprobed("tcp"), all) & ~CAPABILITIES_OF_RINGS,
                     all & ~CAPABILITIES_OF_ENGINES & ~CAPABILITIES_OF_RINGS);
}

TEST(a_unix_socket_on_linux_has_a_descriptor_and_sendfile_only)
{
    unsigned copying = CAPABILITIES_OF_RINGS & ~(unsigned)CAPABLE_SEND_ZC; /* if the kernel has them */

    assert_int_equal(found(unprobed("unix"), (1u << CAPABILITY_COUNT) - 1) & ~copying,
                     CAPABLE_DESCRIPTOR | CAPABLE_SENDFILE);
}

/* Skips the test if this kernel has no bundles: its fault is to ignore them. */
static void need_bundles(void)
{
    unsigned bundles = CAPABLE_SEND_BUNDLE | CAPABLE_RECV_BUNDLE;

    skip_unless(found(the(&transport_axis, "tcp"), bundles) == bundles,
                "no bundles (Linux 6.10) or no io_uring here");
}

TEST(a_bundle_that_takes_one_buffer_is_detected)
{
    need_bundles();
    faults.ignores_bundle = true;
    forbids(tcp, "uring-bundle", "takes only one provided buffer at a time");
    allows(tcp, "uring-ring");
    allows(tcp, "uring-sendmsg");
    assert_int_equal(found(tcp, CAPABLE_RECV_BUNDLE | CAPABLE_RECV_MULTISHOT), CAPABLE_RECV_MULTISHOT);
}
#endif

TEST(only_wanted_capabilities_are_answered)
{
    assert_int_equal(found(tcp, 0), 0);
    assert_int_equal(found(tcp, CAPABLE_DESCRIPTOR) & ~(unsigned)CAPABLE_DESCRIPTOR, 0);
}

TEST(the_null_transport_has_every_capability)
{
    const struct transport *null = unprobed("null");

    for (size_t i = 0; i < strategy_axis.count; i++) {
        unsigned needs = ((const struct strategy *)strategy_axis.variants[i])->needs;

        assert_int_equal(found(null, needs), needs);
    }
}

/* ---- systems with a fault ---- */

TEST(a_cork_that_holds_nothing_is_detected)
{
    faults.ignores_cork = true;
    forbids(tcp, "cork", "a cork holds nothing back");
    allows(tcp, "nodelay");
    allows(tcp, "writev");
}

TEST(a_probe_that_was_preempted_is_repeated)
{
    faults.slow_sends = 1;
    allows(unprobed("tcp"), "cork");
    assert_int_equal(faults.slow_sends, 0);
}

TEST(a_more_that_holds_nothing_is_detected)
{
    faults.ignores_more = true;
    forbids(tcp, "more", "MSG_MORE holds nothing back");
    forbids(tcp, "sendfile", "MSG_MORE holds nothing back");
    allows(tcp, "coalesce");
}

TEST(a_nodelay_without_effect_is_detected)
{
    faults.ignores_nodelay = true;
    forbids(unprobed("tcp"), "nagle", "there is no Nagle algorithm");
}

TEST(a_truncation_that_copies_is_detected)
{
    faults.ignores_truncate = true;
    assert_refused(support_of_variant(WORD_read, the(&reading_axis, "msgtrunc"), tcp, &unit_problem),
                   PROBLEM_UNSUPPORTED, "read=msgtrunc");
    assert_problem(&unit_problem, PROBLEM_UNSUPPORTED, "MSG_TRUNC does not discard");
}

static int (*pair_of_tcp)(int protocol, int fds[2]);
static bool pairs_work;

static int pair_or_fail(int protocol, int fds[2])
{
    return pairs_work ? pair_of_tcp(protocol, fds) : -EMFILE;
}

/* The answer is kept in this process, so unit-ktls tests the real kernel. */
TEST(a_kernel_that_takes_keys_and_encrypts_nothing_is_detected)
{
    const struct security *ktls = the(&security_axis, "ktls");

    faults.ignores_tls = true;
    assert_int_equal(ktls->check(empty_problem()), -1);
    skip_unless(!strstr(unit_problem.text, "this build has no"), unit_problem.text);
    assert_problem(&unit_problem, PROBLEM_UNSUPPORTED, "encrypts nothing");
}

TEST(a_probe_that_could_not_run_is_named_and_repeated)
{
    static struct transport shaky;

    shaky = *unprobed("tcp");
    pair_of_tcp = shaky.pair;
    shaky.pair = pair_or_fail;
    pairs_work = false;
    assert_refused(support_of_variant(WORD_write, the(&strategy_axis, "cork"), &shaky, &unit_problem),
                   PROBLEM_FAILURE, "write=cork with transport=tcp could not be probed: Too many open");
    pairs_work = true;
    allows(&shaky, "cork");
    pairs_work = false;
    allows(&shaky, "cork");
}

TEST(an_answer_is_kept)
{
    allows(tcp, "more");
    faults.ignores_more = true;
    allows(tcp, "more");
}

/* ---- a whole plan ---- */

/* `why` is the problem of this end with the words, NULL: none. */
static void check_plan(enum end end, const char *why, const char *const *words)
{
    struct plan plan;

    unit_parse(&plan, words);
    int result = support_check(&plan, end, false, empty_problem());
    plan_free(&plan);
    if (!why && result < 0)
        fail_msg("%s", unit_problem.text);
    assert_int_equal(result, why ? -1 : 0);
    if (why)
        assert_problem(&unit_problem, PROBLEM_UNSUPPORTED, why);
}

/* With place=free, which every machine supports. */
#define CHECK_PLAN(end, why, ...) check_plan(end, why, WORDS("place=free", __VA_ARGS__))

TEST(each_end_checks_its_own_strategy_and_reading)
{
    CHECK_PLAN(END_CLIENT, NULL, "transport=unix");
    CHECK_PLAN(END_CLIENT, "write=more does not work with transport=unix", "transport=unix", "write=more");
    CHECK_PLAN(END_SERVER, NULL, "transport=unix", "write=more");
    CHECK_PLAN(END_SERVER, "reply_write=more does not work", "transport=unix", "reply_write=more");
    CHECK_PLAN(END_SERVER, "write=more does not work", "transport=unix", "write=more", "workload=stream",
               "direction=receive");
    CHECK_PLAN(END_CLIENT, NULL, "transport=unix", "write=more", "workload=stream", "direction=receive");
    CHECK_PLAN(END_SERVER, "read=msgtrunc does not work", "transport=unix", "server.read=msgtrunc");
    CHECK_PLAN(END_CLIENT, NULL, "transport=unix", "server.read=msgtrunc");
}

TEST(a_quickack_without_effect_is_detected)
{
    assert_int_equal(found(unprobed("tcp"), CAPABLE_QUICKACK), CAPABLE_QUICKACK);
    faults.ignores_quickack = true;
    assert_int_equal(found(unprobed("tcp"), CAPABLE_QUICKACK), 0);
}

TEST(an_option_that_accepted_connections_do_not_inherit_is_unsupported)
{
    CHECK_PLAN(END_SERVER, NULL, "sndbuf=64K");
    CHECK_PLAN(END_SERVER, NULL, "congestion=cubic");
    faults.accepts_with_defaults = true;
    CHECK_PLAN(END_SERVER, "sndbuf: an accepted connection does not have the SO_SNDBUF of its listener here",
               "sndbuf=64K");
    CHECK_PLAN(END_SERVER, "congestion=cubic: an accepted connection does not have the congestion control",
               "congestion=cubic");
    CHECK_PLAN(END_SERVER, NULL, "sndbuf=64K", "buffers=after");
    CHECK_PLAN(END_SERVER, NULL, "congestion=default");
    CHECK_PLAN(END_CLIENT, NULL, "sndbuf=64K", "congestion=cubic");
}

TEST(a_plan_needs_its_cpus_and_its_other_end)
{
    check_plan(END_CLIENT, "CPU 65535 does not exist here", WORDS("place=65535"));
    check_plan(END_CLIENT, "it has no other end that could send",
               WORDS("transport=null", "workload=stream", "direction=receive"));
    check_plan(END_CLIENT, NULL, WORDS("transport=null", "write=cork", "place=together"));
}

TEST(a_strategy_that_writes_through_a_loop_needs_the_engine_that_has_one)
{
    CHECK_PLAN(END_CLIENT, NULL, "write=uv");
    CHECK_PLAN(END_CLIENT, NULL, "write=uv", "engine=poll", "transport=unix");
    CHECK_PLAN(END_CLIENT, "only engine=poll has a libuv loop", "write=uv", "engine=block");
    CHECK_PLAN(END_SERVER, NULL, "write=uv", "engine=block");
    CHECK_PLAN(END_SERVER, "reply_write=uv does not work", "reply_write=uv", "engine=block");
    check_plan(END_CLIENT, "engine=poll cannot carry transport=null",
               WORDS("write=uv", "transport=null", "place=together"));
    forbids(unprobed("null"), "uv", "only engine=poll has a libuv loop");
    allows(unprobed("unix"), "uv");
}

TEST(an_end_that_writes_through_a_stream_reads_through_it)
{
    CHECK_PLAN(END_CLIENT, "read=msgtrunc does not work with write=uv", "write=uv", "read=msgtrunc");
    CHECK_PLAN(END_SERVER, "read=msgtrunc does not work with reply_write=uv", "reply_write=uv",
               "read=msgtrunc");
#ifdef UNCORK_HAS_LIBURING
    CHECK_PLAN(END_CLIENT, "read=uring-bundle does not work with write=uv", "write=uv", "read=uring-bundle");
#endif
    CHECK_PLAN(END_SERVER, NULL, "workload=stream", "write=uv", "read=msgtrunc");
    CHECK_PLAN(END_CLIENT, NULL, "workload=stream", "write=uv", "read=msgtrunc");
}
