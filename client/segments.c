/* SPDX-License-Identifier: MIT */
#include "segments.h"

#include "capture/tally.h"
#include "connection/workload.h"
#include "placement/cores.h"
#include "record.h"

#include <inttypes.h>
#include <stdio.h>

#define SIZES_SHOWN 8

static const char *const way_names[WAY_COUNT] = {[WAY_SENT] = "sent", [WAY_RECEIVED] = "received"};

/* ---- start ---- */

/* The last CPU of this machine without a data thread. -1: none, so the scheduler chooses. */
static int spare_cpu(const struct plan *plan, bool remote)
{
    bool taken[CORES_CPUS_MAX] = {false};
    struct problem ignored = {0};
    struct place_list list;
    struct cores cores;

    if (cores_read(&cores) < 0)
        return -1;
    for (enum end end = 0; end < END_COUNT; end++) {
        if (!plan_has_end(plan, end) || (remote && end != END_CLIENT) ||
            plan_cpus(plan, end, remote, &list, &ignored) < 0)
            continue;
        for (size_t i = 0; i < list.count; i++)
            taken[list.cpus[i]] = true;
    }
    for (int i = cores.cpu_count - 1; i >= 0; i--)
        if (!taken[cores.cpus[i]])
            return cores.cpus[i];
    return -1;
}

struct capture *segments_watch(const struct plan *plan, const struct address *server, bool remote,
                               const char *path, struct problem *problem)
{
    return capture_start(server, spare_cpu(plan, remote), path, problem);
}

/* ---- report ---- */

static int set_beginning(const struct connection *connection, const struct tcp_reading *before,
                         struct tally *tally, struct problem *problem)
{
    struct address local;

    if (!before->knows_streams)
        return problem_unsupported(problem,
                                   "capture=on: TCP_INFO of this system does not report sent bytes, as "
                                   "Linux does since 4.19");
    if (address_of_socket(&local, connection->calls.fd) < 0)
        return problem_failure(problem, "capture: cannot read the port of a connection");
    tally_begin_at(tally, (uint16_t)address_port(&local), before->sent_bytes, before->received_bytes);
    return 0;
}

/* Sets the beginning of the measured interval of each connection. With reconnects, it begins after
 * the connections of the warm-up: the server reports the last message of all these connections
 * before a thread continues. */
static int set_beginnings(const struct team *team, struct tally *tally, struct problem *problem)
{
    bool reconnects = team->plan->workload->reconnects;
    uint64_t sockets = 0;

    for (size_t i = 0; i < team->worker_count; i++) {
        const struct worker *worker = &team->workers[i];

        sockets += worker->before.calls.made[CALL_SOCKET]; /* a ring connects without one */
        for (size_t j = 0; !reconnects && j < worker->count; j++)
            if (set_beginning(&worker->connections[j], &worker->before.tcp[j], tally, problem) < 0)
                return -1;
    }
    if (reconnects)
        tally_begin_after(tally, sockets);
    return 0;
}

/* Adds all captured segments, and reports them. */
static json_t *make_report(const struct capture *capture, const struct capture_facts *facts,
                           struct tally *tally)
{
    struct captured captured;
    struct segment segment;
    size_t at = 0;

    while (capture_next(capture, &at, &captured))
        if (frame_parse(&segment, facts->link, captured.bytes, captured.size, captured.wire_bytes))
            tally_add(tally, &segment);
    return json_pack("{s:s, s:i, s:I, s:I, s:b, s:s*, s:o, s:o}", "device", facts->device, "snap_bytes",
                     CAPTURE_SNAP_BYTES, "stored_packets", (json_int_t)facts->packets, "dropped",
                     (json_int_t)facts->dropped, "truncated", facts->truncated, "file", facts->path,
                     way_names[WAY_SENT], tally_to_json(tally, WAY_SENT), way_names[WAY_RECEIVED],
                     tally_to_json(tally, WAY_RECEIVED));
}

json_t *segments_report(struct capture *capture, const struct team *team, struct problem *problem)
{
    const struct capture_facts *facts = capture_stop(capture, problem);
    /* the ways with a close_notify: with reconnects only the client sends one */
    unsigned ways = team->plan->workload->reconnects ? 1u << WAY_SENT : 1u << WAY_SENT | 1u << WAY_RECEIVED;
    struct endpoint server;

    if (!facts)
        return NULL;
    endpoint_of(&server, &team->target);
    struct tally *tally = tally_create(&server, team->plan->encrypts ? ways : 0);
    bool has_begun = set_beginnings(team, tally, problem) == 0;
    json_t *report = has_begun ? make_report(capture, facts, tally) : NULL;
    tally_free(tally);
    if (report && capture_write(capture, problem) == 0)
        return report;
    json_decref(report);
    return NULL;
}

/* ---- for people ---- */

static void print_way(const char *name, const json_t *way)
{
    const json_t *pair;
    size_t i;

    printf("; %s %" PRIu64, name, record_number(way, "data_segments"));
    json_array_foreach(json_object_get(way, "sizes"), i, pair) {
        if (i == SIZES_SHOWN) {
            printf(", ...");
            break;
        }
        printf("%s%" JSON_INTEGER_FORMAT " x %" JSON_INTEGER_FORMAT, i ? ", " : ": ",
               json_integer_value(json_array_get(pair, 1)), json_integer_value(json_array_get(pair, 0)));
    }
    if (record_number(way, "super_packets"))
        printf(" (%" PRIu64 " packets not cut up yet)", record_number(way, "super_packets"));
}

void segments_print(const json_t *client)
{
    const json_t *capture = json_object_get(client, "capture");
    const json_t *file = json_object_get(capture, "file");

    if (!capture)
        return;
    printf("  segments captured on %s", json_string_value(json_object_get(capture, "device")));
    for (int way = 0; way < WAY_COUNT; way++)
        print_way(way_names[way], json_object_get(capture, way_names[way]));
    if (record_number(capture, "dropped"))
        printf("; %" PRIu64 " packets were dropped, so the counts prove nothing",
               record_number(capture, "dropped"));
    if (json_is_true(json_object_get(capture, "truncated")))
        printf("; more than %u packets, so the end is missing", CAPTURE_PACKETS_MAX);
    if (file)
        printf("; %s", json_string_value(file));
    putchar('\n');
}
