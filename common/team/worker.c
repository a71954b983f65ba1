/* SPDX-License-Identifier: MIT */
/* The life of a data thread, and of its sender: what it does in each phase of phases.def. */
#include "team/team.h"

#include "base/clock.h"
#include "base/keylog.h"
#include "base/threads.h"
#include "engine/event_loop.h"
#include "placement/placement.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define WATCHED_MAX 64 /* connections whose TCP window is sampled within the interval */

/* ---- a thread and its sender ---- */

static int thread_set_up(struct team_thread *thread, const struct end_plan *own, struct problem *problem)
{
    int result = thread->pinned_to >= 0 ? cores_pin_thread(thread->pinned_to) : 0;
    if (result < 0)
        return problem_unsupported(
            problem, "place: a thread cannot be pinned to CPU %d here: %s", thread->pinned_to,
            result == -EOPNOTSUPP ? "the system reports success and runs it on another CPU"
                                  : strerror(-result));
    return scheduling_set_thread(&own->scheduling, problem);
}

/* Makes system calls, so only outside of the interval. */
static void thread_read_state(struct thread_reading *reading)
{
    cpu_read_migrations(&reading->cpu);
    reading->cpu_number = affinity_works() ? cores_current() : -1;
    reading->scheduling_known = scheduling_read_thread(&reading->scheduling) == 0;
}

static void sender_main(void *argument)
{
    struct sender *sender = argument;
    struct handover *handover = &sender->handover;
    const struct connection *connection = handover->connection;
    const struct end_plan *own = &connection->plan->ends[connection->end];

    handover->result = thread_set_up(&sender->own, own, &sender->problem);
    cpu_meter_open(&sender->own.meter, own->perf);
    uv_sem_post(&handover->done);
    for (enum handover_order order; (order = handover_serve(handover)) != HANDOVER_END;) {
        if (order == HANDOVER_END_TIME)
            cpu_meter_end(&sender->own.meter, &sender->own.after.cpu);
        thread_read_state(order == HANDOVER_END_TIME ? &sender->own.after : &sender->own.before);
        uv_sem_post(&handover->done);
        if (order == HANDOVER_BEGIN_TIME) /* the data thread reads it after the interval */
            cpu_meter_begin(&sender->own.meter, &sender->own.before.cpu);
    }
    cpu_meter_close(&sender->own.meter);
}

int sender_start(struct sender *sender, struct connection *connection, int cpu, struct problem *problem)
{
    handover_open(&sender->handover, connection);
    sender->own.pinned_to = cpu;
    sender->handover.is_pending = true; /* until it is set up */
    int result = uv_thread_create(&sender->own.handle, sender_main, sender);
    if (result < 0)
        return thread_failure(problem, result, "a sender thread");
    sender->own.started = true;
    if (handover_wait(&sender->handover) == 0)
        return 0;
    *problem = sender->problem;
    return -1;
}

/* Orders the sender, which is idle, to read its own figures, and waits until it has. Its account
 * includes one sleep and one wake-up more than its requests: for HANDOVER_END_TIME. */
static void sender_execute(struct sender *sender, enum handover_order order)
{
    handover_post(&sender->handover, order);
    handover_wait(&sender->handover);
}

void sender_end(struct sender *sender)
{
    if (sender->own.started) {
        handover_wait(&sender->handover);
        handover_post(&sender->handover, HANDOVER_END);
        uv_thread_join(&sender->own.handle);
        sender->own.started = false;
    }
    handover_close(&sender->handover);
}

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

/* The descriptors that the thread of a connection uses; the engine of such a thread has none. */
#define OWN_MAX 5
#define OWNERS_MAX 1024 /* each thread copies the descriptors of all: more would take seconds */

/* Gives the thread a table of descriptors of its own, if no other thread gives it new ones or takes
 * part in its work. Control keeps its own of the sockets, and closes them after the join. */
static void own_descriptors(struct worker *worker)
{
    const struct team *team = worker->team;
    int kept[OWN_MAX] = {team->wake_pipe[1], worker->shared.source.memory.file, keylog_descriptor()};
    assert(!team->engine->thread_per_connection || worker->count <= OWN_MAX - 3);
    if (!team->engine->thread_per_connection || worker->job.handover || worker->job.dial ||
        team->worker_count > OWNERS_MAX)
        return;
    for (size_t i = 0; i < worker->count; i++)
        kept[3 + i] = worker->connections[i].calls.fd;
    worker->owns_descriptors = descriptors_own(kept, 3 + worker->count);
}

static int start(struct worker *worker, struct problem *problem)
{
    struct team *team = worker->team;
    const struct plan *plan = team->plan;

    worker->dial.listener = team->listener;
    if (thread_set_up(&worker->own, &plan->ends[team->end], problem) < 0 ||
        establish_connect(worker, problem) < 0)
        return -1;
    /* On the CPU of the thread, so that the memory is local. */
    int result = thread_shared_open(&worker->shared, plan, team->end, worker->count);
    worker->shared.samples.on_point = watch_windows;
    worker->shared.samples.context = worker;
    for (size_t i = 0; i < worker->count && result == 0; i++)
        result = connection_open(&worker->connections[i], &worker->shared);
    if (result != 0)
        return setup_failure(worker, result, problem);
    if (establish_handshakes(worker, problem) < 0)
        return -1;
    if (plan->ends[team->end].hands_over) { /* on the CPU that the next data thread would have */
        size_t number = team->worker_count + (size_t)(worker - team->workers);
        int cpu = team->cpus.count ? team->cpus.cpus[number % team->cpus.count] : -1;
        worker->job.handover = &worker->sender.handover;
        if (sender_start(&worker->sender, worker->connections, cpu, problem) < 0)
            return -1;
    }
    result = team->engine->open(&worker->job);
    if (result < 0)
        return setup_failure(worker, result, problem);
    uv_mutex_lock(&team->mutex); /* from now on other threads may wake the engine */
    worker->can_wake = team->engine->wake;
    uv_mutex_unlock(&team->mutex);
    own_descriptors(worker);
    cpu_meter_open(&worker->own.meter, plan->ends[team->end].perf);
    return 0;
}

/* ---- the engine ---- */

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

/* Runs the engine in PHASE_WARM_UP, PHASE_RECEIVE or PHASE_DRAIN. No connection may end in that
 * time. Clears the stops that were reached. */
static int run_before_interval(struct worker *worker, enum phase phase, struct problem *problem)
{
    const struct team *team = worker->team;
    bool is_timed = phase == PHASE_WARM_UP && team->part != PART_FOLLOWER;
    bool until_stop = !is_timed && phase != PHASE_RECEIVE;
    uint64_t messages = is_timed ? UINT64_MAX : phase == PHASE_DRAIN ? 1 : 0;

    for (size_t i = 0; i < worker->count; i++)
        prepare(&worker->connections[i], messages, until_stop);
    if (run_engine(worker, is_timed ? team->plan->warmup_ns : UINT64_MAX, is_timed, problem) < 0)
        return -1;
    for (size_t i = 0; i < worker->count; i++) {
        struct connection *connection = &worker->connections[i];
        if (until_stop)
            atomic_store(&connection->stop, 0);
        if (connection_has_ended(connection))
            return problem_symptom(problem, "the %s closed its connection", end_names[connection->peer]);
    }
    if (is_timed)
        atomic_store(&worker->shared.until_released, team->part == PART_BOTH); /* control clears it */
    return 0;
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

/* There is no half-close to wait for if every descriptor is closed, or if a foreign peer sends to
 * this end: it need not close. An end that is both works until the half-close of the other end. A
 * transport that loses its TCP counters must be read before that half-close, so within the
 * interval of such an end. */
static int finish(struct worker *worker, struct problem *problem)
{
    struct team *team = worker->team;
    const struct plan *plan = team->plan;
    const struct role *role = worker->connections->role;
    bool loses_counters = plan->transport->loses_counters, works_on = team->part == PART_BOTH;
    bool waits = plan->transport->has_other_end && !worker->connections->reconnects &&
                 !(plan_is_foreign(plan) && worker->connections->incoming);

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

    /* All threads of this end are done: its figures do not change any more. */
    read_options(worker);
    for (size_t i = 0; worker->shared.paced && role->missed && i < worker->count; i++)
        worker->missed += role->missed(&worker->connections[i]);
    read_tcp(worker, &worker->after);
    /* The segment of the close_notify, in each direction, carries no message. Not for a foreign
     * peer, whose half-close this end does not await. */
    for (size_t i = 0; plan->encrypts && !plan_is_foreign(plan) && i < worker->tcp_count; i++) {
        const uint64_t *before = worker->before.tcp[i].figures;
        uint64_t *after = worker->after.tcp[i].figures;
        after[TCP_DATA_SEGS_OUT] -= after[TCP_DATA_SEGS_OUT] > before[TCP_DATA_SEGS_OUT];
        after[TCP_DATA_SEGS_IN] -= after[TCP_DATA_SEGS_IN] > before[TCP_DATA_SEGS_IN];
    }
    thread_read_state(&worker->own.after);
    if (worker->job.handover)
        sender_execute(&worker->sender, HANDOVER_END_TIME);
    return 0;
}

/* ---- all phases ---- */

/* PHASE_WARM_UP to PHASE_DRAIN are run_before_interval(). */
static int (*const work[PHASE_REPORT])(struct worker *worker, struct problem *problem) = {
    [PHASE_START] = start,
    [PHASE_MARK] = mark,
    [PHASE_RUN] = run,
    [PHASE_FINISH] = finish,
};

static int run_phases(struct worker *worker, struct problem *problem)
{
    struct team *team = worker->team;
    const struct plan *plan = team->plan;
    for (enum phase phase = 0; phase < PHASE_REPORT; phase++) {
        enum release release = phases[phase].waits_for[team->part];
        bool is_before = phase >= PHASE_WARM_UP && phase <= PHASE_DRAIN;
        /* A run may have no warm-up. A foreign peer gets no announcement: its warm-up ends by time. */
        if (release == RELEASE_NEVER || (is_before && !plan->warmup_ns) ||
            (is_before && phase != PHASE_WARM_UP && plan_is_foreign(plan)))
            continue;
        if (release != RELEASE_NOTHING && team_await(team, release, problem) < 0)
            return -1;
        worker->phase = phases[phase].name;
        if ((is_before ? run_before_interval(worker, phase, problem) : work[phase](worker, problem)) < 0)
            return -1;
        if (phases[phase].reported_by & 1u << team->part)
            team_report_phase(team, phase);
    }
    return 0;
}

void worker_main(void *argument)
{
    struct worker *worker = argument;
    struct team *team = worker->team;
    struct problem problem = {0};
    int kept[] = {team->wake_pipe[1]};
    if (team->plan->rate)
        pause_set_timer_slack();
    if (run_phases(worker, &problem) < 0)
        team_cancel(team, true, worker->phase, &problem);
    sender_end(&worker->sender);
    cpu_meter_close(&worker->own.meter);
    if (worker->owns_descriptors) /* so that control closes the sockets when it closes its own */
        descriptors_own(kept, 1);
    team_report_phase(team, PHASE_REPORT);
}
