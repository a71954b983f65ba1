/* SPDX-License-Identifier: MIT */
#include "team/team.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/threads.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first connection number of a thread. Threads differ by at most one in their numbers of
 * connections. */
static size_t first_number(const struct team *team, size_t worker)
{
    return worker * team->plan->connections / team->worker_count;
}

struct connection *team_connection(const struct team *team, size_t index)
{
    size_t number = index / team->per_number;
    size_t worker = ((number + 1) * team->worker_count - 1) / team->plan->connections;
    return &team->workers[worker].connections[index - first_number(team, worker) * team->per_number];
}

struct connection *team_numbered(const struct team *team, size_t number)
{
    return team_connection(team, number * team->per_number);
}

/* ---- phases ---- */

#define ALL (DRIVERS | FOLLOWERS)
#define DRIVERS (1u << PART_DRIVER | 1u << PART_BOTH)
#define FOLLOWERS (1u << PART_FOLLOWER | 1u << PART_BOTH)
#define NONE 0
#define RELEASE(name, text)
#define PHASE(name, record, driver, follower, both, reported_by, message, text)                              \
    [PHASE_##name] = {record, {RELEASE_##driver, RELEASE_##follower, RELEASE_##both}, reported_by},

const struct phase_info phases[PHASE_COUNT] = {
#include "team/phases.def"
};

const char *team_phase(const struct team *team)
{
    if (team->passed <= PHASE_START)
        return "connect";
    if (team->release == RELEASE_NOTHING)
        return "hello";
    if (team->part == PART_FOLLOWER ? team->passed <= PHASE_MARK : team->release < RELEASE_GO)
        return phases[PHASE_WARM_UP].name;
    return phases[team->passed <= PHASE_REPORT ? PHASE_RUN : PHASE_REPORT].name;
}

/* ---- a thread wakes control ---- */

/* Only control has all sockets: a thread with a table of its own has no others (base/threads.h). */
static void shut_down(struct team *team)
{
    for (size_t i = 0; i < team->connection_count; i++)
        if (team_connection(team, i)->calls.fd >= 0)
            shutdown(team_connection(team, i)->calls.fd, SHUT_RDWR);
}

static void wake_control(struct team *team)
{
    (void)!write(team->wake_pipe[1], "", 1); /* if the pipe is full, the loop is awake */
}

static void release_if_ended(struct team *team);

static void on_wake(uv_poll_t *wake, int status, int events)
{
    struct team *team = wake->data;
    size_t reports[PHASE_COUNT];
    char bytes[PHASE_COUNT];

    while (read(team->wake_pipe[0], bytes, sizeof bytes) > 0)
        ;
    uv_mutex_lock(&team->mutex);
    if (team->cancelled)
        shut_down(team);
    memcpy(reports, team->reports, sizeof reports);
    uv_mutex_unlock(&team->mutex);
    release_if_ended(team);
    for (int phase = team->passed; phase < PHASE_COUNT && !team->is_closing; phase++) {
        if (reports[phase] < team->worker_count)
            continue;
        team->passed = phase + 1;
        if (phase == PHASE_START) { /* from now on bytes have to move */
            uv_update_time(team->watch.loop);
            team->moved_ms = uv_now(team->watch.loop);
        }
        if (phase == PHASE_REPORT) {
            team->resident_after = memory_resident_bytes();
            stall_watch_stop(team);
        }
        team->events->passed(team->owner, (enum phase)phase);
    }
}

/* ---- open and start ---- */

int team_adopt(void *owner, struct connection *connection, int fd)
{
    struct team *team = owner;
    uv_mutex_lock(&team->mutex);
    bool cancelled = team->cancelled;
    if (!cancelled)
        connection->calls.fd = fd;
    uv_mutex_unlock(&team->mutex);
    if (cancelled)
        close(fd);
    return cancelled ? -ECANCELED : 0;
}

void team_drop(void *owner, struct connection *connection)
{
    struct team *team = owner;
    uv_mutex_lock(&team->mutex);
    close(connection->calls.fd);
    connection->calls.fd = -1;
    uv_mutex_unlock(&team->mutex);
}

static int open_worker(struct worker *worker, struct team *team, size_t index)
{
    size_t first = first_number(team, index);
    size_t count = (first_number(team, index + 1) - first) * team->per_number;
    /* Whole multiples of WORKER_ALIGNMENT, so that no other thread writes to that memory. */
    size_t units = (count * sizeof *worker->connections + WORKER_ALIGNMENT - 1) / WORKER_ALIGNMENT;

    worker->team = team;
    worker->own.meter = worker->sender.own.meter = CPU_METER_CLOSED;
    worker->own.pinned_to = team->cpus.count ? team->cpus.cpus[index % team->cpus.count] : -1;
    worker->connections = aligned_alloc(WORKER_ALIGNMENT, units * WORKER_ALIGNMENT);
    worker->before.tcp = calloc(count, sizeof *worker->before.tcp);
    worker->after.tcp = calloc(count, sizeof *worker->after.tcp);
    if (!worker->connections || !worker->before.tcp || !worker->after.tcp)
        return -ENOMEM;
    memset(worker->connections, 0, units * WORKER_ALIGNMENT);
    worker->count = count;
    worker->dial = (struct dial){
        .target = &team->target, .token = team->token, .adopt = team_adopt, .drop = team_drop, .owner = team};
    worker->job = (struct engine_job){.connections = worker->connections,
                                      .count = worker->count,
                                      .shared = &worker->shared,
                                      .dial = team->plan->workload->reconnects ? &worker->dial : NULL};
    for (size_t i = 0; i < worker->count; i++) {
        struct connection *connection = &worker->connections[i];
        connection->number = first + i / team->per_number;
        connection->calls.fd = -1;
        if (team->per_number > 1) { /* pairs */
            connection->peer = i % 2 ? END_SERVER : END_CLIENT;
            connection->twin = &worker->connections[i ^ 1];
        }
    }
    return 0;
}

static void close_pipe(const struct team *team)
{
    close(team->wake_pipe[0]);
    close(team->wake_pipe[1]);
}

int team_open(struct team *team, uv_loop_t *loop, const struct plan *plan, enum end end, bool remote,
              const struct team_events *events, void *owner, struct problem *problem)
{
    size_t per_number = plan_role(plan, end)->relay_buffers ? 2 : 1;
    size_t connections = plan->connections * per_number, threads = engine_threads(plan, end);

    *team = (struct team){.plan = plan,
                          .end = end,
                          .part = !plan->ends[end].drives   ? PART_FOLLOWER
                                  : plan->ends[end].follows ? PART_BOTH
                                                            : PART_DRIVER,
                          .engine = plan->ends[end].engine,
                          .per_number = per_number,
                          .listener = -1,
                          .resident_before = memory_resident_bytes(),
                          .events = events,
                          .owner = owner};
    uv_mutex_init(&team->mutex);
    uv_cond_init(&team->released);
    uv_timer_init(loop, &team->watch);
    team->watch.data = team;
    team->open_handles = 1;
    int result = uv_pipe(team->wake_pipe, UV_NONBLOCK_PIPE, UV_NONBLOCK_PIPE);
    if (result == 0 && (result = uv_poll_init(loop, &team->wake, team->wake_pipe[0])) < 0)
        close_pipe(team);
    if (result < 0)
        return problem_failure(problem, "cannot open a pipe for the data threads: %s", uv_strerror(result));
    team->wake.data = team;
    team->open_handles++;
    uv_poll_start(&team->wake, UV_READABLE, on_wake);
    if (plan_cpus(plan, end, remote, &team->cpus, problem) < 0)
        return -1;
    team->workers = calloc(threads, sizeof *team->workers);
    team->worker_count = team->workers ? threads : 0;
    for (size_t i = 0; i < threads; i++)
        if (!team->workers || open_worker(&team->workers[i], team, i) < 0)
            return problem_failure(problem, "out of memory for %zu connections", connections);
    team->connection_count = connections;
    return 0;
}

int team_start(struct team *team, struct problem *problem)
{
    team->origin_ns = clock_now_ns();
    stall_watch_start(team);
    for (size_t i = 0; i < team->worker_count; i++) {
        struct worker *worker = &team->workers[i];
        int result = uv_thread_create(&worker->own.handle, worker_main, worker);
        char name[64];
        snprintf(name, sizeof name, "thread %zu of %zu", i + 1, team->worker_count);
        if (result < 0)
            return thread_failure(problem, result, name);
        team->started_count++;
    }
    return 0;
}

void team_report_phase(struct team *team, enum phase phase)
{
    uv_mutex_lock(&team->mutex);
    assert(phases[phase].reported_by & 1u << team->part);
    if (++team->reports[phase] == team->worker_count) {
        wake_control(team);
        uv_cond_broadcast(&team->released);
    } else if (phase == PHASE_REPORT && team->cancelled) {
        wake_control(team); /* this may be the last thread: not all may have started */
    }
    uv_mutex_unlock(&team->mutex);
}

static void wake_locked(struct worker *worker)
{
    if (worker->can_wake)
        worker->team->engine->wake(&worker->job);
}

void team_release(struct team *team, enum release release)
{
    uv_mutex_lock(&team->mutex);
    if (release > team->release)
        team->release = release;
    uv_cond_broadcast(&team->released);
    for (size_t i = 0; release == RELEASE_LAST && team->part == PART_BOTH && i < team->worker_count; i++) {
        atomic_store_explicit(&team->workers[i].shared.until_released, false, memory_order_release);
        wake_locked(&team->workers[i]); /* it is in PHASE_RECEIVE */
    }
    uv_mutex_unlock(&team->mutex);
}

/* Unlocks the mutex. Returns -1 with a failure if the team was cancelled. */
static int unlock_and_check(struct team *team, struct problem *problem)
{
    bool cancelled = team->cancelled;
    uv_mutex_unlock(&team->mutex);
    return cancelled ? problem_failure(problem, "the run was ended") : 0;
}

int team_await(struct team *team, enum release release, struct problem *problem)
{
    uv_mutex_lock(&team->mutex);
    while ((team->release < release || team->reports[PHASE_START] < team->worker_count) && !team->cancelled)
        uv_cond_wait(&team->released, &team->mutex);
    return unlock_and_check(team, problem);
}

int team_barrier(struct team *team, struct cpu_reading *machine, struct problem *problem)
{
    uv_mutex_lock(&team->mutex);
    size_t expected = (team->at_barrier / team->worker_count + 1) * team->worker_count;
    if (++team->at_barrier == expected) {
        cpu_read_machine(machine);
        uv_cond_broadcast(&team->released);
    }
    while (team->at_barrier < expected && !team->cancelled)
        uv_cond_wait(&team->released, &team->mutex);
    return unlock_and_check(team, problem);
}

void team_set_stops(struct team *team, enum end driver, const json_t *bytes)
{
    const json_t *value;
    size_t number;

    json_array_foreach(bytes, number, value) {
        struct connection *connection = team_numbered(team, number);
        if (connection->twin && connection->peer != driver)
            connection = connection->twin;
        atomic_store_explicit(&connection->stop, (uint64_t)json_integer_value(value) + 1,
                              memory_order_release);
    }
    uv_mutex_lock(&team->mutex); /* a thread that receives nothing more would not see its stop */
    for (size_t i = 0; i < team->worker_count; i++)
        wake_locked(&team->workers[i]);
    uv_mutex_unlock(&team->mutex);
}

void team_cancel(struct team *team, bool by_thread, const char *phase, const struct problem *problem)
{
    uv_mutex_lock(&team->mutex);
    if (!team->cancelled) {
        team->problem = *problem;
        snprintf(team->failed_phase, sizeof team->failed_phase, "%s", phase);
    }
    team->cancelled = true;
    uv_cond_broadcast(&team->released);
    for (size_t i = 0; i < team->worker_count; i++) {
        atomic_store(&team->workers[i].shared.cancelled, true);
        wake_locked(&team->workers[i]);
    }
    if (by_thread)
        wake_control(team);
    else
        shut_down(team);
    uv_mutex_unlock(&team->mutex);
}

const struct problem *team_problem(struct team *team, const char **phase)
{
    uv_mutex_lock(&team->mutex);
    bool cancelled = team->cancelled;
    uv_mutex_unlock(&team->mutex);
    *phase = team->failed_phase;
    return cancelled ? &team->problem : NULL;
}

static void on_closed(uv_handle_t *handle)
{
    struct team *team = handle->data;
    if (--team->open_handles > 0)
        return;
    if (team->wake.data)
        close_pipe(team);
    uv_cond_destroy(&team->released);
    uv_mutex_destroy(&team->mutex);
    team->events->closed(team->owner);
}

/* Joins threads only when all have reported their end, so control never waits for one. */
static void release_if_ended(struct team *team)
{
    uv_mutex_lock(&team->mutex);
    bool has_ended = team->reports[PHASE_REPORT] == team->started_count;
    uv_mutex_unlock(&team->mutex);
    if (!team->is_closing || !has_ended || uv_is_closing((uv_handle_t *)&team->watch))
        return;
    for (size_t i = 0; i < team->started_count; i++)
        uv_thread_join(&team->workers[i].own.handle);
    for (size_t i = 0; i < team->worker_count; i++) {
        struct worker *worker = &team->workers[i];
        team->engine->close(&worker->job);
        for (size_t j = 0; j < worker->count; j++) {
            if (worker->connections[j].calls.fd >= 0)
                close(worker->connections[j].calls.fd);
            connection_close(&worker->connections[j]);
        }
        free(worker->connections);
        free(worker->before.tcp);
        free(worker->after.tcp);
        json_decref(worker->options);
        thread_shared_close(&worker->shared);
    }
    free(team->workers);
    team->connection_count = team->worker_count = team->started_count = 0;
    secret_wipe(team->keys, sizeof team->keys);
    if (team->wake.data)
        uv_close((uv_handle_t *)&team->wake, on_closed);
    uv_close((uv_handle_t *)&team->watch, on_closed);
}

void team_close(struct team *team)
{
    static const struct problem closed = {.kind = PROBLEM_FAILURE, .text = "the run was ended"};
    if (team->is_closing)
        return;
    team->is_closing = true; /* the watch goes on: it interrupts threads that wait */
    team_cancel(team, false, "finish", &closed);
    release_if_ended(team);
}
