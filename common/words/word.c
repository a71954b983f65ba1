/* SPDX-License-Identifier: MIT */
#include "words/word.h"

#include "base/cleanup.h"
#include "base/nearest.h"
#include "connection/capability.h"
#include "connection/protocol.h"
#include "connection/reading.h"
#include "connection/security.h"
#include "connection/strategy.h"
#include "connection/workload.h"
#include "engine/engine.h"
#include "transport/transport.h"
#include "words/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- which end uses a word: by_ (these ends), in_ (these runs), with_ and if_ (if so) ---- */

/* clang-format off */
#define USED(name, condition)                                                                                \
    static bool name(const struct plan *plan, enum end end)                                                  \
    {                                                                                                        \
        (void)plan, (void)end;                                                                               \
        return condition;                                                                                    \
    }

USED(always, true)
USED(by_client, end == END_CLIENT && plan->has_server)
USED(by_client_of_proxy, end == END_CLIENT && plan_has_proxy(plan))
USED(by_runner, end == END_CLIENT && plan_may_have_lab(plan))
/* The client starts the other processes, which may be of another build or on another target. */
USED(by_starter, end == END_CLIENT)
USED(in_lab, end == END_CLIENT && plan_has_lab(plan))
USED(with_peer, end == END_CLIENT && plan_has_peer(plan))
USED(if_encrypted, plan->encrypts)

/* The client and the server of a proxy have fixed settings. */
USED(is_fixed, plan_has_proxy(plan) && end != END_PROXY)

USED(with_sockets, plan->transport->has_other_end)
USED(with_buffers, with_sockets(plan, end) && (plan->ends[end].sndbuf_bytes || plan->ends[end].rcvbuf_bytes))
USED(in_tcp, plan->transport->is_tcp)
USED(by_client_in_tcp, end == END_CLIENT && in_tcp(plan, end))
USED(by_sender_in_tcp, in_tcp(plan, end) && !is_fixed(plan, end))

USED(in_request, plan->workload->roles[ROLE_DRIVER]->receives)
USED(in_stream, !in_request(plan, end))
/* Content can be verified if uncork sends it, or if a peer echoes it. */
USED(with_known_content, plan->has_server || plan->frames || (plan_has_peer(plan) && in_request(plan, end)))
USED(reconnects, plan->workload->reconnects)
/* Request and reply over connections that stay open. */
USED(in_persistent_request, in_request(plan, end) && !reconnects(plan, end))
USED(with_protocols, in_persistent_request(plan, end) || plan->runs_command)
USED(by_persistent_client, end == END_CLIENT && in_persistent_request(plan, end))
USED(by_replier, end == END_SERVER && in_request(plan, end))
USED(in_open_loop, in_request(plan, end) && plan->rate)
USED(if_poisson, in_open_loop(plan, end) && plan->arrival == ARRIVAL_POISSON)
/* A foreign peer defines its own replies. */
USED(in_own_request, in_request(plan, end) && !plan_is_foreign(plan))

/* A protocol makes its own messages. */
USED(with_operations, plan->frames || (plan->runs_command && plan->operations.count))
USED(with_subject, end == END_CLIENT && plan_has_subject(plan))
USED(with_subjects, (plan->frames || plan->relays || plan->runs_command) && plan->has_server)
USED(with_load, end == END_CLIENT && *plan->load && plan->runs_command)
USED(with_command, end == END_CLIENT && *plan->command && plan->runs_command)
USED(with_free_message, !plan_has_proxy(plan) && !plan->frames)
USED(with_free_reply, in_own_request(plan, end) && !plan->frames)
USED(if_both_send, in_own_request(plan, end) ||
                   (in_stream(plan, end) && !plan_has_proxy(plan) && plan->direction == DIRECTION_BOTH))
USED(by_message_sender, !is_fixed(plan, end) && (!plan_has_peer(plan) || plan_outgoing(plan, end)))
/* With one message per connection there is no second message to join. */
USED(by_sender_of_many, by_message_sender(plan, end) && !reconnects(plan, end))
/* A proxy sends from its receive buffers, and has no source memory. */
USED(by_sender, !plan_has_proxy(plan) && plan_outgoing(plan, end))
USED(by_receiver, !is_fixed(plan, end) && plan_incoming(plan, end))
USED(by_receiver_in_tcp, by_receiver(plan, end) && in_tcp(plan, end))

/* engine=auto depends on the number of threads. */
USED(if_threads_are_chosen, !plan->ends[end].engine->thread_per_connection)
USED(by_ring, engine_of(plan, end)->gives & CAPABLE_RING)
USED(by_persistent_ring, by_ring(plan, end) && !reconnects(plan, end))

USED(in_timed_work, !plan->messages && !plan->bytes)
USED(if_messages, plan->messages)
USED(if_bytes, plan->bytes)
/* clang-format on */

/* ---- the list ---- */

static const char *const switch_names[] = {"off", "on", NULL};

#define CHOICES(...)                                                                                         \
    .choices = (const char *const[])                                                                         \
    {                                                                                                        \
        __VA_ARGS__, NULL                                                                                    \
    }
#define OF_PLAN(field) .offset = offsetof(struct plan, field)
#define OF_END(field) .offset = offsetof(struct end_plan, field), .per_end = true
#define HOUR_NS UINT64_C(3600000000000)

/* clang-format off */
const struct word word_list[] = {
    {"transport",   &kind_variant,    "tcp",      OF_PLAN(transport),   .used = always, .for_command = true,        .axis = &transport_axis, .help = "what carries the bytes: the kind of socket"},
    {"security",    &kind_variant,    "plain",    OF_END(security),     .for_serve = true, .used = always, .for_command = true,        .axis = &security_axis, .help = "TLS 1.3 by the library of this name, with a key made for the run; the ends may use different libraries"},
    {"cipher",      &kind_choice,     "aes-128-gcm", OF_PLAN(cipher),   .for_serve = true, .used = if_encrypted,  .choices = cipher_names, .help = "cipher suite of TLS"},
    {"handshake",   &kind_choice,     "psk-ecdhe", OF_PLAN(handshake),  .used = if_encrypted,  .choices = handshake_names, .help = "how TLS derives its keys; psk-ecdhe: from a pre-shared key and Diffie-Hellman; psk: from the pre-shared key alone; ticket: from the ticket of an earlier connection (workload=connect)"},
    {"workload",    &kind_variant,    "request",  OF_PLAN(workload),    .used = always, .for_command = true,        .axis = &workload_axis, .help = "who sends what, and when"},
    {"load",        &kind_load,       NULL,       OF_PLAN(load),        .used = with_load,     .for_command = true, .help = "the program that workload=command runs against the subject: a name that uncork subjects lists; NAME.key=value sets a parameter of it"},
    {"command",     &kind_command,    NULL,       OF_PLAN(command),     .used = with_command,  .for_command = true, .help = "in place of load: a command for sh(1), like \"nbdcopy {uri} null:\"; a blank may be written as %20"},
    {"moves",       &kind_size,       NULL,       OF_PLAN(moves_bytes), .used = with_command,  .for_command = true, .minimum = 1, .maximum = UINT64_C(1) << 60, .unit = "bytes", .help = "bytes of content that command= must send and receive; a run with fewer bytes fails"},
    {"direction",   &kind_choice,     "send",     OF_PLAN(direction),   .used = in_stream,     CHOICES([DIRECTION_SEND] = "send", [DIRECTION_RECEIVE] = "receive", [DIRECTION_BOTH] = "both"), .help = "which end sends in a stream, seen from the client; both: both ends at once"},
    {"protocol",    &kind_variant,    "raw",      OF_PLAN(protocol),    .used = with_protocols, .for_command = true, .axis = &protocol_axis, .help = "application protocol of the requests and replies, to measure a server that speaks it (subject=, peer=)"},
    {"subject",     &kind_subject,    "own",      OF_PLAN(subject),     .used = with_subjects, .for_command = true, .help = "the server that is measured: own, or a program that uncork-server starts (uncork subjects); NAME.key=value sets a parameter of it"},
    {"ready",       &kind_duration,   "30s",      OF_PLAN(ready_ns),    .used = with_subject, .for_command = true, .minimum = 1000000000, .maximum = HOUR_NS, .unit = "duration", .help = "how long a subject may take until it accepts a connection"},
    {"override",    &kind_override,   OVERRIDE_OFF, OF_PLAN(override),   .used = with_subject, .for_command = true,   .help = "how a preloaded library changes the calls of a subject: off (not loaded), none (only counts them), nodelay, nagle, nomore, nocork, more:64, join, sndbuf:256K; several joined by +"},
    {"op",          &kind_operations, NULL,       OF_PLAN(operations),  .for_serve = true, .used = with_operations, .for_command = true,  .help = "what the requests of a protocol ask for: read:4K, ping, or a mix read:4K*7+write:4K*3"},
    {"message",     &kind_message,    "64",       OF_PLAN(message),     .used = with_free_message,        .unit = "bytes", .help = "what a message consists of: 15x2 is 15 fragments of 2 bytes, 16+4K two fragments, 32/2x4K two groups"},
    {"reply",       &kind_message,    "1",        OF_PLAN(reply),       .used = with_free_reply,    .unit = "bytes", .help = "what a reply consists of, in the form of message: 2, 16+4K"},
    {"write",       &kind_strategy,   "nodelay",  OF_PLAN(write),       .used = by_message_sender,   .axis = &strategy_axis, .help = "write strategy of the end that sends message; with workload=proxy of the proxy"},
    {"reply_write", &kind_strategy,   "nodelay",  OF_PLAN(reply_write), .for_serve = true, .used = if_both_send,  .axis = &strategy_axis, .help = "write strategy of the end that sends reply; with direction=both of the server"},
    {"nodelay",     &kind_choice,     "strategy", OF_END(nodelay),      .for_serve = true, .used = by_sender_in_tcp,        CHOICES([NODELAY_BY_STRATEGY] = "strategy", [NODELAY_ON] = "on", [NODELAY_OFF] = "off"), .help = "TCP_NODELAY: on, off, or as the write strategy sets it (strategy)"},
    {"window",      &kind_count,      "1",        OF_PLAN(window),      .for_serve = true, .used = by_sender_of_many,   .minimum = 1, .maximum = 4096, .unit = "messages", .help = "how many due messages a strategy may join, never across the end of a group (/); in a proxy: how many chunks of one wake-up"},
    {"read",        &kind_variant,    "recv",     OF_END(reading),      .for_serve = true, .used = by_receiver,   .axis = &reading_axis, .help = "how an end reads bytes from the socket"},
    {"chunk",       &kind_size,       "64K",      OF_END(chunk_bytes),  .for_serve = true, .used = by_receiver,   .minimum = 1, .maximum = 1 << 30, .unit = "bytes", .help = "size of a receive; a proxy forwards what one receive returned as one fragment"},
    {"touch",       &kind_choice,     "none",     OF_END(touch),        .used = by_receiver,   CHOICES([TOUCH_NONE] = "none", [TOUCH_CHECKSUM] = "checksum"), .help = "what a receiver computes over the bytes it receives; checksum: SHA-256"},
    {"source",      &kind_source,     "hot",      OF_END(source_bytes), .used = by_sender,     .minimum = 1, .maximum = UINT64_C(4) << 30, .unit = "bytes", .word_for_zero = "hot", .help = "memory to send from: hot (always the same buffer) or cold:SIZE (SIZE bytes in turn)"},
    {"verify",      &kind_choice,     "off",      OF_PLAN(verify),      .used = with_known_content, .choices = switch_names, .help = "the receiver checks the content of every byte"},
    {"connections", &kind_count,      "1",        OF_PLAN(connections), .used = always,        .minimum = 1, .maximum = 10000, .unit = "connections", .help = "connections, over all threads"},
    {"threads",     &kind_count,      "1",        OF_END(threads),      .used = if_threads_are_chosen, .minimum = 1, .maximum = 1024, .unit = "threads", .help = "data threads that share the connections; engine=block has a thread for each connection"},
    {"depth",       &kind_count,      "1",        OF_PLAN(depth),       .used = in_persistent_request,  .minimum = 1, .maximum = 65536, .unit = "requests", .help = "requests in flight on a connection"},
    {"rate",        &kind_count,      "closed",   OF_PLAN(rate),        .used = in_request,    .minimum = 1, .maximum = 1000000000, .unit = "requests/s", .word_for_zero = "closed", .help = "closed: the next request follows a reply; a number: open loop with so many requests per second over all connections"},
    {"arrival",     &kind_choice,     "even",     OF_PLAN(arrival),     .used = in_open_loop,      CHOICES([ARRIVAL_EVEN] = "even", [ARRIVAL_POISSON] = "poisson"), .help = "distribution of the times between requests of an open loop"},
    {"arrival_seed", &kind_count,     "default",  OF_PLAN(arrival_seed), .used = if_poisson,     .minimum = 1, .maximum = UINT64_C(1) << 53, .unit = "seed", .word_for_zero = "default", .help = "seed of arrival=poisson; default: always the same seed; uncork run takes another one in each round"},
    {"pace",        &kind_choice,     "sleep",    OF_PLAN(pace),        .used = in_open_loop,      CHOICES([PACE_SLEEP] = "sleep", [PACE_SPIN] = "spin"), .help = "how an open loop waits for the next request: sleep, or spin on a CPU of its own"},
    {"sndbuf",      &kind_size,       "default",  OF_END(sndbuf_bytes), .for_serve = true, .used = with_sockets,  .minimum = 1, .maximum = 1 << 30, .unit = "bytes", .word_for_zero = "default", .for_subject = true, .help = "SO_SNDBUF in bytes; default leaves the system's value"},
    {"rcvbuf",      &kind_size,       "default",  OF_END(rcvbuf_bytes), .for_serve = true, .used = with_sockets,  .minimum = 1, .maximum = 1 << 30, .unit = "bytes", .word_for_zero = "default", .for_subject = true, .help = "SO_RCVBUF in bytes; default leaves the system's value"},
    {"buffers",     &kind_choice,     "default",  OF_END(buffers),      .for_serve = true, .used = with_buffers,  CHOICES([BUFFERS_BY_TRANSPORT] = "default", [BUFFERS_BEFORE] = "before", [BUFFERS_AFTER] = "after"), .help = "when sndbuf and rcvbuf are set: before connect or listen, or after connect or accept; default: before in TCP; after on Unix sockets, which inherit neither"},
    {"quickack",    &kind_choice,     "default",  OF_END(quickack),     .for_serve = true, .used = by_receiver_in_tcp, CHOICES([QUICKACK_DEFAULT] = "default", [QUICKACK_ONCE] = "once", [QUICKACK_REARM] = "rearm"), .help = "TCP_QUICKACK, to acknowledge at once; once: set once; rearm: set after every receive, because the kernel clears it"},
    {"busy_poll",   &kind_duration,   "default",  OF_END(busy_poll_ns), .for_serve = true, .used = in_tcp,        .minimum = 1000, .maximum = 1000000000, .unit = "duration", .word_for_zero = "default", .help = "SO_BUSY_POLL: how long a receive polls the queue of the device before it sleeps"},
    {"notsent_lowat", &kind_size,     "default",  OF_END(notsent_lowat_bytes), .for_serve = true, .used = by_sender_in_tcp, .minimum = 1, .maximum = 1 << 30, .unit = "bytes", .word_for_zero = "default", .help = "TCP_NOTSENT_LOWAT: the socket is writable only while fewer unsent bytes are in its buffer"},
    {"congestion",  &kind_congestion, "default",  OF_END(congestion),   .for_serve = true, .used = in_tcp,        .for_subject = true, .help = "congestion control of TCP; default: cubic if the kernel has it; system: the machine's default"},
    {"engine",      &kind_variant,    "auto",     OF_END(engine),       .for_serve = true, .used = always,        .axis = &engine_axis, .help = "how a thread waits for its connections"},
    {"handoff",     &kind_choice,     "inline",   OF_PLAN(handoff),     .used = by_persistent_client,  CHOICES([HANDOFF_INLINE] = "inline", [HANDOFF_THREAD] = "thread"), .help = "thread: the data thread of the client hands each request to a sender thread, and the record has the delay (engine=block)"},
    {"defer_taskrun", &kind_choice,   "on",       OF_END(defer_taskrun), .for_serve = true, .used = by_ring,      .choices = switch_names, .help = "IORING_SETUP_DEFER_TASKRUN: the kernel completes requests only when the thread waits for them"},
    {"single_issuer", &kind_choice,   "on",       OF_END(single_issuer), .for_serve = true, .used = by_ring,      .choices = switch_names, .help = "IORING_SETUP_SINGLE_ISSUER: the kernel may assume that one thread submits"},
    {"registered_ring", &kind_choice, "on",       OF_END(registered_ring), .for_serve = true, .used = by_ring,    .choices = switch_names, .help = "the ring is registered with its thread, so system calls need not look it up"},
    {"fixed_files", &kind_choice,     "on",       OF_END(fixed_files),  .for_serve = true, .used = by_persistent_ring,       .choices = switch_names, .help = "descriptors are registered with the ring, so requests need not look them up"},
    {"place",       &kind_place,      "apart",    OF_PLAN(place),       .used = always, .for_command = true,        .help = "CPUs of the threads: apart, together, free, or client/server/proxy like 0.2/1.3/4"},
    {"sched",       &kind_sched,      "other",    OF_END(scheduling),   .used = always,        .help = "scheduling class of the data threads: other, or real time: rr:N, fifo:N with a priority from 1 to 99"},
    {"spin",        &kind_duration,   "0s",       OF_PLAN(spin_ns),     .used = by_replier,    .minimum = 0, .maximum = 1000000000, .unit = "duration", .help = "CPU time that the replying end spends for each message, to test the statistics"},
    {"perf",        &kind_choice,     "off",      OF_END(perf),         .used = always,        .choices = switch_names, .help = "count cycles and instructions by perf_event_open(2), which slows every context switch"},
    {"capture",     &kind_choice,     "off",      OF_PLAN(capture),     .used = by_client_in_tcp, .choices = switch_names, .help = "capture the packets of the data connections at the client and count their segments; costs time for each packet"},
    {"duration",    &kind_duration,   "2s",       OF_PLAN(duration_ns), .used = in_timed_work, .minimum = 1000000, .maximum = HOUR_NS, .unit = "duration", .help = "length of the measured interval"},
    {"messages",    &kind_count,      NULL,       OF_PLAN(messages),    .used = if_messages,   .minimum = 1, .maximum = UINT64_C(1) << 48, .unit = "messages", .help = "fixed work in place of duration: messages over all connections"},
    {"bytes",       &kind_size,       NULL,       OF_PLAN(bytes),       .used = if_bytes,      .minimum = 1, .maximum = UINT64_C(1) << 60, .unit = "bytes", .help = "fixed work in place of duration: bytes over all connections, rounded up to whole messages"},
    {"warmup",      &kind_duration,   "200ms",    OF_PLAN(warmup_ns),   .used = always,        .minimum = 0, .maximum = HOUR_NS, .unit = "duration", .help = "time before the measured interval; 0s: it begins with the first byte"},
    {"lab",         &kind_choice,     "off",      OF_PLAN(lab),         .used = by_runner, .for_command = true,     .choices = switch_names, .help = "on: uncork makes three network namespaces A - B - C; the client runs in A, the server in C; B forwards, or runs the proxy"},
    {"link_rate",   &kind_rate,       "none",     OF_PLAN(link_rate_bits),       .used = in_lab, .for_command = true, .minimum = 1000000, .maximum = UINT64_C(400000000000), .unit = "rate", .word_for_zero = "none", .help = "rate of each link of the lab, each way, like 100mbit; none: no limit but the CPU"},
    {"link_mtu",    &kind_count,      "1500",     OF_PLAN(link_mtu_bytes),       .used = in_lab, .for_command = true, .minimum = 576, .maximum = 65535, .unit = "number of bytes", .help = "MTU of each link of the lab"},
    {"link_delay",  &kind_duration,   "0s",       OF_PLAN(link_delay_ns),        .used = in_lab, .for_command = true, .minimum = 0, .maximum = UINT64_C(10000000000), .unit = "duration", .help = "delay of each link of the lab, each way: a round trip from A to C takes four times that"},
    {"link_loss",   &kind_percent,    "0%",       OF_PLAN(link_loss_millionths), .used = in_lab, .for_command = true, .minimum = 0, .maximum = 500000, .unit = "percent", .help = "share of packets that each link of the lab loses, each way, like 0.1%"},
    {"sysctl",      &kind_sysctl,     "none",     OF_PLAN(sysctl),      .used = in_lab, .for_command = true,        .help = "a sysctl to set in the three namespaces of the lab, NAME:VALUE like net.ipv4.tcp_sack:0; a : in the value stands for a blank"},
    {"build",       &kind_folder,     BUILD_THIS, OF_PLAN(build),       .used = by_starter, .for_command = true,    .help = "this, or the folder of a checkout or a build, whose uncork-client and uncork-server run"},
    {"target",      &kind_target,     TARGET_LOCAL, OF_PLAN(target),    .used = by_starter, .for_command = true,    .axis = &target_axis, .help = "the system on which the ends run: one for all, or client+server+proxy"},
    {"server",      &kind_address,    "own",      OF_PLAN(server),      .used = by_client, .for_command = true,     .word_for_zero = "own", .help = "own: the client starts the server; else its address: HOST:PORT, [IPV6]:PORT, unix:PATH"},
    {"via",         &kind_address,    "own",      OF_PLAN(via),         .used = by_client_of_proxy, .word_for_zero = "own", .help = "proxy of workload=proxy; own: the client starts it; else its address: HOST:PORT, [IPV6]:PORT, unix:PATH"},
    {"peer",        &kind_address,    NULL,       OF_PLAN(peer),        .used = with_peer,     .help = "address of a foreign server in place of uncork-server: HOST:PORT, [IPV6]:PORT, unix:PATH; figures of its end are absent"},
    {"control",     &kind_choice,     "uncork",   OF_PLAN(control),     .used = with_peer,     CHOICES([CONTROL_BY_UNCORK] = "uncork", [CONTROL_BY_NONE] = "none"), .help = "uncork: the other end is an uncork-server; none: the other end has no control channel"},
    {"rounds",      &kind_count,      "10",       .minimum = 1, .maximum = 100000, .unit = "rounds", .help = "how often every cell runs"},
    {"seed",        &kind_count,      NULL,       .minimum = 0, .maximum = UINT64_C(1) << 53, .unit = "seed", .help = "seed of the random order of cells; the result stores it"},
    {"until",       &kind_percent,    NULL,       .minimum = 100, .maximum = 500000, .unit = "percent", .help = "add rounds until the interval of each median of the first metric reaches at most this far from it, like 1%; at most 10 times as many rounds"},
    {"baseline",    &kind_words,      NULL,       .help = "words of the cells that all others are compared with; these cells run twice in a round"},
    {"timer",       &kind_choice,     "client",   CHOICES("client", "hyperfine"), .help = "client: the client times the measured interval; hyperfine: hyperfine(1) times both processes with fixed work (bytes= or messages=, warmup=0s)"},
    {"hosts",       &kind_file,       NULL,       .help = "an Ansible inventory; its pairs of hosts run all cells at the same time (docs/fleet.md)"},
    {"not",         &kind_words,      NULL,       .help = "words that name cells to leave out"},
};
/* clang-format on */

const struct word word_parameter = {"parameter", &kind_parameter, .used = always};

const size_t word_count = sizeof word_list / sizeof *word_list;
_Static_assert(sizeof word_list / sizeof *word_list <= PLAN_WORDS_MAX,
               "struct plan has a byte for every word");

const struct word *word_find(const char *key, struct problem *problem)
{
    struct nearest nearest = {.word = key};

    for (size_t i = 0; i < word_count; i++) {
        if (!strcmp(word_list[i].key, key))
            return &word_list[i];
        nearest_offer(&nearest, word_list[i].key);
    }
    if (!strcmp(key, "arm"))
        problem_usage(problem, "arm= chooses an arm of a scenario: uncork run SCENARIO arm=NAME");
    else
        problem_usage(problem, "no word is called '%.40s'; the nearest is '%s'", key, nearest.found);
    return NULL;
}

bool word_is_of_lab(const char *key)
{
    const struct word *word = word_find(key, &(struct problem){0});

    return word && word->used == in_lab;
}

void *word_field(const struct word *word, struct plan *plan, enum end end)
{
    return (char *)(word->per_end ? (void *)&plan->ends[end] : (void *)plan) + word->offset;
}

static enum end take_prefix(const char **key)
{
    for (int end = 0; end < END_COUNT; end++) {
        size_t length = strlen(end_names[end]);

        if (!strncmp(*key, end_names[end], length) && (*key)[length] == '.') {
            *key += length + 1;
            return (enum end)end;
        }
    }
    return END_COUNT;
}

int word_split(struct typed_word *typed, const char *text, struct problem *problem)
{
    CLEANUP_JSON json_t *string = json_string(text);
    const char *equals = strchr(text, '='), *at = text;
    char key[64];

    if (!string) /* records and the control channel are JSON */
        return problem_usage(problem, "'%.60s' is not valid UTF-8", text);
    typed->prefix = take_prefix(&at);
    if (!equals || at > equals || (size_t)(equals - at) >= sizeof key)
        return problem_usage(problem, "'%.60s' is not a word; write key=value", text);
    snprintf(key, sizeof key, "%.*s", (int)(equals - at), at);
    typed->value = equals + 1;
    if (typed->prefix == END_COUNT && strchr(key, '.')) {
        typed->word = &word_parameter;
        return 0;
    }
    if (!(typed->word = word_find(key, problem)))
        return -1;
    if (typed->prefix != END_COUNT && !typed->word->per_end)
        return problem_usage(problem, "%s is the same at all ends; write %s=... without a prefix", key, key);
    return 0;
}
