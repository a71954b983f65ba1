/* SPDX-License-Identifier: MIT */
#include "record.h"

#include "measure/histogram.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

struct answer {
    const json_t *record;
    const json_t *ends[END_COUNT]; /* NULL where there is none */
    const json_t *driver;          /* the client or the server */
    bool both;                     /* the other end drives too */
    uint64_t messages;             /* of all drivers */
};

/* ---- figures with units ---- */

#define SCALED_MAX 64

struct scale {
    double from, factor;
    const char *unit;
};

static const struct scale time_scales[] = {
    {1, 1, " s"}, {1e-3, 1e3, " ms"}, {1e-6, 1e6, " us"}, {0, 1e9, " ns"}};
static const struct scale rate_scales[] = {
    {1e9, 1e-9, " Gbit/s"}, {1e6, 1e-6, " Mbit/s"}, {1e3, 1e-3, " kbit/s"}, {0, 1, " bit/s"}};
static const struct scale count_scales[] = {{1e6, 1e-6, " M"}, {1e3, 1e-3, " k"}, {0, 1, ""}};

/* Three digits, never an exponent: 999.7 us becomes 1 ms. The largest unit may have more digits. */
static const char *format_scaled(char text[SCALED_MAX], double value, const struct scale *scales)
{
    while (value * 1.0005 < scales->from)
        scales++;
    value *= scales->factor;
    snprintf(text, SCALED_MAX, value < 999.5 ? "%.3g%s" : "%.0f%s", value, scales->unit);
    return text;
}

#define SCALED(value, scales) format_scaled((char[SCALED_MAX]){0}, value, scales)
#define TIME(seconds) SCALED(seconds, time_scales)
#define RATE(bytes_per_second) SCALED(8 * (bytes_per_second), rate_scales)

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static const char *were(uint64_t count)
{
    return count == 1 ? " was" : "s were";
}

/* ---- the words ---- */

/* Prints nothing if the run does not use the word. */
static void print_word(const json_t *record, const char *before, const char *key, const char *after)
{
    const char *value = record_word(record, key);
    if (*value)
        printf("%s%s%s", before, value, after);
}

static void print_head(const json_t *record)
{
    print_word(record, "", "workload", "");
    print_word(record, " ", "message", "");
    print_word(record, " -> ", "reply", "");
    if (*record_word(record, "op"))
        print_word(record, " of ", "protocol", "");
    print_word(record, " ", "op", "");
    print_word(record, " (", "direction", ")");
    print_word(record, " by ", "write", "");
    print_word(record, " -> ", "reply_write", "");
    if (record_word_is(record, "workload", "proxy"))
        print_word(record, " in chunks of ", "chunk", "");
    print_word(record, ", ", "transport", " ");
    print_word(record, "", "security", ""); /* where the ends differ, as "gnutls/openssl" */
    print_word(record, "", "client.security", "");
    print_word(record, "/", "server.security", "");
    print_word(record, "/", "proxy.security", "");
    print_word(record, ", ", "connections", " connection");
    fputs(record_word_is(record, "connections", "1") ? "" : "s", stdout);
    if (record_word_is(record, "workload", "connect"))
        fputs(" at a time", stdout);
    if (!record_word_is(record, "depth", "1"))
        print_word(record, ", depth ", "depth", "");
    if (!record_word_is(record, "window", "1"))
        print_word(record, ", window ", "window", "");
    if (record_word_is(record, "verify", "on"))
        fputs(", verified", stdout);
    print_word(record, ", peer ", "peer", "");
    if (json_object_get(record, "subject"))
        printf(", %s", record_text(record, "subject.version"));
    if (!record_word_is(record, "rate", "closed"))
        print_word(record, "\n  open loop: ", "rate", " requests/s are due, ");
    print_word(record, "arrival=", "arrival", "");
    print_word(record, " pace=", "pace", "");
    putchar('\n');
}

/* ---- times and rates ---- */

/* The time from the start of the first thread to the end of the last. 0 if a thread that sent or
 * received has no interval. */
static double elapsed_seconds(const json_t *end)
{
    uint64_t begun = UINT64_MAX, ended = 0;
    const json_t *thread;
    size_t i;

    json_array_foreach(json_object_get(end, "threads"), i, thread) {
        uint64_t from = record_number(thread, "begun_ns"), to = record_number(thread, "ended_ns");

        if (!to && (record_number(thread, "messages_sent") || record_number(thread, "messages_received")))
            return 0;
        if (to && from < begun)
            begun = from;
        if (to > ended)
            ended = to;
    }
    return ended > begun ? (double)(ended - begun) / 1e9 : 0;
}

/* Adds up the histograms of all threads. Prints a quantile only if a request ranks above it, as the
 * tables do. `unsent` requests were due and never sent: they rank behind all others, so a quantile
 * among them is only known to be above the maximum. */
static void print_histogram(const struct answer *answer, const char *name, const char *key, uint64_t unsent)
{
    static struct histogram all; /* static: 30 KiB */
    static const struct {
        double share;
        const char *name;
    } quantiles[] = {{0.5, "p50"}, {0.9, "p90"}, {0.99, "p99"}, {0.999, "p99.9"}, {1, "max"}};
    const char *between = " ";
    const json_t *thread, *bin;
    size_t i, j;

    histogram_reset(&all);
    json_array_foreach(json_object_get(answer->driver, "threads"), i, thread) {
        const json_t *recorded = json_object_get(thread, key);
        uint64_t minimum = record_number(recorded, "minimum"), maximum = record_number(recorded, "maximum");

        all.count += record_number(recorded, "count");
        if (recorded && minimum < all.minimum)
            all.minimum = minimum;
        if (maximum > all.maximum)
            all.maximum = maximum;
        json_array_foreach(json_object_get(recorded, "bins"), j, bin) {
            uint64_t low = (uint64_t)json_integer_value(json_array_get(bin, 0));
            all.bins[histogram_bin(low)] += (uint64_t)json_integer_value(json_array_get(bin, 2));
        }
    }
    if (!all.count)
        return;
    printf("  %s", name);
    for (i = 0; i < sizeof quantiles / sizeof *quantiles; i++) {
        double total = (double)(all.count + unsent), share = quantiles[i].share;
        double rank = ceil(share * total - 1e-9);
        bool is_known = rank <= (double)all.count;
        double ns = is_known && share < 1 ? histogram_value(&all, (uint64_t)rank) : (double)all.maximum;

        if (share == 1 || total * (1 - share) >= 1 - 1e-9)
            printf("%s%s %s%s", record_between(&between), quantiles[i].name, is_known ? "" : "> ",
                   TIME(ns / 1e9));
    }
    putchar('\n');
}

static void print_per_second(const struct answer *answer, const char *unit)
{
    printf("%s %ss/s, %" PRIu64 " %s%s\n",
           SCALED((double)answer->messages / elapsed_seconds(answer->driver), count_scales), unit,
           answer->messages, unit, plural(answer->messages));
}

static void print_closed_loop(const struct answer *answer)
{
    bool connects = record_word_is(answer->record, "workload", "connect");
    bool is_one = record_word_is(answer->record, "connections", "1");
    const char *unit = connects ? "connection" : "message";
    double spent_ns = 0; /* sum over the connections */
    const json_t *thread;
    size_t i;

    json_array_foreach(json_object_get(answer->driver, "threads"), i, thread)
        spent_ns +=
            (double)record_number(thread, "elapsed_ns") * (double)record_number(thread, "connections");
    fputs("  ", stdout);
    if (answer->messages >= record_sum(answer->driver, "connections"))
        printf("%s per %s%s, ", TIME(spent_ns / 1e9 / (double)answer->messages), unit,
               is_one || connects ? "" : " on its connection");
    print_per_second(answer, unit);
}

static void print_request(const struct answer *answer)
{
    uint64_t due = record_sum(answer->driver, "due"), late = record_sum(answer->driver, "late");

    if (elapsed_seconds(answer->driver) <= 0)
        return;
    if (record_word_is(answer->record, "rate", "closed")) {
        print_closed_loop(answer);
        print_histogram(answer, "latency", "latency", late);
    } else { /* the mean time per request is only the inverse of the rate: shows how many were sent */
        printf("  %" PRIu64 " request%s due, ", due, were(due));
        if (late) {
            printf("%" PRIu64 " of them never sent; ", late);
            print_per_second(answer, "message");
        } else {
            printf("%s sent\n", due == 1 ? "and was" : "all of them were");
        }
        print_histogram(answer, "latency from the intended start", "latency", late);
    }
    print_histogram(answer, "service from the send", "service", 0);
    print_histogram(answer, "late start", "late_start", late);
    print_histogram(answer, "handshake", "handshake", 0);
    print_histogram(answer, "hand-over to the sender", "handover", 0);
}

/* Bytes per second, by the clock of the end. A receiver starts its clock at the first arrival, so
 * the bytes of that arrival do not count. */
static double byte_rate(const json_t *end, const char *key)
{
    double seconds = elapsed_seconds(end);
    return seconds > 0 ? (double)(record_sum(end, key) - record_sum(end, "first_bytes")) / seconds : 0;
}

static void print_stream(const struct answer *answer)
{
    const json_t *server = answer->ends[END_SERVER], *client = answer->ends[END_CLIENT];
    uint64_t bytes = record_sum(server, "bytes_received") + record_sum(client, "bytes_received");
    uint64_t messages = record_sum(server, "messages_received") + record_sum(client, "messages_received");
    double to_server = byte_rate(server, "bytes_received"), to_client = byte_rate(client, "bytes_received");
    double rate = to_server + to_client;

    if (!bytes) { /* there is no other end, or it is a foreign program */
        bytes = record_sum(client, "bytes_sent");
        messages = answer->messages;
        rate = byte_rate(client, "bytes_sent");
    }
    if (!messages || rate <= 0) {
        printf("  %" PRIu64 " message%s: too few to time\n", messages, plural(messages));
        return;
    }
    printf("  %s, %s per message, %" PRIu64 " message%s\n", RATE(rate),
           TIME((double)bytes / rate / (double)messages), messages, plural(messages));
    if (answer->both)
        printf("  of these %s to the server, %s to the client\n", RATE(to_server), RATE(to_client));
}

/* ---- counts ---- */

/* Prints the counts of one end per `unit` that it sends. If it sends none, per message that it
 * receives. At a proxy, per message of the run. */
static void print_counts(const struct answer *answer, enum end which, const char *unit)
{
    static const struct {
        const char *name, *key;
        const char *of; /* the count is printed as a share of this count; NULL: per message */
    } counts[] = {
        {"segments", "tcp_info.data_segs_out.sum", NULL},
        {"TLS records", "records_sent", NULL},
        {"handshakes", "handshakes", NULL},
        {"write calls", "write_calls", NULL},
        {"read calls", "read_calls", NULL},
        {"to connect and close", "connect_calls", NULL},
        {"waits", "wait_calls", NULL},
        {"requests", "requests", NULL},
        {"completions of its ring", "completions", NULL},
        {"chunks", "chunks_sent", NULL},
        {"groups", "groups_sent", NULL},
        {"of zero-copy sends copied by the kernel", "copied", "lent"},
        {"of received bytes mapped", "mapped_bytes", "bytes_received"},
    };
    const json_t *end = answer->ends[which];
    uint64_t sent = record_sum(end, "messages_sent");
    uint64_t received = which == END_PROXY ? answer->messages : record_sum(end, "messages_received");
    uint64_t messages = sent ? sent : received;
    const char *between = "";

    if (!end || !messages)
        return;
    printf("  per %s: ", sent ? unit : "message");
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        double count = (double)record_sum(end, counts[i].key);
        double of = counts[i].of ? (double)record_sum(end, counts[i].of) : 0;

        if (of > 0 && record_first(end, counts[i].key))
            printf("%s%.0f %% %s", record_between(&between), 100 * count / of, counts[i].name);
        else if (!counts[i].of && count > 0)
            printf("%s%.2f %s", record_between(&between), count / (double)messages, counts[i].name);
    }
    if (!record_first(end, "write_calls"))
        printf("%suncounted calls of libuv", between);
    printf(" (the %s)\n", end_names[which]);
}

/* Prints nothing for an end whose system does not report the CPU time of a thread. */
static void print_cpu(const struct answer *answer)
{
    const char *between = "  CPU per message: ";
    double messages = (double)answer->messages;

    for (int end = 0; end < END_COUNT; end++) {
        const json_t *report = answer->ends[end];
        uint64_t ns = record_sum(report, "cpu.user_ns") + record_sum(report, "cpu.system_ns");

        if (record_first(report, "cpu.user_ns"))
            printf("%s%s %s", record_between(&between), end_names[end], TIME((double)ns / 1e9 / messages));
    }
    if (json_object_get(answer->record, "subject"))
        printf("%ssubject %s", record_between(&between),
               TIME((double)record_number(answer->record, "subject.cpu_ns") / 1e9 / messages));
    if (*between == ',')
        putchar('\n');
}

static void print_command(const json_t *record)
{
    static const char *const times[][2] = {{"wall", "hyperfine.wall_ns"},
                                           {"user", "hyperfine.user_ns"},
                                           {"system", "hyperfine.system_ns"},
                                           {"CPU of the subject", "subject.cpu_ns"}};

    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        printf("%s%s %s", i ? ", " : "  ", times[i][0],
               TIME((double)record_number(record, times[i][1]) / 1e9));
    printf("\n  %s moved %" PRIu64 " bytes in the rehearsal\n", record_text(record, "load.name"),
           record_number(record, "load.moved_bytes"));
}

void answer_print(const json_t *record)
{
    struct answer answer = {.record = record};
    bool drives[END_COUNT];

    for (int end = 0; end < END_COUNT; end++) {
        answer.ends[end] = json_object_get(record, end_names[end]);
        drives[end] = json_is_true(json_object_get(answer.ends[end], "drives"));
    }
    enum end driver = drives[END_CLIENT] ? END_CLIENT : END_SERVER;
    enum end other = drives[END_CLIENT] ? END_SERVER : END_CLIENT;
    answer.driver = answer.ends[driver];
    answer.both = drives[END_CLIENT] && drives[END_SERVER];
    answer.messages = record_sum(answer.driver, "messages_sent");
    if (answer.both)
        answer.messages += record_sum(answer.ends[other], "messages_sent");
    if (record_word_is(record, "direction", "receive") && *record_word(record, "peer"))
        answer.messages = record_sum(answer.ends[END_CLIENT], "messages_received");
    print_head(record);
    if (json_object_get(record, "load")) {
        print_command(record);
        return;
    }
    if (!answer.messages) {
        uint64_t late = record_sum(answer.driver, "late");
        fputs("  no message was finished in the time", stdout);
        if (late)
            printf(", %" PRIu64 " request%s due and never sent", late, were(late));
        putchar('\n');
        return;
    }
    (*record_word(record, "direction") ? print_stream : print_request)(&answer);
    print_counts(&answer, END_PROXY, "message");
    print_counts(&answer, driver, "message");
    print_counts(&answer, other, answer.both ? "message" : "reply");
    const json_t *client = answer.ends[END_CLIENT];
    uint64_t replies = record_sum(client, "messages_received");
    /* The server reports nothing: segments per reply, as received. */
    if (!answer.ends[END_SERVER] && replies && record_first(client, "tcp_info.data_segs_in"))
        printf("  per reply: %.2f segments (as the client received them)\n",
               (double)record_sum(client, "tcp_info.data_segs_in.sum") / (double)replies);
    print_cpu(&answer);
    environment_print(record, answer.ends);
}
