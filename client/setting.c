/* SPDX-License-Identifier: MIT */
#include "setting.h"

#include "base/units.h"
#include "record.h"

#include <stdint.h>
#include <string.h>

#define CPUS_SHOWN 4

/* Absent where the system does not report the CPU of a thread. */
static bool tells_cpus(const json_t *end)
{
    return json_object_get(json_array_get(json_object_get(end, "threads"), 0), "cpus");
}

/* The first few CPUs on which the threads of an end were at their end, each once. */
static void print_cpus(FILE *out, const char *name, const json_t *end)
{
    const json_t *threads = json_object_get(end, "threads"), *thread;
    int seen[CPUS_SHOWN];
    size_t i, j, count = 0;

    fprintf(out, "%s on CPU ", name);
    json_array_foreach(threads, i, thread)
    {
        int cpu = (int)json_integer_value(json_object_get(json_object_get(thread, "cpus"), "end"));

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

static const char *engine(const json_t *end)
{
    const char *name = json_string_value(json_object_get(end, "engine"));

    return name ? name : "";
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
    const json_t *client = all[END_CLIENT];
    const json_t *options = json_object_get(json_array_get(json_object_get(client, "threads"), 0), "options");
    const char *congestion = json_string_value(json_object_get(options, "congestion"));
    const char *between = ": ";

    fprintf(out, "  place=%s", record_word(record, "place"));
    for (int end = 0; end < END_COUNT; end++) {
        if (!tells_cpus(all[end]))
            continue;
        fputs(between, out);
        between = ", ";
        print_cpus(out, end_names[end], all[end]);
    }
    fprintf(out, "; engine %s", engine(client));
    for (int end = 0; end < END_COUNT; end++)
        if (all[end] && strcmp(engine(client), engine(all[end])) != 0)
            fprintf(out, ", %s's %s", end_names[end], engine(all[end]));
    if (congestion)
        fprintf(out, "; congestion %s", congestion);
    fputc('\n', out);
}

/* The result of the handshake, and the library of each end. */
static void print_tls(FILE *out, const json_t *const all[END_COUNT])
{
    const json_t *thread = json_array_get(json_object_get(all[END_CLIENT], "threads"), 0);
    const json_t *options = json_object_get(thread, "options");
    const char *between = "";

    if (!json_object_get(options, "tls_version"))
        return;
    fprintf(out, "  TLS %s, %s, %s: ", json_string_value(json_object_get(options, "tls_version")),
            json_string_value(json_object_get(options, "cipher")),
            json_string_value(json_object_get(options, "key_exchange")));
    for (int end = 0; end < END_COUNT; end++) {
        const char *library = json_string_value(json_object_get(all[end], "library"));

        if (library)
            fprintf(out, "%s%s %s", between, end_names[end], library);
        between = ", ";
    }
    fputc('\n', out);
}

/* A socket buffer that differs from the requested size. */
static void print_clamp(FILE *out, const char *end, const char *word, const json_t *clamp)
{
    const char *sysctl = json_string_value(json_object_get(clamp, "sysctl"));
    json_int_t asked_bytes = json_integer_value(json_object_get(clamp, "asked_bytes"));
    json_int_t given_bytes = json_integer_value(json_object_get(clamp, "given_bytes"));
    char asked[UNITS_TEXT_MAX], given[UNITS_TEXT_MAX];

    units_format_size(asked, (uint64_t)asked_bytes);
    units_format_size(given, (uint64_t)given_bytes);
    fprintf(out, "  %s=%s: the %s was given %s, ", word, asked, end, given);
    if (sysctl)
        fprintf(out, "the most that sysctl %s allows\n", sysctl);
    else
        fprintf(out, "the %s that the system has\n", given_bytes < asked_bytes ? "most" : "least");
}

static void print_clamps(FILE *out, const json_t *const all[END_COUNT])
{
    for (int end = 0; end < END_COUNT; end++) {
        const json_t *thread = json_array_get(json_object_get(all[end], "threads"), 0);
        json_t *clamped = json_object_get(json_object_get(thread, "options"), "clamped"), *clamp;
        const char *word;

        json_object_foreach(clamped, word, clamp) print_clamp(out, end_names[end], word, clamp);
    }
}

void setting_print(FILE *out, const json_t *record, const json_t *const all[END_COUNT])
{
    print_lab(out, record);
    print_tls(out, all);
    print_clamps(out, all);
    print_place(out, record, all);
}

void setting_print_security(FILE *out, const json_t *record)
{
    const char *between = "";
    char key[32];

    fputs(record_word(record, "security"), out);
    for (int end = 0; end < END_COUNT; end++) {
        snprintf(key, sizeof key, "%s.security", end_names[end]);
        if (!*record_word(record, key))
            continue;
        fprintf(out, "%s%s", between, record_word(record, key));
        between = "/";
    }
}
