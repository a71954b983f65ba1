/* SPDX-License-Identifier: MIT */
#include "support/support.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "capture/capture.h"
#include "connection/memory.h"
#include "engine/engine.h"
#include "net/address.h"
#include "placement/placement.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define CAPABILITY_LACKS(name, bit, lacks) [bit] = lacks,
static const char *const lacks[CAPABILITY_COUNT] = {CAPABILITIES(CAPABILITY_LACKS)};

/* Checks that transport, filter and engine of the end have the capabilities that the word needs. */
static int check_needs(const struct plan *plan, enum end end, enum word_index index, unsigned needs,
                       struct problem *problem)
{
    const struct security *security = plan->ends[end].security;
    const char *word = word_list[index].key, *transport = plan->transport->variant.name;
    CLEANUP_JSON json_t *text = word_value(&word_list[index], plan, end);
    const char *value = text ? json_string_value(text) : "(no memory)";
    unsigned gives;
    int result = probe_capabilities(plan->transport, needs & ~CAPABILITIES_OF_LAYERS, &gives);

    if (result < 0)
        return problem_failure(problem, "%s=%s with transport=%s could not be probed: %s", word, value,
                               transport, strerror(-result));
    unsigned withheld = gives & ~security->gives & ~CAPABILITIES_OF_ENGINES & ~CAPABILITIES_OF_OPTIONS;
    gives = (gives & (security->gives | CAPABILITIES_OF_OPTIONS)) | plan->ends[end].engine->gives |
            (security->gives & CAPABILITIES_OF_LAYERS);
    for (int bit = 0; bit < CAPABILITY_COUNT; bit++)
        if (needs & ~gives & 1u << bit)
            return problem_unsupported(problem, "%s=%s does not work with transport=%s security=%s here: %s",
                                       word, value, transport, security->variant.name,
                                       withheld & 1u << bit ? security->withholds : lacks[bit]);
    return 0;
}

/* Checks the words of an end that need capabilities. */
static int check_words(const struct plan *plan, enum end end, struct problem *problem)
{
    const struct end_plan *own = &plan->ends[end];
    const struct strategy_choice *choice = plan_strategy(plan, end);
    bool sends = plan_outgoing(plan, end), receives = plan_incoming(plan, end);
    /* Where an end accepts, a connection must keep the SO_RCVBUF of its listener. */
    bool inherits = end != END_CLIENT && own->rcvbuf_bytes && own->buffers != BUFFERS_AFTER;
    const struct {
        bool is_used;
        enum word_index word;
        unsigned needs;
    } words[] = {
        {plan->is_tcp && inherits, WORD_rcvbuf, CAPABLE_INHERIT_RCVBUF},
        {plan->is_tcp && receives && own->quickack != QUICKACK_DEFAULT, WORD_quickack, CAPABLE_QUICKACK},
        {sends, choice == &plan->write ? WORD_write : WORD_reply_write,
         strategy_needs(choice, own->security, plan->transport)},
        {receives, WORD_read, own->reading->needs},
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].is_used && check_needs(plan, end, words[i].word, words[i].needs, problem) < 0)
            return -1;
    return receives && own->touch == TOUCH_CHECKSUM ? digest_check(problem) : 0;
}

static uint64_t reserved; /* descriptors of clients that do not run */

uint64_t descriptors_allow(uint64_t wanted)
{
    struct rlimit limit, raised = {.rlim_cur = (rlim_t)wanted};
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || (uint64_t)limit.rlim_cur >= wanted)
        return wanted;
    raised.rlim_max = (uint64_t)limit.rlim_max < wanted ? (rlim_t)wanted : limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &raised) == 0 ? wanted : (uint64_t)limit.rlim_max;
}

uint64_t descriptors_reserve(uint64_t wanted)
{
    uint64_t allowed = descriptors_allow(DESCRIPTORS_OF_ONE + wanted);
    return reserved = allowed > DESCRIPTORS_OF_ONE ? allowed - DESCRIPTORS_OF_ONE : 0;
}

/* Checks memory, requests in flight, descriptors and ports. */
static int check_limits(const struct plan *plan, enum end end, struct problem *problem)
{
    uint64_t of_thread =
        DESCRIPTORS_OF_THREAD + (plan->ends[end].engine->thread_per_connection ? 0 : DESCRIPTORS_OF_LOOP);
    uint64_t of_number = plan_role(plan, end)->relay_buffers ? 2 : 1; /* a proxy has a pair */
    uint64_t threads = engine_threads(plan, end), senders = plan->ends[end].hands_over ? threads : 0;
    uint64_t needed =
        of_number * plan->connections + DESCRIPTORS_OF_PROCESS + reserved + of_thread * (threads + senders);

    if (plan_check_memory(plan, end, threads, problem) < 0 ||
        (end == END_CLIENT && plan_check_in_flight(plan, problem) < 0))
        return -1;
    if (!plan->transport->has_other_end)
        return 0;
    uint64_t allowed = descriptors_allow(needed);
    if (allowed < needed)
        return problem_unsupported(problem,
                                   "connections=%" PRIu64 " needs %" PRIu64 " open files, but only %" PRIu64
                                   " are allowed: as root, prlimit --pid $$ --nofile=%" PRIu64 ":%" PRIu64
                                   " in the shell that starts it",
                                   plan->connections, needed, allowed, needed, needed);
    return end != END_SERVER && plan->is_tcp ? ports_check(plan->connections, problem) : 0;
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
    if (!own.count)
        return cores.cpu_count == 1;
    for (int i = 0; i < own.count; i++)
        for (int j = 0; j < others.count; j++)
            if (own.cpus[i] == others.cpus[j])
                return true;
    return false;
}

/* Only a higher priority preempts a thread of a real-time class that spins. */
static int check_pace(const struct plan *plan, bool remote, struct problem *problem)
{
    const struct scheduling *own = &plan->ends[END_CLIENT].scheduling;

    if (!plan_role(plan, END_CLIENT)->times || !plan->rate || plan->pace != PACE_SPIN ||
        !scheduling_is_realtime(own))
        return 0;
    for (enum end end = 0; end < (remote ? END_SERVER : END_COUNT); end++)
        if (plan_has_end(plan, end) && plan->ends[end].scheduling.priority <= own->priority &&
            starves(plan, end))
            return problem_unsupported(
                problem,
                "pace=spin needs a CPU of its own: with client.sched=%s threads of the "
                "%s would never run; write place=apart, pace=sleep or sched=other",
                scheduling_text(own), end_names[end]);
    return 0;
}

/* What excludes what comes first: it is the same on every machine. Then come the probes. */
int support_check(const struct plan *plan, enum end end, bool remote, struct problem *problem)
{
    const struct end_plan *own = &plan->ends[end];
    struct place_list cpus;

    if (exclusions_check(STAGE_ends, plan, end, 0, problem) < 0)
        return -1;
    if (plan->runs_command)
        return plan_cpus(plan, end, remote, &cpus, problem);
    if (exclusions_check(STAGE_engine, plan, end, 0, problem) < 0 ||
        exclusions_check(STAGE_threads, plan, end, 0, problem) < 0 ||
        (end == END_CLIENT && plan_captures(plan) && capture_check(problem) < 0) ||
        (own->engine->check && own->engine->check(own, problem) < 0) ||
        check_pace(plan, remote, problem) < 0 ||
        (scheduling_is_realtime(&own->scheduling) && scheduling_check(&own->scheduling, problem) < 0) ||
        check_limits(plan, end, problem) < 0 ||
        (plan->transport->check && plan->transport->check(problem) < 0) ||
        (plan->encrypts && probe_security(plan, end, problem) < 0) || check_words(plan, end, problem) < 0 ||
        transport_check(plan, end, problem) < 0)
        return -1;
    return plan_cpus(plan, end, remote, &cpus, problem);
}

/* Without another end nothing waits, so there is no loop and no ring. */
int support_of_variant(enum word_index word, const struct variant *variant, const struct transport *transport,
                       struct problem *problem)
{
    const struct engine any = {.variant = {"auto", "any"},
                               .gives = transport->has_other_end ? CAPABILITIES_OF_ENGINES
                                                                 : CAPABLE_BLOCKING_MODE};
    char texts[2][64];
    struct plan plan;

    snprintf(texts[0], sizeof texts[0], "transport=%s", transport->variant.name);
    snprintf(texts[1], sizeof texts[1], "%s=%s", word_list[word].key, variant->name);
    if (plan_parse(&plan, (const char *[]){texts[0], texts[1]}, 2, problem) < 0)
        return -1;
    plan.transport = transport;
    plan.ends[END_CLIENT].engine = &any;
    unsigned needs = plan.write.strategy->needs | plan.ends[END_CLIENT].reading->needs;
    bool works = exclusions_check(STAGE_ends, &plan, END_CLIENT, 0, problem) == 0 &&
                 (!plan.encrypts || probe_security(&plan, END_CLIENT, problem) == 0) &&
                 engine_check(needs & CAPABILITIES_OF_ENGINES, problem) == 0 &&
                 check_words(&plan, END_CLIENT, problem) == 0;
    plan_free(&plan);
    return works ? 0 : -1;
}
