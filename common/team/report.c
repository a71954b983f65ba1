/* SPDX-License-Identifier: MIT */
/* One end of the record; docs/record.md explains every key. A key whose value is NULL is left
 * out. */
#include "team/team.h"

#include "base/bytes.h"
#include "base/digest.h"
#include "measure/facts.h"

static void put_number(json_t *object, const char *key, uint64_t value)
{
    json_object_set_new(object, key, json_integer((json_int_t)value));
}

static void put_if(bool is_known, json_t *object, const char *key, uint64_t value)
{
    if (is_known)
        put_number(object, key, value);
}

static bool is_counted(const struct worker *worker, enum call_path path)
{
    return !(worker->shared.uncounted & 1u << path);
}

/* Calls that libuv makes cannot be counted: their keys are absent. Handshakes are reported only if
 * the workload reconnects. Else all are before the interval. */
static void put_calls(json_t *thread, const struct worker *worker)
{
    const struct connection *connection = worker->connections;
    struct call_counts calls = calls_add(&worker->after.calls, &worker->before.calls, -1);
    bool writes = is_counted(worker, CALL_WRITES), reads = is_counted(worker, CALL_READS);
    bool has_ring = worker->team->engine->gives & CAPABLE_RING;
    bool maps = connection->reading && connection->reading->maps;
    bool encrypts = worker->team->plan->encrypts,
         sees_records = encrypts && connection->security->counts_records;
    bool shakes_hands = encrypts && connection->reconnects;
    json_t *made = json_object();

    for (int kind = 0; kind < CALL_KIND_COUNT; kind++) {
        const char *name = call_infos[kind].name; /* several kinds may have it */
        uint64_t others = (uint64_t)json_integer_value(json_object_get(made, name));
        put_if(calls.made[kind] && is_counted(worker, call_infos[kind].path), made, name,
               calls.made[kind] + others);
    }
    json_object_set_new(thread, "calls", made);
    put_if(sees_records, thread, "records_sent", calls.records_sent);
    put_if(sees_records, thread, "records_received", calls.records_received);
    put_if(sees_records, thread, "tls_bytes_sent", calls.tls_bytes_sent);
    put_if(sees_records, thread, "tls_bytes_received", calls.tls_bytes_received);
    put_if(shakes_hands, thread, "handshakes", calls.handshakes);
    put_if(shakes_hands, thread, "resumed", calls.resumed);
    if (shakes_hands && connection->drives)
        json_object_set_new(thread, "handshake", histogram_to_json(&worker->shared.handshake));
    put_if(writes, thread, "write_calls", calls_count_path(&calls, CALL_WRITES));
    put_if(reads, thread, "read_calls", calls_count_path(&calls, CALL_READS));
    put_if(is_counted(worker, CALL_WAITS), thread, "wait_calls", calls_count_path(&calls, CALL_WAITS));
    put_if(connection->reconnects, thread, "connect_calls", calls_count_path(&calls, CALL_CONNECTS));
    put_if(writes && reads, thread, "would_block", calls.would_block);
    put_if(has_ring, thread, "enters", calls.made[CALL_ENTER_SENDING] + calls.made[CALL_ENTER_WAITING]);
    put_if(has_ring, thread, "requests", calls.requests);
    put_if(has_ring, thread, "completions", calls.completions);
    put_if(calls.lent, thread, "lent", calls.lent);
    put_if(calls.lent, thread, "copied", calls.copied);
    put_if(maps, thread, "mapped_bytes", calls.mapped_bytes);
    put_if(maps, thread, "copied_bytes", calls.copied_bytes);
}

/* The SHA-256 of the bytes of a connection, as by sha256sum(1). Several connections: the XOR of
 * theirs. */
static void put_checksum(json_t *thread, const struct worker *worker)
{
    uint8_t sum[DIGEST_SIZE] = {0}, one[DIGEST_SIZE];
    char text[2 * DIGEST_SIZE + 1];

    for (size_t i = 0; i < worker->count; i++) {
        if (!worker->connections[i].digest)
            return;
        digest_read(worker->connections[i].digest, one);
        for (size_t j = 0; j < DIGEST_SIZE; j++)
            sum[j] ^= one[j];
    }
    hex_format(text, sum, sizeof sum);
    json_object_set_new(thread, "checksum", json_string(text));
}

static void put_work(json_t *thread, const struct worker *worker)
{
    const struct figures *before = &worker->before, *after = &worker->after;
    const struct connection *connection = worker->connections;
    bool sends = connection->outgoing, receives = connection->incoming, relays = connection->twin;
    uint64_t begun_ns = worker->begun_ns, ended_ns = worker->ended_ns, origin_ns = worker->team->origin_ns;

    put_if(relays, thread, "chunks_sent", after->fragments - before->fragments);
    put_if(relays, thread, "groups_sent", after->groups - before->groups);
    put_if(sends && !relays, thread, "messages_sent", after->messages_sent - before->messages_sent);
    put_if(sends, thread, "bytes_sent", after->bytes_sent - before->bytes_sent);
    put_if(receives && !relays, thread, "messages_received",
           after->messages_received - before->messages_received);
    put_if(receives, thread, "bytes_received", after->bytes_received - before->bytes_received);
    put_checksum(thread, worker);
    if (ended_ns <= begun_ns) /* no time passed between the two readings of the clock */
        return;
    put_number(thread, "begun_ns", begun_ns - origin_ns);
    put_number(thread, "ended_ns", ended_ns - origin_ns);
    put_number(thread, "elapsed_ns", ended_ns - begun_ns);
    put_if(worker->first_bytes, thread, "first_bytes", worker->first_bytes);
}

static void put_latency(json_t *thread, const struct worker *worker)
{
    const struct thread_shared *shared = &worker->shared;
    if (!worker->connections->role->times)
        return;
    json_object_set_new(thread, "latency", histogram_to_json(&shared->latency));
    json_object_set_new(thread, "handover", histogram_to_json(&shared->handover));
    if (!shared->plan->rate)
        return;
    json_object_set_new(thread, "service", histogram_to_json(&shared->service));
    json_object_set_new(thread, "late_start", histogram_to_json(&shared->late_start));
    put_number(thread, "due", shared->due + worker->missed);
    put_number(thread, "late", worker->missed);
}

/* Where and how the thread ran: its CPU at the start and the end of the interval, its class. */
static void put_placement(json_t *object, const struct team_thread *thread)
{
    const struct thread_reading *after = &thread->after;
    int first = thread->before.cpu_number, pinned_to = thread->pinned_to;

    if (after->scheduling_known)
        json_object_set_new(object, "sched", json_string(scheduling_text(&after->scheduling)));
    if (first >= 0)
        json_object_set_new(object, "cpus",
                            json_pack("{s:i, s:i, s:o*}", "start", first, "end", after->cpu_number, "asked",
                                      pinned_to >= 0 ? json_pack("[i]", pinned_to) : NULL));
}

static json_t *report_thread(const struct worker *worker)
{
    const struct security_negotiated *negotiated = &worker->shared.negotiated;
    const struct team_thread *own = &worker->own, *sender = &worker->sender.own;
    struct cpu_reading first = own->before.cpu, last = own->after.cpu;
    json_t *thread = json_object(), *of_sender = worker->job.handover ? json_object() : NULL;

    put_number(thread, "connections", worker->count / worker->team->per_number);
    put_work(thread, worker);
    put_calls(thread, worker);
    put_latency(thread, worker);
    if (of_sender) { /* the CPU time of the thread includes it */
        first = cpu_sum(&first, &sender->before.cpu);
        last = cpu_sum(&last, &sender->after.cpu);
        json_object_set_new(of_sender, "cpu", cpu_to_json(&sender->before.cpu, &sender->after.cpu));
        put_placement(of_sender, sender);
    }
    json_object_set_new(thread, "cpu", cpu_to_json(&first, &last));
    json_object_set_new(thread, "sender", of_sender);
    /* With a connection for each request, only the last connection could be read, and only while it
     * is open. */
    if (worker->team->plan->transport->is_tcp && !worker->connections->reconnects)
        json_object_set_new(thread, "tcp_info",
                            tcp_info_to_json(worker->before.tcp, worker->after.tcp, worker->tcp_count));
    if (worker->options && negotiated->version) {
        json_object_set_new(worker->options, "tls_version", json_string(negotiated->version));
        json_object_set_new(worker->options, "cipher", json_string(negotiated->cipher));
        json_object_set_new(worker->options, "key_exchange", json_string(negotiated->key_exchange));
    }
    json_object_set(thread, "options", worker->options);
    put_placement(thread, own);
    json_object_set_new(thread, "own_descriptors", json_boolean(worker->owns_descriptors));
    json_object_set_new(thread, "samples", samples_to_json(&worker->shared.samples));
    return thread;
}

json_t *team_report(const struct team *team)
{
    const struct plan *plan = team->plan;
    const struct end_plan *own = &plan->ends[team->end];
    const struct shape *sent = plan_outgoing(plan, team->end);
    bool knows_memory = team->resident_before && team->resident_after;
    json_t *threads = json_array();
    json_t *report = json_pack("{s:s, s:b, s:s, s:s, s:o*}", "host", facts_host_id(), "drives",
                               team->part != PART_FOLLOWER, "engine", team->engine->variant.name, "security",
                               own->security->variant.name, "library",
                               own->security->library ? own->security->library() : NULL);

    if (sent)
        json_object_set_new(report, "write",
                            json_string(plan_strategy(plan, team->end)->strategy->variant.name));
    if (sent && !plan_role(plan, team->end)->relay_buffers) {
        put_number(report, "message_bytes", sent->bytes);
        put_number(report, "message_fragments", sent->count);
        put_number(report, "message_groups", sent->groups);
    }
    if (plan_incoming(plan, team->end))
        json_object_set_new(report, "read", json_string(own->reading->variant.name));
    put_if(knows_memory, report, "resident_before_bytes", team->resident_before);
    put_if(knows_memory, report, "resident_bytes", team->resident_after);
    json_object_set_new(report, "process", cpu_process_to_json());
    json_object_set_new(report, "machine", cpu_to_json(&team->machine_before, &team->machine_after));
    for (size_t i = 0; i < team->worker_count; i++)
        json_array_append_new(threads, report_thread(&team->workers[i]));
    json_object_set_new(report, "threads", threads);
    return report;
}

uint64_t team_strangers(const struct team *team)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < team->worker_count; i++)
        sum += team->workers[i].dial.strangers;
    return sum;
}
