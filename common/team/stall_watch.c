/* SPDX-License-Identifier: MIT */
/* Cancels a team whose threads are stuck: in a handshake, or with no byte moved for seconds. */
#include "team/team.h"

#include "base/clock.h"
#include "connection/sizes.h"
#include "net/sockets.h"

#define WATCH_MS 500
#define STALLED_MS 5000
#define SLOWEST_BYTES_PER_MS 100000
#define HANDSHAKE_WITHIN_MS 4000
#define HANDSHAKE_EACH_MS 5 /* for each connection of the run: this may be the last one */
#define PAUSES_MS 30000     /* thirty mean gaps of an open loop: no Poisson gap is that long */

/* Bytes moved so far. */
static uint64_t moved(const struct team *team)
{
    const struct connection *connection;
    struct team_cursor at = {0};
    uint64_t sum = 0;

    while ((connection = team_next_connection(team, &at)))
        sum += atomic_load_explicit(&connection->calls.moved, memory_order_relaxed);
    return sum;
}

/* Bytes that the kernel has not sent yet. Inside one long call only this number changes. */
static uint64_t unsent(struct team *team)
{
    const struct connection *connection;
    struct team_cursor at = {0};
    uint64_t sum = 0;

    uv_mutex_lock(&team->mutex); /* descriptors may come and go */
    while ((connection = team_next_connection(team, &at)))
        sum += sockets_unsent(connection->calls.fd);
    uv_mutex_unlock(&team->mutex);
    return sum;
}

/* Time without movement that is no stall. Included are the gap of an open loop between two
 * requests and the time to fault in memory. So are one call with a whole fragment, and the spin
 * time of one batch. */
static uint64_t stall_timeout_ms(const struct team *team)
{
    const struct plan *plan = team->plan;
    uint64_t bytes = plan->message.longest_group + plan->reply.longest_group;

    for (int end = 0; end < END_COUNT; end++)
        if (plan_has_end(plan, (enum end)end))
            bytes += plan_memory_bytes(plan, (enum end)end, engine_threads(plan, (enum end)end));
    return STALLED_MS + bytes / SLOWEST_BYTES_PER_MS + (plan->rate ? PAUSES_MS / plan->rate : 0) +
           plan->window * plan->spin_ns / NS_PER_MS;
}

/* Returns 0, or -1 with a failure. watch_moves() too. */
static int watch_handshakes(const struct team *team, struct problem *problem)
{
    uint64_t within_ms = HANDSHAKE_WITHIN_MS + HANDSHAKE_EACH_MS * team->plan->connections;
    uint64_t now = clock_now_ns();
    const struct connection *connection;
    struct team_cursor at = {0};

    while (team->plan->encrypts && (connection = team_next_connection(team, &at))) {
        uint64_t since = atomic_load_explicit(&connection->handshake_ns, memory_order_acquire);

        if (since && since + within_ms * NS_PER_MS < now)
            return problem_failure(problem, "the %s did not finish its handshake with the %s in time",
                                   end_names[connection->peer], end_names[team->end]);
    }
    return 0;
}

static int watch_moves(struct team *team, struct problem *problem)
{
    uint64_t now = uv_now(team->watch.loop), sum = moved(team), left = 0;

    if (sum == team->moved_before)
        left = unsent(team);
    if (sum == team->moved_before && left == team->unsent_before &&
        now - team->moved_ms > stall_timeout_ms(team))
        return problem_failure(problem, "the %s has moved nothing for %d s", end_names[team->end],
                               (int)((now - team->moved_ms) / 1000));
    if (sum != team->moved_before || left != team->unsent_before)
        team->moved_ms = now;
    team->moved_before = sum;
    team->unsent_before = left;
    return 0;
}

static void on_watch(uv_timer_t *watch)
{
    struct team *team = watch->data;
    const char *phase = "handshake";
    struct problem problem = {0};
    int result = watch_handshakes(team, &problem);

    if (result == 0 && team->passed > PHASE_START) {
        phase = team_phase(team);
        result = watch_moves(team, &problem);
    }
    if (result == 0)
        return;
    team_cancel(team, phase, &problem);
    uv_timer_stop(watch);
}

/* Threads first connect (timed elsewhere) and make handshakes. After PHASE_START, bytes have to
 * move. */
void stall_watch_start(struct team *team)
{
    uv_timer_start(&team->watch, on_watch, WATCH_MS, WATCH_MS);
}

void stall_watch_restart(struct team *team)
{
    uv_update_time(team->watch.loop);
    team->moved_ms = uv_now(team->watch.loop);
}
