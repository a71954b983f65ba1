/* SPDX-License-Identifier: MIT */
#include "words/parse.h"

#include "base/cleanup.h"
#include "base/nearest.h"
#include "connection/protocol.h"
#include "connection/reading.h"
#include "connection/security.h"
#include "connection/strategy.h"
#include "connection/workload.h"
#include "engine/engine.h"
#include "transport/transport.h"
#include "words/word.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

extern const struct strategy strategy_coalesce; /* the client and the server of a proxy send by it */

#define GIVEN_TO(prefix) (1u << (prefix)) /* bit of plan->given; END_COUNT: without a prefix */

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

static int set_parameter(struct plan *plan, const char *text, const char *value, struct problem *problem)
{
    struct subject_choice *choice = &plan->subject;
    struct subject_parameter *parameter = &choice->parameters[choice->count];
    size_t name = strcspn(text, "."), key = (size_t)(value - text) - name - 2;

    if (!name || !key || name >= sizeof parameter->subject || key >= sizeof parameter->key ||
        strlen(value) >= sizeof parameter->value)
        return problem_usage(problem,
                             "'%.60s' is not a word; write a parameter of a subject as NAME.key=value", text);
    if (choice->count == SUBJECT_PARAMETERS_MAX)
        return problem_usage(problem, "more than %d parameters of subjects (NAME.key=value)",
                             SUBJECT_PARAMETERS_MAX);
    *parameter = (struct subject_parameter){0};
    memcpy(parameter->subject, text, name);
    memcpy(parameter->key, text + name + 1, key);
    memcpy(parameter->value, value, strlen(value));
    choice->count++;
    return 0;
}

/* Sets the words with a prefix, or those without. plan_parse() sets those without first, so that a
 * word with a prefix overrides them wherever it stands. */
static int set_words(struct plan *plan, const char *const *words, size_t count, bool prefixed,
                     struct problem *problem)
{
    for (size_t i = 0; i < count; i++) {
        struct typed_word typed;
        uint8_t *given;

        if (word_split(&typed, words[i], problem) < 0)
            return -1;
        if ((typed.prefix != END_COUNT) != prefixed)
            continue;
        if (typed.word->for_run)
            return problem_usage(problem, "%s= is for all cells, not for one run; give it to uncork run",
                                 typed.word->key);
        if (typed.word == &word_parameter) {
            if (set_parameter(plan, words[i], typed.value, problem) < 0)
                return -1;
            continue;
        }
        given = &plan->given[typed.word - word_list];
        if (*given & GIVEN_TO(typed.prefix))
            return problem_usage(problem, "'%.*s' is given twice", (int)(typed.value - words[i]) - 1,
                                 words[i]);
        *given |= GIVEN_TO(typed.prefix);
        if (set_field(plan, typed.word, typed.prefix, typed.value, problem) < 0)
            return -1;
    }
    return 0;
}

/* ---- values derived from the words ---- */

/* A foreign peer without a protocol echoes: its replies have the shape of the message. */
static void derive_end(struct plan *plan, enum end end)
{
    enum role_index index = workload_role(plan, end);
    static const struct role none;
    const struct role *const *roles = plan->frames ? plan->workload->framed : plan->workload->roles;
    const struct role *role = roles[index] ? roles[index] : &none;
    struct end_plan *own = &plan->ends[end];

    own->role = role;
    own->drives = index != ROLE_FOLLOWER && index != ROLE_PROXY;
    own->follows = !own->drives || index == ROLE_BOTH;
    own->hands_over =
        end == END_CLIENT && plan->handoff == HANDOFF_THREAD && role->times && !plan->workload->reconnects;
    if (role->fill)
        own->outgoing = own->drives || role->relay_buffers ? SHAPE_MESSAGE : SHAPE_REPLY;
    if (role->receives)
        own->incoming = own->drives && role->times && (plan->frames || !plan_has_peer(plan)) ? SHAPE_REPLY
                                                                                             : SHAPE_MESSAGE;
}

static int name_operations(struct plan *plan, struct problem *problem)
{
    for (uint32_t i = 0; i < plan->operations.count; i++) {
        struct operation *operation = &plan->operations.list[i];
        struct nearest nearest = {.word = operation->name};

        for (const struct operation_kind *kind = plan->protocol->kinds; kind->name; kind++) {
            if (!strcmp(kind->name, operation->name))
                operation->kind = kind;
            nearest_offer(&nearest, kind->name);
        }
        if (!operation->kind)
            return problem_usage(problem, "op=%s: protocol=%s has no such request; the nearest is '%s'",
                                 operation->name, plan->protocol->variant.name, nearest.found);
        if ((operation->kind->fetches || operation->kind->stores) != (operation->bytes > 0))
            return problem_usage(problem,
                                 operation->bytes ? "op=%s: %s has no payload; write %s without a size"
                                                  : "op=%s: %s needs a size; write %s:4K",
                                 operation->name, operation->name, operation->name);
    }
    return 0;
}

/* Sets the shape of a head, its payload and the text after it. */
static int set_shape(struct shape *shape, size_t head, uint64_t payload, const char *end,
                     struct problem *problem)
{
    char text[96];

    if (!payload)
        snprintf(text, sizeof text, "%zu", head);
    else if (end)
        snprintf(text, sizeof text, "%zu+%" PRIu64 "+%zu", head, payload, strlen(end));
    else
        snprintf(text, sizeof text, "%zu+%" PRIu64, head, payload);
    return shape_parse(shape, text, problem);
}

/* Sets the shapes of the largest request and reply: memory and queues are sized for them. */
static int derive_shapes(struct plan *plan, struct problem *problem)
{
    size_t request_head = 0, reply_head = 0;
    uint64_t stored = 0, fetched = 0;

    for (uint32_t i = 0; i < plan->operations.count; i++) {
        const struct operation *operation = &plan->operations.list[i];
        const struct call call = {.kind = operation->kind, .bytes = operation->bytes};
        uint8_t head[PROTOCOL_SENT_MAX];
        size_t asked = plan->protocol->write_request(head, &call),
               answered = plan->protocol->write_reply(head, &call);

        request_head = MAX(request_head, asked);
        reply_head = MAX(reply_head, answered);
        stored = MAX(stored, call.kind->stores ? call.bytes : 0);
        fetched = MAX(fetched, call.kind->fetches ? call.bytes : 0);
    }
    plan_free(plan);
    if (set_shape(&plan->message, request_head, stored, plan->protocol->request_end, problem) < 0)
        return -1;
    return set_shape(&plan->reply, reply_head, fetched, plan->protocol->reply_end, problem);
}

/* NAME.key= needs subject= or load=. Its NAME may be that of another cell of a matrix. */
static int check_parameters(const struct plan *plan, struct problem *problem)
{
    const struct subject_parameter *first = plan->subject.parameters;
    char key[2 * SUBJECT_NAME_MAX];

    if (!plan->subject.count || plan->given[WORD_subject] || *plan->load)
        return 0;
    snprintf(key, sizeof key, "%s.%s", first->subject, first->key);
    word_find(key, problem);
    return -1;
}

static int derive_frames(struct plan *plan, struct problem *problem)
{
    if (!plan->protocol->kinds)
        return 0;
    return name_operations(plan, problem) < 0 || (plan->frames && derive_shapes(plan, problem) < 0) ? -1 : 0;
}

/* Copies the properties of the chosen variants into the plan, so that its readers need not know the
 * structs of variants. */
static void derive(struct plan *plan)
{
    plan->frames = plan->protocol->kinds && plan->workload->framed[ROLE_DRIVER];
    plan->has_server = plan->transport->has_other_end && !plan_has_peer(plan);
    plan->is_tcp = plan->transport->is_tcp;
    plan->relays = plan->workload->roles[ROLE_PROXY] != NULL;
    plan->runs_command = plan->workload->runs_command;
    plan->encrypts = plan->ends[END_CLIENT].security->encrypts;
    plan->feed = (struct strategy_choice){.strategy = &strategy_coalesce, .parameter = PARAMETER_NONE};
    for (int end = 0; end < END_COUNT; end++)
        derive_end(plan, (enum end)end);
    /* After derive_end() of all ends: the strategy of an end depends on which end drives. */
    for (int end = 0; end < END_COUNT; end++) {
        const struct strategy *strategy = plan_strategy(plan, (enum end)end)->strategy;
        struct end_plan *own = &plan->ends[end];

        own->strategy_sets_nodelay = own->outgoing != SHAPE_NONE && !strategy->nagle;
        own->sets_zerocopy = own->outgoing != SHAPE_NONE && strategy->zerocopy;
    }
}

/* Sets the words that are fixed at the client and the server of a proxy. The client only feeds the
 * proxy; the server only receives from it. */
static int fix_ends_of_proxy(struct plan *plan, struct problem *problem)
{
    static const enum word_index fixed[] = {WORD_message, WORD_read,    WORD_chunk,
                                            WORD_touch,   WORD_nodelay, WORD_source};

    for (size_t i = 0; plan->relays && i < sizeof fixed / sizeof *fixed; i++) {
        const struct word *word = &word_list[fixed[i]];
        const char *value = fixed[i] == WORD_message ? "64K" : word->preset;

        if (set_field(plan, word, END_CLIENT, value, problem) < 0 ||
            (word->per_end && set_field(plan, word, END_SERVER, value, problem) < 0))
            return -1;
    }
    return 0;
}

/* The engine of the word. engine=auto is the first of the list that has what strategy and reading
 * need, and that no row excludes. One with `thread_per_connection` is chosen only if the plan has
 * that many threads, or if no other can run it. If none can, a row says why. */
static void choose_engine(struct plan *plan, enum end end)
{
    struct end_plan *own = &plan->ends[end];
    const struct engine *able = NULL, *candidate = NULL;
    unsigned needs = (plan_outgoing(plan, end) ? plan_strategy(plan, end)->strategy->needs : 0) |
                     (plan_incoming(plan, end) ? own->reading->needs : 0);

    own->engine = own->engine_word;
    for (size_t i = 0; !own->engine_word->gives && i < engine_axis.count; i++) {
        own->engine = (const struct engine *)engine_axis.variants[i];
        if (!own->engine->gives || needs & CAPABILITIES_OF_ENGINES & ~own->engine->gives)
            continue;
        if (!candidate || !own->hands_over) /* handoff: keep the first */
            candidate = own->engine;
        if (is_excluded(STAGE_engine, plan, end))
            continue;
        if (!own->engine->thread_per_connection || own->threads >= plan->connections)
            return;
        able = own->engine;
    }
    own->engine = able ? able : candidate ? candidate : own->engine;
}

/* Checks that the words of a plan do not contradict each other. 0, or -1 with a usage problem. */
static int check_words(const struct plan *plan, struct problem *problem)
{
    for (enum end end = 0; end < END_COUNT; end++)
        if (plan_has_end(plan, end) && exclusions_check(STAGE_words, plan, end, 0, problem) < 0)
            return -1;
    return 0;
}

/* A preset is valid: -1 only without memory. */
static int set_presets(struct plan *plan, struct problem *problem)
{
    for (size_t i = 0; i < WORD_COUNT; i++)
        if (!word_list[i].for_run && word_list[i].preset &&
            set_field(plan, &word_list[i], END_COUNT, word_list[i].preset, problem) < 0)
            return -1;
    return 0;
}

int plan_parse(struct plan *plan, const char *const *words, size_t count, struct problem *problem)
{
    *plan = (struct plan){0};
    if (set_presets(plan, problem) == 0 && set_words(plan, words, count, false, problem) == 0 &&
        set_words(plan, words, count, true, problem) == 0) {
        derive(plan);
        if (check_parameters(plan, problem) == 0 && fix_ends_of_proxy(plan, problem) == 0) {
            for (enum end end = 0; end < END_COUNT; end++)
                choose_engine(plan, end);
            if (check_words(plan, problem) == 0 && derive_frames(plan, problem) == 0)
                return 0;
        }
    }
    plan_free(plan);
    return -1;
}

/* ---- words of a plan, as JSON ---- */

/* The key with its prefix; END_COUNT: without one. */
static const char *key_of(char key[64], const struct word *word, enum end prefix)
{
    bool prefixed = prefix != END_COUNT;

    snprintf(key, 64, "%s%s%s", prefixed ? end_names[prefix] : "", prefixed ? "." : "", word->key);
    return key;
}

static void put_word(json_t *words, const struct plan *plan, const struct word *word, enum end end,
                     enum end prefix)
{
    CLEANUP_FREE char *value = word_text(word, plan, end);
    char key[64];

    json_object_set_new(words, key_of(key, word, prefix), json_string(value));
}

static bool is_used(const struct plan *plan, const struct word *word, enum end end)
{
    if (plan_is_subject(plan, end) && !word->for_subject)
        return false;
    if (plan->runs_command && end == END_CLIENT && !word->for_command)
        return false;
    return !word->for_run && plan_has_end(plan, end) && premises_hold(word->used, plan, end, 0);
}

/* Puts the parameters of this subject and this load into `used`, and the keys of the others into
 * `unused` (may be NULL). */
static void sort_parameters(const struct plan *plan, json_t *used, json_t *unused)
{
    for (uint32_t i = 0; i < plan->subject.count; i++) {
        const struct subject_parameter *parameter = &plan->subject.parameters[i];
        char key[2 * SUBJECT_NAME_MAX];

        snprintf(key, sizeof key, "%s.%s", parameter->subject, parameter->key);
        if (!strcmp(parameter->subject, plan->subject.name) ||
            (plan->runs_command && !strcmp(parameter->subject, plan->load)))
            json_object_set_new(used, key, json_string(parameter->value));
        else
            json_array_append_new(unused, json_string(key));
    }
}

static bool users_differ(const struct plan *plan, const struct word *word)
{
    CLEANUP_FREE char *first = NULL;
    bool differ = false;

    for (enum end end = 0; end < END_COUNT; end++) {
        CLEANUP_FREE char *value = is_used(plan, word, end) ? word_text(word, plan, end) : NULL;

        differ |= first && value && strcmp(first, value) != 0;
        if (!first) {
            first = value;
            value = NULL;
        }
    }
    return differ;
}

json_t *plan_words(const struct plan *plan)
{
    json_t *words = json_object();

    for (size_t i = 0; i < WORD_COUNT; i++) {
        const struct word *word = &word_list[i];
        bool differ = word->per_end && users_differ(plan, word), is_put = false;

        for (enum end end = 0; end < END_COUNT && (differ || !is_put); end++)
            if ((is_put = is_used(plan, word, end)))
                put_word(words, plan, word, end, differ ? end : END_COUNT);
    }
    sort_parameters(plan, words, NULL);
    return words;
}

/* An end that uses the value given with this prefix; END_COUNT: none does. A value without a prefix
 * (END_COUNT) does not count for an end that was given its own. */
static enum end find_holder(const struct plan *plan, const struct word *word, enum end prefix)
{
    uint8_t given = plan->given[word - word_list];

    for (enum end end = 0; end < END_COUNT; end++)
        if (is_used(plan, word, end) && (prefix == END_COUNT ? !(given & GIVEN_TO(end)) : prefix == end))
            return end;
    return END_COUNT;
}

json_t *plan_words_given(const struct plan *plan, json_t *unused)
{
    static const enum end prefixes[] = {END_COUNT, END_CLIENT, END_SERVER, END_PROXY};
    json_t *used = json_object();

    for (size_t i = 0; i < WORD_COUNT; i++) {
        for (size_t j = 0; j < sizeof prefixes / sizeof *prefixes; j++) {
            const struct word *word = &word_list[i];
            enum end holder;
            char key[64];

            if (!(plan->given[i] & GIVEN_TO(prefixes[j])))
                continue;
            if ((holder = find_holder(plan, word, prefixes[j])) != END_COUNT)
                put_word(used, plan, word, holder, prefixes[j]);
            else
                json_array_append_new(unused, json_string(key_of(key, word, prefixes[j])));
        }
    }
    sort_parameters(plan, used, unused);
    return used;
}
