/* SPDX-License-Identifier: MIT */
/* A protocol writes and parses the heads of requests and replies, and finds the request to which a
 * reply belongs. Client and server are in one file.
 *
 * A request or a reply is a sequence of pieces. A piece is a head and the payload that follows it.
 * The roles of workload/request.c collect the bytes of a head, call the protocol to parse it, and
 * move the payload. So a protocol is a pure parser; only its dialogue makes system calls.
 *
 * `raw` has no heads: its requests and replies are the words `message` and `reply`. */
#pragma once

#include "base/axis.h"
#include "connection/connection.h"

#define PROTOCOL_HEAD_MAX 4096u                  /* bytes of the longest head that an end accepts */
#define FRAMING_CHECKED_MAX (UINT64_C(16) << 20) /* see framing_set_size() */
#define PROTOCOL_SENT_MAX 320u                   /* bytes of the longest head that an end sends */
#define PROTOCOL_KEY_MAX 250u                    /* bytes of a key, as memcached limits them */
#define PROTOCOL_KEYS(bytes) ((bytes) > (64u << 10) ? 1u : 16u) /* keys of values of this size */

/* A kind of request: "read", "get". Behind the end of a list are the kinds that only foreign
 * clients send. */
struct operation_kind {
    const char *name;            /* NULL: the end of the list */
    bool fetches;                /* the payload is in the reply */
    bool stores;                 /* the payload is in the request */
    bool refused;                /* the payload of the request is dropped: the reply is an error */
    bool silent;                 /* no reply follows */
    const char *reply_end;       /* that of its replies, if it is not that of the protocol */
    uint32_t error;              /* of the reply; 0: none. nbd */
    const char *request, *reply; /* how the heads begin, in protocols of text */
};

/* A request that waits for its reply. */
struct call {
    const struct operation_kind *kind;
    uint64_t bytes;  /* of payload */
    uint64_t offset; /* of the payload in the content of the server */
    uint64_t cookie; /* by which a reply names the request; the client chooses it */
    uint64_t moved;  /* client: bytes of payload that the pieces so far have announced; server of resp:
                      * strings of a long command that are left to drop */
    bool under_way;
    char *key;         /* of a foreign client, in PROTOCOL_KEY_MAX + 1 bytes; else NULL */
    const char *field; /* http: a field of the reply to a foreign client, or NULL */
};

/* A parsed head, without its bytes. */
struct piece {
    struct call *call; /* the request, or the one to which the reply belongs */
    uint64_t payload;  /* bytes that follow the head */
    uint64_t offset;   /* of these bytes, in the content of the server */
    bool is_last;      /* the last piece of this request or reply */
};

/* The requests of a connection, and the state of its parser. */
struct framing {
    /* Client: by slot; a cookie has its slot in the low 32 bits. Server: a ring of complete
     * requests that wait for a reply, then the one that arrives. */
    struct call *calls;
    uint32_t *spare;             /* a ring of free slots: the slot that was freed first is taken first */
    uint64_t mask;               /* of rings: plan_slots() - 1 */
    uint64_t freed, taken;       /* slots of a client */
    uint64_t received, answered; /* requests at a server */

    uint64_t size;         /* bytes of content of the server */
    uint64_t first, share; /* part of the content for this connection: offset, size */
    uint64_t next;         /* offset of the next request in that part */

    uint8_t *heads; /* PROTOCOL_SENT_MAX bytes for each span of the send queue */
    char *keys;     /* of foreign requests, by slot; NULL: there are none */

    struct piece piece;              /* whose payload arrives now */
    uint64_t left;                   /* bytes of that payload that have not arrived */
    uint8_t head[PROTOCOL_HEAD_MAX]; /* the first `held` bytes of an incomplete head */
    size_t held;
    bool quits;      /* the connection of a foreign client ends after the replies to its requests */
    bool structured; /* nbd: the client has asked for structured replies */
    bool zeroes;     /* nbd: the client wants zeroes behind the reply to EXPORT_NAME */
};

struct protocol {
    struct variant variant;
    const struct operation_kind *kinds; /* NULL: raw */

    /* Read the head of the next piece of a reply, or of a request, from `data`. Return its size, or
     * -EBADMSG with the problem of the thread. A size above `size`: the head is not whole, and has
     * at least so many bytes. Else read_reply(), at the client, has filled in the piece;
     * read_request(), at the server, all of the call but its key. -ESHUTDOWN: the client wants to
     * end. If read_request() sets framing->quits, this request is the last one. */
    int (*read_reply)(struct connection *connection, const uint8_t *data, size_t size, struct piece *piece);
    int (*read_request)(struct connection *connection, const uint8_t *data, size_t size, struct call *call);

    /* Write the head of a request, or of its reply, and return its size. The payload follows it. */
    size_t (*write_request)(uint8_t *head, const struct call *call);
    size_t (*write_reply)(uint8_t *head, const struct call *call);

    /* At a server of foreign clients. reject() gives a request that op= does not allow a kind whose
     * reply is an error. `violation` is the kind of the last reply to a client that breaks the
     * protocol. NULL: the connection ends without a reply. */
    void (*reject)(const struct connection *connection, struct call *call);
    const struct operation_kind *violation;

    /* The bytes that follow the payload of a request or a reply; NULL: none. They are a piece of
     * their own, which read_reply() parses too. */
    const char *request_end, *reply_end;

    /* The content is values by key, PROTOCOL_KEYS() of each size. A call of `bytes` at `offset` has
     * the key of number offset / bytes. False: the content has addresses. */
    bool has_keys;
    const char *missing; /* with keys: the reply to a get if the server does not have the key */

    /* The dialogue before the first request, in blocking calls (dialogue_send()). With TLS
     * both ends call it before the handshake (`secured` is false) and after it (`secured` is true).
     * Without TLS they call it once, with `secured`. Both call framing_set_size(). 0, or a negative
     * errno value with the problem of the thread. NULL: there is no dialogue. */
    int (*client_dialogue)(struct connection *connection, bool secured);
    int (*server_dialogue)(struct connection *connection, bool secured);
};

extern const struct axis protocol_axis; /* protocol/list.def */

/* Bytes of the framing of a connection whose send queue has room for `spans`. `has_keys`: it keeps
 * the keys of foreign clients. */
uint64_t framing_bytes(const struct plan *plan, uint64_t spans, bool has_keys);

/* Allocates connection->framing for a protocol with heads, to be freed by free(3). The send queue
 * is open. 0 or -ENOMEM. */
int framing_open(struct connection *connection);

/* The server has `size` bytes of content; each connection gets an equal share. With verify=on the
 * share is at most FRAMING_CHECKED_MAX, because a client must write it into a subject. */
void framing_set_size(struct connection *connection, uint64_t size);

/* Takes a call for a new request, in the slot that has been free for the longest time. There must
 * be a free slot. */
struct call *framing_take(struct framing *framing, const struct operation_kind *kind, uint64_t bytes,
                          uint64_t offset);

/* The reply is complete: frees the slot. */
void framing_release(struct framing *framing, struct call *call);

/* Return the request that a reply answers: the oldest, if replies come in order; or the one with
 * this cookie. NULL, with the problem of the thread, if there is none. */
struct call *framing_oldest(struct connection *connection);
struct call *framing_find(struct connection *connection, uint64_t cookie);

/* Sets the problem of the thread: the peer broke the protocol. `format` is a sentence without its
 * subject, the peer: "answered error 5 ...". Returns -EBADMSG. */
__attribute__((format(printf, 2, 3))) int framing_refuse(struct connection *connection, const char *format,
                                                         ...);

/* The same for text, of which the message shows the first 60 bytes; `what` is wrong with it. */
int framing_refuse_text(struct connection *connection, const uint8_t *data, size_t size, const char *what);
#define NO_REQUEST "which is not a request of op="

/* Makes the first 60 bytes printable. */
#define FRAMING_SHOWN_MAX 241u
void framing_show(char shown[FRAMING_SHOWN_MAX], const uint8_t *data, size_t size);

/* The dialogue of a protocol before its first request, in blocking calls. Bytes go through the
 * security layer if it is open, else through the transport. These functions return 0, or -EBADMSG
 * with the problem of the thread. A peer that is silent for 5 s, plus 5 ms for each connection, is
 * a failure. dialogue_receive() receives exactly `size` bytes. */
int dialogue_send(struct connection *connection, const void *data, size_t size);
int dialogue_receive(struct connection *connection, void *data, size_t size);

/* Sends a request that stores the pattern at the server, and receives its reply. The pattern fills
 * `bytes` bytes of the content from byte `offset` on. Returns the same, or -ENOMEM
 * without a problem. */
int dialogue_store(struct connection *connection, const struct operation_kind *kind, uint64_t offset,
                   uint64_t bytes);
