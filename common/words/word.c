/* SPDX-License-Identifier: MIT */
#include "words/word.h"

#include "base/cleanup.h"
#include "base/nearest.h"
#include "connection/capability.h"
#include "connection/protocol.h"
#include "connection/reading.h"
#include "connection/security.h"
#include "connection/workload.h"
#include "engine/engine.h"
#include "write/strategy.h"
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

/* In place of the field of a word of the runner: expand_words() only checks its spelling. */
static _Thread_local union {
    uint64_t number;
    unsigned choice;
    char text[FOLDER_TEXT_MAX];
} scratch;

/* These compile only if the field has the type of the kind. */
#define WORD(key, kind, at, ...)                                                                             \
    static union field key##_field(struct plan *plan, struct end_plan *own)                                  \
    {                                                                                                        \
        (void)plan, (void)own;                                                                               \
        return field_of_##kind(at);                                                                          \
    }
#define END_WORD WORD
#define RUN_WORD WORD
#include "words/words.def"
#undef WORD
#undef END_WORD
#undef RUN_WORD

static union field parameter_field(struct plan *plan, struct end_plan *own)
{
    (void)plan, (void)own;
    return field_of_parameter(&scratch.text);
}

#define ROW(key, kind, preset, ...) {#key, &kind_##kind, preset, key##_field, __VA_ARGS__},
#define WORD(key, kind, at, preset, ...) ROW(key, kind, preset, __VA_ARGS__)
#define END_WORD(key, kind, at, preset, ...) ROW(key, kind, preset, .per_end = true, __VA_ARGS__)
#define RUN_WORD(key, kind, at, preset, ...) ROW(key, kind, preset, __VA_ARGS__)
const struct word word_list[] = {
#include "words/words.def"
};

const struct word word_parameter = {"parameter", &kind_parameter, NULL, parameter_field, .used = always};

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

union field word_field(const struct word *word, struct plan *plan, enum end end)
{
    return word->field(plan, &plan->ends[end]);
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
