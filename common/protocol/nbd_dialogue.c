/* SPDX-License-Identifier: MIT */
/* What both ends of the Network Block Device protocol agree on before the first request. */
#include "base/bytes.h"
#include "protocol/nbd.h"

#include <inttypes.h>
#include <string.h>
#include <sys/param.h>

#define GREETING_MAGIC UINT64_C(0x4e42444d41474943) /* "NBDMAGIC" */
#define OPTION_MAGIC UINT64_C(0x49484156454f5054)   /* "IHAVEOPT" */
#define OPTION_REPLY_MAGIC UINT64_C(0x0003e889045565a9)

enum { FIXED_NEWSTYLE = 1, NO_ZEROES = 2 }; /* flags of the server and of the client */

enum { OPTION_EXPORT_NAME = 1, OPTION_ABORT = 2, OPTION_LIST = 3, OPTION_STARTTLS = 5 };
enum { OPTION_INFO = 6, OPTION_GO = 7, OPTION_STRUCTURED_REPLY = 8 };
enum { ACK = 1, NAME = 2, INFO = 3 }; /* types of the reply to an option, with these errors: */
#define IS_ERROR 0x80000000u
#define UNSUPPORTED 0x80000001u
#define INVALID 0x80000003u
#define TLS_REQUIRED 0x80000005u
#define TOO_BIG 0x80000009u
#define INFO_EXPORT 0u

/* Flags of an export. CAN_FUA: the reply to a write always means that it is stored. */
enum { HAS_FLAGS = 1, READ_ONLY = 2, CAN_FLUSH = 4, CAN_FUA = 8, MULTI_CONNECTION = 0x100 };

enum { GREETING_SIZE = 18, OPTION_SIZE = 16, OPTION_REPLY_SIZE = 20, EXPORT_SIZE = 12 };

#define FILL_BYTES (UINT64_C(1) << 20)   /* bytes of a write that fills a subject */
#define OPTION_DATA_MAX 1024u            /* bytes of data that a client accepts with a reply */
#define OPTION_ASKED_MAX 5120u           /* that a server accepts with an option: a name has 4096 */
#define OPTION_DROPPED_MAX 65536u        /* that a server drops; more is no option */
#define CONTENT_SIZE (UINT64_C(1) << 30) /* bytes of this server's export */

/* ---- the client's dialogue ---- */

/* Sends an option, or with a `type` the reply to it. The data has at most EXPORT_SIZE bytes. */
static int send_option(struct connection *connection, uint32_t option, uint32_t type, const void *data,
                       uint32_t size)
{
    uint8_t message[OPTION_REPLY_SIZE + EXPORT_SIZE];
    size_t head = type ? OPTION_REPLY_SIZE : OPTION_SIZE;
    wire_put64(message, type ? OPTION_REPLY_MAGIC : OPTION_MAGIC);
    wire_put32(message + 8, option);
    wire_put32(message + 12, type);
    wire_put32(message + head - 4, size);
    memcpy(message + head, data, size);
    return dialogue_send(connection, message, head + size);
}

struct option_reply {
    uint32_t type, size;
    uint8_t data[OPTION_DATA_MAX];
};

static int receive_option_reply(struct connection *connection, uint32_t option, struct option_reply *reply)
{
    uint8_t head[OPTION_REPLY_SIZE];

    if (dialogue_receive(connection, head, sizeof head) < 0)
        return -EBADMSG;
    reply->type = wire_get32(head + 12);
    reply->size = wire_get32(head + 16);
    if (wire_get64(head) != OPTION_REPLY_MAGIC || wire_get32(head + 8) != option ||
        reply->size > sizeof reply->data)
        return framing_refuse(connection, "sent no reply to option %" PRIu32, option);
    if (dialogue_receive(connection, reply->data, reply->size) < 0)
        return -EBADMSG;
    if (reply->type & IS_ERROR)
        return framing_refuse(connection, "refused option %" PRIu32 " by error 0x%08" PRIx32 ": %.*s", option,
                              reply->type, (int)reply->size, (const char *)reply->data);
    return 0;
}

static int ask_option(struct connection *connection, uint32_t option)
{
    struct option_reply reply;
    return send_option(connection, option, 0, "", 0) < 0 ? -EBADMSG
                                                         : receive_option_reply(connection, option, &reply);
}

static bool has_operation(const struct plan *plan, const struct operation_kind *kind)
{
    uint32_t i = 0;
    while (i < plan->operations.count && plan->operations.list[i].kind != kind)
        i++;
    return i < plan->operations.count;
}

/* Asks for the default export. The server may send information about it before it agrees. */
static int send_go(struct connection *connection)
{
    static const uint8_t nothing[6]; /* no name, no information asked for */
    struct option_reply reply = {0};
    bool known = false;

    if (send_option(connection, OPTION_GO, 0, nothing, sizeof nothing) < 0)
        return -EBADMSG;
    while (reply.type != ACK) {
        if (receive_option_reply(connection, OPTION_GO, &reply) < 0)
            return -EBADMSG;
        if (reply.type != INFO || reply.size < EXPORT_SIZE || wire_get16(reply.data) != INFO_EXPORT)
            continue;
        known = true;
        framing_set_size(connection, wire_get64(reply.data + 2));
        if (wire_get16(reply.data + 10) & READ_ONLY && has_operation(connection->plan, &nbd_kinds[WRITE]))
            return framing_refuse(connection, "has a read-only export, and op= has writes");
    }
    return known ? 0 : framing_refuse(connection, "does not say how large its export is");
}

int nbd_client_dialogue(struct connection *connection, bool secured)
{
    const struct plan *plan = connection->plan;
    uint8_t greeting[GREETING_SIZE], flags[4];

    if (!(plan->encrypts && secured)) {
        if (dialogue_receive(connection, greeting, sizeof greeting) < 0)
            return -EBADMSG;
        if (wire_get64(greeting) != GREETING_MAGIC || wire_get64(greeting + 8) != OPTION_MAGIC ||
            !(wire_get16(greeting + 16) & FIXED_NEWSTYLE))
            return framing_refuse(connection,
                                  "does not greet as a server of the fixed newstyle protocol does");
        wire_put32(flags, wire_get16(greeting + 16) & (FIXED_NEWSTYLE | NO_ZEROES));
        if (dialogue_send(connection, flags, sizeof flags) < 0)
            return -EBADMSG;
    }
    if (plan->encrypts && !secured)
        return ask_option(connection, OPTION_STARTTLS);
    if (nbd_is_structured(connection) && ask_option(connection, OPTION_STRUCTURED_REPLY) < 0)
        return -EBADMSG;
    if (send_go(connection) < 0)
        return -EBADMSG;
    if (!plan->verify || !plan_has_subject(plan) || !has_operation(plan, &nbd_kinds[READ]))
        return 0;

    /* Only a subject gets the pattern that reads must return: so no data of others is lost. */
    uint64_t first = connection->framing->first, share = connection->framing->share;
    int result = 0;
    for (uint64_t done = 0; done < share && result == 0; done += FILL_BYTES)
        result = dialogue_store(connection, &nbd_kinds[WRITE], first + done, MIN(share - done, FILL_BYTES));
    return result;
}

/* ---- the server's dialogue ---- */

struct option {
    uint32_t type, size;
    uint8_t data[OPTION_ASKED_MAX]; /* the first bytes, if there are more */
};

static int receive_option(struct connection *connection, struct option *option)
{
    uint8_t head[OPTION_SIZE], dropped[512];
    if (dialogue_receive(connection, head, sizeof head) < 0)
        return -EBADMSG;
    option->type = wire_get32(head + 8);
    option->size = wire_get32(head + 12);
    if (wire_get64(head) != OPTION_MAGIC || option->size > OPTION_DROPPED_MAX)
        return framing_refuse(connection, "sent no option of the protocol");
    uint32_t left = option->size, part = MIN(left, OPTION_ASKED_MAX);
    int result = dialogue_receive(connection, option->data, part);
    while (result == 0 && (left -= part)) {
        part = MIN(left, (uint32_t)sizeof dropped);
        result = dialogue_receive(connection, dropped, part);
    }
    return result;
}

/* The data of GO and INFO: a name with its size, then what information is asked for. */
static bool names_export(const struct option *option)
{
    uint32_t size = option->size, name = size >= 6 ? wire_get32(option->data) : 0;
    return size >= 6 && name <= size - 6 && size - 6 - name == 2u * wire_get16(option->data + 4 + name);
}

/* The type of the reply to an option. There is one export, which has every name. */
static uint32_t judge_option(const struct connection *connection, const struct option *option, bool wants_tls)
{
    switch (option->type) {
    case OPTION_ABORT:
        return ACK;
    case OPTION_STARTTLS:
        return !connection->plan->encrypts ? UNSUPPORTED : option->size || !wants_tls ? INVALID : ACK;
    }
    if (wants_tls)
        return TLS_REQUIRED;
    switch (option->type) {
    case OPTION_GO:
    case OPTION_INFO:
        return option->size > sizeof option->data ? TOO_BIG : names_export(option) ? ACK : INVALID;
    case OPTION_LIST:
        return option->size ? INVALID : ACK;
    case OPTION_STRUCTURED_REPLY:
        return !nbd_is_structured(connection) ? UNSUPPORTED : option->size ? INVALID : ACK;
    }
    return UNSUPPORTED;
}

/* Sends the reply of this type to an option, after what the option asks for. */
static int answer_option(struct connection *connection, const struct option *option, uint32_t type)
{
    uint8_t data[EXPORT_SIZE] = {0};
    bool describes = option->type == OPTION_GO || option->type == OPTION_INFO;

    wire_put16(data, INFO_EXPORT);
    wire_put64(data + 2, connection->framing->size);
    wire_put16(data + 10, HAS_FLAGS | CAN_FLUSH | CAN_FUA | MULTI_CONNECTION);
    if (type == ACK && describes && send_option(connection, option->type, INFO, data, sizeof data) < 0)
        return -EBADMSG;
    wire_put32(data, 0); /* the size of the only name */
    if (type == ACK && option->type == OPTION_LIST && send_option(connection, OPTION_LIST, NAME, data, 4) < 0)
        return -EBADMSG;
    connection->framing->structured |= type == ACK && option->type == OPTION_STRUCTURED_REPLY;
    return send_option(connection, option->type, type, "", 0);
}

/* The reply to the oldest option has no head, and cannot be an error. */
static int answer_export_name(struct connection *connection, bool wants_tls)
{
    uint8_t reply[10 + 124] = {0};

    if (wants_tls)
        return framing_refuse(connection, "asked for the export without TLS, which this server requires");
    wire_put64(reply, connection->framing->size);
    wire_put16(reply + 8, HAS_FLAGS | CAN_FLUSH | CAN_FUA | MULTI_CONNECTION);
    return dialogue_send(connection, reply, connection->framing->zeroes ? sizeof reply : 10);
}

static int greet(struct connection *connection)
{
    uint8_t greeting[GREETING_SIZE], flags[4];

    wire_put64(greeting, GREETING_MAGIC);
    wire_put64(greeting + 8, OPTION_MAGIC);
    wire_put16(greeting + 16, FIXED_NEWSTYLE | NO_ZEROES);
    if (dialogue_send(connection, greeting, sizeof greeting) < 0 ||
        dialogue_receive(connection, flags, sizeof flags) < 0)
        return -EBADMSG;
    if (wire_get32(flags) & ~(uint32_t)(FIXED_NEWSTYLE | NO_ZEROES))
        return framing_refuse(connection, "sent the flags 0x%" PRIx32 ", where 0x3 would be right",
                              wire_get32(flags));
    connection->framing->zeroes = !(wire_get32(flags) & NO_ZEROES);
    return 0;
}

int nbd_server_dialogue(struct connection *connection, bool secured)
{
    bool encrypts = connection->plan->encrypts, wants_tls = encrypts && !secured;
    const struct source *content = connection->shared->content;
    struct option option;
    uint32_t answer;

    framing_set_size(connection, content ? content->period : CONTENT_SIZE);
    if (!(encrypts && secured) && greet(connection) < 0)
        return -EBADMSG;
    do {
        if (receive_option(connection, &option) < 0)
            return -EBADMSG;
        if (option.type == OPTION_GO && !content && nbd_is_structured(connection) &&
            !connection->framing->structured)
            return framing_refuse(connection, "did not ask for structured replies, which this server sends");
        if (option.type == OPTION_EXPORT_NAME)
            return answer_export_name(connection, wants_tls);
        answer = judge_option(connection, &option, wants_tls);
        if (answer_option(connection, &option, answer) < 0)
            return -EBADMSG;
    } while (answer != ACK ||
             (option.type != OPTION_GO && option.type != OPTION_STARTTLS && option.type != OPTION_ABORT));
    return option.type == OPTION_ABORT ? -ESHUTDOWN : 0;
}
