/* SPDX-License-Identifier: MIT */
#include "words/word.h"

#include "base/cleanup.h"
#include "base/units.h"
#include "connection/protocol.h"
#include "engine/engine.h"
#include "net/address.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

/* ---- names from a list ---- */

/* A variant is the first member of its struct, and all pointers to structs look the same. */
static int variant_parse(const struct word *word, const char *text, union field field,
                         struct problem *problem)
{
    struct problem why = {0};
    const struct variant *found = axis_find(word->kind->axis, text, &why);
    if (!found)
        return problem_usage(problem, "%s=%.60s: %s", word->key, text, why.text);
    memcpy(field.variant, &found, sizeof found);
    return 0;
}

static json_t *variant_format(const struct word *word, union field field)
{
    const struct variant *variant;
    memcpy(&variant, field.variant, sizeof variant);
    return json_string(variant->name);
}

/* A flag is a choice of two names. */
static int choice_parse(const struct word *word, const char *text, union field field, struct problem *problem)
{
    struct nearest nearest = {.word = text};
    unsigned choice = 0;

    while (word->choices[choice] && !nearest_offer(&nearest, word->choices[choice]))
        choice++;
    if (!word->choices[choice])
        return problem_usage(problem, "%s=%.60s: no such value; the nearest is '%s'", word->key, text,
                             nearest.found);
    if (word->kind == &kind_flag)
        *field.flag = choice;
    else
        *field.choice = choice;
    return 0;
}

static json_t *choice_format(const struct word *word, union field field)
{
    return json_string(word->choices[word->kind == &kind_flag ? *field.flag : *field.choice]);
}

/* ---- numbers ---- */

static bool is_for_zero(const struct word *word, const char *text)
{
    return word->word_for_zero && !strcmp(text, word->word_for_zero);
}

static int number_parse(const struct word *word, const char *text, union field field, struct problem *problem)
{
    const struct word_kind *kind = word->kind;
    size_t prefix = strlen(kind->prefix);

    *field.number = 0;
    if (is_for_zero(word, text))
        return 0;
    if (strncmp(text, kind->prefix, prefix) != 0)
        return problem_usage(problem, "%s=%.60s: write %s, or %sSIZE like %s", word->key, text,
                             word->word_for_zero, kind->prefix, kind->example);
    text += prefix;
    int result = units_parse(kind->units, text, field.number);
    if (result == -EINVAL)
        return problem_usage(problem, "%s=%.60s is not a valid %s; write it like %s", word->key, text,
                             kind->name, kind->example);
    if (result == 0 && *field.number >= word->minimum && *field.number <= word->maximum)
        return 0;
    return problem_usage(problem, "%s=%.60s is out of range: %s to %s", word->key, text,
                         units_text(kind->units, word->minimum), units_text(kind->units, word->maximum));
}

static json_t *number_format(const struct word *word, union field field)
{
    if (!*field.number && word->word_for_zero)
        return json_string(word->word_for_zero);
    return json_sprintf("%s%s", word->kind->prefix, units_text(word->kind->units, *field.number));
}

/* ---- a strategy, with a layer and a size after colons ---- */

static int strategy_parse(const struct word *word, const char *text, union field field,
                          struct problem *problem)
{
    struct strategy_choice *choice = field.strategy;
    size_t length = strcspn(text, ":");
    char name[64]; /* messages show 60 characters of a wrong name */

    snprintf(name, sizeof name, "%.*s", (int)length, text);
    *choice = (struct strategy_choice){.parameter = PARAMETER_NONE};
    if (variant_parse(word, name, (union field){.variant = &choice->strategy}, problem) < 0)
        return -1;
    const struct strategy *strategy = choice->strategy;
    const char *parameter = text[length] ? text + length + 1 : NULL, *size = parameter;
    for (enum cork_layer layer = 1; parameter && strategy->corks && cork_layer_names[layer]; layer++) {
        length = strlen(cork_layer_names[layer]);
        if (strcspn(parameter, ":") == length && !strncmp(parameter, cork_layer_names[layer], length)) {
            choice->layer = layer;
            size = parameter[length] ? parameter + length + 1 : NULL;
        }
    }
    uint64_t most = strategy->parameter_max ? strategy->parameter_max : SHAPE_BYTES_MAX;
    if (!size || (strategy->parameter && units_parse(&units_size, size, &choice->parameter) == 0 &&
                  choice->parameter && choice->parameter <= most))
        return 0;
    if (!strategy->parameter)
        return problem_usage(problem, "%s=%s:%.40s: %s takes no parameter", word->key, name, parameter, name);
    return problem_usage(problem, "%s=%s:%.40s: a size from 1 to %s must follow the colon, like %s:%s%s",
                         word->key, name, parameter, units_text(&units_size, most), name,
                         strategy->parameter_max ? "512" : "64K",
                         strategy->corks ? ", or a layer: record, segment" : "");
}

static json_t *strategy_format(const struct word *word, union field field)
{
    const struct strategy_choice *choice = field.strategy;
    bool has_size = choice->parameter != PARAMETER_NONE;
    return json_sprintf("%s%s%s%s%s", choice->strategy->variant.name, choice->layer ? ":" : "",
                        cork_layer_names[choice->layer], has_size ? ":" : "",
                        has_size ? units_text(&units_size, choice->parameter) : "");
}

/* ---- values with a grammar of their own ---- */

/* These kinds do not depend on their word. */
#define PARSED_BY(kind, function)                                                                            \
    static int kind##_parse(const struct word *word, const char *text, union field field,                    \
                            struct problem *problem)                                                         \
    {                                                                                                        \
        return function(field.kind, text, problem);                                                          \
    }
#define FORMATTED_BY(kind, function)                                                                         \
    static json_t *kind##_format(const struct word *word, union field field)                                 \
    {                                                                                                        \
        CLEANUP_FREE char *text = function(field.kind);                                                      \
        return json_string(text);                                                                            \
    }
PARSED_BY(message, shape_parse)
FORMATTED_BY(message, shape_format)
PARSED_BY(op, operations_parse)
FORMATTED_BY(op, operations_format)
PARSED_BY(placing, place_parse)
FORMATTED_BY(placing, place_format)
PARSED_BY(sched, scheduling_parse)

static json_t *sched_format(const struct word *word, union field field)
{
    return json_string(scheduling_text(field.sched));
}

/* ---- texts ---- */

/* A blank would end the word in a line of words, and a comma the item in a list. */
static int command_parse(const struct word *word, const char *text, union field field,
                         struct problem *problem)
{
    size_t size = 0;

    for (const char *at = text; *at; at++) {
        bool encodes = (unsigned char)*at <= ' ' || *at == ',' || *at == 0x7f;

        if (size + 4 > COMMAND_TEXT_MAX)
            return problem_usage(problem, "%s=%.60s... is longer than %d characters", word->key, text,
                                 COMMAND_TEXT_MAX - 4);
        size += (size_t)snprintf(field.text + size, 4, encodes ? "%%%02X" : "%c", *at);
    }
    if (size)
        return 0;
    return problem_usage(problem, "%s= is empty; write a command like \"nbdcopy {uri} null:\"", word->key);
}

/* `pattern` NULL: that of an address. */
static bool matches(const char *text, const char *pattern)
{
    regex_t compiled;
    if (!pattern)
        return address_check(text) == 0;
    if (regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return false;
    bool fits = regexec(&compiled, text, 0, NULL, 0) == 0;
    regfree(&compiled);
    return fits;
}

/* A default needs no regcomp(3), which takes 10 us. */
static int spelled_parse(const struct word *word, const char *text, union field field,
                         struct problem *problem)
{
    bool is_preset = word->preset && !strcmp(text, word->preset);
    if (!is_preset && (strlen(text) >= word->kind->size || !matches(text, word->kind->pattern)))
        return problem_usage(problem, "%s=%.60s%s", word->key, text, word->kind->wrong);
    strcpy(field.text, is_for_zero(word, text) ? "" : text);
    return 0;
}

static json_t *text_format(const struct word *word, union field field)
{
    return json_string(!*field.text && word->word_for_zero ? word->word_for_zero : field.text);
}

#define NAME_PATTERN "^[a-z0-9-]+$"
#define NAME_WRONG " a name that uncork subjects lists"

#define CONGESTION_WRONG ": write the name of a congestion control like cubic, or default or system"

/* No component of a name may be empty, so that its path stays below /proc/sys/net. */
#define SYSCTL_PATTERN "^(none|net(\\.[a-zA-Z0-9_-]+)+:[a-zA-Z0-9_.:+-]+)$"
#define SYSCTL_WRONG ": write none, or NAME:VALUE like net.ipv4.tcp_sack:0"

/* Whether the path exists is checked where it is used. A blank would end the word in a line of
 * words, and a comma the item in a list. */
_Static_assert(FOLDER_TEXT_MAX == 256 && TARGET_TEXT_MAX == 256, "PATH_WRONG says 255");
#define PATH_PATTERN "^[^[:cntrl:] ,]+$"
#define PATH_WRONG ", of at most 255 characters, neither blanks nor commas"

#define ADDRESS_FORM "HOST:PORT, [IPV6]:PORT or unix:PATH"

/* The server parses the text: it has the library. */
#define OVERRIDE_PATTERN "^[a-z0-9:+KMG]+$"
#define OVERRIDE_WRONG ": write off, none, nodelay, more:64 or nodelay+sndbuf:256K"

/* ---- targets ---- */

#define TARGET(named, parameter, may_join, sentence)                                                         \
    &(const struct target){.variant = {#named, sentence}, .takes = parameter, .joins = may_join}.variant,
static const struct variant *const targets[] = {
#include "words/targets.def"
};

const struct axis target_axis = {"target", targets, sizeof targets / sizeof *targets};

/* Does not check that the host or image of a target exists. */
static int target_parse(const struct word *word, const char *text, union field field, struct problem *problem)
{
    int parts = 0;

    if (spelled_parse(word, text, field, problem) < 0)
        return -1;
    for (const char *part = text; part; parts++) {
        char name[41];

        snprintf(name, sizeof name, "%.*s", (int)strcspn(part, ":+"), part);
        if (!*name)
            return problem_usage(
                problem, "target=%.60s: an end has no target; uncork-client --list names the targets", text);
        const struct target *target = (const struct target *)axis_find(&target_axis, name, problem);
        if (!target)
            return -1;
        const char *colon = part + strlen(name), *plus = strchr(colon, '+');
        const char *end = plus && target->joins ? plus : strchr(colon, '\0');
        if (plus && !target->joins && !target->takes)
            return problem_usage(problem, "target=%.60s: %s is one system for all ends; write target=%s",
                                 part, name, name);
        if (!target->takes && colon < end)
            return problem_usage(problem, "target=%.60s: %s takes nothing after a colon", part, name);
        if (target->takes && (end <= colon + 1 || colon[1] == '-')) /* an option of ssh(1) */
            return problem_usage(problem, "target=%.60s: write %s:%s", part, name, target->takes);
        if (!target->joins && parts)
            return problem_usage(problem, "target=%.60s: %s is one system for all ends", text, name);
        part = *end ? end + 1 : NULL;
    }
    if (parts > END_COUNT)
        return problem_usage(problem, "target=%.60s: too many ends; write at most client+server+proxy", text);
    return 0;
}

static int words_parse(const struct word *word, const char *text, union field field, struct problem *problem)
{
    if (*text)
        return 0;
    return problem_usage(problem, "%s= is empty; write words like %s=\"write=nodelay\"", word->key,
                         word->key);
}

/* ---- the kinds ---- */

/* clang-format off */
#define KIND(kind, listed, type, member, ...) \
    const struct word_kind kind_##kind = {.name = listed, .size = sizeof(type), __VA_ARGS__};
#define PARSED(parses, formats) .parse = parses##_parse, .format = formats##_format
#define LISTED(parses, formats) PARSED(parses, formats), .lists = true
#define VARIANT(axes) LISTED(variant, variant), .axis = &axes##_axis
#define NUMBER(in, begins, like) LISTED(number, number), .units = &units_##in, .prefix = begins, .example = like
#define SPELLING(matches, else_says) .pattern = matches, .wrong = else_says
#define NAMES(...) .names = (const char *const[]){__VA_ARGS__, NULL}
#include "words/kinds.def"
/* clang-format on */
