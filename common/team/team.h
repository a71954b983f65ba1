/* SPDX-License-Identifier: MIT */
/* The data threads of one end, and the phases through which control leads them: phases.def.
 *
 * Threads *report* the end of a phase. When all threads have reported it, control gets a callback
 * on its loop. Control *releases* the threads that wait before a phase.
 *
 * The warm-up ends without a look at the other end's state. The driver announces the byte at which
 * it will end after one more message. It sends that message only when the follower knows the byte.
 * The follower takes its start figures at exactly that byte, by itself, at a message boundary. */
#pragma once

#include "connection/connection.h"
#include "connection/security.h"
#include "engine/engine.h"
#include "measure/tcp_info.h"
#include "net/address.h"
#include "team/thread.h"

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

struct phase_info {
    const char *name; /* in a record */
    enum release waits_for[PART_COUNT];
    unsigned reported_by; /* bits 1 << enum part */
};

extern const struct phase_info phases[PHASE_COUNT];

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
    struct thread_shared shared;
    struct dial dial;
    struct engine_job job;

    struct team_thread own;
    struct sender sender; /* for handoff=thread; job.handover points into it */
    bool can_wake;        /* the engine is open until all threads are joined; under team->mutex */
    const char *phase;    /* its name in a record, if the thread fails */
    struct figures before, after;
    size_t tcp_count;            /* number of connections with TCP figures */
    uint64_t begun_ns, ended_ns; /* the measured interval */
    uint64_t first_bytes;        /* received before begun_ns */
    uint64_t missed;             /* open loop: requests that were due and were never started */
    json_t *options;
    char padding[WORKER_BLOCK]; /* keeps the next worker of the team away */
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
    struct address target;     /* client: where to connect (size 0: no socket); proxy: the sink */
    uint8_t token[TOKEN_SIZE]; /* sent to the target; or expected by a data thread that accepts */
    uint8_t keys[END_COUNT][SECURITY_KEY_SIZE]; /* of encrypted connections, by peer */
    bool by_certificate; /* client: the peer shows the certificate of the key, and knows no key */
    int listener;        /* server of a workload that reconnects; else -1 */
    struct place_list cpus;

    uint64_t origin_ns; /* start of the threads: the zero of all times in the report */
    size_t connection_count, worker_count;
    size_t per_number; /* connections per number; 2 at a proxy: to client and server */
    struct worker *workers;
    struct cpu_reading machine_before, machine_after;
    uint64_t resident_before, resident_after; /* bytes, without and with the connections */

    uv_mutex_t mutex; /* protects the fields below, up to failed_phase */
    uv_cond_t released;
    enum release release;
    size_t reports[PHASE_COUNT]; /* by threads that have ended the phase */
    size_t at_barrier;           /* calls of team_barrier() */
    bool cancelled;
    struct problem problem; /* the first one */
    char failed_phase[32];

    uv_async_t wake;
    uv_timer_t watch; /* of a team that is stuck */
    int open_handles;
    uint64_t moved_before, unsent_before, moved_ms;
    int passed; /* control knows that all threads have reported the phases below this one */
    const struct team_events *events;
    void *owner;
};

/* Allocates connections and workers. `remote`: the other end is on another machine. Returns 0, or
 * -1 with a problem; call team_close() in both cases. The plan must outlive the team. */
int team_open(struct team *team, uv_loop_t *loop, const struct plan *plan, enum end end, bool remote,
              const struct team_events *events, void *owner, struct problem *problem);

/* Server or proxy: hands over data connection number `index`. The team owns the descriptor. */
void team_set_descriptor(struct team *team, size_t index, int fd);

/* Starts the threads. Returns 0, or -1 with a failure. */
int team_start(struct team *team, struct problem *problem);

/* Releases the threads that wait for `release`. RELEASE_GO starts the driver's interval. */
void team_release(struct team *team, enum release release);

/* Driver, between two phases in which it sends: number of bytes that connection `index` will have
 * sent after `more` messages. */
uint64_t team_sent_bytes(const struct team *team, size_t index, uint64_t more);

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

/* After PHASE_REPORT: the problem and its phase, or NULL if the team did not fail. */
const struct problem *team_problem(const struct team *team, const char **phase);

/* After PHASE_REPORT without a failure: this end's part of the record. New reference. */
json_t *team_report(const struct team *team);

/* After PHASE_REPORT: number of connections that the threads closed because of a wrong token. */
uint64_t team_strangers(const struct team *team);

/* Cancels, joins the threads, closes every descriptor; then calls `closed`. May be called twice. */
void team_close(struct team *team);

/* ---- inside the team ---- */

/* Connection number `index`, below connection_count. Those of one number follow each other. */
struct connection *team_connection(const struct team *team, size_t index);

/* Watches the team on its loop until PHASE_REPORT. */
void stall_watch_start(struct team *team);

/* ---- for the threads ---- */

void worker_main(void *worker);

/* Connects the sockets that this end connects, and sends the token on them. Sets and checks the
 * options of all sockets. 0, or -1 with a problem. */
int establish_connect(struct worker *worker, struct problem *problem);

/* Makes the TLS contexts of the open connections. Then makes the handshakes of those that have
 * descriptors, in the order of their numbers, as the other end does. 0, or -1 with a problem. */
int establish_handshakes(struct worker *worker, struct problem *problem);

/* The same for one connection, whose context is there: the dialogue of its protocol, and between
 * its parts the handshake of TLS. */
int establish_handshake(struct connection *connection, struct problem *problem);

/* Reports the end of a phase to control. */
void team_report_phase(struct team *team, enum phase phase);

/* Waits for a release, and until all threads have reported PHASE_START. Returns -1 with a failure
 * when the team was cancelled. */
int team_await(struct team *team, enum release release, struct problem *problem);

/* A barrier for all threads: none prepares or reads figures while another one works. The last one
 * reads the machine's account. Returns -1 with a failure when the team was cancelled. */
int team_barrier(struct team *team, struct cpu_reading *machine, struct problem *problem);

/* Stores a new descriptor. If the team was cancelled: closes it and returns -ECANCELED. */
int team_adopt(void *team, struct connection *connection, int fd);
