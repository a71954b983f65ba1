/* SPDX-License-Identifier: MIT */
#include "words/word.h"

#include "base/cleanup.h"
#include "connection/protocol.h"
#include "engine/engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#define GIVEN_TO(prefix) (1u << (prefix)) /* bit of plan->given; END_COUNT: without a prefix */

/* `only`: at this end; END_COUNT: at all ends. */
static int set_field(struct plan *plan, const struct word *word, enum end only, const char *value,
                     struct problem *problem)
{
    for (enum end end = 0; end < (word->per_end ? END_COUNT : 1); end++)
        if ((only == END_COUNT || only == end) &&
            word->kind->parse(word, value, word->field(plan, &plan->ends[end]), problem) < 0)
            return -1;
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
    int result = 0;

    for (size_t i = 0; i < count && result == 0; i++) {
        struct typed_word typed;

        if (word_split(&typed, words[i], problem) < 0)
            return -1;
        const struct word *word = typed.word;
        if ((typed.prefix != END_COUNT) != prefixed)
            continue;
        if (word->for_run)
            return problem_usage(problem, "%s= is for all cells, not for one run; give it to uncork run",
                                 word->key);
        if (word == &word_parameter) {
            result = set_parameter(plan, words[i], typed.value, problem);
            continue;
        }
        if (plan->given[word - word_list] & GIVEN_TO(typed.prefix))
            return problem_usage(problem, "'%.*s' is given twice", (int)(typed.value - words[i]) - 1,
                                 words[i]);
        plan->given[word - word_list] |= GIVEN_TO(typed.prefix);
        result = set_field(plan, word, typed.prefix, typed.value, problem);
    }
    return result;
}

/* ---- values derived from the words ---- */

/* A foreign peer without a protocol echoes: its replies have the shape of the message. The client
 * is the first end: whether it drives is known when the others ask for their strategy. */
static void derive_end(struct plan *plan, enum end end)
{
    static const struct role none;
    enum role_index index = workload_role(plan, end);
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
    own->strategy_sets_nodelay = own->outgoing != SHAPE_NONE && !plan_strategy(plan, end)->strategy->nagle;
    own->sets_zerocopy = own->outgoing != SHAPE_NONE && plan_strategy(plan, end)->strategy->zerocopy;
}

static int name_operations(struct plan *plan, struct problem *problem)
{
    for (uint32_t i = 0; i < plan->operations.count; i++) {
        struct operation *operation = &plan->operations.list[i];
        struct nearest nearest = {.word = operation->name};

        for (const struct operation_kind *kind = plan->protocol->kinds; kind->name; kind++)
            if (nearest_offer(&nearest, kind->name))
                operation->kind = kind;
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

/* Memory and queues are sized for the largest request or reply: head, payload, text after it. */
static int derive_shape(struct plan *plan, bool of_reply, struct problem *problem)
{
    const struct protocol *protocol = plan->protocol;
    const char *end = of_reply ? protocol->reply_end : protocol->request_end;
    struct shape *shape = of_reply ? &plan->reply : &plan->message;
    uint64_t head = 0, payload = 0;
    char text[96];

    for (uint32_t i = 0; i < plan->operations.count; i++) {
        const struct operation *operation = &plan->operations.list[i];
        const struct call call = {.kind = operation->kind, .bytes = operation->bytes};
        uint8_t bytes[PROTOCOL_SENT_MAX];
        size_t size = of_reply ? protocol->write_reply(bytes, &call) : protocol->write_request(bytes, &call);

        head = MAX(head, size);
        if (of_reply ? call.kind->fetches : call.kind->stores)
            payload = MAX(payload, call.bytes);
    }
    int size = snprintf(text, sizeof text, "%" PRIu64, head);
    if (payload)
        size += snprintf(text + size, sizeof text - (size_t)size, "+%" PRIu64, payload);
    if (payload && end)
        snprintf(text + size, sizeof text - (size_t)size, "+%zu", strlen(end));
    return shape_parse(shape, text, problem);
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
        if (exclusions_check(STAGE_engine, plan, end, 0, NULL) < 0)
            continue;
        if (!own->engine->thread_per_connection || own->threads >= plan->connections)
            return;
        able = own->engine;
    }
    own->engine = able ? able : candidate ? candidate : own->engine;
}

static int derive(struct plan *plan, struct problem *problem)
{
    static const enum word_index fixed[] = {WORD_message, WORD_read,    WORD_chunk,
                                            WORD_touch,   WORD_nodelay, WORD_source};

    /* The properties of the chosen variants: readers need not know the structs of variants. */
    plan->frames = plan->protocol->kinds && plan->workload->framed[ROLE_DRIVER];
    plan->has_server = plan->transport->has_other_end && !plan_has_peer(plan);
    plan->is_tcp = plan->transport->is_tcp;
    plan->relays = plan->workload->roles[ROLE_PROXY] != NULL;
    plan->runs_command = plan->workload->runs_command;
    plan->encrypts = plan->ends[END_CLIENT].security->encrypts;
    for (enum end end = 0; end < END_COUNT; end++)
        derive_end(plan, end);

    /* NAME.key= needs subject= or load=. Its NAME may be that of another cell of a matrix. */
    if (plan->subject.count && !plan->given[WORD_subject] && !*plan->load) {
        const struct subject_parameter *first = plan->subject.parameters;
        char key[2 * SUBJECT_NAME_MAX];

        snprintf(key, sizeof key, "%s.%s", first->subject, first->key);
        word_find(key, problem);
        return -1;
    }

    /* The client only feeds the proxy; the server only receives from it. */
    for (size_t i = 0; plan->relays && i < sizeof fixed / sizeof *fixed; i++) {
        const struct word *word = &word_list[fixed[i]];
        const char *value = fixed[i] == WORD_message ? "64K" : word->preset;

        if (set_field(plan, word, END_CLIENT, value, problem) < 0 ||
            (word->per_end && set_field(plan, word, END_SERVER, value, problem) < 0))
            return -1;
    }

    for (enum end end = 0; end < END_COUNT; end++) {
        choose_engine(plan, end);
        if (plan_has_end(plan, end) && exclusions_check(STAGE_words, plan, end, 0, problem) < 0)
            return -1;
    }
    if (plan->protocol->kinds && name_operations(plan, problem) < 0)
        return -1;
    if (plan->frames && (derive_shape(plan, false, problem) < 0 || derive_shape(plan, true, problem) < 0))
        return -1;
    return 0;
}

int plan_parse(struct plan *plan, const char *const *words, size_t count, struct problem *problem)
{
    int result = 0; /* presets are valid: -1 only without memory */

    *plan = (struct plan){0};
    for (const struct word *word = word_list; word < word_list + WORD_COUNT && result == 0; word++)
        if (!word->for_run && word->preset)
            result = set_field(plan, word, END_COUNT, word->preset, problem);
    if (result == 0 && set_words(plan, words, count, false, problem) == 0 &&
        set_words(plan, words, count, true, problem) == 0 && derive(plan, problem) == 0)
        return 0;
    plan_free(plan);
    return -1;
}

/* ---- words of a plan, as JSON ---- */

/* The key with its prefix; END_COUNT: without one. New reference. */
static json_t *key_of(const struct word *word, enum end prefix)
{
    return check_nonnull(prefix == END_COUNT ? json_string(word->key)
                                             : json_sprintf("%s.%s", end_names[prefix], word->key));
}

static bool is_used(const struct plan *plan, const struct word *word, enum end end)
{
    return !word->for_run && plan_has_end(plan, end) && (word->for_subject || !plan_is_subject(plan, end)) &&
           (word->for_command || !plan->runs_command || end != END_CLIENT) &&
           premises_hold(word->used, plan, end, 0);
}

/* Puts parameters of this subject and load into `used`, keys of others into `unused` (or NULL). */
static void sort_parameters(const struct plan *plan, json_t *used, json_t *unused)
{
    for (uint32_t i = 0; i < plan->subject.count; i++) {
        const struct subject_parameter *parameter = &plan->subject.parameters[i];
        CLEANUP_JSON json_t *key = json_sprintf("%s.%s", parameter->subject, parameter->key);

        if (!strcmp(parameter->subject, plan->subject.name) ||
            (plan->runs_command && !strcmp(parameter->subject, plan->load)))
            check_stored(json_object_set_new(used, json_string_value(key), json_string(parameter->value)));
        else if (unused)
            check_stored(json_array_append(unused, key));
    }
}

/* Only the client asks for the words of a plan. Without memory it ends, so that no word is missing. */
json_t *plan_words(const struct plan *plan)
{
    json_t *words = json_object();

    for (const struct word *word = word_list; word < word_list + WORD_COUNT; word++) {
        CLEANUP_JSON json_t *values = json_object(); /* each once */

        for (enum end end = 0; end < END_COUNT; end++) {
            if (!is_used(plan, word, end))
                continue;
            CLEANUP_JSON json_t *value = check_nonnull(word_value(word, plan, end));
            check_stored(json_object_set_new(values, json_string_value(value), json_true()));
        }
        for (enum end end = 0; end < END_COUNT; end++) {
            if (!is_used(plan, word, end))
                continue;
            CLEANUP_JSON json_t *key = key_of(word, json_object_size(values) > 1 ? end : END_COUNT);
            check_stored(json_object_set_new(words, json_string_value(key), word_value(word, plan, end)));
        }
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

    for (const struct word *word = word_list; word < word_list + WORD_COUNT; word++) {
        for (const enum end *prefix = prefixes; prefix <= &prefixes[END_COUNT]; prefix++) {
            if (!(plan->given[word - word_list] & GIVEN_TO(*prefix)))
                continue;
            CLEANUP_JSON json_t *key = key_of(word, *prefix);
            enum end holder = find_holder(plan, word, *prefix);
            if (holder != END_COUNT)
                check_stored(
                    json_object_set_new(used, json_string_value(key), word_value(word, plan, holder)));
            else
                check_stored(json_array_append(unused, key));
        }
    }
    sort_parameters(plan, used, unused);
    return used;
}
