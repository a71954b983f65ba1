/* SPDX-License-Identifier: MIT */
/* A protocol frames: it makes the heads of requests and replies, reads those of the other end, and
 * finds the request to which a reply belongs. Both halves stand in one file.
 *
 * A request or a reply is a sequence of pieces: a head, and the payload that follows it. The roles
 * of workload/framed.c collect the bytes of a head, ask the protocol what it says, and move the
 * payload. So a protocol is a pure parser; only its dialogue makes system calls.
 *
 * `raw` has no heads: its requests and replies are the words `message` and `reply`. */
#pragma once

#include "base/axis.h"
#include "connection/connection.h"

#define PROTOCOL_HEAD_MAX 4096u                  /* bytes of the longest head that an end accepts */
#define FRAMING_CHECKED_MAX (UINT64_C(16) << 20) /* see framing_set_size() */
#define PROTOCOL_SENT_MAX 320u                   /* bytes of the longest head that an end sends */
#define PROTOCOL_KEY_MAX 250u                    /* bytes of a key, as memcached limits them */
#define PROTOCOL_KEYS(bytes) ((bytes) > (64u << 10) ? 1u : 16u) /* for values of so many bytes */

/* A kind of request: "read", "get". Behind the end of a list stand those that only foreign clients
 * ask for. */
struct operation_kind {
    const char *name; /* NULL: the end of the list */
    bool fetches;     /* the payload is in the reply */
    bool stores;      /* the payload is in the request */
};

/* A request that waits for its reply. */
struct call {
    const struct operation_kind *kind;
    uint64_t bytes;  /* of payload */
    uint64_t offset; /* of the payload in the content of the server */
    uint64_t cookie; /* by which a reply names the request; the client chooses it */
    uint64_t moved;  /* bytes of payload that the pieces so far have announced */
    bool under_way;
    char *key; /* at a server for foreign clients: their key, in PROTOCOL_KEY_MAX + 1 bytes; else NULL */
};

/* What the head of a piece says. */
struct piece {
    size_t size;       /* bytes of the head */
    struct call *call; /* the request, or the request that is answered */
    uint64_t payload;  /* bytes that follow the head */
    uint64_t offset;   /* of these bytes, in the content of the server */
    bool is_last;      /* nothing of this request or reply follows them */
};

/* The requests of a connection, and where it is in the bytes that arrive. */
struct framing {
    struct call *calls; /* by slot; a cookie has its slot in the low 32 bits */
    uint32_t slots;     /* plan->depth */
    uint32_t *spare;    /* a ring of free slots: the slot that was freed first is taken first */
    uint64_t mask;      /* of rings: plan_slots() - 1 */
    uint64_t freed, taken;

    uint64_t size;         /* bytes of content of the server */
    uint64_t first, share; /* the content through which this connection walks, over and over: offset, size */
    uint64_t next;         /* where the next request begins, from `first` on */

    uint8_t *heads; /* PROTOCOL_SENT_MAX bytes for each span of the send queue */
    char *keys;     /* of foreign requests, by slot; NULL: there are none */

    struct piece piece;              /* whose payload arrives now */
    uint64_t left;                   /* bytes of it that are to come */
    uint8_t head[PROTOCOL_HEAD_MAX]; /* the first bytes of a head that is not whole */
    size_t held;
    bool quits; /* a foreign client wants no more than the replies to what it asked */
};

struct protocol {
    struct variant variant;
    const struct operation_kind *kinds; /* NULL: raw */

    /*
     * Read the head of the next piece from `data`. 0, with `piece` filled in; or the number of
     * bytes that the head has at least, which is above `size`; or -EBADMSG with the problem of the
     * thread. read_reply(), at the client, finds piece->call. read_request(), at the server, fills
     * in the given piece->call, all but its key; -ESHUTDOWN: the client wants to end.
     */
    int (*read_reply)(struct connection *connection, const uint8_t *data, size_t size, struct piece *piece);
    int (*read_request)(struct connection *connection, const uint8_t *data, size_t size, struct piece *piece);

    /* Write the head of a request, or of its reply, and return its size. The payload follows it. */
    size_t (*write_request)(uint8_t *head, const struct call *call);
    size_t (*write_reply)(uint8_t *head, const struct call *call);

    /* What follows the payload of a request or a reply; NULL: nothing. The readers see it as a
     * piece of its own. */
    const char *request_end, *reply_end;

    /* The content is values by key, PROTOCOL_KEYS() of each size: a call of `bytes` at `offset` is
     * about number offset / bytes. False: the content has addresses. */
    bool has_keys;
    const char *missing; /* with keys: the reply to a get of a key that the server does not have */

    /* The dialogue before the first request, in calls that wait (connection/dialogue.h). `secured`:
     * what follows is plain by the plan, or encrypted already. With TLS both ends call it once
     * before and once after the handshake. Both call framing_set_size(). 0, or a negative errno
     * value with the problem of the thread. NULL: there is no dialogue. */
    int (*client_dialogue)(struct connection *connection, bool secured);
    int (*server_dialogue)(struct connection *connection, bool secured);
};

extern const struct axis protocol_axis; /* protocol/list.def */

/* Allocates connection->framing for a protocol with heads. The send queue is open. 0 or -ENOMEM;
 * framing_close() it in both cases. */
int framing_open(struct connection *connection);
void framing_close(struct framing *framing);

/* The server has `size` bytes of content: every connection gets its share of them. With verify=on
 * that is at most FRAMING_CHECKED_MAX, which a client writes into a subject. */
void framing_set_size(struct connection *connection, uint64_t size);

/* The call of a request that may begin, in the slot that has been free for the longest time. There
 * must be one. */
struct call *framing_take(struct framing *framing);

/* The reply is whole. */
void framing_release(struct framing *framing, struct call *call);

/* The request under way that has waited longest, of a protocol that answers in order, or that has
 * this cookie. NULL, with the problem of the thread: there is none. */
struct call *framing_oldest(struct connection *connection);
struct call *framing_find(struct connection *connection, uint64_t cookie);

/* Sets the problem of the thread to what the other end did, in a sentence without a subject:
 * "answered error 5 ...". Returns -EBADMSG. */
__attribute__((format(printf, 2, 3))) int framing_refuse(struct connection *connection, const char *format,
                                                         ...);
