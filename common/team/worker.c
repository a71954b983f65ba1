/* SPDX-License-Identifier: MIT */
/* What a data thread does, from its first line to its last. */
#include "team/team.h"

#include "base/clock.h"
#include "engine/engine.h"
#include "plan/cores.h"
#include "transport/transport.h"
#include "workload/workload.h"

#include <string.h>
#include <unistd.h>

#define CONNECT_WITHIN_MS 4000

static bool has_sockets(const struct worker *worker)
{
    return worker->team->plan->transport->has_other_end;
}

/* ---- connect, hello ---- */

static int pin(struct worker *worker, struct problem *problem)
{
    int result = worker->pinned_to < 0 ? 0 : cores_pin_thread(worker->pinned_to);

    if (result < 0)
        return problem_unsupported(
            problem, "place: a thread cannot be pinned to CPU %d here: %s", worker->pinned_to,
            result == -EOPNOTSUPP ? "the system says yes and runs it elsewhere" : strerror(-result));
    return 0;
}

static int send_hello(struct worker *worker, const struct connection *connection, struct problem *problem)
{
    uint32_t number = (uint32_t)(connection - worker->team->connections);
    uint8_t hello[HELLO_SIZE];

    memcpy(hello, worker->team->token, TOKEN_SIZE);
    for (int i = 0; i < 4; i++)
        hello[TOKEN_SIZE + (size_t)i] = (uint8_t)(number >> (24 - 8 * i));
    if (send(connection->calls.fd, hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello)
        return problem_failure(problem, "cannot send the token: %s", strerror(errno));
    return 0;
}

static int connect_one(struct worker *worker, struct connection *connection, struct problem *problem)
{
    struct team *team = worker->team;
    const struct transport *transport = team->plan->transport;
    int fd = transport_socket(transport, team->plan, END_CLIENT, &team->target, problem);

    worker->phase = "connect";
    if (fd < 0)
        return -1;
    if (team_adopt(team, connection, fd) < 0)
        return problem_failure(problem, "the run was ended");
    if (address_connect(fd, &team->target, CONNECT_WITHIN_MS, problem) < 0)
        return -1;
    worker->phase = "hello";
    return send_hello(worker, connection, problem);
}

/* The client connects; the server's descriptors are there already. */
static int join(struct worker *worker, struct problem *problem)
{
    const struct plan *plan = worker->team->plan;

    for (size_t i = 0; has_sockets(worker) && i < worker->count; i++) {
        struct connection *connection = &worker->connections[i];

        if (worker->team->end == END_CLIENT && connect_one(worker, connection, problem) < 0)
            return -1;
        if (transport_prepare(plan->transport, plan, worker->team->end, connection->calls.fd, problem) < 0)
            return -1;
    }
    return 0;
}

/* ---- figures ---- */

static void read_figures(struct worker *worker, struct figures *figures)
{
    figures->messages_sent = figures->bytes_sent = figures->messages_received = figures->bytes_received = 0;
    memset(&figures->calls, 0, sizeof figures->calls);
    for (size_t i = 0; i < worker->count; i++) {
        const struct connection *connection = &worker->connections[i];

        figures->messages_sent += connection->queue.flushed_messages;
        figures->bytes_sent += connection->queue.flushed_bytes;
        figures->messages_received += connection->arrivals.messages;
        figures->bytes_received += connection->arrivals.bytes;
        figures->calls = calls_sum(&figures->calls, &connection->calls.counts);
    }
    cpu_meter_read(&worker->meter, &figures->cpu);
    figures->cpu_number = cores_current();
}

static void read_tcp(struct worker *worker, struct figures *figures)
{
    for (size_t i = 0; worker->team->plan->transport->counts_segments && i < worker->count; i++)
        tcp_info_read(worker->connections[i].calls.fd, &figures->tcp[i]);
}

static void watch_windows(void *context)
{
    struct worker *worker = context;

    for (size_t i = 0; worker->team->plan->transport->counts_segments && i < worker->count; i++)
        tcp_info_watch_window(worker->connections[i].calls.fd, &worker->after.tcp[i]);
}

static void begin_interval(struct worker *worker)
{
    read_tcp(worker, &worker->before);
    memcpy(worker->after.tcp, worker->before.tcp, worker->count * sizeof *worker->before.tcp);
    histogram_reset(&worker->latency);
    for (size_t i = 0; i < worker->count; i++)
        connection_restart_arrivals(&worker->connections[i]);
    read_figures(worker, &worker->before);
    worker->before.ns = clock_now_ns();
    samples_restart(&worker->samples, worker->before.ns);
}

/* ---- phases ---- */

static int engine_result(struct worker *worker, int result, struct problem *problem)
{
    if (result == 0)
        return 0;
    for (size_t i = 0; i < worker->count; i++)
        if (worker->connections[i].problem.kind != PROBLEM_NONE)
            *problem = worker->connections[i].problem;
    return problem_failure(problem, "the engine stopped");
}

static int run_phase(struct worker *worker, const char *phase, struct problem *problem)
{
    const struct engine *engine = worker->team->plan->ends[worker->team->end].engine;

    worker->phase = phase;
    return engine_result(worker, engine->run(worker->connections, worker->count), problem);
}

static void set_budgets(struct worker *worker, uint64_t deadline_ns, uint64_t messages)
{
    for (size_t i = 0; i < worker->count; i++)
        connection_set_budget(&worker->connections[i], deadline_ns, messages);
}

static int await(struct worker *worker, enum release release, struct problem *problem)
{
    return team_await(worker->team, release) < 0 ? problem_failure(problem, "the run was ended") : 0;
}

/* The driver sends for the time of the warm-up, announces its last message and sends that. */
static int warm_up_driver(struct worker *worker, struct problem *problem)
{
    uint64_t warmup_ns = worker->team->plan->warmup_ns;

    if (warmup_ns) {
        set_budgets(worker, clock_now_ns() + warmup_ns, UINT64_MAX);
        if (run_phase(worker, "warm-up", problem) < 0)
            return -1;
        team_reach(worker->team, STAGE_WARMED);
        if (await(worker, RELEASE_LAST, problem) < 0)
            return -1;
        set_budgets(worker, UINT64_MAX, 1);
        if (run_phase(worker, "drain", problem) < 0)
            return -1;
    }
    worker->phase = "drain";
    return await(worker, RELEASE_GO, problem);
}

/* The follower goes on up to the byte that the driver announced. */
static int warm_up_follower(struct worker *worker, struct problem *problem)
{
    for (size_t i = 0; !worker->team->plan->warmup_ns && i < worker->count; i++)
        atomic_store(&worker->connections[i].stop_bytes, 0);
    if (run_phase(worker, "warm-up", problem) < 0)
        return -1;
    for (size_t i = 0; i < worker->count; i++) {
        if (worker->connections[i].ended)
            return problem_failure(problem, "the %s closed its connection",
                                   end_names[worker->team->end == END_CLIENT ? END_SERVER : END_CLIENT]);
        atomic_store(&worker->connections[i].stop_bytes, UINT64_MAX);
    }
    return 0;
}

static int drive(struct worker *worker, struct problem *problem)
{
    const struct plan *plan = worker->team->plan;
    bool timed = !plan->messages && !plan->bytes;

    for (size_t i = 0; i < worker->count; i++) {
        uint64_t number = (uint64_t)(&worker->connections[i] - worker->team->connections);

        connection_set_budget(&worker->connections[i],
                              timed ? worker->before.ns + plan->duration_ns : UINT64_MAX,
                              plan_messages_of(plan, number));
    }
    return run_phase(worker, "run", problem);
}

/* ---- the end ---- */

/* The measured interval of this end: docs/record.md, elapsed_ns. */
static void settle_interval(struct worker *worker, uint64_t finished_ns)
{
    const struct half *half = worker->connections->half;

    worker->begun_ns = worker->team->drives ? worker->before.ns : UINT64_MAX;
    worker->ended_ns = worker->team->drives && !half->times ? finished_ns : 0;
    for (size_t i = 0; half->clocks && i < worker->count; i++) {
        const struct arrivals *arrivals = &worker->connections[i].arrivals;

        if (arrivals->first_ns && arrivals->first_ns < worker->begun_ns)
            worker->begun_ns = arrivals->first_ns;
        if (arrivals->last_ns > worker->ended_ns)
            worker->ended_ns = arrivals->last_ns;
        worker->first_bytes += worker->team->drives ? 0 : arrivals->first_bytes;
    }
}

static int end_interval(struct worker *worker, struct problem *problem)
{
    const struct plan *plan = worker->team->plan;
    const struct engine *engine = plan->ends[worker->team->end].engine;

    read_figures(worker, &worker->after);
    worker->phase = "finish";
    if (has_sockets(worker)) {
        worker->options = transport_options(plan->transport, worker->connections->calls.fd);
        if (engine_result(worker, engine->finish(worker->connections, worker->count), problem) < 0)
            return -1;
    }
    settle_interval(worker, clock_now_ns());
    read_tcp(worker, &worker->after);
    return 0;
}

/* By the thread itself, where it runs: its memory is to be near. */
static int open_connections(struct worker *worker, struct problem *problem)
{
    const struct team *team = worker->team;

    for (size_t i = 0; i < worker->count; i++) {
        struct connection *connection = &worker->connections[i];

        if (connection_open(connection, team->plan, team->end, -1) < 0)
            return problem_failure(problem, "out of memory for connection %zu",
                                   (size_t)(connection - team->connections));
        connection->samples = &worker->samples;
        connection->latency = &worker->latency;
    }
    return 0;
}

static int live(struct worker *worker, struct problem *problem)
{
    struct team *team = worker->team;

    worker->phase = "start";
    if (pin(worker, problem) < 0 || join(worker, problem) < 0 || open_connections(worker, problem) < 0)
        return -1;
    team_reach(team, STAGE_CONNECTED);
    if (await(worker, RELEASE_START, problem) < 0)
        return -1;
    if ((team->drives ? warm_up_driver(worker, problem) : warm_up_follower(worker, problem)) < 0)
        return -1;
    begin_interval(worker);
    if (!team->drives)
        team_reach(team, STAGE_MARKED);
    if ((team->drives ? drive(worker, problem) : run_phase(worker, "run", problem)) < 0)
        return -1;
    return end_interval(worker, problem);
}

void worker_main(void *argument)
{
    struct worker *worker = argument;
    struct problem problem = {0};

    cpu_meter_open(&worker->meter, worker->team->plan->ends[worker->team->end].perf);
    histogram_reset(&worker->latency);
    samples_restart(&worker->samples, clock_now_ns());
    worker->samples.look = watch_windows;
    worker->samples.context = worker;
    if (live(worker, &problem) < 0)
        team_cancel(worker->team, worker->phase, &problem);
    cpu_meter_close(&worker->meter);
    team_reach(worker->team, STAGE_DONE);
}
