/* SPDX-License-Identifier: MIT */
/* The plan of one run: the value of every word, and what follows from these values. plan_parse()
 * (words/word.h) makes it. Readers need neither the grammar of words nor structs of variants. */
#pragma once

#include "base/problem.h"
#include "placement/placement.h"
#include "plan/message.h"

#include <stdbool.h>
#include <stdint.h>

/* In workload=proxy the client is the source and the server the sink. */
enum end { END_CLIENT, END_SERVER, END_PROXY, END_COUNT };
extern const char *const end_names[END_COUNT]; /* "client", "server", "proxy" */

enum end end_parse(const char *name);

enum direction { DIRECTION_SEND, DIRECTION_RECEIVE, DIRECTION_BOTH };
enum arrival { ARRIVAL_EVEN, ARRIVAL_POISSON };
enum pace { PACE_SLEEP, PACE_SPIN };
enum handoff { HANDOFF_INLINE, HANDOFF_THREAD };
enum control { CONTROL_BY_UNCORK, CONTROL_BY_NONE };

enum touch { TOUCH_NONE, TOUCH_CHECKSUM };
enum buffers { BUFFERS_BY_TRANSPORT, BUFFERS_BEFORE, BUFFERS_AFTER };
enum quickack { QUICKACK_DEFAULT, QUICKACK_ONCE, QUICKACK_REARM };
enum nodelay { NODELAY_BY_STRATEGY, NODELAY_ON, NODELAY_OFF };

/* The layer that holds a group back under write=cork. */
enum cork_layer { CORK_BY_SECURITY, CORK_RECORD, CORK_SEGMENT };
extern const char *const cork_layer_names[]; /* by value, NULL at the end; the first is "" */

enum cipher { CIPHER_AES_128_GCM, CIPHER_CHACHA20_POLY1305, CIPHER_AES_256_GCM };
enum handshake {
    HANDSHAKE_PSK_ECDHE,
    HANDSHAKE_PSK,
    HANDSHAKE_TICKET,
    HANDSHAKE_CHOICES,    /* the number of values that users can type */
    HANDSHAKE_CERTIFICATE /* of a subject that cannot use a pre-shared key */
};
extern const char *const cipher_names[], *const handshake_names[]; /* NULL at the end */

#define CONGESTION_NAME_MAX 16 /* TCP_CA_NAME_MAX */
#define ADDRESS_TEXT_MAX 128
#define SYSCTL_TEXT_MAX 160
#define FOLDER_TEXT_MAX 256
#define TARGET_TEXT_MAX 256
#define BUILD_THIS "this" /* the programs of this process */

#define OVERRIDE_TEXT_MAX 96
#define OVERRIDE_OFF "off" /* the library is not loaded */
#define SUBJECT_NAME_MAX 24
#define SUBJECT_PARAMETERS_MAX 16

struct subject_choice {
    char name[SUBJECT_NAME_MAX]; /* empty: a server of uncork */
    uint32_t count;
    struct subject_parameter {
        char subject[SUBJECT_NAME_MAX], key[SUBJECT_NAME_MAX], value[FOLDER_TEXT_MAX];
    } parameters[SUBJECT_PARAMETERS_MAX]; /* of the subject and the load; others are not used */
};

#define COMMAND_TEXT_MAX 1024

struct strategy_choice {
    const struct strategy *strategy;
    uint64_t parameter; /* bytes; UINT64_MAX: none */
    enum cork_layer layer;
};

enum shape_index { SHAPE_NONE, SHAPE_MESSAGE, SHAPE_REPLY };

/* The values that may differ between the ends: the words that take a prefix. */
struct end_plan {
    const struct security *security;
    const struct engine *engine_word; /* as typed */
    uint64_t threads;
    const struct reading *reading;
    uint64_t chunk_bytes;
    enum touch touch;
    enum nodelay nodelay;
    bool perf;                           /* count cycles and instructions */
    uint64_t sndbuf_bytes, rcvbuf_bytes; /* 0: the system's default */
    enum buffers buffers;                /* when they are set */
    enum quickack quickack;
    uint64_t busy_poll_ns;                /* 0: the system's default */
    uint64_t notsent_lowat_bytes;         /* 0: the system's default */
    char congestion[CONGESTION_NAME_MAX]; /* "default": cubic if available; "system" */
    struct scheduling scheduling;         /* of its data threads */
    uint64_t source_bytes;                /* size of the memory that is sent in turn; 0: hot */
    bool defer_taskrun, single_issuer, registered_ring, fixed_files; /* see ring/ring.h */

    /* Derived by plan_parse() from all words. */
    const struct engine *engine; /* that runs: of engine_word, or the choice of engine=auto */
    const struct role *role;
    bool drives;     /* it sends `message` and decides when work begins and ends */
    bool follows;    /* it receives from an end that drives; with direction=both it drives too */
    bool hands_over; /* each data thread has a second thread that sends */
    enum shape_index outgoing, incoming; /* as plan_outgoing() and plan_incoming() return them */
    bool strategy_sets_nodelay;          /* the end sends by a strategy that sets TCP_NODELAY */
    bool sets_zerocopy;                  /* the end sends by a strategy that sets SO_ZEROCOPY */
};

#define PLAN_WORDS_MAX 80

struct plan {
    const struct transport *transport;
    const struct workload *workload;
    const struct protocol *protocol;
    struct subject_choice subject;
    char override[OVERRIDE_TEXT_MAX]; /* of the subject, or OVERRIDE_OFF */
    uint64_t ready_ns;                /* for a subject to accept a connection */
    char load[SUBJECT_NAME_MAX];      /* of workload=command; empty: `command` is the load */
    char command[COMMAND_TEXT_MAX];   /* percent-encoded; empty: none */
    uint64_t moves_bytes;             /* by `command`; 0: not given */
    struct operations operations;     /* of the protocol; none if it is raw */
    enum cipher cipher;
    enum handshake handshake;
    enum direction direction;
    struct shape message, reply; /* of a protocol with heads: the largest request and reply */
    struct strategy_choice write, reply_write;
    uint64_t window; /* messages that a send may join */
    uint64_t connections, depth;
    uint64_t rate; /* requests per second, all connections together; 0: closed loop */
    enum arrival arrival;
    uint64_t arrival_seed; /* for the pauses of ARRIVAL_POISSON */
    enum pace pace;
    enum handoff handoff;
    struct place place;
    bool verify;
    uint64_t spin_ns;
    uint64_t duration_ns, messages, bytes, warmup_ns; /* messages, bytes: 0 where not given */
    uint64_t longest_ms; /* of a run without a duration; 0: PLAN_LIMIT_MS. A server may set it */
    bool lab;            /* in network namespaces of its own */

    /* Of each link of the lab, in each direction; 0: none. */
    uint64_t link_rate_bits, link_delay_ns, link_loss_millionths, link_mtu_bytes;

    bool capture;                 /* of the packets of the data connections, at the client */
    char sysctl[SYSCTL_TEXT_MAX]; /* "net.NAME:VALUE" or "none" */
    char build[FOLDER_TEXT_MAX];  /* folder of the programs, or BUILD_THIS */
    char target[TARGET_TEXT_MAX]; /* where the ends run, see words/word.h */
    char server[ADDRESS_TEXT_MAX], via[ADDRESS_TEXT_MAX]; /* the proxy; empty: the client starts it */
    char peer[ADDRESS_TEXT_MAX];                          /* a foreign server; empty: none */
    enum control control;
    struct end_plan ends[END_COUNT];

    /* Derived by plan_parse() from the words. */
    bool has_server;   /* the other end runs uncork: no foreign peer, and not transport=null */
    bool relays;       /* the workload has a proxy; see plan_has_proxy() */
    bool runs_command; /* the client runs a program in place of its data threads */
    bool frames;       /* the protocol has heads */
    bool encrypts;     /* all ends use TLS, each with its own implementation; else none does */
    bool is_tcp;       /* the transport is TCP or MPTCP */

    /* How each word was given, by index in word_list: bit 1 << prefix; END_COUNT: without one. */
    uint8_t given[PLAN_WORDS_MAX];
};

void plan_free(struct plan *plan);

/* The shapes of what `end` sends and receives; NULL: it does not. The strategy of its sends. */
const struct shape *plan_outgoing(const struct plan *plan, enum end end);
const struct shape *plan_incoming(const struct plan *plan, enum end end);
const struct strategy_choice *plan_strategy(const struct plan *plan, enum end end);

/* How many due messages `end` may join; at a proxy, how many chunks it may put into a group. */
static inline uint64_t plan_window(const struct plan *plan, enum end end)
{
    return plan->relays && end != END_PROXY ? 1 : plan->window;
}

static inline const struct role *plan_role(const struct plan *plan, enum end end)
{
    return plan->ends[end].role;
}

/* Messages of connection number `index` if the work is fixed; UINT64_MAX if it is timed. */
uint64_t plan_messages_of(const struct plan *plan, uint64_t index);

/* Slots of a ring for the requests of a connection: the depth, rounded up to a power of two. */
uint64_t plan_slots(const struct plan *plan);

static inline bool plan_has_peer(const struct plan *plan)
{
    return *plan->peer;
}

/* Whether uncork-server starts a program in place of its own data threads. */
static inline bool plan_has_subject(const struct plan *plan)
{
    return *plan->subject.name;
}

/* Whether the other end of the client's connections knows nothing of uncork. */
static inline bool plan_is_foreign(const struct plan *plan)
{
    return plan_has_peer(plan) || (plan_has_subject(plan) && !plan->relays);
}

/* The name of an end in messages to the user: "server", "peer", or the name of the subject. */
const char *plan_name_of(const struct plan *plan, enum end end);

static inline bool plan_captures(const struct plan *plan)
{
    return plan->is_tcp && plan->capture;
}

/* place_cpus() of this end. place=apart separates client from server, or a proxy from both. */
int plan_cpus(const struct plan *plan, enum end end, bool remote, struct place_list *cpus,
              struct problem *problem);

#define PLAN_LIMIT_MS UINT64_C(7200000) /* of a plan without a duration */

/* Whether the run ends by its duration, not by its work. */
bool plan_is_timed(const struct plan *plan);

/* The limit of a run: twice its planned time or `longest_ms`, and a minute to drain and report. */
uint64_t plan_limit_ms(const struct plan *plan);

static inline bool plan_has_proxy(const struct plan *plan)
{
    return plan->relays && plan->has_server;
}

static inline bool plan_has_end(const struct plan *plan, enum end end)
{
    return end == END_CLIENT || (end == END_SERVER ? plan->has_server : plan_has_proxy(plan));
}

/* The address of an end that the client does not start. */
static inline const char *plan_address(const struct plan *plan, enum end end)
{
    return end == END_PROXY ? plan->via : plan->server;
}

/* Whether `end` is the client, or the client starts it. */
static inline bool plan_is_own(const struct plan *plan, enum end end)
{
    return end == END_CLIENT || !*plan_address(plan, end);
}

/* The second of client - proxy - server: the proxy, else the server. A subject takes its place. */
static inline enum end plan_second_end(const struct plan *plan)
{
    return plan_has_proxy(plan) ? END_PROXY : END_SERVER;
}

/* Whether the subject runs in place of this end. */
static inline bool plan_is_subject(const struct plan *plan, enum end end)
{
    return plan_has_subject(plan) && end == plan_second_end(plan);
}

/* The other end of the connections of `end`: the opposite end, or the proxy of uncork between them.
 * A subject that relays does not count, because it has neither token nor key. */
enum end plan_neighbour(const struct plan *plan, enum end end);
