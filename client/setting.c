/* SPDX-License-Identifier: MIT */
#include "setting.h"

#include "base/units.h"
#include "record.h"

#include <string.h>

#define CPUS_SHOWN 4

/* The first few CPUs on which the threads of an end were at their end, each once. */
static void print_cpus(FILE *out, const char *name, const json_t *end)
{
    const json_t *threads = json_object_get(end, "threads"), *thread;
    int seen[CPUS_SHOWN];
    size_t i, j, count = 0;

    fprintf(out, "%s on CPU ", name);
    json_array_foreach(threads, i, thread)
    {
        int cpu = (int)record_number(thread, "cpus.end");

        for (j = 0; j < count && seen[j] != cpu; j++)
            ;
        if (j < count)
            continue;
        if (count == CPUS_SHOWN) {
            fprintf(out, "...");
            break;
        }
        seen[count++] = cpu;
        fprintf(out, "%s%d", count > 1 ? "," : "", cpu);
    }
    if (json_array_size(threads) > 1)
        fprintf(out, " (%zu threads)", json_array_size(threads));
}

static const char *text(const json_t *object, const char *path)
{
    const char *value = json_string_value(record_at(object, path));

    return value ? value : "";
}

/* The lab, as set by the words. */
static void print_lab(FILE *out, const json_t *record)
{
    static const char *const keys[] = {"lab", "link_rate", "link_mtu", "link_delay", "link_loss", "sysctl"};

    if (!record_says(record, "lab", "on"))
        return;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        fprintf(out, "%s%s=%s", i ? " " : "  ", keys[i], record_word(record, keys[i]));
    fputc('\n', out);
}

static void print_place(FILE *out, const json_t *record, const json_t *const all[END_COUNT])
{
    const char *engine = text(all[END_CLIENT], "engine");
    const json_t *congestion = record_first(all[END_CLIENT], "options.congestion");
    const char *between = ": ";

    fprintf(out, "  place=%s", record_word(record, "place"));
    for (int end = 0; end < END_COUNT; end++) {
        if (!record_first(all[end], "cpus")) /* the system does not report it */
            continue;
        fputs(between, out);
        between = ", ";
        print_cpus(out, end_names[end], all[end]);
    }
    fprintf(out, "; engine %s", engine);
    for (int end = 0; end < END_COUNT; end++)
        if (all[end] && strcmp(engine, text(all[end], "engine")) != 0)
            fprintf(out, ", %s's %s", end_names[end], text(all[end], "engine"));
    if (congestion)
        fprintf(out, "; congestion %s", json_string_value(congestion));
    fputc('\n', out);
}

/* The result of the handshake, and the library of each end. */
static void print_tls(FILE *out, const json_t *const all[END_COUNT])
{
    const json_t *options = record_first(all[END_CLIENT], "options");
    const char *between = ": ";

    if (!json_object_get(options, "tls_version"))
        return;
    fprintf(out, "  TLS %s, %s, %s", text(options, "tls_version"), text(options, "cipher"),
            text(options, "key_exchange"));
    for (int end = 0; end < END_COUNT; end++) {
        if (!all[end])
            continue;
        fprintf(out, "%s%s %s", between, end_names[end], text(all[end], "library"));
        between = ", ";
    }
    fputc('\n', out);
}

/* The socket buffers that differ from the requested size. */
static void print_clamps(FILE *out, const char *end, const json_t *report)
{
    json_t *clamped = json_object_get(record_first(report, "options"), "clamped"), *clamp;
    const char *word;

    json_object_foreach(clamped, word, clamp)
    {
        uint64_t asked_bytes = record_number(clamp, "asked_bytes");
        uint64_t given_bytes = record_number(clamp, "given_bytes");
        char asked[UNITS_TEXT_MAX], given[UNITS_TEXT_MAX];

        units_format(&units_size, asked, asked_bytes);
        units_format(&units_size, given, given_bytes);
        fprintf(out, "  %s=%s: the %s was given %s, ", word, asked, end, given);
        if (json_object_get(clamp, "sysctl"))
            fprintf(out, "the most that sysctl %s allows\n", text(clamp, "sysctl"));
        else
            fprintf(out, "the %s that the system has\n", given_bytes < asked_bytes ? "most" : "least");
    }
}

void setting_print(FILE *out, const json_t *record, const json_t *const all[END_COUNT])
{
    print_lab(out, record);
    print_tls(out, all);
    for (int end = 0; end < END_COUNT; end++)
        print_clamps(out, end_names[end], all[end]);
    print_place(out, record, all);
}
