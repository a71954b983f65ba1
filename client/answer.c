/* SPDX-License-Identifier: MIT */
#include "answer.h"

#include "measure/histogram.h"
#include "record.h"

#include <inttypes.h>
#include <string.h>

/* ---- figures with units ---- */

struct scale {
    double from;
    double factor;
    const char *unit;
};

static const struct scale time_scales[] = {{1, 1, "s"}, {1e-3, 1e3, "ms"}, {1e-6, 1e6, "us"}, {0, 1e9, "ns"}};
static const struct scale rate_scales[] = {
    {1e9, 1e-9, "Gbit/s"}, {1e6, 1e-6, "Mbit/s"}, {1e3, 1e-3, "kbit/s"}, {0, 1, "bit/s"}};

static void print_scaled(FILE *out, double value, const struct scale *scales)
{
    while (value < scales->from)
        scales++;
    fprintf(out, "%.3g %s", value * scales->factor, scales->unit);
}

static const struct scale count_scales[] = {{1e6, 1e-6, "M"}, {1e3, 1e-3, "k"}, {0, 1, ""}};

static void print_time(FILE *out, double seconds)
{
    print_scaled(out, seconds, time_scales);
}

/* ---- what the record says ---- */

struct ends {
    const json_t *client, *server, *driver, *other;
    bool both;  /* the other drives too */
    bool takes; /* the driver receives from a foreign peer and sends nothing */
};

static const char *word(const json_t *record, const char *key)
{
    const char *value = json_string_value(json_object_get(json_object_get(record, "words"), key));

    return value ? value : "";
}

/* From the first thread's beginning to the last one's end, in ns; 0 where a thread had no interval. */
static uint64_t measure_together(const json_t *end)
{
    const json_t *thread;
    uint64_t begun = UINT64_MAX, ended = 0;
    size_t i;

    json_array_foreach(json_object_get(end, "threads"), i, thread)
    {
        uint64_t from = (uint64_t)json_integer_value(json_object_get(thread, "begun_ns"));
        uint64_t to = (uint64_t)json_integer_value(json_object_get(thread, "ended_ns"));

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

static void print_head(FILE *out, const json_t *record)
{
    const char *reply = word(record, "reply"), *direction = word(record, "direction");

    fprintf(out, "%s %s", word(record, "workload"), word(record, "message"));
    if (*reply)
        fprintf(out, " -> %s", reply);
    if (*direction)
        fprintf(out, " (%s)", direction);
    if (*word(record, "write"))
        fprintf(out, " by %s", word(record, "write"));
    if (*word(record, "reply_write"))
        fprintf(out, " -> %s", word(record, "reply_write"));
    fprintf(out, ", %s %s, %s connection%s\n", word(record, "transport"), word(record, "security"),
            word(record, "connections"), strcmp(word(record, "connections"), "1") != 0 ? "s" : "");
}

static void print_histogram(FILE *out, const char *name, const json_t *end, const char *key)
{
    static struct histogram merged; /* 16 KiB, once */
    static const double quantiles[] = {0.5, 0.9, 0.99, 0.999};
    static const char *const names[] = {"p50", "p90", "p99", "p99.9"};

    merge_histograms(&merged, end, key);
    fprintf(out, "  %s ", name);
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++) {
        fprintf(out, "%s ", names[i]);
        print_time(out, histogram_quantile(&merged, quantiles[i]) / 1e9);
        fprintf(out, ", ");
    }
    fprintf(out, "max ");
    print_time(out, (double)merged.maximum / 1e9);
    fputc('\n', out);
}

/* Nanoseconds that the connections of an end spent, one after the other. */
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

static void print_request(FILE *out, const json_t *record, const struct ends *ends)
{
    uint64_t messages = record_sum(ends->driver, "messages_sent"), elapsed = measure_together(ends->driver);
    bool one = !strcmp(word(record, "connections"), "1");

    if (!messages || !elapsed)
        return;
    fprintf(out, "  ");
    print_time(out, spent_on_connections(ends->driver) / 1e9 / (double)messages);
    fprintf(out, " per message%s, ", one ? "" : " on its connection");
    print_scaled(out, (double)messages / ((double)elapsed / 1e9), count_scales);
    fprintf(out, " messages/s, %" PRIu64 " messages\n", messages);
    if (!strcmp(word(record, "rate"), "closed")) {
        print_histogram(out, "latency", ends->driver, "latency");
        return;
    }
    fprintf(out, "  of %" PRIu64 " requests that were due, %" PRIu64 " were never sent\n",
            record_sum(ends->driver, "due"), record_sum(ends->driver, "late"));
    print_histogram(out, "latency from the intended start", ends->driver, "latency");
    print_histogram(out, "service from the send", ends->driver, "service");
    print_histogram(out, "late start", ends->driver, "late_start");
}

/* Bytes per second of a receiver, by its own clock: what came first came before it started. */
static double received_rate(const json_t *end)
{
    uint64_t elapsed = measure_together(end);
    uint64_t timed = record_sum(end, "bytes_received") - record_sum(end, "first_bytes");

    return elapsed && timed ? (double)timed / ((double)elapsed / 1e9) : 0;
}

static void print_rate(FILE *out, double bytes_per_second, uint64_t bytes, uint64_t messages)
{
    if (!messages || bytes_per_second <= 0) {
        fprintf(out, "  %" PRIu64 " messages: too few to time\n", messages);
        return;
    }
    fprintf(out, "  ");
    print_scaled(out, bytes_per_second * 8, rate_scales);
    fprintf(out, ", ");
    print_time(out, (double)bytes / bytes_per_second / (double)messages);
    fprintf(out, " per message, %" PRIu64 " messages\n", messages);
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
}

static bool knows(const json_t *end, const char *key)
{
    return json_object_get(json_array_get(json_object_get(end, "threads"), 0), key) != NULL;
}

/* Counts of the end that sends `unit`, per one of them. */
static void print_sender(FILE *out, const char *unit, const json_t *end, const char *name)
{
    const struct {
        const char *what;
        uint64_t count;
        bool shown;
    } counts[] = {
        {"segments", sum_nested(end, "tcp_info", "data_segs_out", "sum"), false},
        {"write calls", record_sum(end, "write_calls"), knows(end, "write_calls")},
        {"read calls", record_sum(end, "read_calls"), knows(end, "read_calls")},
        {"calls to connect and close", record_sum(end, "connect_calls"), false},
        {"waits", record_sum(end, "wait_calls"), false},
    };
    uint64_t messages = record_sum(end, "messages_sent");
    const char *between = "";

    if (!messages)
        return;
    fprintf(out, "  per %s: ", unit);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (!counts[i].count && !counts[i].shown)
            continue;
        fprintf(out, "%s%.2f %s", between, (double)counts[i].count / (double)messages, counts[i].what);
        between = ", ";
    }
    if (!knows(end, "write_calls"))
        fprintf(out, "%suncounted calls of libuv", between);
    fprintf(out, " (the %s)\n", name);
}

static void print_cpu(FILE *out, const struct ends *ends, uint64_t messages)
{
    const json_t *all[] = {ends->client, ends->server};
    static const char *const names[] = {"client", "server"};

    fprintf(out, "  CPU per message:");
    for (size_t i = 0; i < 2; i++) {
        uint64_t ns =
            sum_nested(all[i], "cpu", "user_ns", NULL) + sum_nested(all[i], "cpu", "system_ns", NULL);

        if (!all[i])
            continue;
        fprintf(out, "%s %s ", i ? "," : "", names[i]);
        print_time(out, (double)ns / 1e9 / (double)messages);
    }
    fputc('\n', out);
}

static void print_cpus(FILE *out, const char *name, const json_t *end)
{
    const json_t *thread;
    size_t i;

    fprintf(out, "%s on CPU ", name);
    json_array_foreach(json_object_get(end, "threads"), i, thread)
    {
        if (i < 4)
            fprintf(out, "%s%d", i ? "," : "",
                    (int)json_integer_value(json_object_get(json_object_get(thread, "cpus"), "end")));
    }
    if (i > 4)
        fprintf(out, "...");
}

static void print_setting(FILE *out, const json_t *record, const struct ends *ends)
{
    const json_t *options =
        json_object_get(json_array_get(json_object_get(ends->client, "threads"), 0), "options");
    const char *congestion = json_string_value(json_object_get(options, "congestion"));

    fprintf(out, "  place=%s: ", word(record, "place"));
    print_cpus(out, "client", ends->client);
    if (ends->server) {
        fprintf(out, ", ");
        print_cpus(out, "server", ends->server);
    }
    if (congestion)
        fprintf(out, "; congestion control %s", congestion);
    fputc('\n', out);
}

void answer_print(FILE *out, const json_t *record)
{
    struct ends ends = {.client = json_object_get(record, "client"),
                        .server = json_object_get(record, "server")};
    bool client_drives = json_boolean_value(json_object_get(ends.client, "drives"));
    uint64_t messages;

    ends.driver = client_drives ? ends.client : ends.server;
    ends.other = client_drives ? ends.server : ends.client;
    ends.both = client_drives && json_boolean_value(json_object_get(ends.server, "drives"));
    ends.takes = !strcmp(word(record, "peer_does"), "chargen");
    messages = record_sum(ends.driver, ends.takes ? "messages_received" : "messages_sent");
    print_head(out, record);
    if (!messages) {
        fprintf(out, "  no message was finished in the time\n");
        return;
    }
    if (strcmp(word(record, "workload"), "stream") != 0)
        print_request(out, record, &ends);
    else
        print_stream(out, &ends);
    print_sender(out, "message", ends.driver, client_drives ? "client" : "server");
    print_sender(out, ends.both ? "message" : "reply", ends.other, client_drives ? "server" : "client");
    print_cpu(out, &ends, messages + (ends.both ? record_sum(ends.other, "messages_sent") : 0));
    print_setting(out, record, &ends);
}
