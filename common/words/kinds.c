/* SPDX-License-Identifier: MIT */
#include "words/word.h"

#include "base/cleanup.h"
#include "base/nearest.h"
#include "base/units.h"
#include "connection/strategy.h"
#include "net/address.h"
#include "words/target.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names from a list ---- */

static int variant_parse(const struct word *word, const char *text, void *field, struct problem *problem)
{
    struct problem why = {0};
    const struct variant *variant = axis_find(word->axis, text, &why);

    if (!variant)
        return problem_usage(problem, "%s=%.60s: %s", word->key, text, why.text);
    *(const struct variant **)field = variant;
    return 0;
}

static char *variant_format(const struct word *word, const void *field)
{
    (void)word;
    return strdup((*(const struct variant *const *)field)->name);
}

static int choice_parse(const struct word *word, const char *text, void *field, struct problem *problem)
{
    struct nearest nearest = {.word = text};

    for (int i = 0; word->choices[i]; i++) {
        if (!strcmp(word->choices[i], text)) {
            *(int *)field = i;
            return 0;
        }
        nearest_offer(&nearest, word->choices[i]);
    }
    return problem_usage(problem, "%s=%.60s: no such value; the nearest is '%s'", word->key, text,
                         nearest.found);
}

static char *choice_format(const struct word *word, const void *field)
{
    return strdup(word->choices[*(const int *)field]);
}

/* ---- numbers ---- */

struct number {
    const struct units *units;
    const char *prefix; /* of every spelling except that of 0 */
    const char *example;
};

static int number_parse(const struct word *word, const char *text, void *field, struct problem *problem)
{
    const struct number *number = word->kind->number;
    const char *zero = word->word_for_zero, *prefix = number->prefix;
    char minimum[UNITS_TEXT_MAX], maximum[UNITS_TEXT_MAX];
    uint64_t *value = field;
    int result;

    *value = 0;
    if (zero && !strcmp(text, zero))
        return 0;
    if (strncmp(text, prefix, strlen(prefix)) != 0)
        return problem_usage(problem, "%s=%.60s: write %s, or %sSIZE like %s", word->key, text, zero, prefix,
                             number->example);
    text += strlen(prefix);
    result = units_parse(number->units, text, value);
    if (result == -EINVAL)
        return problem_usage(problem, "%s=%.60s is not a valid %s; write it like %s", word->key, text,
                             word->kind->name, number->example);
    if (result == 0 && *value >= word->minimum && *value <= word->maximum)
        return 0;
    units_format(number->units, minimum, word->minimum);
    units_format(number->units, maximum, word->maximum);
    return problem_usage(problem, "%s=%.60s is out of range: %s to %s", word->key, text, minimum, maximum);
}

static char *number_format(const struct word *word, const void *field)
{
    const struct number *number = word->kind->number;
    uint64_t value = *(const uint64_t *)field;
    char text[2 * UNITS_TEXT_MAX];

    if (!value && word->word_for_zero)
        return strdup(word->word_for_zero);
    strcpy(text, number->prefix);
    units_format(number->units, text + strlen(text), value);
    return strdup(text);
}

/* ---- a strategy, with a layer and a size after colons ---- */

static uint64_t parameter_max(const struct strategy *strategy)
{
    return strategy->parameter_max ? strategy->parameter_max : SHAPE_BYTES_MAX;
}

static int refuse_parameter(const struct word *word, const struct strategy *strategy, const char *text,
                            struct problem *problem)
{
    const char *name = strategy->variant.name;
    char limit[UNITS_TEXT_MAX];

    units_format(&units_size, limit, parameter_max(strategy));
    if (!strategy->parameter)
        return problem_usage(problem, "%s=%s:%.40s: %s takes no parameter", word->key, name, text, name);
    return problem_usage(problem, "%s=%s:%.40s: a size from 1 to %s must follow the colon, like %s:%s%s",
                         word->key, name, text, limit, name, strategy->parameter_max ? "512" : "64K",
                         strategy->corks ? ", or a layer: record, segment" : "");
}

static bool take_layer(struct strategy_choice *choice, const char *text)
{
    for (int layer = 1; choice->strategy->corks && cork_layer_names[layer]; layer++)
        if (!strcmp(cork_layer_names[layer], text))
            choice->layer = layer;
    return choice->layer != CORK_BY_SECURITY;
}

static bool take_size(struct strategy_choice *choice, const char *text)
{
    return choice->strategy->parameter && choice->parameter == PARAMETER_NONE &&
           units_parse(&units_size, text, &choice->parameter) == 0 && choice->parameter &&
           choice->parameter <= parameter_max(choice->strategy);
}

/* NAME, NAME:SIZE, NAME:LAYER or NAME:LAYER:SIZE. */
static int strategy_parse(const struct word *word, const char *text, void *field, struct problem *problem)
{
    struct strategy_choice *choice = field;
    CLEANUP_FREE char *copy = strdup(text);
    char *rest = copy, *part = strsep(&rest, ":");
    const struct variant *found = NULL;
    bool is_first = true;

    if (!copy)
        return problem_failure(problem, "no memory for %s=", word->key);
    if (variant_parse(word, part, &found, problem) < 0)
        return -1;
    *choice =
        (struct strategy_choice){.strategy = (const struct strategy *)found, .parameter = PARAMETER_NONE};
    for (; (part = strsep(&rest, ":")); is_first = false)
        if (!(is_first && take_layer(choice, part)) && !take_size(choice, part))
            return refuse_parameter(word, choice->strategy, strchr(text, ':') + 1, problem);
    return 0;
}

static char *strategy_format(const struct word *word, const void *field)
{
    const struct strategy_choice *choice = field;
    char size[UNITS_TEXT_MAX] = "", text[128];

    (void)word;
    if (choice->parameter != PARAMETER_NONE)
        units_format(&units_size, size, choice->parameter);
    snprintf(text, sizeof text, "%s%s%s%s%s", choice->strategy->variant.name, choice->layer ? ":" : "",
             cork_layer_names[choice->layer], *size ? ":" : "", size);
    return strdup(text);
}

/* ---- values with a grammar of their own ---- */

static int shape_replace(struct shape *shape, const char *text, struct problem *problem)
{
    shape_free(shape);
    return shape_parse(shape, text, problem);
}

static char *sched_spell(const struct scheduling *scheduling)
{
    char text[SCHEDULING_TEXT_MAX];

    scheduling_format(text, scheduling);
    return strdup(text);
}

/* These kinds do not depend on their word. */
#define PARSED_BY(name, function)                                                                            \
    static int name(const struct word *word, const char *text, void *field, struct problem *problem)         \
    {                                                                                                        \
        (void)word;                                                                                          \
        return function(field, text, problem);                                                               \
    }
#define FORMATTED_BY(name, function)                                                                         \
    static char *name(const struct word *word, const void *field)                                            \
    {                                                                                                        \
        (void)word;                                                                                          \
        return function(field);                                                                              \
    }
PARSED_BY(message_parse, shape_replace)
FORMATTED_BY(message_format, shape_format)
PARSED_BY(op_parse, operations_parse)
FORMATTED_BY(op_format, operations_format)
PARSED_BY(placing_parse, place_parse)
FORMATTED_BY(placing_format, place_format)
PARSED_BY(sched_parse, scheduling_parse)
FORMATTED_BY(sched_format, sched_spell)
FORMATTED_BY(text_format, strdup)

/* A blank would end the word in a line of words, and a comma the item in a list. */
static int command_parse(const struct word *word, const char *text, void *field, struct problem *problem)
{
    size_t size = 0;

    for (const char *at = text; *at; at++) {
        bool encodes = (unsigned char)*at <= ' ' || *at == ',' || *at == 0x7f;

        if (size + 4 > COMMAND_TEXT_MAX)
            return problem_usage(problem, "%s=%.60s... is longer than %d characters", word->key, text,
                                 COMMAND_TEXT_MAX - 4);
        size += (size_t)snprintf((char *)field + size, 4, encodes ? "%%%02X" : "%c", *at);
    }
    return size ? 0
                : problem_usage(problem, "%s= is empty; write a command like \"nbdcopy {uri} null:\"",
                                word->key);
}

/* The key says which subject and which parameter: set_parameter() in parse.c. */
static int parameter_parse(const struct word *word, const char *text, void *field, struct problem *problem)
{
    (void)field;
    if (strlen(text) >= FOLDER_TEXT_MAX)
        return problem_usage(problem, "%s=%.60s is longer than %d characters", word->key, text,
                             FOLDER_TEXT_MAX - 1);
    return 0;
}

/* ---- texts ---- */

/* How a kind of text is spelled. */
struct spelling {
    size_t size;         /* bytes of the field */
    const char *pattern; /* regex(7), extended */
    const char *wrong;   /* ends the message about any other value */
};

static int spelled_parse(const struct word *word, const char *text, void *field, struct problem *problem)
{
    const struct spelling *spelling = word->kind->spelling;
    bool fits = word->preset && !strcmp(text, word->preset); /* saves regcomp(3), which takes 10 us */
    regex_t pattern;

    if (!fits && regcomp(&pattern, spelling->pattern, REG_EXTENDED | REG_NOSUB) == 0) {
        fits = strlen(text) < spelling->size && regexec(&pattern, text, 0, NULL, 0) == 0;
        regfree(&pattern);
    }
    if (!fits)
        return problem_usage(problem, "%s=%.60s%s", word->key, text, spelling->wrong);
    memcpy(field, text, strlen(text) + 1);
    return 0;
}

#define NAME_PATTERN "^[a-z0-9-]+$"
#define NAME_WRONG " a name that uncork subjects lists"

#define CONGESTION_WRONG ": write the name of a congestion control like cubic, or default or system"

/* No component of a name may be empty, so that its path stays below /proc/sys/net. */
#define SYSCTL_PATTERN "^(none|net(\\.[a-zA-Z0-9_-]+)+:[a-zA-Z0-9_.:+-]+)$"
#define SYSCTL_WRONG ": write none, or NAME:VALUE like net.ipv4.tcp_sack:0"

/* In a list, an item without a name has the name of the previous item: "net.ipv4.tcp_sack:0,1". */
static char *sysctl_complete(const char *previous, const char *item)
{
    size_t name = strcspn(previous, ":"), size = name + 1 + strlen(item) + 1;
    char *completed;

    if (!previous[name] || !strcmp(item, "none") || !strncmp(item, "net.", 4))
        return strdup(item);
    completed = needed(malloc(size));
    snprintf(completed, size, "%.*s:%s", (int)name, previous, item);
    return completed;
}

/* Whether the path exists is checked where it is used. A blank would end the word in a line of
 * words, and a comma the item in a list. */
_Static_assert(FOLDER_TEXT_MAX == 256 && TARGET_TEXT_MAX == 256, "PATH_WRONG says 255");
#define PATH_PATTERN "^[^[:cntrl:] ,]+$"
#define PATH_WRONG ", of at most 255 characters, neither blanks nor commas"

/* The server parses the text: it has the library. */
#define OVERRIDE_PATTERN "^[a-z0-9:+KMG]+$"
#define OVERRIDE_WRONG ": write off, none, nodelay, more:64 or nodelay+sndbuf:256K"

/* The preset is stored as an empty name. */
static int subject_parse(const struct word *word, const char *text, void *field, struct problem *problem)
{
    struct subject_choice *choice = field;

    if (spelled_parse(word, text, choice->name, problem) < 0)
        return -1;
    if (!strcmp(choice->name, word->preset))
        *choice->name = '\0';
    return 0;
}

static char *subject_format(const struct word *word, const void *field)
{
    const struct subject_choice *choice = field;

    return strdup(*choice->name ? choice->name : word->preset);
}

static int target_parse(const struct word *word, const char *text, void *field, struct problem *problem)
{
    return spelled_parse(word, text, field, problem) < 0 ? -1 : target_check(text, problem);
}

static int address_word_parse(const struct word *word, const char *text, void *field, struct problem *problem)
{
    const char *other = word->word_for_zero;
    bool known = (other && !strcmp(text, other)) || address_check(text) == 0;

    if (strlen(text) >= ADDRESS_TEXT_MAX || !known)
        return problem_usage(problem, "%s=%.60s: write %s%sHOST:PORT, [IPV6]:PORT or unix:PATH", word->key,
                             text, other ? other : "", other ? ", " : "");
    memcpy(field, text, strlen(text) + 1);
    return 0;
}

static int words_parse(const struct word *word, const char *text, void *field, struct problem *problem)
{
    (void)field;
    return *text ? 0
                 : problem_usage(problem, "%s= is empty; write words like %s=\"write=nodelay\"", word->key,
                                 word->key);
}

/* ---- the kinds ---- */

/* clang-format off */
#define KIND(kind, ...) const struct word_kind kind_##kind = {.name = #kind, __VA_ARGS__};
#define NUMBER(...) .parse = number_parse, .format = number_format, .number = &(const struct number){__VA_ARGS__}
#define SPELLED(...) .parse = spelled_parse, .format = text_format, .spelling = &(const struct spelling){__VA_ARGS__}
#define NAMES(...) .names = (const char *const[]){__VA_ARGS__, NULL}
#include "words/kinds.def"
/* clang-format on */
