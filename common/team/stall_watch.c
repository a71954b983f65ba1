/* SPDX-License-Identifier: MIT */
/* Cancels a team whose threads are stuck in a handshake, have moved no byte for seconds, or take
 * longer than the plan may. Interrupts threads that a cancelled team waits for. Knows when this
 * process was suspended, which looks like a fault of the other end. */
#include "team/team.h"

#include "base/clock.h"
#include "connection/memory.h"

#include <pthread.h>
#include <signal.h>

#define WATCH_MS 500
#define STALLED_MS 5000
#define SLOWEST_BYTES_PER_MS 100000
#define HANDSHAKE_WITHIN_MS 4000
#define HANDSHAKE_EACH_MS 5 /* more for each connection of the run: this may be the last one */
/* Divided by the rate: thirty mean gaps of an open loop; no Poisson gap is that long. */
#define PAUSES_MS 30000

/* The longest time in which no byte may move. It covers the gap between two requests of an open
 * loop, the time to fault in memory, one call with a whole fragment, and the spin time of one
 * batch. */
static uint64_t stall_timeout_ms(const struct team *team)
{
    const struct plan *plan = team->plan;
    uint64_t bytes = plan->message.longest_group + plan->reply.longest_group;
    for (enum end end = 0; end < END_COUNT; end++)
        if (plan_has_end(plan, end))
            bytes += plan_memory_bytes(plan, end, engine_threads(plan, end));
    return STALLED_MS + bytes / SLOWEST_BYTES_PER_MS + (plan->rate ? PAUSES_MS / plan->rate : 0) +
           plan->window * plan->spin_ns / NS_PER_MS;
}

static void check_handshakes(const struct team *team, struct problem *problem)
{
    uint64_t within_ms = HANDSHAKE_WITHIN_MS + HANDSHAKE_EACH_MS * team->plan->connections;
    uint64_t now = clock_now_ns();
    for (size_t i = 0; team->plan->encrypts && i < team->connection_count; i++) {
        const struct connection *connection = team_connection(team, i);
        uint64_t since = atomic_load_explicit(&connection->handshake_ns, memory_order_acquire);
        if (since && since + within_ms * NS_PER_MS < now)
            problem_failure(problem, "the %s did not finish its handshake with the %s within %d s",
                            end_names[connection->peer], end_names[team->end], (int)(within_ms / 1000));
    }
}

static void check_progress(struct team *team, struct problem *problem)
{
    uint64_t now = uv_now(team->watch.loop), moved = 0, unsent = 0;
    bool is_foreign = plan_is_foreign(team->plan);
    for (size_t i = 0; i < team->connection_count; i++)
        moved += atomic_load_explicit(&team_connection(team, i)->calls.moved, memory_order_relaxed);
    if (moved == team->moved_before) { /* during one long call only what the kernel sends changes */
        uv_mutex_lock(&team->mutex);   /* descriptors may come and go */
        for (size_t i = 0; i < team->connection_count; i++)
            unsent += sockets_unsent(team_connection(team, i)->calls.fd);
        uv_mutex_unlock(&team->mutex);
    }
    if (moved != team->moved_before || unsent != team->unsent_before)
        team->moved_ms = now;
    else if (now - team->moved_ms > stall_timeout_ms(team))
        problem_failure(problem, "the %s has sent and received nothing for %d s%s%s", end_names[team->end],
                        (int)((now - team->moved_ms) / 1000), is_foreign ? "; it waits for the " : "",
                        is_foreign ? plan_name_of(team->plan, END_SERVER) : "");
    team->moved_before = moved;
    team->unsent_before = unsent;
}

/* How long the watch has not run, in seconds; 0 unless the other ends have given up meanwhile. */
static int suspended_s(const struct team *team)
{
    uint64_t ms = (clock_read_ns(CLOCK_WITH_SLEEP) - team->watched_ns) / NS_PER_MS;
    return ms > CHANNEL_SILENCE_MS ? (int)(ms / 1000) : 0;
}

static void on_watch(uv_timer_t *watch)
{
    struct team *team = watch->data;
    uint64_t limit_ms = plan_limit_ms(team->plan);
    struct problem problem = {0};

    uv_mutex_lock(&team->mutex);
    bool cancelled = team->cancelled;
    uv_mutex_unlock(&team->mutex);
    /* Most calls return when their socket is shut down, but not connect(2) of a Unix socket whose
     * backlog is full: unix_wait_for_peer() in net/unix/af_unix.c waits for the other socket only
     * (Linux 6.18). A signal that comes just before a call has no effect, so the next turn repeats
     * it. */
    for (size_t i = 0; cancelled && i < team->started_count; i++)
        pthread_kill(team->workers[i].own.handle, SIGURG);
    if (cancelled)
        return;
    const char *phase = team_phase(team);
    if (suspended_s(team)) { /* stall_watch_stop() adds that */
        problem_failure(&problem, "the run was interrupted");
    } else {
        team->watched_ns = clock_read_ns(CLOCK_WITH_SLEEP);
        check_handshakes(team, &problem);
        if (problem.kind != PROBLEM_NONE)
            phase = "handshake";
        /* The server ends a run that takes too long; a peer that is no server of uncork may not. */
        if (plan_has_peer(team->plan) && uv_now(watch->loop) - team->started_ms > limit_ms)
            problem_failure(&problem, "the peer did not finish the run within %d s", (int)(limit_ms / 1000));
        if (team->passed > PHASE_START)
            check_progress(team, &problem);
    }
    if (problem.kind != PROBLEM_NONE)
        team_cancel(team, false, phase, &problem);
}

static void on_interrupt(int number)
{
}

void stall_watch_start(struct team *team)
{
    sigaction(SIGURG, &(struct sigaction){.sa_handler = on_interrupt}, NULL); /* no SA_RESTART: EINTR */
    uv_update_time(team->watch.loop);
    team->started_ms = uv_now(team->watch.loop);
    team->watched_ns = clock_read_ns(CLOCK_WITH_SLEEP);
    uv_timer_start(&team->watch, on_watch, WATCH_MS, WATCH_MS);
}

void stall_watch_stop(struct team *team)
{
    char text[64];
    uv_timer_stop(&team->watch);
    if (!team->cancelled || !suspended_s(team))
        return;
    snprintf(text, sizeof text, "this process was suspended for %d s", suspended_s(team));
    problem_add(&team->problem, text);
}
