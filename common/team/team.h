/* SPDX-License-Identifier: MIT */
/*
 * The data threads of one end of a run, and the stages through which control leads them.
 *
 *   driver     connected ▷start  warm-up  warmed ▷last  one more message  ▷go  run  done
 *   follower   connected ▷start  up to the announced byte  marked                run  done
 *   both       connected ▷start  warm-up  warmed ▷last  one more message and up to the byte  marked ▷go  run
 * done
 *
 * Threads *reach* a stage; control is told on its loop when all have. Control *releases* (▷), threads wait
 * for it; those of both take what comes meanwhile, up to ▷last, because others wait for threads that send it.
 * The warm-up ends without a look at the other end's state: the driver announces in bytes where it will have
 * ended after one more message, and sends that only when the follower knows. The follower marks (takes its
 * start figures) at exactly that byte, by itself, at a message boundary.
 */
#ifndef UNCORK_TEAM_TEAM_H
#define UNCORK_TEAM_TEAM_H

#include "connection/connection.h"
#include "engine/engine.h"
#include "measure/tcp_info.h"
#include "security/security.h"
#include "team/sender.h"
#include "team/thread.h"
#include "transport/address.h"

#include <uv.h>

enum stage { STAGE_CONNECTED, STAGE_WARMED, STAGE_MARKED, STAGE_DONE, STAGE_COUNT };
enum release { RELEASE_NOTHING, RELEASE_START, RELEASE_LAST, RELEASE_GO };

/* Figures of a thread at the beginning or the end of its measured interval. */
struct figures {
    struct thread_reading own;
    struct call_counts calls;
    uint64_t messages_sent, bytes_sent, messages_received, bytes_received;
    uint64_t groups, fragments; /* that a proxy has sent on */
    struct tcp_reading *tcp;    /* by connection */
};

/* What two threads write to is so far apart: processors fetch lines of 64 bytes in pairs. */
#define WORKER_BLOCK 128

struct worker {
    struct team *team;
    size_t index;
    struct connection *connections; /* in memory of its own */
    size_t count;
    struct workbench bench;
    struct dial dial;
    struct duty duty;

    struct team_thread own;
    struct sender sender; /* of handoff=thread: duty.handover leads to it */
    bool
        can_wake; /* its engine is open, and stays so until all threads were joined; under the team's mutex */
    const char *phase; /* where it is, for errors */
    struct figures before, after;
    size_t told;                 /* connections of which there are TCP figures */
    uint64_t begun_ns, ended_ns; /* the measured interval */
    uint64_t first_bytes;        /* what had arrived when it began */
    uint64_t missed;             /* starts of an open loop that were due and never came */
    json_t *options;
    char apart[WORKER_BLOCK]; /* from the next worker of the team */
};

struct team_events {
    void (*reached)(void *owner,
                    enum stage stage); /* all threads have; STAGE_DONE also of a team that failed */
    void (*closed)(void *owner);       /* after team_close(): the memory may go */
};

struct team {
    const struct plan *plan;
    enum end end;
    bool drives, follows;
    const struct engine *engine;
    struct address target;     /* client: where to connect, size 0 for no socket at all; proxy: the sink */
    uint8_t token[TOKEN_SIZE]; /* shown there; or that comers have to show to a data thread */
    uint8_t keys[END_COUNT]
                [SECURITY_KEY_SIZE]; /* of the connections with this peer, where they are encrypted */
    int listener;                    /* of the server of a workload that renews its descriptors; -1 */
    struct place_list cpus;

    uint64_t origin_ns; /* when the threads were started: the zero of all times in the report */
    size_t connection_count, worker_count;
    size_t per_number; /* connections of one number: a proxy has a pair of them, towards client and server */
    struct worker *workers;
    struct machine_reading machine_before, machine_after;
    uint64_t resident_before, resident_after; /* bytes: without and with the connections */

    uv_mutex_t mutex; /* over what follows */
    uv_cond_t released;
    enum release release;
    size_t reached[STAGE_COUNT];
    size_t met; /* threads that came to team_meet() */
    bool cancelled;
    struct problem problem; /* the first thing that went wrong */
    char failed_phase[32];

    uv_async_t wake;
    uv_timer_t watch; /* over threads that are stuck */
    int open_handles;
    uint64_t moved_before, unsent_before, moved_ms;
    bool told[STAGE_COUNT];
    const struct team_events *events;
    void *owner;
};

/* Makes connections and threads ready; `remote`: the other end is on another machine. 0, or -1 with a
 * problem; team_close() it in both cases. The plan must outlive the team. */
int team_open(struct team *team, uv_loop_t *loop, const struct plan *plan, enum end end, bool remote,
              const struct team_events *events, void *owner, struct problem *problem);

/* The server's or the proxy's: the data connection number `index` has come. Takes the descriptor over. */
void team_give(struct team *team, size_t index, int fd);

/* Starts the threads. 0, or -1 with a failure. */
int team_start(struct team *team, struct problem *problem);

/* Lets the threads go on; with RELEASE_GO the driver's interval begins. */
void team_release(struct team *team, enum release release);

/* Driver, after STAGE_WARMED: at how many bytes connection `index` will have ended its warm-up. */
uint64_t team_drain_bytes(const struct team *team, size_t index);

/* Driver, after STAGE_DONE: at how many bytes connection `index` has ended. */
uint64_t team_sent_bytes(const struct team *team, size_t index);

/* Follower, before the driver is told to send the last message: where connection `index`, by which `driver`
 * sends, is to mark; in a workload that renews its descriptors afterwards where it is to end. */
void team_set_stop(struct team *team, enum end driver, size_t index, uint64_t bytes);

/* Follower: the stops of all connections are set. */
void team_stops_set(struct team *team);

/* Ends every thread soon, by shutdown(2) of its sockets. The first problem stays. */
void team_cancel(struct team *team, const char *phase, const struct problem *problem);

/* Where the team is, as the record names it: "connect", "hello", "warm-up", "run" or "report". */
const char *team_phase(const struct team *team);

/* After STAGE_DONE: the problem of a team that failed, NULL of one that did not, and the phase. */
const struct problem *team_problem(const struct team *team, const char **phase);

/* After STAGE_DONE of a team that did not fail: its end of the record. New reference. */
json_t *team_report(const struct team *team);

/* Where a loop over all connections of a team is: thread by thread, in the order of their numbers. */
struct team_cursor {
    size_t worker, index;
};

/* The connection at the cursor, which advances. NULL after the last. */
struct connection *team_next_connection(const struct team *team, struct team_cursor *at);

/* After STAGE_DONE: connections that its threads dropped because they did not show the token. */
uint64_t team_strangers(const struct team *team);

/* Cancels, joins the threads, closes every descriptor; `closed` follows. May be called twice. */
void team_close(struct team *team);

/* ---- for the threads ---- */

void worker_main(void *worker);

/* All that a worker does to be seen by control. team_await() also waits for all threads to be connected, and
 * returns -ECANCELED when the team was cancelled. */
void team_reach(struct team *team, enum stage stage);
int team_await(struct team *team, enum release release);

/* Waits until all threads are here; the last one reads the machine's account. -ECANCELED when the
 * team was cancelled. */
int team_meet(struct team *team, struct machine_reading *machine);

/* A worker's new descriptor; -ECANCELED, and it is closed, when the team was cancelled. */
int team_adopt(struct team *team, struct connection *connection, int fd);

/* The worker's engine is open. */
void team_engine_opened(struct worker *worker);

/* Closes a worker's descriptor. */
void team_drop(struct team *team, struct connection *connection);

#endif
