/* SPDX-License-Identifier: MIT */
#include "support/support.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/units.h"
#include "capture/capture.h"
#include "connection/capability.h"
#include "connection/memory.h"
#include "connection/protocol.h"
#include "connection/reading.h"
#include "connection/security.h"
#include "connection/strategy.h"
#include "connection/workload.h"
#include "engine/engine.h"
#include "net/address.h"
#include "placement/cores.h"
#include "support/probe.h"
#include "transport/transport.h"
#include "words/word.h"

#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>

#define CAPABILITY_LACKS(name, bit, lacks) [bit] = lacks,
static const char *const lacks[CAPABILITY_COUNT] = {CAPABILITIES(CAPABILITY_LACKS)};

static int check_needs(const char *word, const char *value, unsigned needs, const struct transport *transport,
                       const struct security *security, unsigned engine_gives, struct problem *problem)
{
    unsigned gives, withheld;
    int result = probe_capabilities(transport, needs & ~CAPABILITIES_OF_LAYERS, &gives);

    if (result < 0)
        return problem_failure(problem, "%s=%s with transport=%s could not be probed: %s", word, value,
                               transport->variant.name, strerror(-result));
    withheld = gives & ~security->gives & ~CAPABILITIES_OF_ENGINES & ~CAPABILITIES_OF_OPTIONS;
    gives = (gives & (security->gives | CAPABILITIES_OF_OPTIONS)) | engine_gives |
            (security->gives & CAPABILITIES_OF_LAYERS);
    for (int bit = 0; bit < CAPABILITY_COUNT; bit++)
        if (needs & ~gives & 1u << bit)
            return problem_unsupported(problem, "%s=%s does not work with transport=%s security=%s here: %s",
                                       word, value, transport->variant.name, security->variant.name,
                                       withheld & 1u << bit ? security->withholds : lacks[bit]);
    return 0;
}

static int conflict(struct problem *problem, const char *word, const char *value, const char *other,
                    const char *other_value, const char *why)
{
    return problem_unsupported(problem, "%s=%s does not work with %s=%s: %s", word, value, other, other_value,
                               why);
}

static const char *word_of(const struct plan *plan, const struct strategy_choice *choice)
{
    return choice == &plan->write ? "write" : "reply_write";
}

static int check_sending(const struct plan *plan, enum end end, const struct engine *engine,
                         struct problem *problem)
{
    const struct strategy_choice *choice = plan_strategy(plan, end);
    CLEANUP_FREE char *value = kind_strategy.format(NULL, choice);
    const char *word = word_of(plan, choice);

    if (choice->strategy->zerocopy && plan->ends[end].hands_over)
        return conflict(
            problem, word, value, "handoff", "thread",
            "the completions of its zero-copy sends go to the thread that waits for the connection, not "
            "to the thread that sends");
    if (choice->strategy->from_file && plan_role(plan, end)->relay_buffers)
        return conflict(problem, word, value, "workload", plan->workload->variant.name,
                        "it sends only from a file, and a proxy has the bytes in receive buffers");
    if (choice->strategy->from_file && plan->frames)
        return conflict(problem, word, value, "protocol", plan->protocol->variant.name,
                        "it sends only from a file, which does not have the heads of requests and replies");
    return check_needs(word, value, strategy_needs(choice, plan->ends[end].security, plan->transport),
                       plan->transport, plan->ends[end].security, engine->gives, problem);
}

/* A libuv stream must read its descriptor itself. So it works only with a reading that needs no
 * capability. */
static int check_stream(const struct plan *plan, enum end end, struct problem *problem)
{
    const struct strategy_choice *choice = plan_strategy(plan, end);
    const struct reading *reading = plan->ends[end].reading;

    if (!plan_outgoing(plan, end) || !plan_incoming(plan, end) ||
        !(choice->strategy->needs & CAPABLE_LIBUV) || !reading->needs)
        return 0;
    return conflict(problem, "read", reading->variant.name, word_of(plan, choice),
                    choice->strategy->variant.name, "a libuv stream also reads its connection, by read=recv");
}

static int check_receiving(const struct plan *plan, enum end end, const struct engine *engine,
                           struct problem *problem)
{
    const struct reading *reading = plan->ends[end].reading;

    if (plan->ends[end].touch == TOUCH_CHECKSUM && digest_check(problem) < 0)
        return -1;
    if (plan->encrypts && plan->workload->reconnects && reading->needs & CAPABLE_RING)
        return problem_unsupported(problem,
                                   "read=%s does not work with workload=%s security=%s: on each new "
                                   "connection it would receive bytes of the TLS handshake",
                                   reading->variant.name, plan->workload->variant.name,
                                   plan->ends[end].security->variant.name);
    if (reading->maps && (plan->workload->reconnects || plan_role(plan, end)->relay_buffers))
        return conflict(problem, "read", reading->variant.name, "workload", plan->workload->variant.name,
                        plan_role(plan, end)->relay_buffers
                            ? "the next read unmaps the received pages, which a proxy still has to send"
                            : "every new connection would need a mapping first");
    return check_needs("read", reading->variant.name, reading->needs, plan->transport,
                       plan->ends[end].security, engine->gives, problem);
}

/* transport=null has no other end: refuses words that need one. */
static int check_other_end(const struct plan *plan, struct problem *problem)
{
    const char *transport = plan->transport->variant.name;
    bool by_workload = plan->relays || plan->runs_command;
    const char *word = by_workload ? "workload" : plan->frames ? "protocol" : "security";
    const char *value = by_workload    ? plan->workload->variant.name
                        : plan->frames ? plan->protocol->variant.name
                                       : plan->ends[END_CLIENT].security->variant.name;

    if (!plan->has_server && plan->ends[END_CLIENT].follows)
        return problem_unsupported(
            problem, "this direction does not work with transport=%s: it has no other end that could send",
            transport);
    if (plan->transport->has_other_end || !(by_workload || plan->frames || plan->encrypts))
        return 0;
    return problem_unsupported(problem, "%s=%s does not work with transport=%s here: it has no other end",
                               word, value, transport);
}

static int check_security(const struct plan *plan, enum end end, struct problem *problem)
{
    const char *name = plan->ends[end].security->variant.name;

    if (!plan->encrypts)
        return 0;
    if (plan->ends[end].hands_over)
        return conflict(
            problem, "handoff", "thread", "security", name,
            "only one thread may use a TLS session, and here one thread sends while another receives");
    if (plan->handshake == HANDSHAKE_TICKET && !plan->workload->reconnects)
        return problem_unsupported(problem,
                                   "handshake=ticket needs workload=connect: only there a connection "
                                   "has the ticket of an earlier one");
    return probe_security(plan, end, problem);
}

/* Ensures that this process may have `needed` open descriptors: raises its soft limit, and the hard
 * limit where permitted. */
static int reserve_descriptors(uint64_t needed, uint64_t connections, struct problem *problem)
{
    struct rlimit limit, raised = {.rlim_cur = (rlim_t)needed};

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || (uint64_t)limit.rlim_cur >= needed)
        return 0;
    raised.rlim_max = (uint64_t)limit.rlim_max < needed ? (rlim_t)needed : limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
        return 0;
    return problem_unsupported(problem,
                               "connections=%" PRIu64 " needs %" PRIu64 " open files, but only %" PRIu64
                               " are allowed: as root, prlimit --pid $$ --nofile=%" PRIu64 ":%" PRIu64
                               " in the shell that starts it",
                               connections, needed, (uint64_t)limit.rlim_max, needed, needed);
}

#define DESCRIPTORS_OF_PROCESS 64 /* standard ones, listeners, control channel, files of /proc */
#define DESCRIPTORS_OF_THREAD 4   /* counters, a file of /proc */
#define DESCRIPTORS_OF_LOOP 8     /* of libuv, where an engine has one for each thread */

static int check_limits(const struct plan *plan, enum end end, struct problem *problem)
{
    uint64_t of_thread =
        DESCRIPTORS_OF_THREAD + (engine_of(plan, end)->thread_per_connection ? 0 : DESCRIPTORS_OF_LOOP);
    uint64_t of_number = plan_role(plan, end)->relay_buffers ? 2 : 1; /* a proxy has a pair */
    uint64_t threads = engine_threads(plan, end), senders = plan->ends[end].hands_over ? threads : 0;
    uint64_t descriptors =
        of_number * plan->connections + DESCRIPTORS_OF_PROCESS + of_thread * (threads + senders);

    if (plan_check_memory(plan, end, threads, problem) < 0 ||
        (end == END_CLIENT && plan_check_in_flight(plan, problem) < 0))
        return -1;
    if (!plan->transport->has_other_end)
        return 0;
    if (reserve_descriptors(descriptors, plan->connections, problem) < 0)
        return -1;
    return end != END_SERVER && plan->is_tcp ? ports_check(plan->connections, problem) : 0;
}

static bool lists_overlap(const struct place_list *a, const struct place_list *b)
{
    for (int i = 0; i < a->count; i++)
        for (int j = 0; j < b->count; j++)
            if (a->cpus[i] == b->cpus[j])
                return true;
    return false;
}

/* Whether the spinning threads of the client leave no CPU to this end, or to each other. Threads
 * without a fixed CPU move to another one, if there is one. plan_cpus() reports an impossible
 * placement. */
static bool starves(const struct plan *plan, enum end end)
{
    struct place_list own, others;
    struct problem ignored = {0};
    struct cores cores;

    if (plan_cpus(plan, END_CLIENT, false, &own, &ignored) < 0 ||
        plan_cpus(plan, end, false, &others, &ignored) < 0 || cores_read(&cores) < 0)
        return false;
    if (end == END_CLIENT)
        return engine_threads(plan, end) > (uint64_t)(own.count ? own.count : cores.cpu_count);
    return own.count ? lists_overlap(&own, &others) : cores.cpu_count == 1;
}

/* Only a higher priority preempts a thread of a real-time class that spins. */
static int check_pace(const struct plan *plan, bool remote, struct problem *problem)
{
    const struct scheduling *own = &plan->ends[END_CLIENT].scheduling;
    char word[SCHEDULING_TEXT_MAX];

    if (!plan_role(plan, END_CLIENT)->times || !plan->rate || plan->pace != PACE_SPIN ||
        !scheduling_is_realtime(own))
        return 0;
    scheduling_format(word, own);
    for (int end = 0; end < END_COUNT; end++) {
        bool here = end == END_CLIENT || !remote;

        if (here && plan_has_end(plan, (enum end)end) &&
            plan->ends[end].scheduling.priority <= own->priority && starves(plan, (enum end)end))
            return problem_unsupported(
                problem,
                "pace=spin needs a CPU of its own: with client.sched=%s threads of the "
                "%s would never run; write place=apart, pace=sleep or sched=other",
                word, end_names[end]);
    }
    return 0;
}

/* engine_receive() sets TCP_QUICKACK again. A ring and libuv receive without engine_receive(). */
static int check_quickack(const struct plan *plan, enum end end, const struct engine *engine,
                          struct problem *problem)
{
    const struct end_plan *own = &plan->ends[end];
    bool again = own->quickack == QUICKACK_REARM;
    bool by_stream = plan_outgoing(plan, end) && plan_strategy(plan, end)->strategy->needs & CAPABLE_LIBUV;

    if (!plan->is_tcp || !plan_incoming(plan, end) || own->quickack == QUICKACK_DEFAULT)
        return 0;
    if (check_needs("quickack", again ? "rearm" : "once", CAPABLE_QUICKACK, plan->transport, own->security,
                    engine->gives, problem) < 0)
        return -1;
    if (!again || !(by_stream || own->reading->needs & engine->gives & CAPABLE_RING))
        return 0;
    return problem_unsupported(problem,
                               "quickack=rearm does not work with %s: there %s receives, so uncork "
                               "cannot set TCP_QUICKACK after each receive",
                               by_stream ? "write=uv" : "a reading of the ring",
                               by_stream ? "libuv" : "the kernel");
}

/* At an end that accepts, a connection must keep the SO_RCVBUF of its listener. */
static int check_rcvbuf(const struct plan *plan, enum end end, struct problem *problem)
{
    const struct end_plan *own = &plan->ends[end];
    char value[UNITS_TEXT_MAX];

    if (!plan->is_tcp || end == END_CLIENT || !own->rcvbuf_bytes || own->buffers == BUFFERS_AFTER)
        return 0;
    units_format(&units_size, value, own->rcvbuf_bytes);
    return check_needs("rcvbuf", value, CAPABLE_INHERIT_RCVBUF, plan->transport, own->security, 0, problem);
}

/* Refuses options that cannot have an effect in this plan. */
static int check_options(const struct plan *plan, enum end end, struct problem *problem)
{
    const struct end_plan *own = &plan->ends[end];
    bool buffers = own->sndbuf_bytes || own->rcvbuf_bytes, reconnects = plan->workload->reconnects;

    if (!plan->transport->has_other_end)
        return 0;
    if (!plan->is_tcp)
        return buffers && own->buffers == BUFFERS_BEFORE
                   ? conflict(problem, "buffers", "before", "transport", plan->transport->variant.name,
                              "an accepted Unix socket has buffers of its own, not those of its listener, so "
                              "they are set after connect(2) and accept(2)")
                   : 0;
    if (reconnects && buffers && own->buffers == BUFFERS_AFTER && plan->ends[end].drives)
        return conflict(problem, "buffers", "after", "workload", plan->workload->variant.name,
                        "the first message is sent as soon as the socket is connected");
    if (own->busy_poll_ns % NS_PER_US)
        return problem_unsupported(problem,
                                   "busy_poll=%" PRIu64 "ns: SO_BUSY_POLL takes whole microseconds only",
                                   own->busy_poll_ns);
    if (reconnects && own->busy_poll_ns)
        return problem_unsupported(problem,
                                   "busy_poll does not work with workload=%s: only a connection that stays "
                                   "open shows whether its queue is polled",
                                   plan->workload->variant.name);
    return 0;
}

int support_check(const struct plan *plan, enum end end, bool remote, struct problem *problem)
{
    const struct scheduling *scheduling = &plan->ends[end].scheduling;
    const struct engine *engine = engine_of(plan, end);
    struct place_list cpus;

    if (check_other_end(plan, problem) < 0)
        return -1;
    if (plan->runs_command)
        return plan_cpus(plan, end, remote, &cpus, problem);
    if (end == END_CLIENT && plan_captures(plan) && capture_check(problem) < 0)
        return -1;
    if (engine_suits(engine, plan, end, problem) < 0 || check_pace(plan, remote, problem) < 0)
        return -1;
    if (scheduling_is_realtime(scheduling) && scheduling_check(scheduling, problem) < 0)
        return -1;
    if (check_limits(plan, end, problem) < 0 ||
        (plan->transport->check && plan->transport->check(problem) < 0))
        return -1;
    if (check_options(plan, end, problem) < 0 || check_rcvbuf(plan, end, problem) < 0 ||
        check_quickack(plan, end, engine, problem) < 0)
        return -1;
    if (check_security(plan, end, problem) < 0 || check_stream(plan, end, problem) < 0)
        return -1;
    if (plan_outgoing(plan, end) && check_sending(plan, end, engine, problem) < 0)
        return -1;
    if (plan_incoming(plan, end) && check_receiving(plan, end, engine, problem) < 0)
        return -1;
    return transport_check(plan, end, problem) < 0 ? -1 : plan_cpus(plan, end, remote, &cpus, problem);
}

/* Without another end nothing waits, so there is no loop and no ring. */
static unsigned engines_give(const struct transport *transport)
{
    return transport->has_other_end ? CAPABILITIES_OF_ENGINES : CAPABLE_BLOCKING_MODE;
}

int support_of_strategy(const struct strategy *strategy, const struct transport *transport,
                        struct problem *problem)
{
    const struct security *plain = (const struct security *)security_axis.variants[0];
    struct strategy_choice choice = {.strategy = strategy, .parameter = PARAMETER_NONE};

    if (engine_check(strategy->needs & CAPABILITIES_OF_ENGINES, problem) < 0)
        return -1;
    return check_needs("write", strategy->variant.name, strategy_needs(&choice, plain, transport), transport,
                       plain, engines_give(transport), problem);
}

int support_of_reading(const struct reading *reading, const struct transport *transport,
                       struct problem *problem)
{
    if (engine_check(reading->needs & CAPABILITIES_OF_ENGINES, problem) < 0)
        return -1;
    return check_needs("read", reading->variant.name, reading->needs, transport,
                       (const struct security *)security_axis.variants[0], engines_give(transport), problem);
}

int support_of_security(const struct security *security, const struct transport *transport,
                        struct problem *problem)
{
    struct plan plan = {.transport = transport, .is_tcp = transport->is_tcp, .encrypts = security->encrypts};

    for (int end = 0; end < END_COUNT; end++)
        plan.ends[end].security = security;
    return check_other_end(&plan, problem) < 0 ? -1 : check_security(&plan, END_CLIENT, problem);
}
