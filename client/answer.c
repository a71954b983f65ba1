/* SPDX-License-Identifier: MIT */
#include "answer.h"

#include "measure/histogram.h"
#include "plan/plan.h"
#include "record.h"
#include "segments.h"
#include "setting.h"

#include <inttypes.h>
#include <string.h>

/* ---- figures with units ---- */

struct scale {
    double from;
    double factor;
    const char *unit;
};

static const struct scale time_scales[] = {
    {1, 1, " s"}, {1e-3, 1e3, " ms"}, {1e-6, 1e6, " us"}, {0, 1e9, " ns"}};
static const struct scale rate_scales[] = {
    {1e9, 1e-9, " Gbit/s"}, {1e6, 1e-6, " Mbit/s"}, {1e3, 1e-3, " kbit/s"}, {0, 1, " bit/s"}};

/* Three digits, never an exponent: 999.7 us becomes 1 ms. Values above the largest unit get more
 * digits. */
static void print_scaled(FILE *out, double value, const struct scale *scales)
{
    while (value * 1.0005 < scales->from)
        scales++;
    value *= scales->factor;
    fprintf(out, value < 999.5 ? "%.3g%s" : "%.0f%s", value, scales->unit);
}

static const struct scale count_scales[] = {{1e6, 1e-6, " M"}, {1e3, 1e-3, " k"}, {0, 1, ""}};

static void print_time(FILE *out, double seconds)
{
    print_scaled(out, seconds, time_scales);
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* ---- what the record says ---- */

struct ends {
    const json_t *all[END_COUNT]; /* NULL where there is none */
    const json_t *driver, *other; /* of client and server */
    bool both;                    /* the other end drives too */
    bool takes;                   /* the driver receives from a foreign peer and sends nothing */
};

static bool did_nothing(const json_t *thread)
{
    return !json_integer_value(json_object_get(thread, "messages_sent")) &&
           !json_integer_value(json_object_get(thread, "messages_received"));
}

/* From the first thread's start to the last thread's end, in ns. 0 if a working thread has no
 * interval. */
static uint64_t measure_together(const json_t *end)
{
    const json_t *thread;
    uint64_t begun = UINT64_MAX, ended = 0;
    size_t i;

    json_array_foreach(json_object_get(end, "threads"), i, thread)
    {
        uint64_t from = (uint64_t)json_integer_value(json_object_get(thread, "begun_ns"));
        uint64_t to = (uint64_t)json_integer_value(json_object_get(thread, "ended_ns"));

        if (!to && did_nothing(thread))
            continue;
        if (!to)
            return 0;
        begun = from < begun ? from : begun;
        ended = to > ended ? to : ended;
    }
    return ended > begun ? ended - begun : 0;
}

static uint64_t sum_nested(const json_t *end, const char *object, const char *key, const char *inner)
{
    const json_t *thread;
    uint64_t sum = 0;
    size_t i;

    json_array_foreach(json_object_get(end, "threads"), i, thread)
    {
        const json_t *value = json_object_get(json_object_get(thread, object), key);

        sum += (uint64_t)json_integer_value(inner ? json_object_get(value, inner) : value);
    }
    return sum;
}

static void merge_histograms(struct histogram *all, const json_t *end, const char *key)
{
    const json_t *thread, *bin;
    size_t i, j;

    histogram_reset(all);
    json_array_foreach(json_object_get(end, "threads"), i, thread)
    {
        const json_t *recorded = json_object_get(thread, key);
        struct histogram one;

        if (!recorded)
            continue;
        histogram_reset(&one);
        one.count = (uint64_t)json_integer_value(json_object_get(recorded, "count"));
        one.minimum = (uint64_t)json_integer_value(json_object_get(recorded, "minimum"));
        one.maximum = (uint64_t)json_integer_value(json_object_get(recorded, "maximum"));
        json_array_foreach(json_object_get(recorded, "bins"), j, bin)
        {
            uint64_t low = (uint64_t)json_integer_value(json_array_get(bin, 0));

            one.bins[histogram_bin(low)] = (uint64_t)json_integer_value(json_array_get(bin, 2));
        }
        histogram_merge(all, &one);
    }
}

/* ---- the lines ---- */

/* A word with a count, if that is more than one. */
static void print_more_than_one(FILE *out, const json_t *record, const char *key)
{
    const char *value = record_word(record, key);

    if (*value && strcmp(value, "1") != 0)
        fprintf(out, ", %s %s", key, value);
}

/* The used words, each with its prefix. */
static void print_words(FILE *out, const json_t *record)
{
    static const char *const parts[][3] = {
        {" ", "message", ""},  {" -> ", "reply", ""},       {" (", "direction", ")"},
        {" by ", "write", ""}, {" -> ", "reply_write", ""},
    };

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (*record_word(record, parts[i][1]))
            fprintf(out, "%s%s%s", parts[i][0], record_word(record, parts[i][1]), parts[i][2]);
    if (record_says(record, "workload", "proxy"))
        fprintf(out, " in chunks of %s", record_word(record, "chunk"));
}

static void print_head(FILE *out, const json_t *record)
{
    const char *connections = record_word(record, "connections");

    fprintf(out, "%s", record_word(record, "workload"));
    print_words(out, record);
    fprintf(out, ", %s ", record_word(record, "transport"));
    setting_print_security(out, record);
    fprintf(out, ", %s connection%s%s", connections, strcmp(connections, "1") != 0 ? "s" : "",
            record_says(record, "workload", "connect") ? " at a time" : "");
    print_more_than_one(out, record, "depth");
    print_more_than_one(out, record, "window");
    if (record_says(record, "verify", "on"))
        fprintf(out, ", verified");
    if (*record_word(record, "peer"))
        fprintf(out, ", peer %s (%s)", record_word(record, "peer"), record_word(record, "peer_does"));
    if (*record_word(record, "pace"))
        fprintf(out, "\n  open loop: %s requests/s are due, arrival=%s pace=%s", record_word(record, "rate"),
                record_word(record, "arrival"), record_word(record, "pace"));
    fputc('\n', out);
}

/* A quantile only if its tail was observed, as in the tables. */
static void print_histogram(FILE *out, const char *name, const json_t *end, const char *key)
{
    static struct histogram merged; /* static: 16 KiB */
    static const struct {
        double share;
        const char *name;
    } quantiles[] = {{0.5, "p50"}, {0.9, "p90"}, {0.99, "p99"}, {0.999, "p99.9"}};

    merge_histograms(&merged, end, key);
    fprintf(out, "  %s ", name);
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++) {
        if ((double)merged.count * (1 - quantiles[i].share) < 1 - 1e-9)
            break;
        fprintf(out, "%s ", quantiles[i].name);
        print_time(out, histogram_quantile(&merged, quantiles[i].share) / 1e9);
        fprintf(out, ", ");
    }
    fprintf(out, "max ");
    print_time(out, (double)merged.maximum / 1e9);
    fputc('\n', out);
}

/* Sum of the nanoseconds of an end's connections. */
static double spent_on_connections(const json_t *end)
{
    const json_t *thread;
    double sum = 0;
    size_t i;

    json_array_foreach(json_object_get(end, "threads"), i, thread)
    {
        sum += json_number_value(json_object_get(thread, "elapsed_ns")) *
               json_number_value(json_object_get(thread, "connections"));
    }
    return sum;
}

/* Open loop: the mean time per request would only be the inverse of the rate. So this line shows
 * what happened to the due requests. */
static void print_open_loop(FILE *out, const struct ends *ends, uint64_t messages)
{
    uint64_t due = record_sum(ends->driver, "due"), late = record_sum(ends->driver, "late");

    fprintf(out, "  %" PRIu64 " request%s due, ", due, due == 1 ? " was" : "s were");
    if (late) {
        fprintf(out, "%" PRIu64 " of them never sent; ", late);
        print_scaled(out, (double)messages / ((double)measure_together(ends->driver) / 1e9), count_scales);
        fprintf(out, " messages/s, %" PRIu64 " message%s\n", messages, plural(messages));
    } else {
        fprintf(out, "%s sent\n", due == 1 ? "and was" : "all of them were");
    }
    print_histogram(out, "latency from the intended start", ends->driver, "latency");
    print_histogram(out, "service from the send", ends->driver, "service");
    print_histogram(out, "late start", ends->driver, "late_start");
}

static void print_closed_loop(FILE *out, const json_t *record, const struct ends *ends, uint64_t messages)
{
    const char *unit = record_says(record, "workload", "connect") ? "connection" : "message";
    double seconds = (double)measure_together(ends->driver) / 1e9;

    fprintf(out, "  ");
    if (messages >= record_sum(ends->driver, "connections")) {
        print_time(out, spent_on_connections(ends->driver) / 1e9 / (double)messages);
        fprintf(out, " per %s%s, ", unit,
                record_says(record, "connections", "1") || *unit == 'c' ? "" : " on its connection");
    }
    print_scaled(out, (double)messages / seconds, count_scales);
    fprintf(out, " %ss/s, %" PRIu64 " %s%s\n", unit, messages, unit, plural(messages));
    print_histogram(out, "latency", ends->driver, "latency");
    if (record_knows(ends->driver, "handshake"))
        print_histogram(out, "handshake", ends->driver, "handshake");
}

static void print_request(FILE *out, const json_t *record, const struct ends *ends)
{
    uint64_t messages = record_sum(ends->driver, "messages_sent");

    if (!messages || !measure_together(ends->driver))
        return;
    if (record_says(record, "rate", "closed"))
        print_closed_loop(out, record, ends, messages);
    else
        print_open_loop(out, ends, messages);
    if (record_knows(ends->driver, "handover"))
        print_histogram(out, "hand-over to the sender", ends->driver, "handover");
}

/* Bytes per second of a receiver, by its own clock. The first arrival starts the clock, so its
 * bytes do not count. */
static double received_rate(const json_t *end)
{
    uint64_t elapsed = measure_together(end);
    uint64_t timed = record_sum(end, "bytes_received") - record_sum(end, "first_bytes");

    return elapsed && timed ? (double)timed / ((double)elapsed / 1e9) : 0;
}

static void print_rate(FILE *out, double bytes_per_second, uint64_t bytes, uint64_t messages)
{
    if (!messages || bytes_per_second <= 0) {
        fprintf(out, "  %" PRIu64 " message%s: too few to time\n", messages, plural(messages));
        return;
    }
    fprintf(out, "  ");
    print_scaled(out, bytes_per_second * 8, rate_scales);
    fprintf(out, ", ");
    print_time(out, (double)bytes / bytes_per_second / (double)messages);
    fprintf(out, " per message, %" PRIu64 " message%s\n", messages, plural(messages));
}

static void print_stream(FILE *out, const struct ends *ends)
{
    uint64_t elapsed = measure_together(ends->driver), bytes = record_sum(ends->driver, "bytes_sent");
    double rate;

    if (!ends->other && !ends->takes) {
        rate = elapsed ? (double)bytes / ((double)elapsed / 1e9) : 0;
        print_rate(out, rate, bytes, record_sum(ends->driver, "messages_sent"));
        return;
    }
    rate = received_rate(ends->other) + received_rate(ends->driver);
    print_rate(out, rate,
               record_sum(ends->other, "bytes_received") + record_sum(ends->driver, "bytes_received"),
               record_sum(ends->other, "messages_received") + record_sum(ends->driver, "messages_received"));
    if (ends->both) {
        fprintf(out, "  of these ");
        print_scaled(out, received_rate(ends->all[END_SERVER]) * 8, rate_scales);
        fprintf(out, " to the server, ");
        print_scaled(out, received_rate(ends->all[END_CLIENT]) * 8, rate_scales);
        fprintf(out, " to the client\n");
    }
}

/* Zero-copy sends, and those that the kernel copied anyway. */
static void print_copied(FILE *out, const json_t *end, const char *name)
{
    uint64_t lent = record_sum(end, "lent"), copied = record_sum(end, "copied");

    if (copied)
        fprintf(out, "  the kernel copied %.0f %% of what was to be sent without a copy%s (the %s)\n",
                100 * (double)copied / (double)lent,
                copied == lent ? ", as it does for a receiver on the same machine" : "", name);
}

/* Bytes received as mapped pages, if any. */
static void print_mapped(FILE *out, const json_t *end, const char *name)
{
    uint64_t mapped = record_sum(end, "mapped_bytes"), all = mapped + record_sum(end, "copied_bytes");

    if (all)
        fprintf(out, "  %.0f %% of what arrived was mapped, the rest copied (the %s)\n",
                100 * (double)mapped / (double)all, name);
}

/* Counts of one end per `unit` that it sends. If it sends none: per message that it receives. */
static void print_counts(FILE *out, const char *unit, const json_t *end, const char *name)
{
    uint64_t sent = record_sum(end, "messages_sent"), messages = sent;
    const struct {
        const char *what;
        uint64_t count;
        bool shown;
    } counts[] = {
        {"segments", sum_nested(end, "tcp_info", "data_segs_out", "sum"), false},
        {"TLS records", record_sum(end, sent ? "records_sent" : "records_received"), false},
        {"handshakes", record_sum(end, "handshakes"), false},
        {"write calls", record_sum(end, "write_calls"), record_knows(end, "write_calls")},
        {"read calls", record_sum(end, "read_calls"), record_knows(end, "read_calls")},
        {"to connect and close", record_sum(end, "connect_calls"), false},
        {"waits", record_sum(end, "wait_calls"), false},
        {"requests", record_sum(end, "requests"), false},
        {"completions of its ring", record_sum(end, "completions"), false},
    };
    const char *between = "";

    if (!sent)
        messages = record_sum(end, "messages_received");
    if (!messages)
        return;
    fprintf(out, "  per %s: ", sent ? unit : "message");
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (!counts[i].count && (!counts[i].shown || !sent))
            continue;
        fprintf(out, "%s%.2f %s", between, (double)counts[i].count / (double)messages, counts[i].what);
        between = ", ";
    }
    if (!record_knows(end, "write_calls"))
        fprintf(out, "%suncounted calls of libuv", between);
    fprintf(out, " (the %s)\n", name);
    print_copied(out, end, name);
    print_mapped(out, end, name);
}

/* The figures of a proxy, per message that the source sends. */
static void print_proxy(FILE *out, const json_t *proxy, uint64_t messages)
{
    uint64_t segments = sum_nested(proxy, "tcp_info", "data_segs_out", "sum");
    uint64_t chunks = record_sum(proxy, "chunks_sent"), groups = record_sum(proxy, "groups_sent");

    fprintf(out, "  per message: ");
    if (segments)
        fprintf(out, "%.2f segments, ", (double)segments / (double)messages);
    if (record_knows(proxy, "records_sent"))
        fprintf(out, "%.2f TLS records, ", (double)record_sum(proxy, "records_sent") / (double)messages);
    if (record_knows(proxy, "write_calls"))
        fprintf(out, "%.2f write calls, %.2f read calls, ",
                (double)record_sum(proxy, "write_calls") / (double)messages,
                (double)record_sum(proxy, "read_calls") / (double)messages);
    else
        fprintf(out, "uncounted calls of libuv, ");
    if (record_sum(proxy, "wait_calls"))
        fprintf(out, "%.2f waits, ", (double)record_sum(proxy, "wait_calls") / (double)messages);
    if (record_sum(proxy, "requests"))
        fprintf(out, "%.2f requests, %.2f completions, ",
                (double)record_sum(proxy, "requests") / (double)messages,
                (double)record_sum(proxy, "completions") / (double)messages);
    fprintf(out, "%.2f chunks in %.2f groups (the proxy)\n", (double)chunks / (double)messages,
            (double)groups / (double)messages);
    print_copied(out, proxy, "proxy");
}

static bool tells_times(const json_t *end)
{
    const json_t *thread = json_array_get(json_object_get(end, "threads"), 0);

    return json_object_get(json_object_get(thread, "cpu"), "user_ns");
}

/* Prints nothing for an end without this account. */
static void print_cpu(FILE *out, const struct ends *ends, uint64_t messages)
{
    const char *between = "  CPU per message: ";

    for (int end = 0; end < END_COUNT; end++) {
        const json_t *report = ends->all[end];
        uint64_t ns =
            sum_nested(report, "cpu", "user_ns", NULL) + sum_nested(report, "cpu", "system_ns", NULL);

        if (!tells_times(report))
            continue;
        fprintf(out, "%s%s ", between, end_names[end]);
        print_time(out, (double)ns / 1e9 / (double)messages);
        between = ", ";
    }
    if (*between == ',')
        fputc('\n', out);
}

#define CONNECTIONS_TOLD 256 /* with fewer, other memory of the process hides them */

/* Growth of each end's process: docs/record.md. */
static void print_memory(FILE *out, const struct ends *ends)
{
    const char *between = "  memory per connection: ";

    for (int end = 0; end < END_COUNT; end++) {
        const json_t *before = json_object_get(ends->all[end], "resident_before_bytes");
        const json_t *after = json_object_get(ends->all[end], "resident_bytes");
        uint64_t connections = record_sum(ends->all[end], "connections");

        if (!before || !after || connections < CONNECTIONS_TOLD)
            continue;
        fprintf(out, "%s%s %.1f KiB", between, end_names[end],
                (double)(json_integer_value(after) - json_integer_value(before)) / 1024 /
                    (double)connections);
        between = ", ";
    }
    if (*between == ',')
        fputc('\n', out);
}

static bool drives(const json_t *end)
{
    return json_boolean_value(json_object_get(end, "drives"));
}

static void find_ends(struct ends *ends, const json_t *record)
{
    enum end driver;

    for (int end = 0; end < END_COUNT; end++)
        ends->all[end] = json_object_get(record, end_names[end]);
    driver = drives(ends->all[END_CLIENT]) ? END_CLIENT : END_SERVER;
    ends->driver = ends->all[driver];
    ends->other = ends->all[driver == END_CLIENT ? END_SERVER : END_CLIENT];
    ends->both = drives(ends->driver) && drives(ends->other);
    ends->takes = record_says(record, "peer_does", "chargen");
}

void answer_print(FILE *out, const json_t *record)
{
    struct ends ends;
    bool client_drives;
    uint64_t messages;

    find_ends(&ends, record);
    client_drives = ends.driver == ends.all[END_CLIENT];
    messages = record_sum(ends.driver, ends.takes ? "messages_received" : "messages_sent");
    print_head(out, record);
    if (!messages) {
        fprintf(out, "  no message was finished in the time\n");
        return;
    }
    if (*record_word(record, "direction"))
        print_stream(out, &ends);
    else
        print_request(out, record, &ends);
    if (ends.all[END_PROXY])
        print_proxy(out, ends.all[END_PROXY],
                    messages + (ends.both ? record_sum(ends.other, "messages_sent") : 0));
    print_counts(out, "message", ends.driver, client_drives ? "client" : "server");
    print_counts(out, ends.both ? "message" : "reply", ends.other, client_drives ? "server" : "client");
    print_cpu(out, &ends, messages + (ends.both ? record_sum(ends.other, "messages_sent") : 0));
    print_memory(out, &ends);
    segments_print(out, ends.all[END_CLIENT]);
    setting_print(out, record, ends.all);
}
