/* SPDX-License-Identifier: MIT */
/* The Network Block Device protocol, fixed newstyle: https://github.com/NetworkBlockDevice/nbd,
 * doc/proto.md. Its two variants differ only in their replies to a read: simple or structured. */
#include "base/bytes.h"
#include "connection/protocol.h"

#include <inttypes.h>
#include <string.h>
#include <sys/param.h>

#define GREETING_MAGIC UINT64_C(0x4e42444d41474943) /* "NBDMAGIC" */
#define OPTION_MAGIC UINT64_C(0x49484156454f5054)   /* "IHAVEOPT" */
#define OPTION_REPLY_MAGIC UINT64_C(0x0003e889045565a9)
#define REQUEST_MAGIC 0x25609513u
#define SIMPLE_MAGIC 0x67446698u
#define CHUNK_MAGIC 0x668e33efu

enum { FIXED_NEWSTYLE = 1, NO_ZEROES = 2 }; /* flags of the server and of the client */

enum { OPTION_ABORT = 2, OPTION_STARTTLS = 5, OPTION_GO = 7, OPTION_STRUCTURED_REPLY = 8 };
enum { ACK = 1, INFO = 3 }; /* types of the reply to an option, with these errors: */
#define IS_ERROR 0x80000000u
#define UNSUPPORTED 0x80000001u
#define TLS_REQUIRED 0x80000005u
#define INFO_EXPORT 0u

/* Flags of an export. CAN_FUA: the reply to a write always means that it is stored. */
enum { HAS_FLAGS = 1, READ_ONLY = 2, CAN_FLUSH = 4, CAN_FUA = 8, MULTI_CONNECTION = 0x100 };

enum { READ = 0, WRITE = 1, DISCONNECT = 2, FLUSH = 3 };

#define CHUNK_DONE 1u /* a flag */
enum { CHUNK_NONE = 0, CHUNK_DATA = 1, CHUNK_HOLE = 2, CHUNK_IS_ERROR = 0x8000 };

enum { GREETING_SIZE = 18, OPTION_SIZE = 16, OPTION_REPLY_SIZE = 20, EXPORT_SIZE = 12 };
enum { REQUEST_SIZE = 28, SIMPLE_SIZE = 16, CHUNK_SIZE = 20 };

#define FILL_BYTES (UINT64_C(1) << 20)   /* bytes of a write that fills a subject */
#define OPTION_DATA_MAX 1024u            /* bytes of data that an end accepts with an option */
#define CONTENT_SIZE (UINT64_C(1) << 30) /* bytes of this server's export */

static const struct operation_kind kinds[] = {[READ] = {.name = "read", .fetches = true},
                                              [WRITE] = {.name = "write", .stores = true},
                                              [FLUSH] = {.name = "flush"}};

extern const struct protocol protocol_nbd_structured;

static bool is_structured(const struct connection *connection)
{
    return connection->plan->protocol == &protocol_nbd_structured;
}

/* ---- requests ---- */

static size_t write_request(uint8_t *head, const struct call *call)
{
    wire_put32(head, REQUEST_MAGIC);
    wire_put16(head + 4, 0);
    wire_put16(head + 6, (uint16_t)(call->kind - kinds));
    wire_put64(head + 8, call->cookie);
    wire_put64(head + 16, call->offset);
    wire_put32(head + 24, (uint32_t)call->bytes);
    return REQUEST_SIZE;
}

static int read_request(struct connection *connection, const uint8_t *data, size_t size, struct call *call)
{
    if (size < REQUEST_SIZE)
        return REQUEST_SIZE;
    if (wire_get32(data) != REQUEST_MAGIC)
        return framing_refuse(connection, "sent 0x%08" PRIx32 " in place of the magic of a request",
                              wire_get32(data));
    unsigned type = wire_get16(data + 6);
    if (type == DISCONNECT)
        return -ESHUTDOWN;
    if (type > FLUSH)
        return framing_refuse(connection, "sent a request of type %u; this end knows 0 to 3", type);
    call->kind = &kinds[type];
    call->cookie = wire_get64(data + 8);
    call->offset = wire_get64(data + 16);
    call->bytes = type == FLUSH ? 0 : wire_get32(data + 24);
    return REQUEST_SIZE;
}

/* ---- replies ---- */

static size_t write_reply(uint8_t *head, const struct call *call)
{
    wire_put32(head, SIMPLE_MAGIC);
    wire_put32(head + 4, 0);
    wire_put64(head + 8, call->cookie);
    return SIMPLE_SIZE;
}

/* One chunk with all data. Only a read has a structured reply. */
static size_t write_structured_reply(uint8_t *head, const struct call *call)
{
    if (!call->kind->fetches)
        return write_reply(head, call);
    wire_put32(head, CHUNK_MAGIC);
    wire_put16(head + 4, CHUNK_DONE);
    wire_put16(head + 6, CHUNK_DATA);
    wire_put64(head + 8, call->cookie);
    wire_put32(head + 16, (uint32_t)call->bytes + 8);
    wire_put64(head + 20, call->offset);
    return CHUNK_SIZE + 8;
}

static int refuse_error(struct connection *connection, const struct call *call, uint32_t error)
{
    return framing_refuse(connection,
                          "answered error %" PRIu32 " (%s) to a %s of %" PRIu64 " bytes at byte %" PRIu64,
                          error, strerror((int)error), call->kind->name, call->bytes, call->offset);
}

static int read_chunk(struct connection *connection, const uint8_t *data, size_t size, struct piece *piece)
{
    if (size < CHUNK_SIZE)
        return CHUNK_SIZE;
    unsigned type = wire_get16(data + 6);
    uint32_t length = wire_get32(data + 16);
    size_t more = type == CHUNK_DATA ? 8 : type == CHUNK_HOLE ? 12 : type & CHUNK_IS_ERROR ? 4 : 0;
    if (length < more || (type != CHUNK_DATA && !(type & CHUNK_IS_ERROR) && length != more))
        return framing_refuse(connection, "sent a chunk of type %u with %" PRIu32 " bytes", type, length);
    if (size < CHUNK_SIZE + more)
        return (int)(CHUNK_SIZE + more);
    struct call *call = framing_find(connection, wire_get64(data + 8));
    if (!call)
        return -EBADMSG;
    if (type == CHUNK_HOLE)
        return framing_refuse(connection, "answered with a hole of %" PRIu32 " bytes, which has no content",
                              wire_get32(data + 28));
    if (type & CHUNK_IS_ERROR)
        return refuse_error(connection, call, wire_get32(data + 20));
    if (type != CHUNK_DATA && type != CHUNK_NONE)
        return framing_refuse(connection, "sent a chunk of type %u, which is unknown", type);

    /* A chunk must lie within the range that was asked for. All chunks together have its size. */
    uint64_t offset = type == CHUNK_DATA ? wire_get64(data + 20) : call->offset;
    uint64_t bytes = type == CHUNK_DATA ? length - more : 0, begin = offset - call->offset;
    bool is_last = wire_get16(data + 4) & CHUNK_DONE;
    if (bytes && (!call->kind->fetches || begin > call->bytes || bytes > call->bytes - begin ||
                  bytes > call->bytes - call->moved))
        return framing_refuse(connection,
                              "answered a chunk of %" PRIu64 " bytes at byte %" PRIu64 " to a %s of %" PRIu64
                              " bytes at byte %" PRIu64,
                              bytes, offset, call->kind->name, call->bytes, call->offset);
    call->moved += bytes;
    if (is_last && call->kind->fetches && call->moved != call->bytes)
        return framing_refuse(connection, "answered %" PRIu64 " bytes to a read of %" PRIu64, call->moved,
                              call->bytes);
    *piece = (struct piece){call, bytes, offset, is_last};
    return (int)(CHUNK_SIZE + more);
}

static int read_reply(struct connection *connection, const uint8_t *data, size_t size, struct piece *piece)
{
    if (size < 4)
        return 4;
    uint32_t magic = wire_get32(data);
    if (magic == CHUNK_MAGIC && is_structured(connection))
        return read_chunk(connection, data, size, piece);
    if (magic != SIMPLE_MAGIC)
        return framing_refuse(connection, "sent 0x%08" PRIx32 " in place of the magic of a reply", magic);
    if (size < SIMPLE_SIZE)
        return SIMPLE_SIZE;
    struct call *call = framing_find(connection, wire_get64(data + 8));
    if (!call)
        return -EBADMSG;
    if (wire_get32(data + 4))
        return refuse_error(connection, call, wire_get32(data + 4));
    if (call->moved)
        return framing_refuse(connection, "ended a structured reply with a simple reply");
    call->moved = call->kind->fetches ? call->bytes : 0;
    *piece = (struct piece){call, call->moved, call->offset, true};
    return SIMPLE_SIZE;
}

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
        if (wire_get16(reply.data + 10) & READ_ONLY && has_operation(connection->plan, &kinds[WRITE]))
            return framing_refuse(connection, "has a read-only export, and op= has writes");
    }
    return known ? 0 : framing_refuse(connection, "does not say how large its export is");
}

static int client_dialogue(struct connection *connection, bool secured)
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
    if (is_structured(connection) && ask_option(connection, OPTION_STRUCTURED_REPLY) < 0)
        return -EBADMSG;
    if (send_go(connection) < 0)
        return -EBADMSG;
    if (!plan->verify || !plan_has_subject(plan) || !has_operation(plan, &kinds[READ]))
        return 0;

    /* Only a subject gets the pattern that reads must return: so no data of others is lost. */
    uint64_t first = connection->framing->first, share = connection->framing->share;
    int result = 0;
    for (uint64_t done = 0; done < share && result == 0; done += FILL_BYTES)
        result = dialogue_store(connection, &kinds[WRITE], first + done, MIN(share - done, FILL_BYTES));
    return result;
}

/* ---- the server's dialogue ---- */

static int receive_option(struct connection *connection, uint32_t *option)
{
    uint8_t head[OPTION_SIZE], data[OPTION_DATA_MAX];
    if (dialogue_receive(connection, head, sizeof head) < 0)
        return -EBADMSG;
    uint32_t size = wire_get32(head + 12);
    if (wire_get64(head) != OPTION_MAGIC || size > sizeof data)
        return framing_refuse(connection, "sent no option of the protocol");
    *option = wire_get32(head + 8);
    return dialogue_receive(connection, data, size);
}

static int server_dialogue(struct connection *connection, bool secured)
{
    bool encrypts = connection->plan->encrypts, structured = is_structured(connection), asked = false;
    uint32_t wanted = encrypts && !secured ? OPTION_STARTTLS : OPTION_GO, option = 0;
    const struct source *content = connection->shared->content;
    uint8_t greeting[GREETING_SIZE], flags[4], info[EXPORT_SIZE];

    framing_set_size(connection, content ? content->period : CONTENT_SIZE);
    if (!(encrypts && secured)) {
        wire_put64(greeting, GREETING_MAGIC);
        wire_put64(greeting + 8, OPTION_MAGIC);
        wire_put16(greeting + 16, FIXED_NEWSTYLE | NO_ZEROES);
        if (dialogue_send(connection, greeting, sizeof greeting) < 0 ||
            dialogue_receive(connection, flags, sizeof flags) < 0)
            return -EBADMSG;
        if (wire_get32(flags) != (FIXED_NEWSTYLE | NO_ZEROES))
            return framing_refuse(connection, "sent the flags 0x%" PRIx32 ", where 0x3 would be right",
                                  wire_get32(flags));
    }
    do {
        if (receive_option(connection, &option) < 0)
            return -EBADMSG;
        if (option == OPTION_GO && wanted == OPTION_GO) {
            if (asked != structured)
                return framing_refuse(connection,
                                      "did not ask for structured replies, which this server sends");
            wire_put16(info, INFO_EXPORT);
            wire_put64(info + 2, connection->framing->size);
            wire_put16(info + 10, HAS_FLAGS | CAN_FLUSH | CAN_FUA | MULTI_CONNECTION);
            if (send_option(connection, OPTION_GO, INFO, info, sizeof info) < 0)
                return -EBADMSG;
        }
        bool agrees = option == wanted || option == OPTION_ABORT;
        if (option == OPTION_STRUCTURED_REPLY && wanted == OPTION_GO && structured)
            agrees = asked = true;
        uint32_t answer = agrees ? ACK : wanted == OPTION_STARTTLS ? TLS_REQUIRED : UNSUPPORTED;
        if (send_option(connection, option, answer, "", 0) < 0)
            return -EBADMSG;
    } while (option != wanted && option != OPTION_ABORT);
    return option == OPTION_ABORT ? -ESHUTDOWN : 0;
}

#define NBD                                                                                                  \
    .kinds = kinds, .read_reply = read_reply, .read_request = read_request, .write_request = write_request,  \
    .client_dialogue = client_dialogue, .server_dialogue = server_dialogue

const struct protocol protocol_nbd = {
    .variant = {"nbd", "network block device with simple replies: op=read:4K, write:64K"},
    NBD,
    .write_reply = write_reply,
};

const struct protocol protocol_nbd_structured = {
    .variant = {"nbd-structured", "network block device with structured replies, as most clients ask for"},
    NBD,
    .write_reply = write_structured_reply,
};
