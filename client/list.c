/* SPDX-License-Identifier: MIT */
#include "options.h"

#include "base/cleanup.h"
#include "base/program.h"
#include "base/version.h"
#include "connection/protocol.h"
#include "connection/security.h"
#include "connection/strategy.h"
#include "connection/workload.h"
#include "engine/engine.h"
#include "override/shared.h"
#include "record.h"
#include "support/support.h"
#include "transport/transport.h"
#include "words/word.h"

#include <stdio.h>
#include <string.h>

/* Returns NULL for NULL. */
static json_t *list_strings(const char *const *strings)
{
    json_t *list = strings ? json_array() : NULL;
    for (; strings && *strings; strings++)
        json_array_append_new(list, json_string(*strings));
    return list;
}

static json_t *list_word(const struct word *word)
{
    const struct word_kind *kind = word->kind;
    json_t *choices = kind->axis ? json_array() : list_strings(word->choices);
    for (size_t i = 0; kind->axis && i < kind->axis->count; i++)
        json_array_append_new(choices, json_string(kind->axis->variants[i]->name));
    return json_pack("{s:s, s:s, s:s?, s:s, s:b, s:b, s:b, s:s, s:o, s:o*, s:o*, s:s*, s:o*, s:o*}", "key",
                     word->key, "kind", kind->name, "default", word->preset, "scope",
                     word->for_run ? "run" : "cell", "ends", word->per_end, "lists", kind->lists, "ranges",
                     kind->ranges, "help", word->help, "when", premises_list(word->used), "choices", choices,
                     "names", list_strings(kind->names), "unit", word->unit, "minimum",
                     word->maximum ? json_integer((json_int_t)word->minimum) : NULL, "maximum",
                     word->maximum ? json_integer((json_int_t)word->maximum) : NULL);
}

/* {"unix": "why"}: the transports on which this machine does not support the variant. */
static json_t *list_unsupported(const struct axis *axis, const struct variant *variant)
{
    enum word_index word = axis == &strategy_axis  ? WORD_write
                           : axis == &reading_axis ? WORD_read
                                                   : WORD_security;
    json_t *unsupported = json_object();

    for (size_t i = 0; i < transport_axis.count; i++) {
        const struct transport *transport = (const struct transport *)transport_axis.variants[i];
        struct problem problem = {0};

        if (support_of_variant(word, variant, transport, &problem) < 0)
            json_object_set_new(unsupported, transport->variant.name, json_string(problem.text));
    }
    return unsupported;
}

static json_t *list_axis(const struct axis *axis)
{
    json_t *entries = json_array();

    for (size_t i = 0; i < axis->count; i++) {
        const struct variant *variant = axis->variants[i];
        json_t *entry = json_pack("{s:s, s:s}", "name", variant->name, "help", variant->help);

        if (axis == &strategy_axis)
            json_object_set_new(entry, "parameter",
                                json_pack("s?", ((const struct strategy *)variant)->parameter));
        if (axis == &reading_axis)
            json_object_set_new(entry, "delivers",
                                json_boolean(!((const struct reading *)variant)->discards));
        if (axis == &target_axis)
            json_object_set_new(entry, "takes", json_pack("s?", ((const struct target *)variant)->takes));
        if (axis == &strategy_axis || axis == &reading_axis || axis == &security_axis)
            json_object_set_new(entry, "unsupported", list_unsupported(axis, variant));
        json_array_append_new(entries, entry);
    }
    return entries;
}

static json_t *list_options(const struct option_help *options)
{
    json_t *entries = json_array();
    for (; options->help; options++)
        if (options->name)
            json_array_append_new(
                entries, json_pack("{s:o, s:s, s:s%}", "name", json_sprintf("--%s", options->name), "value",
                                   options->value, "help", options->help, strcspn(options->help, "\n")));
    return entries;
}

json_t *list_make(void)
{
#define CHANGE_ENTRY(name, bit, size, means) {name, sizeof(size) > 1 ? "SIZE" : NULL, means},
    static const char *const overrides[][3] = {{"none", NULL, "changes nothing"}, OVERRIDES(CHANGE_ENTRY)};
#undef CHANGE_ENTRY
    json_t *words = json_array(), *changes = json_array();
    json_t *variants = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "transport",
                                 list_axis(&transport_axis), "security", list_axis(&security_axis),
                                 "workload", list_axis(&workload_axis), "strategy", list_axis(&strategy_axis),
                                 "reading", list_axis(&reading_axis), "engine", list_axis(&engine_axis),
                                 "protocol", list_axis(&protocol_axis), "target", list_axis(&target_axis));

    for (size_t i = 0; i < WORD_COUNT; i++)
        json_array_append_new(words, list_word(&word_list[i]));
    for (size_t i = 0; i < sizeof overrides / sizeof *overrides; i++) /* of override= and uncork-exec */
        json_array_append_new(changes, json_pack("{s:s, s:s?, s:s}", "name", overrides[i][0], "takes",
                                                 overrides[i][1], "help", overrides[i][2]));
    return json_pack("{s:s, s:i, s:s, s:s*, s:o, s:o, s:o, s:o, s:{s:o, s:o}}", "uncork", UNCORK_VERSION,
                     "schema", RECORD_SCHEMA, "revision", version_revision, "homepage", version_homepage,
                     "words", words, "excludes", exclusions_list(), "variants", variants, "changes", changes,
                     "options", "uncork-client", list_options(client_options), "uncork-server",
                     list_options(server_options));
}

static void print_words(const json_t *words, const char *scope)
{
    const json_t *word, *choice;
    size_t i, j;

    json_array_foreach(words, i, word) {
        if (strcmp(record_text(word, "scope"), scope) != 0)
            continue;
        const char *preset = json_string_value(json_object_get(word, "default"));
        printf("  %-15s %-9s %s\n", record_text(word, "key"), preset ? preset : "-",
               record_text(word, "help"));
        json_array_foreach(json_object_get(word, "choices"), j, choice) {
            if (!j)
                printf("  %-15s %-9s  ", "", "");
            printf("%s%s", j ? ", " : "", json_string_value(choice));
        }
        if (json_object_get(word, "choices"))
            putchar('\n');
    }
}

static void print_variant(const json_t *variant)
{
    const char *name = record_text(variant, "name"), *help = record_text(variant, "help");
    const char *takes = record_text(variant, "takes"), *parameter = record_text(variant, "parameter");
    const char *transport;
    json_t *why;

    if (*takes)
        printf("  %s:%s\n  %-15s %s\n", name, takes, "", help);
    else
        printf("  %-15s %s\n", name, help);
    if (*parameter)
        printf("  %-15s %s:SIZE %s\n", "", name, parameter);
    json_object_foreach(json_object_get(variant, "unsupported"), transport, why) {
        const char *reason = strstr(json_string_value(why), "here: ");
        printf("  %-15s not on %s: %s\n", "", transport,
               reason ? reason + strlen("here: ") : json_string_value(why));
    }
}

void list_print(void)
{
    CLEANUP_JSON json_t *list = list_make();
    const json_t *entry;
    const char *axis;
    json_t *entries;
    size_t i;

    printf("Words, with defaults; client., server. or proxy. before a word sets it for one end, if ends "
           "may differ:\n");
    print_words(json_object_get(list, "words"), "cell");
    printf("\nWords for all cells together, for uncork run only:\n");
    print_words(json_object_get(list, "words"), "run");
    json_object_foreach(json_object_get(list, "variants"), axis, entries) {
        printf("\n%s:\n", axis);
        json_array_foreach(entries, i, entry)
            print_variant(entry);
    }
}
