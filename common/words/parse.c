/* SPDX-License-Identifier: MIT */
#include "words/parse.h"

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

/* The shapes that the role of an end sends and expects. The replies of a foreign peer have the shape
 * of the message. */
static void derive_shapes(struct end_plan *own, const struct role *role, bool has_peer)
{
    if (role->sends)
        own->outgoing = own->drives || role->relay_buffers ? SHAPE_MESSAGE : SHAPE_REPLY;
    if (role->receives)
        own->incoming = own->drives && role->times && !has_peer ? SHAPE_REPLY : SHAPE_MESSAGE;
}

static void derive_end(struct plan *plan, enum end end)
{
    enum role_index index = plan->workload->role(plan, end);
    const struct role *role = &plan->workload->roles[index];
    struct end_plan *own = &plan->ends[end];

    own->role = role;
    own->drives = index != ROLE_FOLLOWER && index != ROLE_PROXY;
    own->follows = !own->drives || index == ROLE_BOTH;
    own->hands_over =
        end == END_CLIENT && plan->handoff == HANDOFF_THREAD && role->times && !role->reconnects;
    derive_shapes(own, role, plan_has_peer(plan));
}

/* What the variants that were chosen say: readers of a plan need not know their structs. */
static void derive(struct plan *plan)
{
    plan->has_server = plan->transport->has_other_end && !plan_has_peer(plan);
    plan->counts_segments = plan->transport->counts_segments;
    plan->relays = plan->workload->roles[ROLE_PROXY].relay_buffers != NULL;
    plan->encrypts = plan->ends[END_CLIENT].security->encrypts;
    plan->feed = (struct strategy_choice){.strategy = &strategy_coalesce, .parameter = PARAMETER_NONE};
    for (int end = 0; end < END_COUNT; end++)
        derive_end(plan, (enum end)end);
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
        set_words(plan, words, count, true, problem) == 0) {
        derive(plan);
        if (fix_source_and_sink(plan, problem) == 0 && plan_check(plan, problem) == 0)
            return 0;
    }
    plan_free(plan);
    return -1;
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
    return word->scope == WORD_OF_CELL && plan_has_end(plan, end) && word->used(plan, end);
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
