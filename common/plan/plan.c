/* SPDX-License-Identifier: MIT */
#include "plan/plan.h"

#include "base/cleanup.h"
#include "security/security.h"
#include "strategy/strategy.h"
#include "transport/transport.h"
#include "words/check.h"
#include "words/word.h"
#include "workload/workload.h"

#include <stdio.h>
#include <string.h>

extern const struct strategy strategy_coalesce; /* of the client and the server of a proxy */

const char *const end_names[END_COUNT] = {"client", "server", "proxy"};

const char *const cork_layer_names[] = {
    [CORK_BY_SECURITY] = "", [CORK_RECORD] = "record", [CORK_SEGMENT] = "segment", NULL};

enum end end_parse(const char *name)
{
    int end = 0;

    while (end < END_COUNT && strcmp(end_names[end], name) != 0)
        end++;
    return (enum end)end;
}

#define GIVEN_TO_BOTH 1u
#define GIVEN_TO(end) (2u << (end))

static int set_field(struct plan *plan, const struct word *word, enum end only, const char *value,
                     struct problem *problem)
{
    for (int end = 0; end < END_COUNT; end++) {
        if (only != END_COUNT && only != (enum end)end)
            continue;
        if (word->kind->parse(word, value, word_field(word, plan, (enum end)end), problem) < 0)
            return -1;
        if (!word->per_end)
            break;
    }
    return 0;
}

static int set_defaults(struct plan *plan, struct problem *problem)
{
    for (size_t i = 0; i < word_count; i++)
        if (word_list[i].scope == WORD_OF_CELL && word_list[i].preset &&
            set_field(plan, &word_list[i], END_COUNT, word_list[i].preset, problem) < 0)
            return -1;
    return 0;
}

/* First the words without a prefix: a word with a prefix then overrides them, wherever it
 * stands. */
static int set_words(struct plan *plan, const char *const *words, size_t count, bool prefixed,
                     struct problem *problem)
{
    for (size_t i = 0; i < count; i++) {
        struct typed_word typed;
        uint8_t *given, bit;

        if (word_split(&typed, words[i], problem) < 0)
            return -1;
        if ((typed.prefix != END_COUNT) != prefixed)
            continue;
        if (typed.word->scope == WORD_OF_RUN)
            return problem_usage(problem, "%s is a word of a whole matrix; give it to uncork run",
                                 typed.word->key);
        given = &plan->given[typed.word - word_list];
        bit = typed.prefix == END_COUNT ? GIVEN_TO_BOTH : GIVEN_TO(typed.prefix);
        if (*given & bit)
            return problem_usage(problem, "'%.*s' is given twice", (int)(typed.value - words[i]) - 1,
                                 words[i]);
        *given |= bit;
        if (set_field(plan, typed.word, typed.prefix, typed.value, problem) < 0)
            return -1;
    }
    return 0;
}

/* Resets the words that are fixed at an end that only feeds a proxy or only receives from it. */
static int fix_end(struct plan *plan, enum end end, struct problem *problem)
{
    static const char *const fixed[] = {"read", "chunk", "touch", "nodelay", "source"};

    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        const struct word *word = word_find(fixed[i], problem);

        if (word->kind->parse(word, word->preset, word_field(word, plan, end), problem) < 0)
            return -1;
    }
    return 0;
}

static const char fixed_message[] = "64K";

static int fix_source_and_sink(struct plan *plan, struct problem *problem)
{
    const struct word *message = word_find("message", problem);

    if (!plan_relays(plan))
        return 0;
    if (message->kind->parse(message, fixed_message, &plan->message, problem) < 0 ||
        fix_end(plan, END_CLIENT, problem) < 0)
        return -1;
    return fix_end(plan, END_SERVER, problem);
}

int plan_parse(struct plan *plan, const char *const *words, size_t count, struct problem *problem)
{
    *plan = (struct plan){0};
    if (set_defaults(plan, problem) == 0 && set_words(plan, words, count, false, problem) == 0 &&
        set_words(plan, words, count, true, problem) == 0 && fix_source_and_sink(plan, problem) == 0 &&
        plan_check(plan, problem) == 0)
        return 0;
    plan_free(plan);
    return -1;
}

void plan_free(struct plan *plan)
{
    for (size_t i = 0; i < word_count; i++)
        if (word_list[i].scope == WORD_OF_CELL && word_list[i].kind->free)
            for (int end = 0; end < (word_list[i].per_end ? END_COUNT : 1); end++)
                word_list[i].kind->free(word_field(&word_list[i], plan, (enum end)end));
}

/* ---- words of a plan, as JSON ---- */

static char *format_word(const struct plan *plan, const struct word *word, enum end end)
{
    return word->kind->format(word, word_field(word, (struct plan *)(uintptr_t)plan, end));
}

static int put_word(json_t *words, const struct plan *plan, const struct word *word, enum end end,
                    bool prefixed)
{
    CLEANUP_FREE char *value = format_word(plan, word, end);
    char key[64];

    snprintf(key, sizeof key, "%s%s%s", prefixed ? end_names[end] : "", prefixed ? "." : "", word->key);
    return json_object_set_new(words, key, json_string(value));
}

static bool is_used(const struct plan *plan, const struct word *word, enum end end)
{
    return word->scope == WORD_OF_CELL && word->used(plan, end);
}

/* The next end after `end` (-1: the first) that uses the word; END_COUNT: none. */
static enum end next_user(const struct plan *plan, const struct word *word, int end)
{
    do
        end++;
    while (end < END_COUNT && !is_used(plan, word, (enum end)end));
    return (enum end)end;
}

static bool users_differ(const struct plan *plan, const struct word *word)
{
    enum end first = next_user(plan, word, -1);
    CLEANUP_FREE char *value = first < END_COUNT ? format_word(plan, word, first) : NULL;
    bool differ = false;

    for (enum end end = first; end < END_COUNT && !differ; end = next_user(plan, word, (int)end)) {
        CLEANUP_FREE char *other = format_word(plan, word, end);

        differ = strcmp(value, other) != 0;
    }
    return differ;
}

json_t *plan_words(const struct plan *plan)
{
    json_t *words = json_object();

    for (size_t i = 0; i < word_count; i++) {
        const struct word *word = &word_list[i];
        bool each = word->per_end && users_differ(plan, word);
        enum end end = next_user(plan, word, -1);

        if (end < END_COUNT && !each)
            put_word(words, plan, word, end, false);
        for (; each && end < END_COUNT; end = next_user(plan, word, (int)end))
            put_word(words, plan, word, end, true);
    }
    return words;
}

/* The end that uses the value of a word given without a prefix, because no prefix overrides it;
 * END_COUNT: none. */
static enum end find_holder(const struct plan *plan, const struct word *word)
{
    uint8_t given = plan->given[word - word_list];

    for (int end = 0; end < END_COUNT; end++)
        if (is_used(plan, word, (enum end)end) && !(given & GIVEN_TO(end)))
            return (enum end)end;
    return END_COUNT;
}

/* Calls `take` for every given word, with its prefix (END_COUNT: none) and the end that uses the
 * value (END_COUNT: none). */
static void each_given(const struct plan *plan, json_t *into,
                       void (*take)(json_t *into, const struct plan *plan, const struct word *word,
                                    enum end prefix, enum end holder))
{
    for (size_t i = 0; i < word_count; i++) {
        const struct word *word = &word_list[i];

        if (plan->given[i] & GIVEN_TO_BOTH)
            take(into, plan, word, END_COUNT, find_holder(plan, word));
        for (int end = 0; end < END_COUNT; end++)
            if (plan->given[i] & GIVEN_TO(end))
                take(into, plan, word, (enum end)end,
                     is_used(plan, word, (enum end)end) ? (enum end)end : END_COUNT);
    }
}

static void take_used(json_t *into, const struct plan *plan, const struct word *word, enum end prefix,
                      enum end holder)
{
    if (holder != END_COUNT)
        put_word(into, plan, word, holder, prefix != END_COUNT);
}

static void take_unused(json_t *into, const struct plan *plan, const struct word *word, enum end prefix,
                        enum end holder)
{
    (void)plan;
    if (holder == END_COUNT)
        json_array_append_new(into, prefix == END_COUNT
                                        ? json_string(word->key)
                                        : json_sprintf("%s.%s", end_names[prefix], word->key));
}

json_t *plan_words_given(const struct plan *plan)
{
    json_t *words = json_object();

    each_given(plan, words, take_used);
    return words;
}

json_t *plan_words_unused(const struct plan *plan)
{
    json_t *keys = json_array();

    each_given(plan, keys, take_unused);
    return keys;
}

/* ---- what follows from the words ---- */

static enum role_index role_of(const struct plan *plan, enum end end)
{
    return plan->workload->role(plan, end);
}

bool plan_drives(const struct plan *plan, enum end end)
{
    return role_of(plan, end) != ROLE_FOLLOWER && role_of(plan, end) != ROLE_PROXY;
}

bool plan_follows(const struct plan *plan, enum end end)
{
    return !plan_drives(plan, end) || role_of(plan, end) == ROLE_BOTH;
}

const struct role *plan_role(const struct plan *plan, enum end end)
{
    return &plan->workload->roles[role_of(plan, end)];
}

const struct shape *plan_outgoing(const struct plan *plan, enum end end)
{
    if (!plan_role(plan, end)->sends)
        return NULL;
    return plan_drives(plan, end) || plan_role(plan, end)->relay_buffers ? &plan->message : &plan->reply;
}

const struct shape *plan_incoming(const struct plan *plan, enum end end)
{
    if (!plan_role(plan, end)->receives)
        return NULL;
    return plan_drives(plan, end) && plan_role(plan, end)->times && !plan_has_peer(plan) ? &plan->reply
                                                                                         : &plan->message;
}

const struct strategy_choice *plan_strategy(const struct plan *plan, enum end end)
{
    static const struct strategy_choice fixed = {.strategy = &strategy_coalesce, .parameter = PARAMETER_NONE};
    bool second = plan_drives(plan, END_CLIENT) ? end == END_SERVER : end == END_CLIENT;

    if (plan_relays(plan))
        return end == END_PROXY ? &plan->write : &fixed;
    return second ? &plan->reply_write : &plan->write;
}

uint64_t plan_window(const struct plan *plan, enum end end)
{
    return plan_relays(plan) && end != END_PROXY ? 1 : plan->window;
}

bool plan_hands_over(const struct plan *plan, enum end end)
{
    const struct role *role = plan_role(plan, end);

    return end == END_CLIENT && plan->handoff == HANDOFF_THREAD && role->times && !role->reconnects;
}

uint64_t plan_messages_of(const struct plan *plan, uint64_t index)
{
    uint64_t messages = plan->messages;

    if (plan->bytes)
        messages = (plan->bytes - 1) / plan->message.bytes + 1;
    if (!messages)
        return UINT64_MAX;
    return messages / plan->connections + (index < messages % plan->connections);
}

bool plan_has_peer(const struct plan *plan)
{
    return *plan->peer;
}

bool plan_has_server(const struct plan *plan)
{
    return plan->transport->has_other_end && !plan_has_peer(plan);
}

bool plan_may_have_lab(const struct plan *plan)
{
    return plan_has_server(plan) && plan->transport->counts_segments;
}

bool plan_has_lab(const struct plan *plan)
{
    return plan_may_have_lab(plan) && plan->lab;
}

bool plan_captures(const struct plan *plan)
{
    return plan->transport->counts_segments && plan->capture;
}

bool plan_relays(const struct plan *plan)
{
    return plan->workload->roles[ROLE_PROXY].relay_buffers != NULL;
}

bool plan_has_proxy(const struct plan *plan)
{
    return plan_relays(plan) && plan_has_server(plan);
}

int plan_cpus(const struct plan *plan, enum end end, bool remote, struct place_list *cpus,
              struct problem *problem)
{
    enum end second = plan_has_proxy(plan) ? END_PROXY : END_SERVER;

    return place_cpus(&plan->place, (int)end, end == second, remote, cpus, problem);
}

bool plan_has_end(const struct plan *plan, enum end end)
{
    switch (end) {
    case END_SERVER:
        return plan_has_server(plan);
    case END_PROXY:
        return plan_has_proxy(plan);
    default:
        return true;
    }
}

const char *plan_address(const struct plan *plan, enum end end)
{
    return end == END_PROXY ? plan->via : plan->server;
}

bool plan_is_own(const struct plan *plan, enum end end)
{
    return end == END_CLIENT || !strcmp(plan_address(plan, end), "own");
}

enum end plan_neighbour(const struct plan *plan, enum end end)
{
    if (plan_has_proxy(plan))
        return END_PROXY;
    return end == END_CLIENT ? END_SERVER : END_CLIENT;
}

bool plan_encrypts(const struct plan *plan)
{
    return plan->ends[END_CLIENT].security->encrypts;
}
