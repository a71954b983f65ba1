/* SPDX-License-Identifier: MIT */
#include "record.h"
#include "base/units.h"
#include "capture/capture.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SIZES_SHOWN 8
#define CPUS_SHOWN 4

/* The captured segments of one way. */
static void print_way(const char *name, const json_t *way)
{
    const json_t *sizes = json_object_get(way, "sizes"), *pair;
    size_t i;

    printf("; %s %" PRIu64, name, record_number(way, "data_segments"));
    json_array_foreach(sizes, i, pair)
        if (i < SIZES_SHOWN)
            printf("%s%" JSON_INTEGER_FORMAT " x %" JSON_INTEGER_FORMAT, i ? ", " : ": ",
                   json_integer_value(json_array_get(pair, 1)), json_integer_value(json_array_get(pair, 0)));
    if (json_array_size(sizes) > SIZES_SHOWN)
        printf(", ...");
    if (record_number(way, "super_packets"))
        printf(" (%" PRIu64 " packets not cut up yet)", record_number(way, "super_packets"));
}

static void print_capture(const json_t *capture)
{
    if (!capture)
        return;
    printf("  segments captured on %s", record_text(capture, "device"));
    print_way("sent", json_object_get(capture, "sent"));
    print_way("received", json_object_get(capture, "received"));
    if (record_number(capture, "dropped"))
        printf("; %" PRIu64 " packets were dropped, so the counts prove nothing",
               record_number(capture, "dropped"));
    if (json_is_true(json_object_get(capture, "truncated")))
        printf("; more than %u packets, so the end is missing", CAPTURE_PACKETS_MAX);
    printf("%s%s\n", json_object_get(capture, "file") ? "; " : "", record_text(capture, "file"));
}

/* Prints the first few CPUs on which threads of an end finished, each once. */
static void print_cpus(const json_t *end)
{
    const json_t *threads = json_object_get(end, "threads"), *thread;
    size_t i, shown = 0;

    json_array_foreach(threads, i, thread) {
        int cpu = (int)record_number(thread, "cpus.end");
        size_t first = 0; /* thread on this CPU */
        while ((int)record_number(json_array_get(threads, first), "cpus.end") != cpu)
            first++;
        if (first == i && shown == CPUS_SHOWN) {
            printf("...");
            break;
        }
        if (first == i)
            printf("%s%d", shown++ ? "," : "", cpu);
    }
    if (json_array_size(threads) > 1)
        printf(" (%zu threads)", json_array_size(threads));
}

static void print_clamps(const char *end, const json_t *report)
{
    json_t *clamped = json_object_get(record_first(report, "options"), "clamped"), *clamp;
    const char *word;

    json_object_foreach(clamped, word, clamp) {
        uint64_t asked_bytes = record_number(clamp, "asked_bytes");
        uint64_t given_bytes = record_number(clamp, "given_bytes");

        printf("  %s=%s: the %s was given %s, ", word, units_text(&units_size, asked_bytes), end,
               units_text(&units_size, given_bytes));
        if (json_object_get(clamp, "sysctl"))
            printf("the most that sysctl %s allows\n", record_text(clamp, "sysctl"));
        else
            printf("the %s that the system has\n", given_bytes < asked_bytes ? "most" : "least");
    }
}

/* What the client has, and what each other end has if it differs. "": that end does not say it. */
static void print_texts(const char *what, const char *const texts[END_COUNT])
{
    const char *own = texts[END_CLIENT];
    bool is_said = false;

    for (int end = 0; end < END_COUNT; end++)
        is_said |= *texts[end] != '\0';
    if (!is_said)
        return;
    printf("; %s %s", what, *own ? own : "unknown");
    for (int end = 0; end < END_COUNT; end++)
        if (*texts[end] && strcmp(own, texts[end]) != 0)
            printf(", %s's %s", end_names[end], texts[end]);
}

void environment_print(const json_t *record, const json_t *const ends[END_COUNT])
{
    static const char *const keys[] = {"lab", "link_rate", "link_mtu", "link_delay", "link_loss", "sysctl"};
    const json_t *options = record_first(ends[END_CLIENT], "options");

    print_capture(json_object_get(ends[END_CLIENT], "capture"));
    if (record_word_is(record, "lab", "on")) {
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            printf("%s%s=%s", i ? " " : "  ", keys[i], record_word(record, keys[i]));
        putchar('\n');
    }
    if (json_object_get(options, "tls_version")) {
        const char *between = ": ";
        printf("  TLS %s, %s, %s", record_text(options, "tls_version"), record_text(options, "cipher"),
               record_text(options, "key_exchange"));
        for (int end = 0; end < END_COUNT; end++)
            if (ends[end])
                printf("%s%s %s", record_between(&between), end_names[end],
                       record_text(ends[end], "library"));
        putchar('\n');
    }
    for (int end = 0; end < END_COUNT; end++)
        print_clamps(end_names[end], ends[end]);

    const char *between = ": ";
    printf("  place=%s", record_word(record, "place"));
    for (int end = 0; end < END_COUNT; end++)
        if (record_first(ends[end], "cpus")) { /* else the system does not report it */
            printf("%s%s on CPU ", record_between(&between), end_names[end]);
            print_cpus(ends[end]);
        }

    const char *engines[END_COUNT], *algorithms[END_COUNT];
    for (int end = 0; end < END_COUNT; end++) {
        engines[end] = record_text(ends[end], "engine");
        algorithms[end] = record_text(record_first(ends[end], "options"), "congestion");
    }
    print_texts("engine", engines);
    print_texts("congestion", algorithms);
    putchar('\n');
}
