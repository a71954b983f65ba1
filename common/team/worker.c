/* SPDX-License-Identifier: MIT */
/* The life of a data thread: what it does in each phase of phases.def. */
#include "team/team.h"

#include "base/clock.h"
#include "base/threads.h"
#include "engine/event_loop.h"

#include <assert.h>
#include <string.h>

#define WATCHED_MAX 64 /* connections whose TCP window is sampled within the interval */

/* ---- figures ---- */

/* Adds the counts of all connections to `figures`, which is zeroed. */
static void read_counts(const struct worker *worker, struct figures *figures)
{
    figures->calls = worker->shared.waits;
    for (size_t i = 0; i < worker->count; i++) {
        const struct connection *connection = &worker->connections[i];
        figures->messages_sent += connection->queue.flushed_messages;
        figures->bytes_sent += connection->queue.flushed_bytes;
        figures->messages_received += connection->arrivals.messages;
        figures->groups += connection->groups;
        figures->fragments += connection->queue.flushed_fragments;
        figures->bytes_received += connection->arrivals.bytes;
        figures->calls = calls_add(&figures->calls, &connection->calls.counts, 1);
    }
}

/* Returns the next connection from `*at` on that has TCP figures, or NULL. Of the pair of a proxy,
 * it is the sending connection. */
static const struct connection *next_with_tcp(const struct worker *worker, size_t *at)
{
    while (worker->team->plan->transport->is_tcp && *at < worker->count) {
        const struct connection *connection = &worker->connections[(*at)++];
        if (!connection->twin || connection->drives)
            return connection;
    }
    return NULL;
}

/* Reads the TCP figures of each connection. Reads none if the transport has no segments. */
static void read_tcp(struct worker *worker, struct figures *figures)
{
    size_t at = 0;
    worker->tcp_count = 0;
    for (const struct connection *connection; (connection = next_with_tcp(worker, &at));)
        tcp_info_read(connection->calls.fd, &figures->tcp[worker->tcp_count++]);
}

/* Subtracts the segment of the close_notify from the figures after the interval, in each direction:
 * it carries no message. Not for a foreign peer, whose half-close this end does not await. */
static void subtract_close_notify(struct worker *worker)
{
    static const enum tcp_figure figures[] = {TCP_DATA_SEGS_OUT, TCP_DATA_SEGS_IN};
    for (size_t i = 0; i < worker->tcp_count; i++)
        for (size_t j = 0; j < sizeof figures / sizeof *figures; j++)
            if (worker->after.tcp[i].figures[figures[j]] > worker->before.tcp[i].figures[figures[j]])
                worker->after.tcp[i].figures[figures[j]]--;
}

/* Samples the TCP windows of the first connections. */
static void watch_windows(void *context)
{
    struct worker *worker = context;
    const struct connection *connection;
    size_t at = 0;
    for (size_t i = 0; i < WATCHED_MAX && (connection = next_with_tcp(worker, &at)); i++)
        tcp_info_watch_window(connection->calls.fd, &worker->after.tcp[i]);
}

/* ---- PHASE_START ---- */

static int setup_failure(const struct worker *worker, int result, struct problem *problem)
{
    return problem_failure(problem, "cannot set up a thread for %zu connections: %s", worker->count,
                           strerror(-result));
}

/* Called by the thread on its CPU, so that the memory is local. */
static int open_connections(struct worker *worker, struct problem *problem)
{
    struct team *team = worker->team;
    int result = thread_shared_open(&worker->shared, team->plan, team->end, worker->count);
    worker->shared.samples.on_point = watch_windows;
    worker->shared.samples.context = worker;
    for (size_t i = 0; i < worker->count && result == 0; i++)
        result = connection_open(&worker->connections[i], &worker->shared);
    return result == 0 ? 0 : setup_failure(worker, result, problem);
}

/* Pins the sender to the CPU that the next data thread would have. */
static int open_sender(struct worker *worker, struct problem *problem)
{
    const struct team *team = worker->team;
    const struct place_list *cpus = &team->cpus;
    size_t number = team->worker_count + (size_t)(worker - team->workers);
    int cpu = cpus->count ? cpus->cpus[number % cpus->count] : -1;
    if (!team->plan->ends[team->end].hands_over)
        return 0;
    worker->job.handover = &worker->sender.handover;
    return sender_start(&worker->sender, worker->connections, cpu, problem);
}

/* The descriptors that the thread of a connection uses; the engine of such a thread has none. */
#define OWN_MAX 4
#define OWNERS_MAX 1024 /* each thread copies the descriptors of all: more would take seconds */

/* Gives the thread a table of descriptors of its own, if no other thread gives it new ones or takes
 * part in its work. Control keeps its own of the sockets, and closes them after the join. */
static void own_descriptors(struct worker *worker)
{
    const struct team *team = worker->team;
    int kept[OWN_MAX] = {team->wake_pipe[1], worker->shared.source.memory.file};
    assert(!team->engine->thread_per_connection || worker->count <= OWN_MAX - 2);
    if (!team->engine->thread_per_connection || worker->job.handover || worker->job.dial ||
        team->worker_count > OWNERS_MAX)
        return;
    for (size_t i = 0; i < worker->count; i++)
        kept[2 + i] = worker->connections[i].calls.fd;
    worker->owns_descriptors = descriptors_own(kept, 2 + worker->count);
}

/* So that control closes the sockets when it closes its own descriptors. */
static void close_descriptors(struct worker *worker)
{
    int kept[] = {worker->team->wake_pipe[1]};
    cpu_meter_close(&worker->own.meter);
    if (worker->owns_descriptors)
        descriptors_own(kept, 1);
}

static int start(struct worker *worker, struct problem *problem)
{
    struct team *team = worker->team;
    worker->dial.listener = team->listener;
    if (thread_set_up(&worker->own, &team->plan->ends[team->end], problem) < 0 ||
        establish_connect(worker, problem) < 0 || open_connections(worker, problem) < 0 ||
        establish_handshakes(worker, problem) < 0 || open_sender(worker, problem) < 0)
        return -1;
    int result = team->engine->open(&worker->job);
    if (result < 0)
        return setup_failure(worker, result, problem);
    uv_mutex_lock(&team->mutex); /* from now on other threads may wake the engine */
    worker->can_wake = team->engine->wake;
    uv_mutex_unlock(&team->mutex);
    own_descriptors(worker);
    cpu_meter_open(&worker->own.meter, team->plan->ends[team->end].perf);
    return 0;
}

/* Turns a result of the engine into a problem. */
static int check_engine(struct worker *worker, int result, struct problem *problem)
{
    if (result == 0)
        return 0;
    *problem = worker->shared.problem;
    if (worker->shared.handshake_failed)
        worker->phase = "handshake";
    return problem_failure(problem, "engine=%s failed: %s", worker->team->engine->variant.name,
                           strerror(-result));
}

/* `messages`: the most that a driver may begin. `until_stop`: it also receives up to the announced
 * byte. */
static void prepare(struct connection *connection, uint64_t messages, bool until_stop)
{
    connection->messages_left = messages;
    connection->until_stop = until_stop;
    if (connection->role->begin)
        connection->role->begin(connection);
}

/* Runs one phase of the engine. `duration_ns` UINT64_MAX: no deadline. `paced`: by the schedule of
 * an open loop, if the plan has one. */
static int run_engine(struct worker *worker, uint64_t duration_ns, bool paced, struct problem *problem)
{
    thread_shared_begin_phase(&worker->shared, duration_ns, paced && worker->team->plan->rate);
    return check_engine(worker, engine_run(&worker->job), problem);
}

/* ---- the warm-up ---- */

/* Runs the engine before the interval. No connection may end in that time. Clears the stops that
 * were reached. */
static int run_before_interval(struct worker *worker, uint64_t messages, uint64_t duration_ns,
                               bool until_stop, struct problem *problem)
{
    for (size_t i = 0; i < worker->count; i++)
        prepare(&worker->connections[i], messages, until_stop);
    if (run_engine(worker, duration_ns, duration_ns != UINT64_MAX, problem) < 0)
        return -1;
    for (size_t i = 0; i < worker->count; i++) {
        struct connection *connection = &worker->connections[i];
        if (until_stop)
            atomic_store(&connection->stop, 0);
        if (connection_has_ended(connection))
            return problem_symptom(problem, "the %s closed its connection", end_names[connection->peer]);
    }
    return 0;
}

static int warm_up(struct worker *worker, struct problem *problem)
{
    const struct team *team = worker->team;
    if (team->part == PART_FOLLOWER)
        return run_before_interval(worker, 0, UINT64_MAX, true, problem);
    if (run_before_interval(worker, UINT64_MAX, team->plan->warmup_ns, false, problem) < 0)
        return -1;
    atomic_store(&worker->shared.until_released, team->part == PART_BOTH); /* control clears it */
    return 0;
}

static int receive(struct worker *worker, struct problem *problem)
{
    return run_before_interval(worker, 0, UINT64_MAX, false, problem);
}

static int drain(struct worker *worker, struct problem *problem)
{
    return run_before_interval(worker, 1, UINT64_MAX, true, problem);
}

/* ---- the measured interval ---- */

/* The CPU account of a thread begins with the last call before the engine runs, and ends with the
 * first call after: docs/design/interval.md. */
static void end_account(struct worker *worker)
{
    cpu_meter_end(&worker->own.meter, &worker->own.after.cpu);
    read_counts(worker, &worker->after);
}

static int mark(struct worker *worker, struct problem *problem)
{
    struct team *team = worker->team;
    read_tcp(worker, &worker->before);
    memcpy(worker->after.tcp, worker->before.tcp, worker->count * sizeof *worker->before.tcp);
    read_counts(worker, &worker->before);
    thread_shared_restart(&worker->shared);
    for (size_t i = 0; i < worker->count; i++) {
        struct connection *connection = &worker->connections[i];
        connection->arrivals.first_ns = connection->arrivals.last_ns = connection->arrivals.first_bytes = 0;
        prepare(connection, plan_messages_of(team->plan, connection->number), connection->reconnects);
    }
    thread_read_state(&worker->own.before);
    if (worker->job.handover)
        sender_execute(&worker->sender, HANDOVER_BEGIN_TIME);
    return team_barrier(team, &team->machine_before, problem);
}

static int run(struct worker *worker, struct problem *problem)
{
    const struct team *team = worker->team;
    const struct plan *plan = team->plan;
    bool timed = team->part != PART_FOLLOWER && !plan->messages && !plan->bytes;
    cpu_meter_begin(&worker->own.meter, &worker->own.before.cpu);
    int result = run_engine(worker, timed ? plan->duration_ns : UINT64_MAX, true, problem);
    if (result == 0 && team->part != PART_BOTH) /* after a failure a sender may still be working */
        end_account(worker);
    return result;
}

/* ---- the end ---- */

/* The measured interval of this end: docs/record.md, elapsed_ns. */
static void set_interval(struct worker *worker, uint64_t finished_ns)
{
    const struct role *role = worker->connections->role;
    bool drives = worker->team->part != PART_FOLLOWER;
    bool takes = role->clocks && !role->times; /* a stream is timed at its receiver */

    worker->begun_ns = drives && !takes ? worker->shared.start_ns : UINT64_MAX;
    worker->ended_ns = drives && !role->clocks ? finished_ns : 0;
    for (size_t i = 0; role->clocks && i < worker->count; i++) {
        const struct arrivals *arrivals = &worker->connections[i].arrivals;
        if (arrivals->first_ns && arrivals->first_ns < worker->begun_ns)
            worker->begun_ns = arrivals->first_ns;
        if (arrivals->last_ns > worker->ended_ns)
            worker->ended_ns = arrivals->last_ns;
        worker->first_bytes += takes ? arrivals->first_bytes : 0;
    }
}

/* Reads the options of the first connection; of the pair of a proxy, those of the sending one. */
static void read_options(struct worker *worker)
{
    const struct plan *plan = worker->team->plan;
    const struct connection *first = worker->connections;
    const struct connection *sending = first->twin && !first->drives ? first->twin : first;
    if (plan->transport->has_other_end && !worker->options)
        worker->options = options_report(plan, worker->team->end, sending->calls.fd);
}

/* Reads the figures that do not change after all threads of this end are done. */
static void read_last_figures(struct worker *worker)
{
    const struct role *role = worker->connections->role;
    read_options(worker);
    for (size_t i = 0; worker->shared.paced && role->missed && i < worker->count; i++)
        worker->missed += role->missed(&worker->connections[i]);
    read_tcp(worker, &worker->after);
    if (worker->team->plan->encrypts && !plan_is_foreign(worker->team->plan))
        subtract_close_notify(worker);
    thread_read_state(&worker->own.after);
    if (worker->job.handover)
        sender_execute(&worker->sender, HANDOVER_END_TIME);
}

/* There is no half-close to wait for if every descriptor is closed, or if a foreign peer sends to
 * this end: it need not close. An end that is both works until the half-close of the other end. A
 * transport that loses its TCP counters must be read before that half-close, so within the
 * interval of such an end. */
static int finish(struct worker *worker, struct problem *problem)
{
    struct team *team = worker->team;
    const struct transport *transport = team->plan->transport;
    bool loses_counters = transport->loses_counters, works_on = team->part == PART_BOTH;
    bool waits = transport->has_other_end && !worker->connections->reconnects &&
                 !(plan_is_foreign(team->plan) && worker->connections->incoming);

    if (!works_on || loses_counters)
        read_options(worker);
    if (loses_counters)
        read_tcp(worker, &worker->after);
    if (waits && check_engine(worker, engine_finish(&worker->job), problem) < 0)
        return -1;
    set_interval(worker, clock_now_ns());
    if (works_on)
        end_account(worker);
    if (team_barrier(team, &team->machine_after, problem) < 0)
        return -1;
    read_last_figures(worker);
    return 0;
}

/* ---- all phases ---- */

static int (*const work[PHASE_REPORT])(struct worker *worker, struct problem *problem) = {
    [PHASE_START] = start, [PHASE_WARM_UP] = warm_up, [PHASE_RECEIVE] = receive, [PHASE_DRAIN] = drain,
    [PHASE_MARK] = mark,   [PHASE_RUN] = run,         [PHASE_FINISH] = finish,
};

/* A run may have no warm-up. A foreign peer gets no announcement, so its warm-up ends by time. */
static bool skips_phase(const struct team *team, int phase)
{
    const struct plan *plan = team->plan;
    if (phases[phase].waits_for[team->part] == RELEASE_NEVER)
        return true;
    if (phase == PHASE_WARM_UP)
        return !plan->warmup_ns;
    return (phase == PHASE_RECEIVE || phase == PHASE_DRAIN) && (!plan->warmup_ns || plan_is_foreign(plan));
}

static int run_phases(struct worker *worker, struct problem *problem)
{
    struct team *team = worker->team;
    for (int phase = 0; phase < PHASE_REPORT; phase++) {
        enum release release = phases[phase].waits_for[team->part];
        if (skips_phase(team, phase))
            continue;
        if (release != RELEASE_NOTHING && team_await(team, release, problem) < 0)
            return -1;
        worker->phase = phases[phase].name;
        if (work[phase](worker, problem) < 0)
            return -1;
        if (phases[phase].reported_by & 1u << team->part)
            team_report_phase(team, (enum phase)phase);
    }
    return 0;
}

void worker_main(void *argument)
{
    struct worker *worker = argument;
    struct team *team = worker->team;
    struct problem problem = {0};
    if (team->plan->rate)
        pause_set_timer_slack();
    if (run_phases(worker, &problem) < 0)
        team_fail(team, worker->phase, &problem);
    sender_end(&worker->sender);
    close_descriptors(worker);
    team_report_phase(team, PHASE_REPORT);
}
