/* SPDX-License-Identifier: MIT */
#include "words/parse.h"

#include "connection/protocol.h"
#include "connection/reading.h"
#include "connection/security.h"
#include "connection/workload.h"
#include "transport/transport.h"
#include "words/word.h"

#include <string.h>

static int check_amount(const struct plan *plan, struct problem *problem)
{
    static const char *const amounts[] = {"duration", "messages", "bytes"};
    const char *first = NULL;

    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++) {
        if (!plan->given[word_find(amounts[i], problem) - word_list])
            continue;
        if (first)
            return problem_usage(problem,
                                 "%s and %s contradict each other: give one of duration, messages, bytes",
                                 first, amounts[i]);
        first = amounts[i];
    }
    return 0;
}

static int check_reading(const struct plan *plan, enum end end, struct problem *problem)
{
    const struct end_plan *own = &plan->ends[end];

    if (!plan_incoming(plan, end) || !own->reading->discards)
        return 0;
    if (plan_role(plan, end)->relay_buffers)
        return problem_usage(problem, "read=%s discards the bytes, and a %s has to send them on",
                             own->reading->variant.name, end_names[end]);
    if (plan->frames)
        return problem_usage(problem, "read=%s discards the bytes, and protocol=%s has to read the heads",
                             own->reading->variant.name, plan->protocol->variant.name);
    if (!plan->verify && own->touch == TOUCH_NONE)
        return 0;
    return problem_usage(problem,
                         "%s and read=%s contradict each other: that reading discards the bytes to %s",
                         plan->verify ? "verify=on" : "touch=checksum", own->reading->variant.name,
                         plan->verify ? "check" : "touch");
}

static int check_peer(const struct plan *plan, struct problem *problem)
{
    bool unix_peer = !strncmp(plan->peer, "unix:", 5);

    if (!plan_has_peer(plan))
        return plan->control == CONTROL_BY_UNCORK
                   ? 0
                   : problem_usage(problem, "control=none needs a foreign server: add peer=HOST:PORT");
    if (plan->control == CONTROL_BY_UNCORK)
        return problem_usage(
            problem, "peer=%s has no control channel: add control=none; for an uncork-server write server=%s",
            plan->peer, plan->peer);
    if (!plan->transport->has_other_end || unix_peer == plan->transport->is_tcp)
        return problem_usage(problem, "peer=%s and transport=%s contradict each other", plan->peer,
                             plan->transport->variant.name);
    if (plan->relays)
        return problem_usage(problem, "workload=proxy needs a server of uncork as its sink, not peer=%s",
                             plan->peer);
    if (plan->encrypts)
        return problem_usage(
            problem,
            "security=%s needs a server of uncork, or a subject= that it starts: peer=%s has "
            "neither its key nor its certificate",
            plan->ends[END_CLIENT].security->variant.name, plan->peer);
    if (plan->direction == DIRECTION_BOTH && !plan->workload->roles[ROLE_DRIVER]->receives)
        return problem_usage(problem,
                             "direction=both needs a server of uncork: peer=%s echoes requests "
                             "(workload=request), or one of both ends streams (direction=send, receive)",
                             plan->peer);
    return 0;
}

static int check_end(const struct plan *plan, enum end end, struct problem *problem)
{
    const struct security *client = plan->ends[END_CLIENT].security, *own = plan->ends[end].security;

    /* The namespaces of a lab are new, so no server runs there before uncork starts one. */
    if (plan_has_lab(plan) && !plan_is_own(plan, end))
        return problem_usage(problem, "lab=on and %s=%s contradict each other: uncork starts the %s of a lab",
                             end == END_PROXY ? "via" : "server", plan_address(plan, end), end_names[end]);
    /* Both ends of a connection use TLS, or neither does. */
    if (own->encrypts != client->encrypts)
        return problem_usage(problem,
                             "client.security=%s and %s.security=%s contradict each other: either all ends "
                             "are plain, or none is",
                             client->variant.name, end_names[end], own->variant.name);
    if (plan_has_subject(plan) && end == plan_second_end(plan))
        return 0;
    return check_reading(plan, end, problem);
}

static int check_command(const struct plan *plan, struct problem *problem)
{
    if (!plan_has_subject(plan))
        return problem_usage(problem, "workload=command needs subject=, the server that the load uses");
    if (!*plan->load == !*plan->command)
        return problem_usage(problem,
                             "workload=command needs either load=NAME (uncork subjects lists the names) or "
                             "command=TEXT");
    if (*plan->command && !plan->moves_bytes)
        return problem_usage(
            problem, "command= needs moves=, the bytes that it must send and receive, like moves=64M");
    return 0;
}

int plan_check(const struct plan *plan, struct problem *problem)
{
    if (plan_has_subject(plan) && plan_has_peer(plan))
        return problem_usage(problem, "subject=%s needs no peer=: uncork starts it", plan->subject.name);
    if (plan_has_subject(plan) && !plan->frames && !plan->relays && !plan->runs_command)
        return problem_usage(problem, "subject=%s needs a protocol, like protocol=nbd, or workload=proxy",
                             plan->subject.name);
    if (plan->runs_command && check_command(plan, problem) < 0)
        return -1;
    if (check_amount(plan, problem) < 0 || check_peer(plan, problem) < 0)
        return -1;
    for (enum end end = 0; end < END_COUNT; end++) {
        const struct end_plan *own = &plan->ends[end];

        if (own->defer_taskrun && !own->single_issuer) /* the kernel rejects this */
            return problem_usage(problem, "defer_taskrun=on needs single_issuer=on; write both off");
        if (plan_has_end(plan, end) && check_end(plan, end, problem) < 0)
            return -1;
    }
    return 0;
}
