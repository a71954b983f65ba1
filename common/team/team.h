/* SPDX-License-Identifier: MIT */
/*
 * The data threads of one end of a run, and the stages through which control leads them.
 *
 *   driver     connected ▷start  warm-up  warmed ▷last  one more message  ▷go  run  done
 *   follower   connected ▷start  up to the announced byte  marked                run  done
 *   both       connected ▷start  warm-up  warmed ▷last  one more message and up to the byte  marked
 *              ▷go  run  done
 *
 * Threads *reach* a stage. When all threads have reached it, control gets a callback on its loop.
 * Control *releases* (▷) the threads that wait. A thread of "both" receives while it waits for ▷last,
 * because other ends wait for the threads that send to it.
 * The warm-up ends without a look at the other end's state. The driver announces the byte at which it
 * will end after one more message. It sends that message only when the follower knows the byte. The
 * follower marks (takes its start figures) at exactly that byte, by itself, at a message boundary.
 */
#ifndef UNCORK_TEAM_TEAM_H
#define UNCORK_TEAM_TEAM_H

#include "connection/connection.h"
#include "engine/engine.h"
#include "measure/tcp_info.h"
#include "net/address.h"
#include "security/security.h"
#include "team/sender.h"
#include "team/thread.h"

#include <uv.h>

enum stage { STAGE_CONNECTED, STAGE_WARMED, STAGE_MARKED, STAGE_DONE, STAGE_COUNT };
enum release { RELEASE_NOTHING, RELEASE_START, RELEASE_LAST, RELEASE_GO };

/* Figures of a thread at the start or the end of its measured interval. */
struct figures {
    struct thread_reading own;
    struct call_counts calls;
    uint64_t messages_sent, bytes_sent, messages_received, bytes_received;
    uint64_t groups, fragments; /* sent on by a proxy */
    struct tcp_reading *tcp;    /* by connection */
};

/* Distance of memory that two threads write to: processors fetch lines of 64 bytes in pairs. */
#define WORKER_BLOCK 128

struct worker {
    struct team *team;
    size_t index;
    struct connection *connections; /* in memory that no other thread writes to */
    size_t count;
    struct workbench bench;
    struct dial dial;
    struct duty duty;

    struct team_thread own;
    struct sender sender; /* for handoff=thread; duty.handover points into it */
    bool can_wake;        /* the engine is open until all threads are joined; under team->mutex */
    const char *phase;    /* for error messages */
    struct figures before, after;
    size_t tcp_count;            /* number of connections with TCP figures */
    uint64_t begun_ns, ended_ns; /* the measured interval */
    uint64_t first_bytes;        /* received before begun_ns */
    uint64_t missed;             /* open loop: requests that were due and were never started */
    json_t *options;
    char apart[WORKER_BLOCK]; /* keeps the next worker of the team away */
};

struct team_events {
    /* All threads have reached the stage. STAGE_DONE also comes after a failure. */
    void (*reached)(void *owner, enum stage stage);
    void (*closed)(void *owner); /* after team_close(): the owner may free the memory */
};

struct team {
    const struct plan *plan;
    enum end end;
    bool drives, follows;
    const struct engine *engine;
    struct address target;     /* client: where to connect (size 0: no socket); proxy: the sink */
    uint8_t token[TOKEN_SIZE]; /* sent to the target; or expected by a data thread that accepts */
    uint8_t keys[END_COUNT][SECURITY_KEY_SIZE]; /* of encrypted connections, by peer */
    int listener;                               /* server of a workload that reconnects; else -1 */
    struct place_list cpus;

    uint64_t origin_ns; /* start of the threads: the zero of all times in the report */
    size_t connection_count, worker_count;
    size_t per_number; /* connections per number; 2 at a proxy: to client and server */
    struct worker *workers;
    struct machine_reading machine_before, machine_after;
    uint64_t resident_before, resident_after; /* bytes, without and with the connections */

    uv_mutex_t mutex; /* protects the fields below, up to failed_phase */
    uv_cond_t released;
    enum release release;
    size_t reached[STAGE_COUNT];
    size_t met; /* calls of team_meet() */
    bool cancelled;
    struct problem problem; /* the first one */
    char failed_phase[32];

    uv_async_t wake;
    uv_timer_t watch; /* team/stall_watch.h */
    int open_handles;
    uint64_t moved_before, unsent_before, moved_ms;
    bool notified[STAGE_COUNT];
    const struct team_events *events;
    void *owner;
};

/* Allocates connections and workers. `remote`: the other end is on another machine. Returns 0, or
 * -1 with a problem; call team_close() in both cases. The plan must outlive the team. */
int team_open(struct team *team, uv_loop_t *loop, const struct plan *plan, enum end end, bool remote,
              const struct team_events *events, void *owner, struct problem *problem);

/* Server or proxy: hands over data connection number `index`. The team owns the descriptor. */
void team_give(struct team *team, size_t index, int fd);

/* Starts the threads. Returns 0, or -1 with a failure. */
int team_start(struct team *team, struct problem *problem);

/* Releases the threads that wait for `release`. RELEASE_GO starts the driver's interval. */
void team_release(struct team *team, enum release release);

/* Driver, after STAGE_WARMED: number of bytes at which connection `index` will end its warm-up. */
uint64_t team_drain_bytes(const struct team *team, size_t index);

/* Driver, after STAGE_DONE: number of bytes that connection `index` sent. */
uint64_t team_sent_bytes(const struct team *team, size_t index);

/* Follower, before the driver sends its last message: sets the byte at which connection `index`
 * marks. `driver` is the end that sends on it. In a workload that reconnects, a later call sets the
 * byte at which the connection ends. */
void team_set_stop(struct team *team, enum end driver, size_t index, uint64_t bytes);

/* Follower: call after team_set_stop() for all connections. Wakes the threads. */
void team_stops_set(struct team *team);

/* Ends every thread soon, by shutdown(2) of its sockets. The first problem is kept. */
void team_cancel(struct team *team, const char *phase, const struct problem *problem);

/* The phase, as the record names it: "connect", "hello", "warm-up", "run" or "report". */
const char *team_phase(const struct team *team);

/* After STAGE_DONE: the problem and its phase, or NULL if the team did not fail. */
const struct problem *team_problem(const struct team *team, const char **phase);

/* After STAGE_DONE without a failure: this end's part of the record. New reference. */
json_t *team_report(const struct team *team);

/* Position in a loop over all connections of a team: by thread, then by number. */
struct team_cursor {
    size_t worker, index;
};

/* Returns the connection at the cursor and advances the cursor. NULL after the last one. */
struct connection *team_next_connection(const struct team *team, struct team_cursor *at);

/* After STAGE_DONE: number of connections that the threads closed because of a wrong token. */
uint64_t team_strangers(const struct team *team);

/* Cancels, joins the threads, closes every descriptor; then calls `closed`. May be called twice. */
void team_close(struct team *team);

/* ---- for the threads ---- */

void worker_main(void *worker);

/* team_reach() reports a stage to control. team_await() waits for a release and for STAGE_CONNECTED
 * of all threads. Returns -ECANCELED when the team was cancelled. */
void team_reach(struct team *team, enum stage stage);
int team_await(struct team *team, enum release release);

/* A barrier for all threads; the last one reads the machine's account. Returns -ECANCELED when the
 * team was cancelled. */
int team_meet(struct team *team, struct machine_reading *machine);

/* Stores a new descriptor. If the team was cancelled: closes it and returns -ECANCELED. */
int team_adopt(struct team *team, struct connection *connection, int fd);

/* Call when the engine of the worker is open: from then on other threads may wake it. */
void team_engine_opened(struct worker *worker);

/* Closes the descriptor of a connection. */
void team_drop(struct team *team, struct connection *connection);

#endif
