/* SPDX-License-Identifier: MIT */
/*
 * The plan of one run: every word's value, parsed. The client parses what users type; the server parses the
 * same words again as they come over the control channel, by the same code.
 */
#ifndef UNCORK_PLAN_PLAN_H
#define UNCORK_PLAN_PLAN_H

#include "base/problem.h"
#include "plan/message.h"
#include "plan/place.h"
#include "plan/scheduling.h"
#include "plan/target.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In workload=proxy the client is the source and the server the sink. */
enum end { END_CLIENT, END_SERVER, END_PROXY, END_COUNT };
extern const char *const end_names[END_COUNT]; /* "client", "server", "proxy" */

/* The end of this name, END_COUNT: none has it. */
enum end end_parse(const char *name);

enum direction { DIRECTION_SEND, DIRECTION_RECEIVE, DIRECTION_BOTH };
enum arrival { ARRIVAL_EVEN, ARRIVAL_POISSON };
enum pace { PACE_SLEEP, PACE_SPIN };
enum handoff { HANDOFF_INLINE, HANDOFF_THREAD };
enum control { CONTROL_BY_UNCORK, CONTROL_BY_NOBODY };

/* What a peer that knows nothing of uncork does. */
#define SERVICE(name, does) SERVICE_##name,
enum peer_service {
#include "plan/services.def"
    SERVICE_COUNT
};
#undef SERVICE
enum touch { TOUCH_NONE, TOUCH_CHECKSUM };
enum buffers { BUFFERS_BY_TRANSPORT, BUFFERS_BEFORE, BUFFERS_AFTER };
enum quickack { QUICKACK_DEFAULT, QUICKACK_ONCE, QUICKACK_REARM };
enum nodelay { NODELAY_BY_STRATEGY, NODELAY_ON, NODELAY_OFF };

/* What holds a group back under write=cork. */
enum cork_layer { CORK_BY_SECURITY, CORK_RECORD, CORK_SEGMENT };
extern const char *const cork_layer_names[]; /* by value, NULL at the end; the first is spelled by nothing */

enum cipher { CIPHER_AES_128_GCM, CIPHER_CHACHA20_POLY1305, CIPHER_AES_256_GCM };
enum handshake { HANDSHAKE_PSK_ECDHE, HANDSHAKE_PSK, HANDSHAKE_TICKET };
extern const char *const cipher_names[], *const handshake_names[]; /* NULL at the end */

#define CONGESTION_NAME_MAX 16 /* TCP_CA_NAME_MAX */
#define ADDRESS_TEXT_MAX 128
#define SYSCTL_TEXT_MAX 160
#define FOLDER_TEXT_MAX 256
#define BUILD_THIS "this" /* the programs that were started */

struct strategy_choice {
    const struct strategy *strategy;
    uint64_t parameter; /* bytes after the colon, UINT64_MAX: none */
    int layer;          /* enum cork_layer, after a colon */
};

/* What may differ between the ends: the words that take a prefix. */
struct end_plan {
    const struct security *security;
    const struct engine *engine; /* as asked for; engine_of() says which one runs */
    uint64_t threads;
    const struct reading *reading;
    uint64_t chunk_bytes;
    int touch;                            /* enum touch */
    int nodelay;                          /* enum nodelay */
    int perf;                             /* bool: count cycles and instructions */
    uint64_t sndbuf_bytes, rcvbuf_bytes;  /* 0: the system's default */
    int buffers;                          /* enum buffers: when they are set */
    int quickack;                         /* enum quickack */
    uint64_t busy_poll_ns;                /* 0: the system's default */
    uint64_t notsent_lowat_bytes;         /* 0: the system's default */
    char congestion[CONGESTION_NAME_MAX]; /* "default": cubic where there is one; "system": what the machine
                                             has */
    struct scheduling scheduling;         /* of its data threads */
    uint64_t source_bytes;                /* memory to walk through; 0: hot */
    int defer_taskrun, single_issuer, registered_ring, fixed_files; /* bool: see ring/ring.h */
};

#define PLAN_WORDS_MAX 80

struct plan {
    const struct transport *transport;
    const struct workload *workload;
    int cipher, handshake; /* enum cipher, enum handshake */
    int direction;         /* enum direction */
    struct shape message, reply;
    struct strategy_choice write, reply_write;
    uint64_t window; /* whole messages that may be joined in one go */
    uint64_t connections, depth;
    uint64_t rate;         /* requests per second in all; 0: closed loop */
    int arrival;           /* enum arrival */
    uint64_t arrival_seed; /* of the pauses that ARRIVAL_POISSON draws */
    int pace;              /* enum pace */
    int handoff;           /* enum handoff */
    struct place place;
    int verify; /* bool */
    uint64_t spin_ns;
    uint64_t duration_ns, messages, bytes, warmup_ns;             /* messages, bytes: 0 where not given */
    int lab;                                                      /* bool: in network namespaces of its own */
    uint64_t link_rate_bits, link_delay_ns, link_loss_millionths; /* of each link, each way; 0: none */
    uint64_t link_mtu_bytes;
    int capture;                  /* bool: packets of the data connections, where the client is */
    char sysctl[SYSCTL_TEXT_MAX]; /* "net.NAME:VALUE" or "none" */
    char build[FOLDER_TEXT_MAX];  /* folder of the programs, or BUILD_THIS */
    char target[TARGET_TEXT_MAX]; /* where the ends are, see target.h */
    char server[ADDRESS_TEXT_MAX];
    char via[ADDRESS_TEXT_MAX];  /* the proxy */
    char peer[ADDRESS_TEXT_MAX]; /* a foreign server; empty: there is none */
    int control;                 /* enum control */
    int peer_does;               /* enum peer_service */
    struct end_plan ends[END_COUNT];

    /* Which words were given, by index in the list of words: bit 0 for both ends, bit 1 << (1 + end) with a
     * prefix. */
    uint8_t given[PLAN_WORDS_MAX];
};

/* Parses `count` words "key=value" over the defaults. 0, or -1 with a usage problem; on success plan_free()
 * it. */
int plan_parse(struct plan *plan, const char *const *words, size_t count, struct problem *problem);
void plan_free(struct plan *plan);

/* Every word that this run uses, defaults included: {"transport": "tcp", ...}, in the order of the list. A
 * word that differs between the ends stands as client.WORD and server.WORD. New reference, NULL when memory
 * is short. */
json_t *plan_words(const struct plan *plan);

/* The words that were given and are used, and the keys of those given and not used. New references. */
json_t *plan_words_given(const struct plan *plan);
json_t *plan_words_unused(const struct plan *plan);

/* The shapes that `end` sends and expects, NULL where it does not; the strategy by which it sends. */
const struct shape *plan_outgoing(const struct plan *plan, enum end end);
const struct shape *plan_incoming(const struct plan *plan, enum end end);
const struct strategy_choice *plan_strategy(const struct plan *plan, enum end end);

/* How many messages that are due together `end` may join; at a proxy how many chunks are one group at most.
 */
uint64_t plan_window(const struct plan *plan, enum end end);

/* What `end` does: sends `message` and decides when work begins and ends; takes what the other end drives.
 * Both ends do both in direction=both. A proxy decides nothing: it follows. */
bool plan_drives(const struct plan *plan, enum end end);
bool plan_follows(const struct plan *plan, enum end end);

/* The role of the workload that `end` plays. */
const struct role *plan_role(const struct plan *plan, enum end end);

/* Whether the data threads of `end` hand what they send over to a second thread each. */
bool plan_hands_over(const struct plan *plan, enum end end);

/* Messages that connection number `index` is to move when the work is fixed; UINT64_MAX when it is timed. */
uint64_t plan_messages_of(const struct plan *plan, uint64_t index);

/* Whether a server of uncork is the other end: not with a foreign peer, nor where there is no other end at
 * all (transport=null). */
bool plan_has_server(const struct plan *plan);

/* Whether a foreign server is. */
bool plan_has_peer(const struct plan *plan);

/* Whether namespaces of its own would make a difference: not where no packet leaves a socket. */
bool plan_may_have_lab(const struct plan *plan);

/* Whether it is to run in them. */
bool plan_has_lab(const struct plan *plan);

/* Whether the packets of the data connections are captured. */
bool plan_captures(const struct plan *plan);

/* The CPUs of this end's threads: place_cpus(). `apart` parts client and server, or a proxy from both. */
int plan_cpus(const struct plan *plan, enum end end, bool remote, struct place_list *cpus,
              struct problem *problem);

/* Whether the connections are encrypted: by all ends, each in its own way, or by none. */
bool plan_encrypts(const struct plan *plan);

/* Whether this end takes part; whether a proxy does. */
bool plan_has_end(const struct plan *plan, enum end end);
bool plan_has_proxy(const struct plan *plan);

/* Whether its workload is one with a proxy, whatever else the plan says. */
bool plan_relays(const struct plan *plan);

/* Whether the client starts this end (or is it), and where it is otherwise. */
bool plan_is_own(const struct plan *plan, enum end end);
const char *plan_address(const struct plan *plan, enum end end);

/* The end with which the client or the server has its connections: the other, or the proxy between them. */
enum end plan_neighbour(const struct plan *plan, enum end end);

#endif
