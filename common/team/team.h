/* SPDX-License-Identifier: MIT */
/* The data threads of one end, and the phases through which control leads them: phases.def.
 *
 * Threads *report* the end of a phase. When all threads have reported it, control gets a callback
 * on its loop. Control *releases* the threads that wait before a phase.
 *
 * The warm-up ends at a byte, so no end needs to know the state of another. The driver announces
 * the byte at which it will end after one more message. It sends that message only when the
 * follower knows the byte. The follower then reads its start figures at exactly that byte, which is
 * a message boundary. */
#pragma once

#include "connection/connection.h"
#include "connection/security.h"
#include "control/channel.h"
#include "engine/engine.h"
#include "measure/cpu.h"
#include "measure/tcp_info.h"
#include "net/address.h"

#include <uv.h>

enum part { PART_DRIVER, PART_FOLLOWER, PART_BOTH, PART_COUNT };

#define RELEASE(name, text) RELEASE_##name,
#define PHASE(name, ...)
enum release {
    RELEASE_NOTHING,
#include "team/phases.def"
    RELEASE_NEVER
};
#undef RELEASE
#undef PHASE

#define RELEASE(name, text)
#define PHASE(name, ...) PHASE_##name,
enum phase {
#include "team/phases.def"
    PHASE_COUNT
};
#undef RELEASE
#undef PHASE

extern const struct phase_info {
    const char *name; /* in a record */
    enum release waits_for[PART_COUNT];
    unsigned reported_by; /* bits 1 << enum part */
} phases[PHASE_COUNT];

/* ---- a thread: its CPU, its scheduling, its cost. Only the thread itself can read them. ---- */

struct team_thread {
    uv_thread_t handle;
    bool started;
    int pinned_to; /* CPU; -1: not pinned */
    struct cpu_meter meter;
    struct thread_reading {
        struct cpu_reading cpu;
        int cpu_number; /* CPU it runs on; -1: unknown */
        bool scheduling_known;
        struct scheduling scheduling;
    } before, after; /* of the measured interval */
};

/* The second thread of a worker with handoff=thread: sends the requests that the data thread makes
 * (engine/engine.h). The worker starts the sender before its first phase, orders it to read its
 * figures, and ends it before its own end. So no other thread knows of the sender. A cancelled run
 * needs no extra code: shutdown(2) of the descriptors also wakes the sender. */
struct sender {
    struct team_thread own; /* its readings are complete after HANDOVER_END_TIME */
    struct handover handover;
    struct problem problem; /* why its set-up failed */
};

/* Starts the sender of a connection, pinned to `cpu` (-1: free), and waits until it is set up.
 * Returns 0, or -1 with a problem; call sender_end() in both cases. */
int sender_start(struct sender *sender, struct connection *connection, int cpu, struct problem *problem);

/* Waits for the last request and ends the thread. Does nothing if it was never started. */
void sender_end(struct sender *sender);

/* ---- the threads of an end ---- */

/* Of memory that only one thread writes to: processors fetch lines of 64 bytes in pairs. */
#define WORKER_ALIGNMENT 128

struct worker {
    struct team *team;
    struct connection *connections; /* in memory that no other thread writes to */
    size_t count;
    struct thread_shared shared;
    struct dial dial;
    struct engine_job job;

    struct team_thread own;
    struct sender sender;  /* for handoff=thread; job.handover points into it */
    bool can_wake;         /* the engine is open until all threads are joined; under team->mutex */
    bool owns_descriptors; /* descriptors_own() */
    const char *phase;     /* name of the phase in a record, if the thread fails */
    struct figures {
        struct call_counts calls;
        uint64_t messages_sent, bytes_sent, messages_received, bytes_received;
        uint64_t groups, fragments; /* sent on by a proxy */
        struct tcp_reading *tcp;    /* by connection */
    } before, after;                /* of the measured interval */
    size_t tcp_count;               /* number of connections with TCP figures */
    uint64_t begun_ns, ended_ns;    /* the measured interval */
    uint64_t first_bytes;           /* received before begun_ns */
    uint64_t missed;                /* open loop: requests that were due and not begun */
    json_t *options;
    char padding[WORKER_ALIGNMENT]; /* keeps the next worker of the team away */
};

struct team_events {
    /* All threads have reported the end of the phase. PHASE_REPORT also comes after a failure. */
    void (*passed)(void *owner, enum phase phase);
    void (*closed)(void *owner); /* after team_close(): the owner may free the memory */
};

struct team {
    const struct plan *plan;
    enum end end;
    enum part part;
    const struct engine *engine;
    struct address target; /* client: its peer (size 0: no socket); proxy: the sink */
    /* All addresses of the name of a foreign peer, of which `target` is the first; NULL: no others.
     * The first that accepts is `chosen`. */
    const struct address *candidates;
    size_t candidate_count;
    atomic_size_t chosen;
    uint8_t token[TOKEN_SIZE]; /* sent to the target, or expected by a data thread that accepts */
    uint8_t keys[END_COUNT][SECURITY_KEY_SIZE]; /* of encrypted connections, by peer */
    bool by_certificate; /* client: the peer has a certificate, and no pre-shared key */
    int listener;        /* server of a workload that reconnects; else -1 */
    struct place_list cpus;

    uint64_t origin_ns; /* when the threads start: zero of all times in the report */
    size_t connection_count, worker_count, started_count; /* started: worker threads */
    size_t per_number; /* connections with one number; 2 at a proxy: to client and server */
    struct worker *workers;
    struct cpu_reading machine_before, machine_after;
    uint64_t resident_before, resident_after; /* bytes, without and with the connections */

    uv_mutex_t mutex; /* protects the fields below, up to failed_phase */
    uv_cond_t released;
    enum release release;
    size_t reports[PHASE_COUNT]; /* number of threads that have ended the phase */
    size_t at_barrier;           /* calls of team_barrier() */
    bool cancelled;
    struct problem problem; /* the first one */
    char failed_phase[32];

    uv_poll_t wake;
    int wake_pipe[2]; /* a thread writes to [1]; uv_async_t does not expose its descriptor */
    uv_timer_t watch; /* of stall_watch.c */
    int open_handles;
    bool is_closing;
    uint64_t moved_before, unsent_before, moved_ms, started_ms; /* by the loop */
    uint64_t watched_ns; /* when the watch last ran: clock_read_ns(CLOCK_WITH_SLEEP) */
    int passed;          /* all threads have reported the phases below this one, and control knows it */
    const struct team_events *events;
    void *owner;
};

/* Allocates connections and workers. `remote`: the other end is on another machine. 0, or -1 with a
 * problem; call team_close() in both cases. The plan must outlive the team. */
int team_open(struct team *team, uv_loop_t *loop, const struct plan *plan, enum end end, bool remote,
              const struct team_events *events, void *owner, struct problem *problem);

/* Whether team_open() was called. */
static inline bool team_is_open(const struct team *team)
{
    return team->events != NULL;
}

/* The connection with this number; at a proxy, that of the client. The team owns its descriptor
 * once it is set. */
struct connection *team_numbered(const struct team *team, size_t number);

/* Starts the threads. 0, or -1 with a failure. */
int team_start(struct team *team, struct problem *problem);

/* Releases the threads that wait for `release`. RELEASE_GO starts the driver's interval. */
void team_release(struct team *team, enum release release);

/* For a follower, before `driver` sends its last message: sets the byte at which each connection
 * ends its warm-up: exactly plan->connections integers, which the caller has checked. In a workload
 * that reconnects, a later call sets the byte at which it ends its work. */
void team_set_stops(struct team *team, enum end driver, const json_t *bytes);

/* Wakes all threads and shuts all sockets down, so that they end soon. Keeps the first problem.
 * `by_thread`: a thread calls it, which need not have the sockets of the others: control is woken to
 * shut them down. */
void team_cancel(struct team *team, bool by_thread, const char *phase, const struct problem *problem);

/* The phase, as the record names it: "connect", "hello", "warm-up", "run" or "report". */
const char *team_phase(const struct team *team);

/* The first problem and its phase, complete after PHASE_REPORT. NULL if the team has not failed. */
const struct problem *team_problem(struct team *team, const char **phase);

/* After PHASE_REPORT without a failure: the part of this end in the record. New reference. */
json_t *team_report(const struct team *team);

/* After PHASE_REPORT: connections that the threads closed because of a wrong token. */
uint64_t team_strangers(const struct team *team);

/* Cancels. When all threads have reported their end, joins them, closes every descriptor and calls
 * `closed`. May be called twice. */
void team_close(struct team *team);

/* ---- the ends of a run together: coordinator.c ---- */

/* Leads the ends through the phases, over control channels: a star whose hub is at the client.
 * Every end has a coordinator. It sends the messages of its team to the hub, and releases its team
 * when the hub says so. The hub collects the messages of all ends, those of its own end too. It
 * releases a driver when all its receivers are ready. */
struct coordinator {
    struct team *team;
    struct channel *channel; /* to the hub; NULL at the client */

    /* The hub. */
    bool is_hub;                              /* at the client, if the run has another end */
    struct channel *channels[END_COUNT];      /* by end; NULL: no such end, or the client itself */
    unsigned ready[RELEASE_NEVER][END_COUNT]; /* ends by release and driver: bits 1 << end */
    unsigned joined;                          /* ends that have all their connections */
    unsigned marked;                          /* ends that have their start figures */
};

/* Call when the team has passed a phase. Sends the message of that phase in phases.def, except the
 * report. */
void coordinator_passed(struct coordinator *coordinator, enum phase phase);

/* Handles a message of the hub: DRAIN, DRAINING or MARKED. 0, or -1: it does not fit the plan. */
int coordinator_message(struct coordinator *coordinator, enum control_type type, const json_t *body);

/* Handles a message of an end: JOINED, DRAIN, DRAINING or MARKED. 0, or -1: it does not fit the
 * plan. */
int hub_message(struct coordinator *hub, enum end from, enum control_type type, const json_t *body);

/* ---- inside the team ---- */

/* Connection `index` of connection_count. Those with the same number follow each other. */
struct connection *team_connection(const struct team *team, size_t index);

/* The watch of the team, on its loop, up to PHASE_REPORT. stall_watch_stop() adds to the problem of
 * the team that this process was suspended. */
void stall_watch_start(struct team *team);
void stall_watch_stop(struct team *team);

void worker_main(void *worker);

/* Connects the sockets that this end must connect, and sends the token on them. Sets and checks the
 * options of all sockets. 0, or -1 with a problem, as the other two. */
int establish_connect(struct worker *worker, struct problem *problem);

/* Opens the TLS contexts of the thread. Then makes the handshakes of the connections that have
 * descriptors, in the order of their numbers, as the other end does. */
int establish_handshakes(struct worker *worker, struct problem *problem);

/* One connection whose context is open: the dialogue of its protocol, with the TLS handshake
 * between its two parts. */
int establish_handshake(struct connection *connection, struct problem *problem);

/* Reports the end of a phase to control. */
void team_report_phase(struct team *team, enum phase phase);

/* Waits for a release, and until all threads have reported PHASE_START. Result: team_barrier(). */
int team_await(struct team *team, enum release release, struct problem *problem);

/* A barrier for all threads, so that no thread reads figures while another one works. The last one
 * reads the CPU times of the machine. 0, or -1 with a failure: the team was cancelled. */
int team_barrier(struct team *team, struct cpu_reading *machine, struct problem *problem);

/* Stores a new descriptor. If the team was cancelled, closes it and returns -ECANCELED. team_drop()
 * closes the descriptor of a connection. */
int team_adopt(void *team, struct connection *connection, int fd);
void team_drop(void *team, struct connection *connection);

/* The address that the connections are made to. */
static inline const struct address *team_target(const struct team *team)
{
    return team->candidates ? &team->candidates[atomic_load(&team->chosen)] : &team->target;
}
